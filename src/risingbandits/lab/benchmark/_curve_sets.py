"""Sets of real learning curves: which tasks their files hold.

Networks by epoch (three sets), Atari agents, LCDB, scikit-learn models; TaskSet, three workloads of AlgoPerf, TD-MPC2,
and DMC by proprioception and vision. The first six share one generator for their draws and the others another, each in
this order: epoch files by name, Atari, LCDB (scikit-learn needs none); TaskSet, AlgoPerf (workloads, then studies, by
name), TD-MPC2, DMC.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from risingbandits._core.types import Floats, Ints
from risingbandits.lab.benchmark.curve_tasks import (
    CurveTask,
    Features,
    final_of,
    of_arms,
    read_arrays,
    seen_is_true,
    with_final,
)

TASKSET = "taskset"
_GROUP, _GROUPS, _TASKSET_GROUPS = 50, 10, 6
_LEAST_SIZES = _LEAST_LEARNERS = 12
_DATA_SETS, _SPLITS = 60, 2
_MISSING = 65_535
_MANY = (200, 1_000)  # arms of the large tasks of TaskSet
_LEAST_EVALUATIONS = 5
_LEAST_RUNS = 10  # a group of fewer arms is left out
_HEADROOM = 1.5  # rewards reach 2/3: the highest possible score is unknown

_Arrays = dict[str, npt.NDArray[Any]]


def curve_sets(folder: Path) -> tuple[dict[str, list[CurveTask]], list[CurveTask]]:
    """The tasks of those sets whose files are there, and TaskSet's large tasks, of 200 and 1,000 arms."""
    rng = np.random.default_rng(0)
    found = {path.stem.removeprefix("epochs_"): _epochs(path, rng) for path in sorted(folder.glob("epochs_*.npz"))}
    if (folder / "atari.npz").is_file():
        found["atari"] = _atari(folder / "atari.npz", rng)
    if (folder / "samples_lcdb.npz").is_file():
        found["lcdb"] = list(_lcdb(folder / "samples_lcdb.npz", rng))
    small = [task for path in sorted(folder.glob("sklearn_*.npz")) for task in _sklearn(path)]
    if small:
        found["scikit-learn"] = small
    rng = np.random.default_rng(1)
    many: list[CurveTask] = []
    readers: dict[str, Callable[[_Arrays], None]] = {
        "taskset": lambda arrays: _taskset(arrays, rng, found, many),
        "algoperf": lambda arrays: _algoperf(arrays, rng, found),
        "tdmpc2": lambda arrays: _tdmpc2(arrays, rng, found),
        "dreamer": lambda arrays: _dreamer(arrays, rng, found),
    }
    for name, reader in readers.items():
        path = folder / f"{name}.npz"
        if path.is_file():
            reader(read_arrays(path))
    return found, many


def _epochs(path: Path, rng: np.random.Generator) -> list[CurveTask]:
    """A random permutation of the models, in groups of fifty."""
    arrays = read_arrays(path)
    curves, features = arrays["curves"].astype(np.float64), _config_features(arrays["arms"])
    if "ptb" in path.stem:  # perplexities
        curves = np.clip(1.0 - np.log(curves) / math.log(1_000), 0.0, 1.0)
    order = rng.permutation(len(curves))
    tasks = []
    for group in range(min(_GROUPS, len(curves) // _GROUP)):
        part = order[_GROUP * group : _GROUP * (group + 1)]
        name, benchmark = f"group {group + 1}", path.stem.removeprefix("epochs_")
        tasks.append(seen_is_true(name, benchmark, curves[part], of_arms(features, part)))
    return tasks


def _config_features(arms: npt.NDArray[Any]) -> Features:
    """From a JSON text for each arm; hyperparameters that every arm has."""
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
        for run in (0, 1):
            order = rng.permutation(len(scores))
            features = {"agent": arrays[f"{game}__arms"][order]}
            tasks.append(seen_is_true(f"{game} run {run}", "atari", scores[order, run], features))
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
                yield CurveTask(f"{name} split {split}", "lcdb", with_final(seen), truth, features)
            used += 1
            if used == _DATA_SETS:
                return


def _sklearn(path: Path) -> list[CurveTask]:
    """Each seed of a file is a task."""
    arrays = read_arrays(path)
    name, features = path.stem.removeprefix("sklearn_"), {"model": arrays["arms"]}
    return [
        seen_is_true(f"{name} seed {seed}", "scikit-learn", arms, features)
        for seed, arms in enumerate(arrays["curves"].astype(np.float64))
    ]


def _accuracies(stored: npt.NDArray[Any]) -> Floats:
    return np.where(stored == _MISSING, np.nan, stored / 10_000.0)


def _taskset(
    arrays: _Arrays, rng: np.random.Generator, found: dict[str, list[CurveTask]], many: list[CurveTask]
) -> None:
    """Losses as rewards: 0 if a run diverged or for a loss of 2 ln 2, and 1 for no loss."""
    names = [str(name) for name in arrays["hyper_names"]]
    for task, losses, configs in zip(arrays["task"], arrays["valid_loss"], arrays["hyper"], strict=True):
        losses = losses.astype(np.float64)
        rewards = np.where(np.isfinite(losses), np.clip(1 - losses / (2 * math.log(2)), 0, 1), 0.0)
        features = {name: configs[:, column].astype(np.float64) for column, name in enumerate(names)}
        order = rng.permutation(len(rewards))
        for group in range(_TASKSET_GROUPS):
            part = order[_GROUP * group : _GROUP * (group + 1)]
            made = seen_is_true(f"{task} group {group + 1}", TASKSET, rewards[part], of_arms(features, part))
            found.setdefault(TASKSET, []).append(made)
        for size in _MANY:
            part = order[:size]
            name = f"{task}, {size:,} arms"
            many.append(seen_is_true(name, TASKSET, rewards[part], of_arms(features, part)))


def _algoperf(arrays: _Arrays, rng: np.random.Generator, found: dict[str, list[CurveTask]]) -> None:
    """Runs of one study of a workload, without their first evaluation; a run that has ended keeps its final value."""
    offset, value, seconds = arrays["offset"], arrays["value"].astype(np.float64), arrays["seconds"].astype(np.float64)
    chosen = (arrays["version"] == "v05") & (arrays["ruleset"] == "external_tuning")
    long_enough = np.diff(offset) - 1 >= _LEAST_EVALUATIONS
    for workload in np.unique(arrays["workload"][chosen]).tolist():
        benchmark = f"algoperf-{workload.partition('_')[0]}"
        sign = -1.0 if benchmark == "algoperf-librispeech" else 1.0  # an error rate
        of_workload = chosen & (arrays["workload"] == workload)
        for study in np.unique(arrays["study"][of_workload]).tolist():
            runs = np.flatnonzero(of_workload & (arrays["study"] == study) & long_enough)
            if len(runs) < _LEAST_RUNS:
                continue
            values = _scaled_task([sign * value[offset[run] + 1 : offset[run + 1]] for run in runs])
            times = [np.diff(seconds[offset[run] : offset[run + 1]]) for run in runs]
            features = {name: arrays[name][runs] for name in ("submission", "trial")}
            order = rng.permutation(len(runs))
            for first in range(0, len(runs), _GROUP):
                part = order[first : first + _GROUP]
                if len(part) < _LEAST_RUNS:
                    continue
                members = [values[arm] for arm in part]
                held = _padded(members, [float(final_of(run)) for run in members])
                cost = _padded([times[arm] for arm in part], [math.nan] * len(part))[:, :-1]
                name = f"{workload} study {study} group {first // _GROUP + 1}"
                task = CurveTask(name, benchmark, held, held, of_arms(features, part), cost)
                found.setdefault(benchmark, []).append(task)


def _scaled_task(runs: Sequence[Floats]) -> list[Floats]:
    """From the 2 % quantile of all values to one and a half times the way to the best; a missing one is worth 0."""
    every = np.concatenate(runs)
    every = every[np.isfinite(every)]
    low, high = float(np.quantile(every, 0.02)), float(every.max())
    return [np.where(np.isfinite(v), np.clip((v - low) / (_HEADROOM * (high - low)), 0, 1), 0.0) for v in runs]


def _padded(runs: Sequence[Floats], fills: Sequence[float]) -> Floats:
    """Runs as rows of one array, one column more than the longest has, and what each goes on with."""
    values = np.empty((len(runs), max(map(len, runs)) + 1))
    for row, run, fill in zip(values, runs, fills, strict=True):
        row[: len(run)], row[len(run) :] = run, fill
    return values


def _tdmpc2(arrays: _Arrays, rng: np.random.Generator, found: dict[str, list[CurveTask]]) -> None:
    found["tdmpc2"] = []
    for task, runs in _runs_by_task(arrays, arrays["method"] != "tdmpc2-pixels"):
        values = _resampled(arrays, runs, 30)
        values = (values - values.min()) / (_HEADROOM * (values.max() - values.min()))
        found["tdmpc2"].append(_control_task(task, "tdmpc2", values, runs, arrays, rng))


def _dreamer(arrays: _Arrays, rng: np.random.Generator, found: dict[str, list[CurveTask]]) -> None:
    for kind in ("proprio", "vision"):
        benchmark = f"dmc-{kind}"
        found[benchmark] = []
        for task, runs in _runs_by_task(arrays, np.char.startswith(arrays["task"], f"dmc_{kind}")):
            values = np.clip(_resampled(arrays, runs, 50) / 1_000.0, 0, 1)
            found[benchmark].append(_control_task(task, benchmark, values, runs, arrays, rng))


def _control_task(
    name: str, benchmark: str, values: Floats, runs: Ints, arrays: _Arrays, rng: np.random.Generator
) -> CurveTask:
    """At most fifty runs of a control task in a random order."""
    part = rng.permutation(len(values))[:_GROUP]
    features = {key: arrays[key][runs][part] for key in ("method", "seed")}
    return seen_is_true(name, benchmark, values[part], features)


def _runs_by_task(arrays: _Arrays, chosen: npt.NDArray[np.bool_]) -> list[tuple[str, Ints]]:
    tasks = np.unique(arrays["task"][chosen]).tolist()
    return [(task, np.flatnonzero(chosen & (arrays["task"] == task))) for task in tasks]


def _resampled(arrays: _Arrays, runs: Ints, number: int) -> Floats:
    """Values at equal steps up to the end of the shortest run, interpolated linearly."""
    offset, step, value = arrays["offset"], arrays["step"], arrays["value"]
    end = min(step[offset[run + 1] - 1] for run in runs)
    grid = np.linspace(0, end, number + 1)[1:]
    own = [slice(offset[run], offset[run + 1]) for run in runs]
    return np.array([np.interp(grid, step[part], value[part].astype(np.float64)) for part in own])
