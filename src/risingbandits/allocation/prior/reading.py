"""From earlier runs to beliefs about the arms of this one."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.stats import rank_correlation
from risingbandits._core.types import Floats, Ints
from risingbandits.allocation.prior.gaussian_process import GaussianProcess, most_probable
from risingbandits.allocation.prior.scores import LEAST_ARMS, normal_scores, scores_of_ranks
from risingbandits.allocation.prior.sources import Sources, read_sources
from risingbandits.allocation.prior.tasks import ArmSettings, EarlierTask, known_settings
from risingbandits.allocation.starting.prior import UNKNOWN, Belief, Prior
from risingbandits.allocation.stores.base import Store
from risingbandits.policies.config_points import Features

_MOST_ROWS = 400  # the cost of a fit grows with their third power
_ROWS_OF_FIT = 200  # for hyper-parameters
log = logging.getLogger("risingbandits")


@dataclass(frozen=True)
class Row:
    """An arm of an earlier task: its settings and its normal score."""

    task: int  #: the number of the task
    settings: ArmSettings
    score: float


class SettingsModel:
    """A Gaussian process on the settings and scores of earlier arms; `fit` makes one if possible.

    Examples
    --------
    >>> rows = [Row(0, {"lr": float(x), "seed": 1.0}, x / 2 - 1) for x in range(5)]
    >>> model = SettingsModel.fit(rows)
    >>> beliefs = model.beliefs([{"lr": 3.9}, {"lr": 0.1}, {}])
    >>> [round(belief.mean, 1) for belief in beliefs], beliefs[2].source, list(model.matter())
    ([0.7, -0.7, 0.0], 'unknown', ['lr'])
    """

    def __init__(self, rows: Sequence[Row], features: Features, hyper: Floats) -> None:
        self._features = features
        self._hyper = hyper
        self._groups: Ints = features.groups()
        self._points = features.points([row.settings for row in rows])
        self._scores = np.array([row.score for row in rows])
        self._tasks = np.array([row.task for row in rows])
        self._process = GaussianProcess(self._points, self._scores, self._groups, hyper)

    @classmethod
    def fit(cls, rows: Sequence[Row], seed: int = 0) -> SettingsModel | None:
        """The model of at most 400 of the rows, drawn at random; None if settings do not differ."""
        drawn = np.random.default_rng([seed, 2]).permutation(len(rows))[:_MOST_ROWS]
        kept = [rows[i] for i in drawn]
        if len(kept) < LEAST_ARMS:
            return None
        features = Features([row.settings for row in kept])
        if not features.names:
            return None
        fitted = kept[:_ROWS_OF_FIT]
        points = features.points([row.settings for row in fitted])
        scores = np.array([row.score for row in fitted])
        return cls(kept, features, most_probable(points, scores, features.groups()))

    def beliefs(self, arms: Sequence[ArmSettings], without: int | None = None) -> list[Belief]:
        """Beliefs about arms with these settings; ``without`` is an earlier task that must not count."""
        process = self._process
        if without is not None:
            others = self._tasks != without
            if others.sum() < LEAST_ARMS:
                return [UNKNOWN] * len(arms)
            process = GaussianProcess(self._points[others], self._scores[others], self._groups, self._hyper)
        if not arms:
            return []
        means, deviations = process.predict(self._features.points(arms))
        return [
            Belief(float(mean), float(deviation), "settings") if self._knows(arm) else UNKNOWN
            for arm, mean, deviation in zip(arms, means, deviations, strict=True)
        ]

    def matter(self) -> dict[str, float]:
        """How quickly scores change with each setting: the inverse of its length scale, the largest first."""
        found = dict(zip(self._features.names, np.exp(self._hyper[:-2] / 2.0).tolist(), strict=True))
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def _knows(self, arm: ArmSettings) -> bool:
        return any(name in arm for name in self._features.names)


class TaskFinding(NamedTuple):
    """What was found about one earlier task."""

    name: str
    arms: int
    pulls: int
    agreement: float | None  #: rank correlation of its scores with what the others say; None if they say too little


@dataclass(frozen=True)
class Findings:
    """Everything that earlier runs say."""

    prior: Prior
    tasks: list[TaskFinding]
    left_out: list[str]  #: tasks with fewer than 3 arms, which say nothing
    share: float  #: of the variance of scores that belongs to arms; the rest differs from task to task
    matter: dict[str, float]  #: settings by how quickly scores change with them
    ambiguous: list[str]  #: names that stood for other settings in another task, and therefore say nothing


def read_prior(
    sources: Any,
    arms: Iterable[str],
    settings: Mapping[str, ArmSettings] | None = None,
    *,
    direction: str = "maximize",
    present: str | Path | Store | None = None,
    seed: int = 0,
    quietly: bool = False,
) -> Prior:
    """What earlier runs say about arms; see docs/earlier-runs.md.

    Parameters
    ----------
    sources : path, pattern, "postgresql://...", Store, EarlierTask, Optuna study, mapping, or a list of these
        Stores, CSV files, folders of the project memory, studies, ``{task: {arm: values}}`` or ``{arm: score}``.
    arms : names
        Those of the new run. Arms with a known name are judged by it, others by their settings.
    settings : mapping of names to settings, or None
        Numbers and strings by setting name.
    direction : {"maximize", "minimize"}
        Direction of CSV files and mappings; stores, studies and memories know their own.
    present : path, address, Store or None
        The store of the new run, which it must not learn from.
    seed : int
        Decides which rows are used if settings of more than 400 earlier arms are known.
    quietly : bool
        Whether earlier runs that say nothing about the arms are ignored silently; otherwise there is a warning.

    Examples
    --------
    >>> may = {"adam": [0.2, 0.7], "sgd": [0.3, 0.5], "rmsprop": [0.1, 0.6]}
    >>> june = {"adam": [0.5], "sgd": [0.1], "rmsprop": [0.2]}
    >>> prior = read_prior({"may": may, "june": june}, ["sgd", "adam", "lion"])
    >>> [(arm, round(prior.of(arm).mean, 2), prior.of(arm).source) for arm in ("adam", "sgd", "lion")]
    [('adam', 0.74, '2 tasks'), ('sgd', -0.74, '2 tasks'), ('lion', 0.0, 'unknown')]
    """
    known = {arm: known_settings(f"settings of {arm}", given) for arm, given in (settings or {}).items()}
    read = read_sources(sources, direction, present)
    for task in read.tasks:
        if task.suggests[0] == "minimize" != task.direction:
            log.warning(
                "%s %s, but high values count as good in it, as direction is %s: if they are losses, give "
                "load_curves(file), which knows its own direction, instead of the file.",
                task.name, task.suggests[1], task.direction,
            )  # fmt: skip
    found = look_back(read, list(arms), known, seed, thorough=False)
    if not found.prior.beliefs and not quietly:
        log.warning("the earlier runs say nothing about the arms of this one.")
    return found.prior


def look_back(
    sources: Sources,
    arms: Sequence[str] | None = None,
    settings: Mapping[str, ArmSettings] | None = None,
    seed: int = 0,
    thorough: bool = True,
) -> Findings:
    """Everything that the sources say about ``arms``, by default about all that they name.

    Settings are used if an arm needs it, and with ``thorough`` always.
    """
    used = [task for task in sources.tasks if len(task.arms) >= LEAST_ARMS]
    scores = [dict(zip(task.arms, normal_scores(task.gains()).tolist(), strict=True)) for task in used]
    settings = settings or {}
    ambiguous = _ambiguous(used, settings)
    named = [
        {arm: score for arm, score in found.items() if task.means_the_same(arm) and arm not in ambiguous}
        for task, found in zip(used, scores, strict=True)
    ]
    share = common_share(named)
    by_name = _with_scores(named, sources.scores, share)
    wanted = list(by_name) if arms is None else list(arms)
    unnamed = [arm for arm in wanted if arm not in by_name and settings.get(arm)]
    rows = [
        Row(number, task.settings[arm], score)
        for number, (task, found) in enumerate(zip(used, scores, strict=True))
        for arm, score in found.items()
        if task.settings.get(arm)
    ]
    model = SettingsModel.fit(rows, seed) if unnamed or thorough else None
    beliefs = {arm: by_name[arm] for arm in wanted if arm in by_name}
    if model is not None:
        found = zip(unnamed, model.beliefs([settings[arm] for arm in unnamed]), strict=True)
        beliefs |= {arm: belief for arm, belief in found if belief.source != "unknown"}
    agreements = _agreements(used, scores, named, model)
    measured = [agreement for agreement in agreements if agreement is not None]
    return Findings(
        Prior(beliefs, len(used), fmean(measured) if measured else None),
        [
            TaskFinding(task.name, len(task.arms), task.pulls, agreement)
            for task, agreement in zip(used, agreements, strict=True)
        ],
        [task.name for task in sources.tasks if len(task.arms) < LEAST_ARMS],
        share,
        {} if model is None else model.matter(),
        list(ambiguous),
    )


def _ambiguous(tasks: Sequence[EarlierTask], today: Mapping[str, ArmSettings]) -> dict[str, None]:
    """Names whose settings differ between tasks, or from today's: they stand for different arms."""
    first = dict(today)
    found: dict[str, None] = {}
    for task in tasks:
        for arm in task.arms:
            known = task.settings.get(arm, {})
            before = first.setdefault(arm, known)
            if task.means_the_same(arm) and any(known[name] != before[name] for name in known.keys() & before.keys()):
                found[arm] = None
    return found


def _with_scores(named: Sequence[Scores], given: Sequence[Mapping[str, float]], share: float) -> dict[str, Belief]:
    """Beliefs by name. Scores that a user gives count like one more task, in which they have that order."""
    orders = [
        dict(zip(scores, scores_of_ranks(np.array(list(scores.values()))).tolist(), strict=True)) for scores in given
    ]
    sources = {arm: belief.source for arm, belief in beliefs_by_name(named, share).items()}
    return {
        arm: belief._replace(source=sources.get(arm, "score"))
        for arm, belief in beliefs_by_name([*named, *orders], share).items()
    }


def _agreements(
    tasks: Sequence[EarlierTask],
    scores: Sequence[Scores],
    named: Sequence[Scores],
    model: SettingsModel | None,
) -> list[float | None]:
    """For each task, the rank correlation of its scores with what the other tasks say about its arms."""
    if len(tasks) < 2:
        return [None] * len(tasks)
    found = []
    for number, task in enumerate(tasks):
        # Not with the share that was found: where tasks contradict each other it is 0, and nothing would be said.
        others = beliefs_by_name([*named[:number], *named[number + 1 :]], AGREEMENT)
        said = {arm: others[arm].mean for arm in named[number] if arm in others}
        rest = [arm for arm in task.arms if arm not in said and task.settings.get(arm)]
        if model is not None:
            beliefs = model.beliefs([task.settings[arm] for arm in rest], without=number)
            said |= {arm: b.mean for arm, b in zip(rest, beliefs, strict=True) if b.source != "unknown"}
        pairs = np.array([(scores[number][arm], mean) for arm, mean in said.items()]).reshape(-1, 2)
        found.append(rank_correlation(pairs[:, 0], pairs[:, 1].round(9)))  # sums that should be equal are
    return found


Scores = Mapping[str, float]  # normal scores of the arms of one task

AGREEMENT = 0.5  #: of unknown tasks: a mean is then shrunk by one pseudo task
_WEIGHT = 3.0  # of that, in tasks
_MOST = 0.9  # tasks that seem to agree fully are few


def common_share(tasks: Sequence[Scores]) -> float:
    """The share a of the variance of scores that belongs to arms, between 0 and 0.9; 0.5 for one task.

    Estimated from the products of the scores of an arm in two tasks, relative to their squares.

    >>> common_share([{"a": 1.0, "b": -1.0}]), common_share([{"a": 1.0, "b": -1.0}, {"a": -1.0, "b": 1.0}])
    (0.5, 0.125)
    """
    products = squares = 0.0
    linked = set()
    for i, j in combinations(range(len(tasks)), 2):
        for arm in tasks[i].keys() & tasks[j].keys():
            one, other = tasks[i][arm], tasks[j][arm]
            products += one * other
            squares += (one * one + other * other) / 2.0
            linked |= {i, j}
    if squares <= 0.0:
        return AGREEMENT
    weight = len(linked) - 1
    return float(np.clip((_WEIGHT * AGREEMENT + weight * products / squares) / (_WEIGHT + weight), 0.0, _MOST))


def beliefs_by_name(tasks: Sequence[Scores], share: float) -> dict[str, Belief]:
    """Mean and deviation of the score of each arm in a further task.

    >>> beliefs_by_name([{"a": 1.0}, {"a": 0.5, "b": -1.0}], 0.5)["a"]
    Belief(mean=0.5, deviation=0.816..., source='2 tasks')
    """
    found: dict[str, list[float]] = {}
    for task in tasks:
        for arm, score in task.items():
            found.setdefault(arm, []).append(score)
    beliefs = {}
    for arm, scores in found.items():
        n = len(scores)
        shrunk = share / (n * share + 1.0 - share)
        deviation = math.sqrt((1.0 - share) * (1.0 + shrunk))
        beliefs[arm] = Belief(math.fsum(scores) * shrunk, deviation, "1 task" if n == 1 else f"{n} tasks")
    return beliefs
