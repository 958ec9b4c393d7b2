"""Beliefs about arms before they are pulled, in a unit that is comparable between tasks.

The unit is the normal score: 0 is an average arm of its task, 1 one that is a standard deviation better than average.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_finite, shown
from risingbandits._core.stats import rank_correlation
from risingbandits._core.types import Floats
from risingbandits.policies._config_points import Config, Value, plain_config

if TYPE_CHECKING:
    from risingbandits.allocation.starting.earlier_runs import Summary


class Belief(NamedTuple):
    """The belief about one arm."""

    mean: float  #: the score that is expected
    deviation: float  #: its standard deviation
    source: str  #: where that is from: "12 tasks", "configs", both, "score" or "unknown"


UNKNOWN = Belief(0.0, 1.0, "unknown")


@dataclass(frozen=True)
class Prior:
    """Beliefs about arms by name; nothing is known about others.

    >>> Prior({"adam": Belief(0.8, 0.6, "12 tasks")}, tasks=12, agreement=0.6).of("sgd")
    Belief(mean=0.0, deviation=1.0, source='unknown')
    """

    beliefs: Mapping[str, Belief]
    tasks: int = 0  #: the number of earlier tasks behind them
    agreement: float | None = None  #: mean rank correlation of a task with what the others say about it; None: one task

    def of(self, arm: str) -> Belief:
        """The belief about an arm."""
        return self.beliefs.get(arm, UNKNOWN)

    def about(self, arms: Iterable[str]) -> Prior:
        """The same, for these arms only."""
        return Prior({arm: self.beliefs[arm] for arm in arms if arm in self.beliefs}, self.tasks, self.agreement)

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "beliefs": {arm: list(belief) for arm, belief in self.beliefs.items()},
            "tasks": self.tasks,
            "agreement": self.agreement,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Prior:
        """Read what `to_dict` wrote."""
        beliefs = {}
        for arm, (mean, deviation, source) in plain["beliefs"].items():
            if not isinstance(source, str):
                raise RisingBanditsError(f"the source of a belief must be a string, got {shown(source)}.")
            beliefs[arm] = Belief(check_finite("mean", mean), check_finite("deviation", deviation, minimum=0.0), source)
        return cls(beliefs, int(plain["tasks"]), plain["agreement"])


# -- from earlier runs to beliefs -------------------------------------------------------------------------------------

# The share of the variance of scores that belongs to arms: for unknown runs, with the weight of so many runs; and at
# most, because runs that seem to agree fully are few.
_SHARE, _WEIGHT, _MOST = 0.5, 3.0, 0.9
_ROWS = 400  # earlier arms with configs that are used: the cost grows with their third power


@dataclass(frozen=True)
class Findings:
    """Everything that earlier runs say."""

    prior: Prior
    runs: list[Summary]  #: those with enough arms to say anything
    agreements: list[float | None]  #: of each with what the others say about its arms; None if they say too little
    left_out: list[str]  #: runs with fewer than 3 arms, which say nothing
    lengths: dict[str, float]  #: hyperparameters by their length scales, the one that matters most first
    ambiguous: list[str]  #: names that stand for another config in another run, and therefore say nothing


def read_prior(
    sources: Any,
    arms: Iterable[str],
    configs: Mapping[str, Config] | None = None,
    *,
    direction: str = "maximize",
    seed: int = 0,
) -> Prior:
    """What earlier runs say about arms; see docs/what-you-know.md.

    Parameters
    ----------
    sources : path, pattern, "postgresql://...", Store, Optuna study, mapping, EarlierTask, or a list of these
        Stores, folders of stores or of logs, tables, studies, ``{task: {arm: values}}`` or ``{arm: score}``.
    arms : names
        Those of the new run.
    configs : mapping of names to their hyperparameters, or None
        Numbers and strings by name.
    direction : {"maximize", "minimize"}
        That of mappings, and of logs and tables that do not say it themselves.
    seed : int
        Decides which earlier arms are used if the configs of more than 400 are known.

    Examples
    --------
    >>> may = {"adam": [0.2, 0.7], "sgd": [0.3, 0.5], "rmsprop": [0.1, 0.6]}
    >>> june = {"adam": [0.5, 0.6], "sgd": [0.1, 0.3], "rmsprop": [0.2, 0.4]}
    >>> prior = read_prior({"may": may, "june": june}, ["sgd", "adam", "lion"])
    >>> [(arm, round(prior.of(arm).mean, 2), prior.of(arm).source) for arm in ("adam", "sgd", "lion")]
    [('adam', 0.67, '2 tasks'), ('sgd', -0.67, '2 tasks'), ('lion', 0.0, 'unknown')]
    """
    from risingbandits.allocation.starting.earlier_runs import Reading, read_sources

    return look_back(read_sources(sources, Reading(otherwise=direction)), list(arms), configs, seed).prior


class _Row(NamedTuple):
    """An arm in an earlier run."""

    run: int
    place: int  # of the arm; -1 if its name says nothing about other runs
    score: float
    weight: float  # from 0 to 1: how far it was compared, and with how many
    config: Config


def look_back(
    sources: Sequence[Summary],
    arms: Sequence[str] | None = None,
    configs: Mapping[str, Config] | None = None,
    seed: int = 0,
) -> Findings:
    """Everything that the sources, those of the user last, say about ``arms``, by default about all that they name.

    What is expected of an arm is the sum of what is expected of its config and of what its name adds to that.
    """
    from risingbandits.allocation.starting.earlier_runs import LEAST_ARMS

    today = {arm: plain_config(given, f"config of {arm}") for arm, given in (configs or {}).items()}
    used = [run for run in sources if run.guessed or len(run.scores) >= LEAST_ARMS]
    runs = [run for run in used if not run.guessed]
    known = dict.fromkeys(arm for run in used for arm in run.scores)
    asked = list(known if arms is None else arms)
    places = {arm: place for place, arm in enumerate(dict.fromkeys([*asked, *known]))}
    ambiguous = _ambiguous(runs, today)
    furthest = math.log1p(max((run.longest for run in runs), default=0) or 1)
    rows = [
        _Row(number, place, score, min(1.0, compared / furthest), run.configs.get(arm, {}))
        for number, run in enumerate(used)
        for arm, (score, compared) in run.scores.items()
        for place in [places[arm] if run.guessed or (run.means_the_same(arm) and arm not in ambiguous) else -1]
        if place >= 0 or arm in run.configs
    ]
    named = [row for row in rows if row.place >= 0]
    found = _by_config(rows, [today.get(arm, {}) for arm in places], seed)
    count = np.bincount([row.place for row in named if row.run < len(runs)], minlength=len(places))
    means, explained, agreements = _by_name(named, found.means, len(used))
    variances = found.variances + found.own * (1.0 - explained)
    beliefs = {}
    for arm in asked:
        place = places[arm]
        said = [f"{count[place]} task{'' if count[place] == 1 else 's'}"] if count[place] else []
        said += ["configs"] if found.known[place] else []
        said += ["score"] if not said and explained[place] else []
        if said:
            mean = float(found.means[place] + means[place])
            beliefs[arm] = Belief(mean + 0.0, math.sqrt(variances[place]), " and ".join(said))
    measured = [agreement for agreement in agreements[: len(runs)] if agreement is not None]
    return Findings(
        Prior(beliefs, len(runs), float(np.mean(measured)) if measured else None),
        runs,
        agreements[: len(runs)],
        [run.name for run in sources if not run.guessed and len(run.scores) < LEAST_ARMS],
        found.lengths,
        list(ambiguous),
    )


def _ambiguous(runs: Sequence[Summary], today: Mapping[str, Config]) -> dict[str, None]:
    """Names whose configs differ between runs, or from today's: they stand for different arms."""
    first = dict(today)
    found: dict[str, None] = {}
    for run in runs:
        for arm, known in run.configs.items():
            before = first.setdefault(arm, known)
            if run.means_the_same(arm) and any(
                _differ(known[name], before[name]) for name in known.keys() & before.keys()
            ):
                found[arm] = None
    return found


def _differ(one: Value, other: Value) -> bool:
    """Whether two values are different; numbers may have been written with fewer digits."""
    if isinstance(one, float) and isinstance(other, float):
        return not math.isclose(one, other, rel_tol=1e-6)
    return one != other


class _ByConfig(NamedTuple):
    """What configs lead us to expect of some arms."""

    means: Floats
    variances: Floats  # that is left of what configs explain
    own: Floats  # that configs do not explain
    known: Any  # whether anything is known about the config
    lengths: dict[str, float]


def _by_config(rows: Sequence[_Row], configs: Sequence[Config], seed: int) -> _ByConfig:
    """A Gaussian process on the configs and scores of earlier arms; each score counts by its weight."""
    from risingbandits.policies._config_points import Features
    from risingbandits.policies._config_process import scores_from_earlier

    none = np.zeros(len(configs))
    described = [row for row in rows if row.config] if any(configs) else []
    drawn = np.random.default_rng([seed, 2]).permutation(len(described))[:_ROWS]
    kept = [described[i] for i in drawn.tolist()]
    features = Features([row.config for row in kept])
    known = np.array([any(name in config for name in features.names) for config in configs], np.bool_)
    if len(kept) < 3 or not known.any():
        return _ByConfig(none, none, none + 1.0, np.zeros(len(configs), np.bool_), {})
    weights = np.array([row.weight for row in kept])
    points = [features.points(part) for part in ([row.config for row in kept], configs)]
    scores = np.array([row.score for row in kept])
    means, variances, scales = scores_from_earlier(points[0], features.groups(), scores, points[1], weights)
    lengths = dict(zip(features.names, scales.lengths.tolist(), strict=True))
    return _ByConfig(
        np.where(known, means, 0.0),
        np.where(known, variances, 0.0),
        np.where(known, scales.own, 1.0),
        known,
        dict(sorted(lengths.items(), key=lambda item: item[1])),
    )


def _by_name(rows: Sequence[_Row], expected: Floats, runs: int) -> tuple[Floats, Floats, list[float | None]]:
    """For each arm what its name adds to what is ``expected`` of its config; how much of the variance that explains.

    And the agreement of each run with the others.

    The share of the variance that belongs to arms is estimated from the products of an arm's scores in two runs,
    relative to their squares.
    """
    place, run = (np.array([getattr(row, part) for row in rows], np.int64) for part in ("place", "run"))
    score, weight = (np.array([getattr(row, part) for row in rows], float) for part in ("score", "weight"))
    left = score - expected[place]

    def sums(values: Floats) -> Floats:
        return np.bincount(place, values, minlength=len(expected)).astype(float)  # integers, if there are no rows

    total, first = sums(weight), sums(weight * left)
    own = sums((weight * left) ** 2)
    products = float((first**2 - own).sum())
    squares = float((total * sums(weight * left**2) - own).sum())
    share = _SHARE
    if squares > 1e-12:
        linked = len(np.unique(run[np.bincount(place, minlength=len(expected))[place] > 1])) - 1
        share = float(np.clip((_WEIGHT * _SHARE + linked * products / squares) / (_WEIGHT + linked), 0.0, _MOST))
    shrunk = share / (total * share + 1.0 - share)
    # Not with the share that was found: where runs contradict each other it is 0, and nothing would be said.
    others = (sums(weight * score)[place] - weight * score) / (total[place] - weight + 1.0)
    bounds, known = np.searchsorted(run, np.arange(runs + 1)).tolist(), total[place] - weight > 1e-9
    agreements = []
    for start, end in pairwise(bounds):
        both = np.flatnonzero(known[start:end]) + start
        agreements.append(rank_correlation(score[both], others[both].round(9)))
    return first * shrunk, share * total * shrunk, agreements
