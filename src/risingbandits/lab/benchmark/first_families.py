"""The first six families of real curves: networks by epoch (three), Atari agents, LCDB, scikit-learn models.

All draws come from one generator, in this order: epoch files by name, Atari, LCDB; scikit-learn needs none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from risingbandits._core.types import Floats
from risingbandits.lab.benchmark.curve_tasks import (
    CurveTask,
    Features,
    noise_of,
    of_arms,
    read_arrays,
    seen_is_true,
    with_final,
)

_GROUP, _GROUPS = 50, 10
_LEAST_SIZES = _LEAST_LEARNERS = 12
_DATA_SETS, _SPLITS = 60, 2
_MISSING = 65_535


def first_families(folder: Path) -> dict[str, list[CurveTask]]:
    """The tasks of those families whose files are there."""
    rng = np.random.default_rng(0)
    families = {path.stem.removeprefix("epochs_"): _epochs(path, rng) for path in sorted(folder.glob("epochs_*.npz"))}
    if (folder / "atari.npz").is_file():
        families["atari"] = _atari(folder / "atari.npz", rng)
    if (folder / "samples_lcdb.npz").is_file():
        families["lcdb"] = list(_lcdb(folder / "samples_lcdb.npz", rng))
    small = [task for path in sorted(folder.glob("sklearn_*.npz")) for task in _sklearn(path)]
    if small:
        families["scikit-learn"] = small
    return families


def _epochs(path: Path, rng: np.random.Generator) -> list[CurveTask]:
    """A random permutation of the models, in groups of fifty."""
    arrays = read_arrays(path)
    curves, features = arrays["curves"].astype(np.float64), _settings(arrays["arms"])
    if "ptb" in path.stem:  # perplexities
        curves = np.clip(1.0 - np.log(curves) / math.log(1_000), 0.0, 1.0)
    sigma = noise_of(curves)
    order = rng.permutation(len(curves))
    tasks = []
    for group in range(min(_GROUPS, len(curves) // _GROUP)):
        part = order[_GROUP * group : _GROUP * (group + 1)]
        name, family = f"group {group + 1}", path.stem.removeprefix("epochs_")
        tasks.append(seen_is_true(name, family, curves[part], sigma, of_arms(features, part)))
    return tasks


def _settings(arms: npt.NDArray[Any]) -> Features:
    """From a JSON text for each arm; settings that every arm has."""
    each = [json.loads(text) for text in arms.tolist()]
    return {name: np.array([one[name] for one in each]) for name in each[0] if all(name in one for one in each)}


def _atari(path: Path, rng: np.random.Generator) -> list[CurveTask]:
    """Two runs of each game, in units of one and a half times the range of its returns."""
    arrays = read_arrays(path)
    tasks = []
    for game in (name for name in arrays if not name.endswith("__arms")):
        scores = arrays[game].astype(np.float64)  # agents, runs, steps
        low, high = scores.min(), scores.max()
        scores = (scores - low) / (1.5 * (high - low))
        sigma = noise_of(scores)
        for run in (0, 1):
            order = rng.permutation(len(scores))
            features = {"agent": arrays[f"{game}__arms"][order]}
            tasks.append(seen_is_true(f"{game} run {run}", "atari", scores[order, run], sigma, features))
    return tasks


def _lcdb(path: Path, rng: np.random.Generator) -> Iterator[CurveTask]:
    """Data sets with enough sizes, enough learners without gaps, and a split without missing validation values."""
    used = 0
    with np.load(path, allow_pickle=False) as file:
        for name in (key.removesuffix("__valid") for key in file.files if key.endswith("__valid")):
            if len(file[f"{name}__sizes"]) < _LEAST_SIZES:
                continue
            test = _accuracies(file[f"{name}__test"])
            whole = np.asarray(np.isfinite(test).any(axis=1)).all(axis=1)
            if whole.sum() < _LEAST_LEARNERS:
                continue
            valid = _accuracies(file[f"{name}__valid"])[whole]
            splits = np.flatnonzero(np.isfinite(valid).all(axis=(0, 2)))
            if not splits.size:
                continue
            truth = with_final(np.nanmean(test[whole], axis=1))
            features = {"learner": file[f"{name}__arms"][whole]}
            for split in rng.choice(splits, min(_SPLITS, splits.size), replace=False):
                seen = valid[:, split]
                yield CurveTask(f"{name} split {split}", "lcdb", with_final(seen), truth, noise_of(seen), features)
            used += 1
            if used == _DATA_SETS:
                return


def _sklearn(path: Path) -> list[CurveTask]:
    """Each seed of a file is a task."""
    arrays = read_arrays(path)
    name, features = path.stem.removeprefix("sklearn_"), {"model": arrays["arms"]}
    return [
        seen_is_true(f"{name} seed {seed}", "scikit-learn", arms, noise_of(arms), features)
        for seed, arms in enumerate(arrays["curves"].astype(np.float64))
    ]


def _accuracies(stored: npt.NDArray[Any]) -> Floats:
    return np.where(stored == _MISSING, np.nan, stored / 10_000.0)
