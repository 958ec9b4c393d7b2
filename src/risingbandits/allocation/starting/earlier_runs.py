"""Earlier runs from wherever they are kept, and what each of them says about its arms.

Runs train good arms longer than bad ones, so last values are not comparable: two arms are compared at the resource of
the younger one. How many comparisons an arm wins gives ranks, and ranks give normal scores, which mean the same in
every run.
"""

from __future__ import annotations

import glob
import hashlib
import json
import math
import numbers
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_choice, check_finite, hide_password, shown
from risingbandits._core.types import Floats
from risingbandits.allocation.events import Event
from risingbandits.allocation.stores.base import Store, is_server, open_store
from risingbandits.policies._config_points import Config, Value, plain_config
from risingbandits.policies._config_process import normal_scores, scores_at_equal_resource
from risingbandits.policies.base import DIRECTIONS

LEAST_ARMS = 3  # of a run that says anything
_LEVEL = 0.05  # the share of a curve whose mean is compared
_NUMBERED = re.compile(r"trial[ _-]?\d+", re.IGNORECASE)  # a name that means another arm in every study
_BESIDE = ("-wal", "-shm", "-journal", "-mark", "-lock", ".tmp")  # files beside a store
_ALLOWED = "a store, a folder, a file, an Optuna study, {run: {arm: values}}, {arm: score} or a list of these"


class Summary(NamedTuple):
    """What an earlier run says about its arms."""

    name: str
    direction: str  #: whether high or low values were good
    identity: str | None  #: that of its store, which copies share
    pulls: int
    longest: int  #: pulls of the arm that had most
    scores: dict[str, list[float]]  #: of each arm its normal score, and how far it was compared with how many
    configs: dict[str, dict[str, Value]]
    named: bool  #: whether an arm of the same name is the same arm in another run
    guessed: bool = False  #: whether they are no run but scores of the user

    def means_the_same(self, arm: str) -> bool:
        """Whether an arm of this name in another run would be the same arm; "trial 3" never is."""
        return self.named and not _NUMBERED.fullmatch(arm.strip())


@dataclass(frozen=True)
class EarlierTask:
    """The curves of an earlier run.

    Parameters
    ----------
    name : str
        What messages and tables call it.
    curves : mapping of arms to rewards
        In the order of the pulls. Values may be NaN or infinite if training diverged.
    configs : mapping of arms to their hyperparameters
        Numbers, strings or None by name, for arms that have any.
    direction : {"maximize", "minimize"}
        Whether high or low values are good.
    failed : set of arms
        Those that were given up because they failed; they are worse than all others.
    named : bool
        Whether an arm of the same name is the same arm in another run. "trial 3" never is.
    identity : str or None
        Identity of the store that it is from, so that a run that is read twice counts once.

    Examples
    --------
    >>> EarlierTask("may", {"adam": [0.3, 0.6], "sgd": [0.2, 0.5], "new": []}).summary().scores
    {'adam': [0.67..., 0.54...], 'sgd': [-0.67..., 0.54...]}
    """

    name: str
    curves: Mapping[str, Iterable[float]]
    configs: Mapping[str, Config] = field(default_factory=dict)
    direction: str = "maximize"
    failed: frozenset[str] = frozenset()
    named: bool = True
    identity: str | None = None

    def __post_init__(self) -> None:
        check_choice("direction", self.direction, DIRECTIONS)
        curves = {arm: _rewards(f"{self.name}, {arm}", curve) for arm, curve in self.curves.items()}
        configs = {arm: plain_config(given, f"{self.name}, config of {arm}") for arm, given in self.configs.items()}
        object.__setattr__(self, "curves", curves)
        object.__setattr__(self, "configs", configs)

    def summary(self) -> Summary:
        """What the run says about the arms that were pulled, or failed."""
        known: dict[str, Floats] = self.curves  # type: ignore[assignment]  # made so above
        arms = [arm for arm, curve in known.items() if len(curve) or arm in self.failed]
        sign = 1.0 if self.direction == "maximize" else -1.0
        gains = [np.array([math.nan]) if arm in self.failed else sign * known[arm] for arm in arms]
        pulls = [len(known[arm]) for arm in arms]
        longest = max(pulls, default=0)
        scores = scores_at_equal_resource(gains, _LEVEL).tolist() if arms else []
        reached = [longest if arm in self.failed else n for arm, n in zip(arms, pulls, strict=True)]
        return Summary(
            self.name,
            self.direction,
            self.identity,
            sum(pulls),
            longest,
            dict(zip(arms, map(list, zip(scores, _compared(reached), strict=True)), strict=True)),
            {arm: dict(self.configs[arm]) for arm in arms if self.configs.get(arm)},
            self.named,
        )


def _compared(resources: Sequence[int]) -> list[float]:
    """For each arm the sum of log(1 + resource) over its comparisons, divided by the number of arms.

    So it grows with the resource at which arms were compared, and with the number of arms.
    """
    logs = np.log1p(np.array(resources, float))
    ordered = np.sort(logs)
    below = np.searchsorted(ordered, logs, "right")
    sums = np.concatenate([[0.0], np.cumsum(ordered)])[below] + (len(logs) - below) * logs - logs
    found: list[float] = (sums / max(1, len(logs))).tolist()
    return found


def _rewards(where: str, curve: Any) -> Floats:
    try:
        rewards = np.array(curve if isinstance(curve, np.ndarray) else list(curve), dtype=float)
        if rewards.ndim == 1:
            return rewards
    except (TypeError, ValueError):
        pass
    raise RisingBanditsError(f"{where} must be a list of numbers, got {shown(curve)}.")


# -- sources ----------------------------------------------------------------------------------------------------------


class LogSource(NamedTuple):
    """Logs or anything else at a path, and the metric to read if they have several."""

    path: str
    metric: str


class Reading(NamedTuple):
    """How files are read."""

    direction: str | None = None  #: whether high or low is good, if the user said so of these sources
    otherwise: str = "maximize"  #: the direction where neither the user nor the source says
    metric: str | None = None  #: to read, if logs have several


def read_sources(sources: Any, how: Reading = Reading(), absent: str | None = None) -> list[Summary]:  # noqa: B008
    """Earlier runs, then scores of the user, from one source or a list of them.

    Stores and remembered runs know whether high or low is good. Of logs and tables it is what they say themselves,
    unless the user said it. A folder at ``absent`` need not exist: it is where the first run is going to be remembered.

    >>> read_sources([{"a": 3, "b": 1.5}, {"may": {"a": [0.1, 0.2], "b": [0.3]}}])[0].pulls
    3
    """
    alone = isinstance(sources, str | bytes | LogSource) or not isinstance(sources, Sequence)
    runs = [run for source in ([sources] if alone else sources) for run in _runs(source, how, absent)]
    furthest: dict[str | None, Summary] = {}  # a run may be read twice: its store, a copy of it, what is remembered
    for run in runs:
        if run.identity not in furthest or run.pulls > furthest[run.identity].pulls:
            furthest[run.identity] = run
    runs = [run for run in runs if run.identity is None or run is furthest[run.identity]]
    return sorted(runs, key=lambda run: run.guessed)


def _runs(source: Any, how: Reading, absent: str | None) -> list[Summary]:
    if isinstance(source, LogSource):
        source, how = source.path, how._replace(metric=source.metric)
    if isinstance(source, EarlierTask):
        return [source.summary()]
    if isinstance(source, Store):
        return [store_task(source).summary()]
    if _is_study(source):
        return [study_task(source).summary()]
    if isinstance(source, Mapping) and source and all(_is_number(value) for value in source.values()):
        return [_guess(source, how.direction or how.otherwise)]
    if isinstance(source, Mapping) and source and all(_is_study(study) for study in source.values()):
        return [study_task(study, str(name)).summary() for name, study in source.items()]
    if isinstance(source, Mapping) and source and all(isinstance(curves, Mapping) for curves in source.values()):
        way = how.direction or how.otherwise
        return [EarlierTask(str(name), curves, direction=way).summary() for name, curves in source.items()]
    if isinstance(source, str | os.PathLike) and is_server(source):
        return [store_task(str(source)).summary()]
    if isinstance(source, str | os.PathLike) and str(source).strip():
        return _runs_at(Path(source).expanduser(), how, absent)
    if hasattr(source, "values") and hasattr(source, "direction"):  # what `load_curves` has read
        given = (source.metric, source.values, source.settings, source.direction)
        return [EarlierTask(*given).summary()]
    raise RisingBanditsError(f"prior must be {_ALLOWED}, got {shown(source)}.")


def _guess(scores: Mapping[Any, Any], direction: str) -> Summary:
    """How good the user says that arms are; it counts as a run that compared them all to the end."""
    arms = [str(arm) for arm in scores]
    values = np.array([check_finite(f"score of {arm}", score) for arm, score in scores.items()])
    found = normal_scores(values if direction == "maximize" else -values).tolist()
    known = {arm: [score, math.inf] for arm, score in zip(arms, found, strict=True)}
    return Summary("scores", direction, None, 0, 0, known, {}, named=True, guessed=True)


def _runs_at(path: Path, how: Reading, absent: str | None) -> list[Summary]:
    from risingbandits.allocation.starting._memory import ENDING, read_entry, runs_in

    if path.is_dir():
        return runs_in(path, how)
    if path.is_file():
        if path.name.endswith(ENDING):
            return [read_entry(path).summary()]
        from risingbandits.logs.reading import is_store

        found = [store_task(path)] if is_store(path) else logged_tasks(path, how)
        return [task.summary() for task in found]
    if glob.has_magic(str(path)):
        matching = [Path(name) for name in sorted(glob.glob(str(path), recursive=True)) if not name.endswith(_BESIDE)]
        if matching:
            return [run for name in matching for run in _runs_at(name, how, absent)]
        raise RisingBanditsError(f"prior must name files that exist, nothing matches {shown(str(path))}.")
    if absent is not None and os.path.abspath(path) == absent:
        return []
    raise RisingBanditsError(f"{path} does not exist.")


def logged_tasks(path: Path, how: Reading) -> list[EarlierTask]:
    """The runs in logs and tables, by their task if the log tells several apart."""
    from risingbandits.logs.curves import curves_of
    from risingbandits.logs.reading import read_runs
    from risingbandits.logs.runs import RecordedRun, Recording

    recording = read_runs(path)
    by_task: dict[str, list[RecordedRun]] = {}
    for run in recording.runs:
        by_task.setdefault(run.task, []).append(replace(run, name=run.name.removeprefix(f"{run.task}, ")))
    found = []
    for task, runs in by_task.items():
        curves = curves_of(Recording(runs), how.metric, how.direction, otherwise=how.otherwise)
        own = {run.name: run.metrics[curves.metric] for run in runs if curves.metric in run.metrics}
        diverged = frozenset(arm for arm, series in own.items() if not math.isfinite(series.values[-1]))
        values = {arm: curves.values.get(arm, np.zeros(0)) for arm in own}
        configs = {run.name: run.settings for run in runs if run.name in own and run.settings}
        found.append(EarlierTask(task or path.stem, values, configs, curves.direction, diverged))
    return found


def study_task(study: Any, name: str | None = None) -> EarlierTask:
    """The completed and pruned trials of an Optuna study; they are identified by their parameters, never by number.

    Curves are the intermediate values or, if a trial has none, the final values of all.
    """
    name = str(name if name is not None else getattr(study, "study_name", "study"))
    if len(study.directions) != 1:
        raise RisingBanditsError(f"study {name} must have one objective, got {len(study.directions)}.")
    trials = [trial for trial in study.get_trials(deepcopy=False) if trial.state.name in ("COMPLETE", "PRUNED")]
    curves = [[value for _, value in sorted(trial.intermediate_values.items())] for trial in trials]
    if not all(curves):
        ends = [
            curve[-1:] if trial.value is None else [trial.value] for trial, curve in zip(trials, curves, strict=True)
        ]
        curves = ends
    names = [f"trial {trial.number}" for trial in trials]
    configs = {arm: trial.params for arm, trial in zip(names, trials, strict=True)}
    way = study.directions[0].name.lower()
    return EarlierTask(name, dict(zip(names, curves, strict=True)), configs, way, named=False)


def _is_study(value: Any) -> bool:
    """Whether a value is an Optuna study, without loading Optuna."""
    return hasattr(value, "get_trials") and hasattr(value, "directions")


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool | np.bool_) and isinstance(value, numbers.Real)


# -- stores -----------------------------------------------------------------------------------------------------------


def store_task(where: str | Path | Store, settings: str | None = None) -> EarlierTask:
    """What a store says: the rewards of its arms, their configs, and which arms were given up.

    It is only read, and no policy is played again: the curves are in the events. ``settings`` are those of a run whose
    store has none, as JSON.

    Examples
    --------
    >>> from risingbandits.allocation import Allocator
    >>> allocator = Allocator(["a", "b"], budget=3, policy="round-robin", direction="minimize")
    >>> for pull in allocator:
    ...     _ = allocator.tell(pull, 0.5 / pull.n)
    >>> task = store_task(allocator.store, allocator.settings.to_json())
    >>> {arm: curve.tolist() for arm, curve in task.curves.items()}, task.direction
    ({'a': [0.5, 0.25], 'b': [0.5]}, 'minimize')
    """
    store = open_store(where, readonly=True)
    try:
        text = store.settings() or settings
        if text is None:
            raise RisingBanditsError(f"{store.name} does not exist.")
        return _task_of(store, _short_name(where, store), text)
    finally:
        if store is not where:
            store.close()


def _task_of(store: Store, name: str, text: str) -> EarlierTask:
    try:
        settings = json.loads(text)
        curves: dict[str, list[float]] = {arm: [] for arm in settings["arms"]}
        for arm, rewards in settings["warm_start"].items():
            curves[arm].extend(rewards)
        direction, configs = settings["direction"], dict(settings["configs"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RisingBanditsError(f"the settings in {store.name} are damaged ({type(error).__name__}).") from error
    failures: dict[str, int] = {}
    failed: set[str] = set()
    identity = None
    for event in store.events():
        identity = identity or identity_of(text, event)
        if event.kind == "tell" and event.reward is not None:
            curves.setdefault(event.arm, []).append(event.reward)
            failures[event.arm] = 0
            failed.discard(event.arm)  # it was given up, and tried again
        elif event.kind == "fail":
            failures[event.arm] = failures.get(event.arm, 0) + 1
        elif event.kind == "retire" and failures.get(event.arm):  # else it was retired by request
            failed.add(event.arm)
        elif event.kind == "config":
            configs[event.arm] = json.loads(event.text)
        elif event.kind == "extend":
            changes = json.loads(event.text)
            configs |= changes.get("configs", {})
            curves |= {arm: list(rewards) for arm, rewards in changes.get("warm_start", {}).items()}
    return EarlierTask(name, curves, configs, direction, frozenset(failed), identity=identity)


def identity_of(settings: str, first: Event) -> str:
    """The identity that a run shares with its copies only, from its settings as JSON and its first event."""
    # The event has the time and the process, which no two runs share. A copy of a store may since have grown.
    said = json.dumps([json.loads(settings), list(first)], sort_keys=True, default=str)
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _short_name(where: str | Path | Store, store: Store) -> str:
    if isinstance(where, Store):
        return store.name
    return hide_password(where) if isinstance(where, str) and "://" in where else Path(where).stem
