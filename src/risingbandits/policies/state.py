"""Policies on disk: one npz file with a JSON header. No pickle, so a file from elsewhere cannot run code."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.files import flush, whole
from risingbandits._version import __version__
from risingbandits.policies.base import Policy, policy_class

_FORMAT = 1
_HEADER = "header"


def save(policy: Policy, path: Path) -> Path:
    """Write ``policy`` to ``path``, all or nothing."""
    header: dict[str, Any] = {
        "format": _FORMAT,
        "version": __version__,
        "policy": policy.name,
        "params": policy.get_params(),
        "run": None,
    }
    arrays: dict[str, Any] = {}
    if policy._state is not None:
        fields = policy._state._asdict()
        arrays = {f"state.{k}": v for k, v in fields.items() if isinstance(v, np.ndarray)}
        header["run"] = {
            "n_arms": policy.n_arms,
            "horizon": policy.horizon,
            "capacity": policy._capacity,
            "pulls": policy._pulls,
            "numbers": {k: v for k, v in fields.items() if not isinstance(v, np.ndarray)},
            "generator": None if policy._rng is None else policy._rng.bit_generator.state,
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
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            header = json.loads(file[_HEADER].tobytes().decode())
            arrays = {name: file[name] for name in file.files if name != _HEADER}
        if header["format"] != _FORMAT:
            raise RisingBanditsError(f"{path} has format {header['format']}, this version reads format {_FORMAT}.")
        params = {name: _with_tuples(value) for name, value in header["params"].items()}
        policy = policy_class(header["policy"])(**params)
        if header["run"] is not None:
            _restore(policy, header["run"], arrays)
    except FileNotFoundError:
        raise RisingBanditsError(f"{path} does not exist.") from None
    except RisingBanditsError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile, EOFError) as error:
        raise RisingBanditsError(f"{path} is not a saved policy, or is damaged ({type(error).__name__}).") from error
    return policy


def _restore(policy: Policy, run: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Fill a fresh state of the right shape and types, so that a damaged file cannot smuggle in others."""
    policy.reset(run["n_arms"], run["horizon"])
    fresh = policy._state._asdict()
    stored = {name.removeprefix("state."): array for name, array in arrays.items() if name.startswith("state.")}
    if set(stored) | set(run["numbers"]) != set(fresh):
        raise KeyError("fields")
    for name, value in fresh.items():
        if isinstance(value, np.ndarray):
            if stored[name].dtype != value.dtype or stored[name].ndim != value.ndim:
                raise TypeError(name)
            fresh[name] = np.array(stored[name], order="C")
        else:
            fresh[name] = type(value)(run["numbers"][name])
    if policy._rng is not None:
        policy._rng.bit_generator.state = run["generator"]
    pulls = [int(n) for n in run["pulls"]]
    if len(pulls) != policy.n_arms:
        raise ValueError("pulls")
    state = type(policy._state)(**fresh)
    policy._begin(policy.n_arms, policy.horizon, state, int(run["capacity"]), pulls, policy._rng)


def _with_tuples(value: Any) -> Any:
    """JSON has no tuples; settings have no lists."""
    if isinstance(value, dict):
        return {name: _with_tuples(inner) for name, inner in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"a setting of type {type(value).__name__} has no JSON form")
