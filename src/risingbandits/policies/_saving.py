"""A policy in the middle of a run as plain numbers and arrays, and on disk: one npz file with a JSON header."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.files import Array, flush, npz_bytes, read_npz, readable, whole
from risingbandits._version import __version__
from risingbandits.policies._kernels import levels
from risingbandits.policies._knowledge import Knowledge
from risingbandits.policies.base import Policy
from risingbandits.policies.registry import policy_class

_FORMAT = 1


def state_dict(policy: Policy) -> dict[str, Any]:
    """The run of ``policy``, with arrays of its own."""
    fields = policy._state_fields(policy._state)
    return {
        "n_arms": policy.n_arms,
        "horizon": policy.horizon,
        "capacity": policy._capacity,
        "pulls": list(policy._pulls),
        "knowledge": None if policy._knowledge is None else policy._knowledge._asdict(),
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
    fresh = policy.replace()
    if run["knowledge"] is not None and not fresh.inform(Knowledge(**run["knowledge"])):
        raise ValueError("knowledge")
    begun = fresh._reset_as_after(run["n_arms"], run["horizon"], sum(pulls))
    state = begun._restored_state(begun._state, run["numbers"], run["arrays"])
    rng = None if begun._rng is None else _generator(run["generator"])
    known = np.array(run["levels"], dtype=np.float64, order="C")
    if known.ndim != 2 or len(known) != len(pulls) + 1 or levels.room(known) < max(pulls):
        raise ValueError("levels")
    policy._knowledge = begun._knowledge
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


def to_bytes(policy: Policy) -> bytes:
    """A policy, in the middle of a run or before."""
    run = None if policy._state is None else state_dict(policy)
    arrays = {}
    if run is not None:
        arrays = {"levels": run.pop("levels")} | {f"state.{name}": array for name, array in run.pop("arrays").items()}
    params = policy.get_params()
    header = {"format": _FORMAT, "version": __version__, "policy": policy.name, "params": params, "run": run}
    try:
        return npz_bytes(header, arrays, _plain)
    except TypeError as error:
        raise RisingBanditsError(f"{policy!r} cannot be saved: {error}.") from error


def from_bytes(data: bytes, name: str) -> Policy:
    """What `to_bytes` made; ``name`` is what errors call it."""
    header, arrays = read_npz(data)
    if header["format"] != _FORMAT:
        raise RisingBanditsError(f"{name} has format {header['format']}, this version reads format {_FORMAT}.")
    params = {key: _with_tuples(value) for key, value in header["params"].items()}
    policy = policy_class(header["policy"])(**params)
    if header["run"] is not None:
        known = arrays.pop("levels", None)
        state = {key.removeprefix("state."): array for key, array in arrays.items() if key.startswith("state.")}
        restore(policy, {**header["run"], "arrays": state, "levels": known})
    return policy


def save(policy: Policy, path: Path) -> Path:
    """Write ``policy`` to ``path``, atomically."""
    data = to_bytes(policy)
    with whole(path) as temporary:
        temporary.write_bytes(data)
        flush(temporary)
    return path


def load(path: Path) -> Policy:
    """Read what `save` wrote."""
    with readable(path, "is not a saved policy, or is damaged"):
        return from_bytes(path.read_bytes(), str(path))


def _with_tuples(value: Any) -> Any:
    """JSON has no tuples; settings have no lists."""
    if isinstance(value, dict):
        return {name: _with_tuples(inner) for name, inner in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"a setting of type {type(value).__name__} has no JSON form")
