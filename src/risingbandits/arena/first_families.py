"""Real learning curves as bandit tasks: the replay protocol of the regret benchmark.

The folder ``curves`` of RISINGBANDITS_DATA holds curves of real training runs. An arm is a model, a pull reveals its
next value, and after its end an arm goes on paying its final value, the mean of the last 5 % of its curve; where the
arm to keep is looked for, it cannot be pulled beyond, and only budgets count that do not see every curve to its end.
All draws come from one generator, in this order: epoch files by name, Atari, LCDB, scikit-learn.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import RisingBanditsError

__all__ = ["CurveTask", "budgets_of", "in_order", "load_families", "noise_of", "with_final"]

Floats = npt.NDArray[np.float64]

_BUDGETS = (2, 5, 10, 20, 50)  # pulls for each arm
_GROUP, _GROUPS = 50, 10
_LEAST_SIZES = _LEAST_LEARNERS = 12
_DATA_SETS, _SPLITS = 60, 2
_MISSING = 65_535
_LEAST_SIGMA = 0.001


@dataclass(frozen=True)
class CurveTask:
    """Arms of one replay: the values that are seen and those that count, (K, L + 1), and the noise of a step."""

    name: str
    observed: Floats
    truth: Floats
    sigma: float


def budgets_of(task: CurveTask, quick: bool = False, *, to_find: bool = False) -> tuple[int, ...]:
    """Numbers of pulls that the task is played with; ``to_find`` the best arm fewer than all curves have."""
    per_arm = _BUDGETS[:2] if quick else _BUDGETS
    length = task.observed.shape[1] - 1
    return tuple(pulls * len(task.observed) for pulls in per_arm if not to_find or pulls < length)


def in_order(task: CurveTask, number: int) -> CurveTask:
    """The task with its arms in another order, a random one of its own for every number; 0 is the order it has."""
    if number == 0:
        return task
    order = np.random.default_rng([number, zlib.crc32(task.name.encode())]).permutation(len(task.observed))
    return replace(task, observed=task.observed[order], truth=task.truth[order])


def load_families(data: str | None) -> dict[str, list[CurveTask]]:
    """The tasks of all families; an error in one sentence where the data are not there."""
    if not data:
        raise RisingBanditsError("set RISINGBANDITS_DATA to the folder that holds curves/.")
    folder = Path(data) / "curves"
    if not any(folder.glob("*.npz")):
        raise RisingBanditsError("the folder that RISINGBANDITS_DATA names has no curves/*.npz.")
    try:
        return _load(folder)
    except (OSError, KeyError, ValueError) as error:
        raise RisingBanditsError(f"curves/ cannot be read ({type(error).__name__}: {error}).") from error


@cache
def _load(folder: Path) -> dict[str, list[CurveTask]]:
    rng = np.random.default_rng(0)
    families = {path.stem.removeprefix("epochs_"): _epochs(path, rng) for path in sorted(folder.glob("epochs_*.npz"))}
    if (folder / "atari.npz").is_file():
        families["atari"] = _atari(folder / "atari.npz", rng)
    if (folder / "samples_lcdb.npz").is_file():
        families["lcdb"] = _lcdb(folder / "samples_lcdb.npz", rng)
    small = [task for path in sorted(folder.glob("sklearn_*.npz")) for task in _sklearn(path)]
    if small:
        families["scikit-learn"] = small
    return families


def _epochs(path: Path, rng: np.random.Generator) -> list[CurveTask]:
    curves = _read(path)["curves"].astype(np.float64)
    if "ptb" in path.stem:  # perplexities
        curves = np.clip(1.0 - np.log(curves) / math.log(1_000), 0.0, 1.0)
    sigma = noise_of(curves)
    order = rng.permutation(len(curves))
    groups = min(_GROUPS, len(curves) // _GROUP)
    parts = [curves[order[_GROUP * group : _GROUP * (group + 1)]] for group in range(groups)]
    return [_seen_is_true(f"group {number}", part, sigma) for number, part in enumerate(parts, start=1)]


def _atari(path: Path, rng: np.random.Generator) -> list[CurveTask]:
    arrays = _read(path)
    tasks = []
    for game in (name for name in arrays if not name.endswith("__arms")):
        scores = arrays[game].astype(np.float64)  # agents, runs, steps
        low, high = scores.min(), scores.max()
        scores = (scores - low) / (1.5 * (high - low))
        sigma = noise_of(scores)
        for run in (0, 1):
            tasks.append(_seen_is_true(f"{game} run {run}", scores[rng.permutation(len(scores)), run], sigma))
    return tasks


def _lcdb(path: Path, rng: np.random.Generator) -> list[CurveTask]:
    """Data sets with enough sizes, enough learners without a gap and a split without missing validation values."""
    arrays = _read(path)
    tasks: list[CurveTask] = []
    used = 0
    for name in (key.removesuffix("__valid") for key in arrays if key.endswith("__valid")):
        valid, test = _accuracies(arrays[f"{name}__valid"]), _accuracies(arrays[f"{name}__test"])
        whole = np.asarray(np.isfinite(test).any(axis=1)).all(axis=1)
        if test.shape[2] < _LEAST_SIZES or whole.sum() < _LEAST_LEARNERS:
            continue
        splits = np.flatnonzero(np.isfinite(valid[whole]).all(axis=(0, 2)))
        if not splits.size:
            continue
        truth = np.nanmean(test[whole], axis=1)
        for split in rng.choice(splits, min(_SPLITS, splits.size), replace=False):
            observed = valid[whole, split]
            tasks.append(
                CurveTask(f"{name} split {split}", with_final(observed), with_final(truth), noise_of(observed))
            )
        used += 1
        if used == _DATA_SETS:
            break
    return tasks


def _sklearn(path: Path) -> list[CurveTask]:
    curves = _read(path)["curves"].astype(np.float64)
    name = path.stem.removeprefix("sklearn_")
    return [_seen_is_true(f"{name} seed {seed}", arms, noise_of(arms)) for seed, arms in enumerate(curves)]


def _seen_is_true(name: str, curves: Floats, sigma: float) -> CurveTask:
    values = with_final(curves)
    return CurveTask(name, values, values, sigma)


def with_final(curves: Floats) -> Floats:
    """The curves with one more value, that of all later pulls: the mean of the last 5 %, at least of one value."""
    last = max(1, int(0.05 * curves.shape[-1]))
    return np.concatenate([curves, curves[..., -last:].mean(axis=-1, keepdims=True)], axis=-1)


def noise_of(curves: Floats) -> float:
    """Noise of a step: root mean square of the second differences over the last two thirds, divided by sqrt 6."""
    later = curves[..., curves.shape[-1] // 3 :]
    return max(_LEAST_SIGMA, math.sqrt(float((np.diff(later, 2, axis=-1) ** 2).mean()) / 6))


def _accuracies(stored: npt.NDArray[Any]) -> Floats:
    return np.where(stored == _MISSING, np.nan, stored / 10_000.0)


def _read(path: Path) -> dict[str, npt.NDArray[Any]]:
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}
