"""A policy in the middle of a run as plain numbers and arrays, and on disk: one npz file with a JSON header.

No pickle, so a file from elsewhere cannot run code.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.files import flush, readable, whole
from risingbandits._version import __version__
from risingbandits.policies._kernels import levels
from risingbandits.policies.base import Policy
from risingbandits.policies.registry import policy_class

_FORMAT = 1
_HEADER = "header"
Array = np.ndarray[Any, Any]


def state_dict(policy: Policy) -> dict[str, Any]:
    """The run of ``policy``, with arrays of its own."""
    fields = policy.state_fields(policy._state)
    return {
        "n_arms": policy.n_arms,
        "horizon": policy.horizon,
        "capacity": policy._capacity,
        "pulls": list(policy._pulls),
        "numbers": {name: value for name, value in fields.items() if not isinstance(value, np.ndarray)},
        "generator": None if policy._rng is None else policy._rng.bit_generator.state,
        "remarked": policy._remarked,
        "levels": policy._levels.copy(),
        "arrays": {name: value.copy() for name, value in fields.items() if isinstance(value, np.ndarray)},
    }


def restore(policy: Policy, run: dict[str, Any]) -> None:
    """Continue the run that `state_dict` described."""
    pulls = [int(n) for n in run["pulls"]]
    if len(pulls) != run["n_arms"]:  # before anything is allocated for these arms
        raise ValueError("pulls")
    begun = policy.replace().reset_as_after(run["n_arms"], run["horizon"], sum(pulls))
    state = begun.restored_state(begun._state, run["numbers"], run["arrays"])
    rng = None if begun._rng is None else _generator(run["generator"])
    known = np.array(run["levels"], dtype=np.float64, order="C")
    if known.ndim != 2 or len(known) != len(pulls) + 1 or levels.room(known) < max(pulls):
        raise ValueError("levels")
    policy._begin(begun.n_arms, begun.horizon, state, int(run["capacity"]), pulls, rng, known)
    policy._remarked = bool(run["remarked"])


def filled(fresh: Any, numbers: dict[str, Any], arrays: dict[str, Any]) -> Any:
    """Fill a fresh state of the right shape and types, so that a damaged file cannot smuggle in others."""
    fields = fresh._asdict()
    if {*arrays, *numbers} != set(fields):
        raise KeyError("fields")
    for name, value in fields.items():
        if isinstance(value, np.ndarray):
            fields[name] = _array(name, arrays[name], value)
        else:
            fields[name] = type(value)(numbers[name])
    return type(fresh)(**fields)


def _array(name: str, stored: Array, fresh: Array) -> Array:
    """A copy of what is stored, if it is like the fresh array; plain ones may have grown."""
    if stored.dtype != fresh.dtype or stored.ndim != fresh.ndim or (fresh.dtype.names and stored.shape != fresh.shape):
        raise TypeError(name)
    return np.array(stored, order="C")  # a copy owns its memory, which buffers that grow need


def _generator(state: dict[str, Any]) -> np.random.Generator:
    kind = getattr(np.random, state["bit_generator"])
    if not issubclass(kind, np.random.BitGenerator):
        raise TypeError("generator")
    bits = kind()
    bits.state = state
    return np.random.Generator(bits)


def save(policy: Policy, path: Path) -> Path:
    """Write ``policy`` to ``path``, atomically."""
    run = None if policy._state is None else state_dict(policy)
    arrays = {}
    if run is not None:
        arrays = {"levels": run.pop("levels")} | {f"state.{name}": array for name, array in run.pop("arrays").items()}
    header: dict[str, Any] = {
        "format": _FORMAT,
        "version": __version__,
        "policy": policy.name,
        "params": policy.get_params(),
        "run": run,
    }
    try:
        arrays[_HEADER] = np.frombuffer(json.dumps(header, default=_plain).encode(), dtype=np.uint8)
    except TypeError as error:
        raise RisingBanditsError(f"{policy!r} cannot be saved: {error}.") from error
    with whole(path) as temporary:
        with temporary.open("wb") as file:
            np.savez(file, **arrays)
        flush(temporary)
    return path


def load(path: Path) -> Policy:
    """Read what `save` wrote."""
    with readable(path, "is not a saved policy, or is damaged"):
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            _refuse_bombs(file, path.stat().st_size)
            header = json.loads(file[_HEADER].tobytes().decode())
            arrays = {name.removeprefix("state."): file[name] for name in file.files if name.startswith("state.")}
            known = file["levels"] if "levels" in file.files else None
        if header["format"] != _FORMAT:
            raise RisingBanditsError(f"{path} has format {header['format']}, this version reads format {_FORMAT}.")
        params = {name: _with_tuples(value) for name, value in header["params"].items()}
        policy = policy_class(header["policy"])(**params)
        if header["run"] is not None:
            restore(policy, {**header["run"], "arrays": arrays, "levels": known})
    return policy


def _refuse_bombs(file: Any, size: int) -> None:
    """Raise for a file that would take more memory than it has bytes: `save` does not compress, nor leave holes."""
    for name in file.files:
        with file.zip.open(f"{name}.npy") as member:
            read = np.lib.format.read_magic(member)
            shape, _, dtype = getattr(np.lib.format, f"read_array_header_{read[0]}_{read[1]}")(member)
            if math.prod(shape) * dtype.itemsize > size:
                raise ValueError(name)


def _with_tuples(value: Any) -> Any:
    """JSON has no tuples; settings have no lists."""
    if isinstance(value, dict):
        return {name: _with_tuples(inner) for name, inner in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"a setting of type {type(value).__name__} has no JSON form")
