"""Anything that a user has from earlier, as earlier tasks."""

from __future__ import annotations

import glob
import numbers
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_finite, shown
from risingbandits.allocation.prior.memory import shelf_at, tasks_in
from risingbandits.allocation.prior.shelves import ENDING, Shelf, read_entry
from risingbandits.allocation.prior.store_tasks import store_exists, store_identity, store_task
from risingbandits.allocation.prior.tasks import EarlierTask
from risingbandits.allocation.stores.base import Store, is_server

if TYPE_CHECKING:
    from risingbandits.logs.curves import Curves

_ALLOWED = "a store, a file, a folder, an Optuna study, {task: {arm: values}}, {arm: score} or a list of these"


class LogSource(NamedTuple):
    """Logs or anything else at a path, and the metric to read if they have several."""

    path: str
    metric: str


class Sources(NamedTuple):
    """What was read."""

    tasks: list[EarlierTask]
    scores: list[dict[str, float]]  #: of the user: how good arms are, high is good


def read_sources(
    sources: Any,
    direction: str | None = "maximize",
    present: str | Path | Store | None = None,
    metric: str | None = None,
    what: str = "prior",
    told: bool = False,
) -> Sources:
    """Earlier tasks and scores from one source or a list of them.

    Parameters
    ----------
    sources : path, pattern, "postgresql://...", Store, EarlierTask, Optuna study, mapping, or a list of these
        A path is a store, a CSV file (see `csv_tasks`), a folder of the project memory or an entry of it, or the logs
        of other programs (see `logs.read_runs`); a pattern such as "runs/*.db" all that match. A mapping has curves
        by task and arm, studies by task, or a score by arm.
    direction : {"maximize", "minimize"} or None
        For CSV files, mappings of curves and scores; stores, studies and memories know their own. None: low is good in
        CSV files whose curves fall, and high elsewhere.
    present : path, address, Store or None
        The store of the run that is going to learn. It and copies of it are refused, and skipped if a pattern or a
        folder contains them among others.
    metric : str or None
        Metric to read, if logs have several.
    what : str
        What errors call the sources.
    told : bool
        Whether somebody has said the direction of these sources. Otherwise "maximize" is that of a run, and logs say
        themselves whether high or low is good.

    Examples
    --------
    >>> read_sources({"may": {"a": [0.1, 0.2], "b": [0.3]}}).tasks[0].arms
    ['a', 'b']
    >>> read_sources([{"a": 3, "b": 1.5}]).scores
    [{'a': 3.0, 'b': 1.5}]
    """
    scores: list[dict[str, float]] = []
    found: list[EarlierTask] = []
    own = None if present is None or not _exists(present) else store_identity(present)
    ways = _Ways(direction, None if direction == "maximize" and not told else direction)
    for source in listed(sources):
        if isinstance(source, Mapping) and source and all(_is_number(value) for value in source.values()):
            sign = -1.0 if direction == "minimize" else 1.0
            scores.append({str(arm): sign * check_finite(f"score of {arm}", value) for arm, value in source.items()})
            continue
        several, tasks = _tasks(source, ways, metric, what)
        for task in tasks:
            if own is None or task.identity != own:
                found.append(task)
            elif not several:
                raise RisingBanditsError(f"{what} must not be the store of this run or a copy of it, got {task.name}.")
    return Sources(_each_once(found), scores)


def _each_once(tasks: Sequence[EarlierTask]) -> list[EarlierTask]:
    """A run that appears twice, as in its store and in a memory, or in a copy, at its furthest point."""
    furthest: dict[str | None, EarlierTask] = {}
    for task in tasks:
        if task.identity not in furthest or task.pulls > furthest[task.identity].pulls:
            furthest[task.identity] = task
    return [task for task in tasks if task.identity is None or task is furthest[task.identity]]


def study_task(study: Any, name: str | None = None) -> EarlierTask:
    """The completed and pruned trials of an Optuna study; they are identified by their parameters, never by number.

    Curves are the intermediate values or, if a trial has none, the final values of all.
    """
    name = str(name if name is not None else getattr(study, "study_name", "study"))
    if len(study.directions) != 1:
        raise RisingBanditsError(f"study {name} must have one objective, got {len(study.directions)}.")
    trials = [trial for trial in study.get_trials(deepcopy=False) if trial.state.name in ("COMPLETE", "PRUNED")]
    curves = {
        f"trial {trial.number}": [value for _, value in sorted(trial.intermediate_values.items())] for trial in trials
    }
    if not all(curves.values()):
        final = {f"trial {trial.number}": trial.value for trial in trials}
        last = {arm: curve[-1] if curve else None for arm, curve in curves.items()}
        ends = {arm: last[arm] if value is None else value for arm, value in final.items()}
        curves = {arm: [] if value is None else [value] for arm, value in ends.items()}
    settings = {f"trial {trial.number}": trial.params for trial in trials}
    return EarlierTask(name, curves, settings, study.directions[0].name.lower(), named=False)


def listed(sources: Any) -> Iterable[Any]:
    """One source or several, as several."""
    if isinstance(sources, Sequence) and not isinstance(sources, str | bytes):
        return sources
    return [sources]


class _Ways(NamedTuple):
    """Whether high or low is good; None where the source itself decides."""

    given: str | None  #: of CSV files and mappings
    logs: str | None


def _tasks(source: Any, ways: _Ways, metric: str | None, what: str) -> tuple[bool, list[EarlierTask]]:
    """Whether the source may hold several runs, and its tasks."""
    from risingbandits.logs.curves import Curves  # here and below: with all readers of logs, which few runs need

    if isinstance(source, LogSource):
        source, metric = source
    if isinstance(source, Shelf):
        return True, list(source.entries())
    if isinstance(source, Curves):
        return False, [recorded_task(source.metric, source)]
    if isinstance(source, EarlierTask):
        return False, [source]
    if isinstance(source, Store):
        return False, [store_task(source)]
    if is_study(source):
        return False, [study_task(source)]
    if isinstance(source, Mapping) and source and all(is_study(study) for study in source.values()):
        return False, [study_task(study, name) for name, study in source.items()]
    if isinstance(source, Mapping) and source and all(isinstance(curves, Mapping) for curves in source.values()):
        return False, [
            EarlierTask(str(name), curves, direction=ways.given or "maximize") for name, curves in source.items()
        ]
    if is_server(source):
        remembered = not store_exists(source) and shelf_at(source).exists()
        return (True, tasks_in(source)) if remembered else (False, [store_task(source)])
    if isinstance(source, str | os.PathLike) and str(source).strip():
        return _tasks_of_path(Path(source).expanduser(), ways, metric, what)
    raise RisingBanditsError(f"{what} must be {_ALLOWED}, got {shown(source)}.")


def _tasks_of_path(path: Path, ways: _Ways, metric: str | None, what: str) -> tuple[bool, list[EarlierTask]]:
    if not path.exists() and glob.has_magic(str(path)):
        matching = [Path(name) for name in sorted(glob.glob(str(path), recursive=True)) if _is_source(name)]
        if not matching:
            raise RisingBanditsError(f"{what} must name files that exist, nothing matches {shown(str(path))}.")
        return True, [task for name in matching for task in _tasks_of_path(name, ways, metric, what)[1]]
    if path.is_dir():
        remembered = any(path.glob(f"*{ENDING}")) or not any(path.iterdir())
        return True, tasks_in(path) if remembered else [_recorded(path, ways.logs, metric)]
    if path.name.endswith(ENDING):
        return False, [read_entry(path)]
    if not path.exists():
        raise RisingBanditsError(f"{path} does not exist.")
    from risingbandits.allocation.prior.csv_tasks import csv_tasks
    from risingbandits.logs.reading import is_log, is_store

    if path.suffix.lower() == ".csv" and not is_log(path):
        return False, csv_tasks(path, ways.given)
    return False, [store_task(path) if is_store(path) else _recorded(path, ways.logs, metric)]


def _recorded(path: Path, direction: str | None, metric: str | None) -> EarlierTask:
    """The runs in logs as one task. The logs say whether high or low is good, unless a direction is given."""
    from risingbandits.logs import curves_of, read_runs

    return recorded_task(path.stem, curves_of(read_runs(path), metric, direction))


def recorded_task(name: str, curves: Curves) -> EarlierTask:
    """Curves from logs as an earlier task."""
    suggests = (curves.direction, f"{curves.metric}, {curves.reason}")
    return EarlierTask(name, dict(curves.values), curves.settings, curves.direction, suggests=suggests)


def _is_source(name: str) -> bool:
    """What lies beside a store is none: its log, its mark, the folders of a run."""
    return os.path.isfile(name) and not name.endswith(("-wal", "-shm", "-journal", "-mark", "-lock", ".tmp"))


def is_study(value: Any) -> bool:
    """Whether a value is an Optuna study, without loading Optuna."""
    return hasattr(value, "get_trials") and hasattr(value, "directions")


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool | np.bool_) and isinstance(value, numbers.Real)


def _exists(present: str | Path | Store) -> bool:
    if isinstance(present, Store) or is_server(present):
        return True
    return Path(present).exists()
