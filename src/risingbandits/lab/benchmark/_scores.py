"""From the runs of the arena to its figures: means with intervals, ranks, ratios to the best, large losses."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from risingbandits._core.types import Floats
from risingbandits.lab.benchmark._entrants import ORACLE
from risingbandits.lab.benchmark._rows import Played, Row
from risingbandits.lab.benchmark.outcome import Outcome, task_values

LARGE = 0.25  # of J*
_LEVEL = 0.95
_LEAST = {"share": 0.05, "percent": 0.5}  # smaller figures count as this in ratios: such differences do not matter


@dataclass(frozen=True)
class Figure:
    """A mean with its 95 % interval; ``draws`` are the resampled means behind it."""

    mean: float
    low: float
    high: float
    draws: Floats = field(default_factory=lambda: np.empty(0), repr=False, compare=False)

    @staticmethod
    def of(mean: float, draws: Floats) -> Figure:
        return Figure(mean, *interval(draws), draws)

    @staticmethod
    def mean_of(figures: Sequence[Figure]) -> Figure:
        """Of independent figures, which are all alike."""
        return Figure.of(float(np.mean([one.mean for one in figures])), np.mean([one.draws for one in figures], axis=0))


@dataclass(frozen=True)
class Stats:
    """An entrant in a row: its figure in the row's measure, and in rewards, and how bad it can be."""

    figure: Figure
    tasks: int
    runs: int
    median: float  # of the tasks
    worst: tuple[str, float]  # task
    large: float  # share of runs that lose more than a quarter of J*
    regret: float  # in rewards
    side: str = ""  # of a pair: the one that counts
    sides: dict[str, float] = field(default_factory=dict)  # regret of each, in rewards


def row_stats(row: Row, runs: Sequence[Played]) -> Stats:
    """The figures of a row; of several sides those of the one with the larger regret in rewards."""
    by_side: dict[str, list[Played]] = {}
    for run in runs:
        by_side.setdefault(run.side, []).append(run)
    stats = {side: _side_stats(row, side, members) for side, members in by_side.items()}
    worse = max(stats.values(), key=lambda one: one.regret)
    if len(stats) == 1:
        return worse
    return Stats(**{**vars(worse), "sides": {side: one.regret for side, one in stats.items()}})


def _side_stats(row: Row, side: str, runs: Sequence[Played]) -> Stats:
    values = task_values(row, runs)
    means = {task: float(own.mean()) for task, own in values.items()}
    key = zlib.crc32(f"{row.objective} {row.name}".encode())  # the same draws for every entrant
    figure = Figure.of(float(np.mean(list(means.values()))), resampled_means(list(values.values()), [key]))
    return Stats(
        figure,
        len(values),
        len(runs),
        float(np.median(list(means.values()))),
        max(means.items(), key=lambda item: item[1]),
        float(np.mean([run.regret > LARGE * run.best for run in runs])),
        float(np.mean([run.regret for run in runs])),
        side,
    )


@dataclass(frozen=True)
class Line:
    """The figures of one entrant over all rows of an objective."""

    label: str
    real: Figure | None  # mean over the families of real curves
    synthetic: Figure | None  # mean over the regimes that are in % of J*
    rank: float  # mean over families
    worst_ratio: tuple[str, float]  # regime
    large: float  # share of runs that lose more than a quarter of J*, regimes alike
    regimes: dict[str, Figure]
    failures: int


class Board:
    """The figures of one objective, computed once."""

    def __init__(self, outcome: Outcome, objective: str) -> None:
        cells = outcome.cells
        self.objective = objective
        self.rows = [row for row in outcome.rows if row.objective == objective]
        self.labels = [label for label in outcome.settings if any(label in cells[row] for row in self.rows)]
        self.stats: dict[Row, dict[str, Stats]] = {
            row: {label: row_stats(row, cell.runs) for label, cell in cells[row].items() if cell.runs}
            for row in self.rows
        }
        self.failures = [
            (label, row.name, cell.failure)
            for row in self.rows
            for label, cell in cells[row].items()
            if cell.failure and label in self.labels
        ]
        self.regimes: dict[str, list[Row]] = {}
        for row in self.rows:
            self.regimes.setdefault(row.regime, []).append(row)
        self.figures = {regime: self._figures(rows) for regime, rows in self.regimes.items()}
        ranks = self._ranks()
        lines = [self._line(label, ranks.get(label, math.nan)) for label in self.labels]
        self.lines = sorted(lines, key=_order)

    def kind(self, regime: str) -> str:
        return self.regimes[regime][0].kind

    def measure(self, regime: str) -> str:
        return self.regimes[regime][0].measure

    def best(self, regime: str) -> float:
        """The lowest mean of the regime."""
        return min((one.mean for label, one in self.figures[regime].items() if label != ORACLE), default=math.nan)

    def ratio(self, regime: str, label: str) -> float:
        """To the best entrant of the regime; anything nearly perfect counts as 0.05, or 0.5 % of J*."""
        least = _LEAST[self.measure(regime)]
        return max(self.figures[regime][label].mean, least) / max(self.best(regime), least)

    def _figures(self, rows: Sequence[Row]) -> dict[str, Figure]:
        """Of the entrants that have played all rows of a regime."""
        labels = [label for label in self.labels if all(label in self.stats[row] for row in rows)]
        return {label: Figure.mean_of([self.stats[row][label].figure for row in rows]) for label in labels}

    def _line(self, label: str, rank: float) -> Line:
        own = {regime: found[label] for regime, found in self.figures.items() if label in found}
        ratios = {regime: self.ratio(regime, label) for regime in own}
        large = [np.mean([self.stats[row][label].large for row in self.regimes[regime]]) for regime in own]
        return Line(
            label,
            self._mean(own, [regime for regime in self.regimes if self.kind(regime) == "real"]),
            self._mean(
                own,
                [r for r in self.regimes if self.kind(r) == "synthetic" and self.measure(r) == "percent"],
            ),
            rank,
            max(ratios.items(), key=lambda item: item[1], default=("", math.nan)),
            float(np.mean(large)) if large else math.nan,
            own,
            sum(failed == label for failed, _, _ in self.failures),
        )

    @staticmethod
    def _mean(figures: Mapping[str, Figure], regimes: Sequence[str]) -> Figure | None:
        """Over regimes, all of which the entrant must have played."""
        if not regimes or any(regime not in figures for regime in regimes):
            return None
        return Figure.mean_of([figures[regime] for regime in regimes])

    def _ranks(self) -> dict[str, float]:
        """Mean rank over the families of real curves, or over all regimes if there are none; equals share a rank."""
        real = [regime for regime in self.regimes if self.kind(regime) == "real"]
        regimes = real or list(self.regimes)
        labels = [label for label in self.labels if label != ORACLE]
        labels = [label for label in labels if all(label in self.figures[regime] for regime in regimes)]
        ranks: list[npt.NDArray[np.float64]] = []
        for regime in regimes:
            means = np.array([self.figures[regime][label].mean for label in labels])
            below = (means[:, None] > means[None, :]).sum(axis=1)
            equal = (means[:, None] == means[None, :]).sum(axis=1)
            ranks.append(below + (equal + 1) / 2)
        return dict(zip(labels, np.mean(ranks, axis=0).tolist(), strict=True)) if ranks and labels else {}


def _order(line: Line) -> tuple[float, float, str]:
    """By the mean over families; if there is none, by rank."""
    real = math.inf if line.real is None else line.real.mean
    return real, math.inf if math.isnan(line.rank) else line.rank, line.label


_DRAWS = 1_000


def resampled_means(tasks: Sequence[Floats], key: Sequence[int], draws: int = _DRAWS) -> Floats:
    """Means over resampled tasks: tasks are drawn with replacement, and within each task runs with replacement.

    ``key`` seeds the draws, so that equal values have equal intervals. With only one task, only its runs are drawn.

    >>> draws = resampled_means([np.array([1.0, 3.0]), np.array([5.0, 7.0])], [0])
    >>> sorted({value.item() for value in draws})[:3]
    [1.0, 1.5, 2.0]
    """
    rng = np.random.default_rng([*key])
    number = len(tasks)
    chosen = rng.integers(number, size=(draws, number))
    most = max(map(len, tasks))
    lengths = np.array([len(task) for task in tasks])
    values = np.zeros((number, most))
    for row, own in zip(values, tasks, strict=True):
        row[: len(own)] = own
    total = np.zeros(draws)
    for place in range(number):  # task by task keeps the arrays small
        task = chosen[:, place]
        length = lengths[task]
        inside = (rng.random((draws, most)) * length[:, None]).astype(np.int64)
        counted = np.arange(most) < length[:, None]
        total += np.where(counted, values[task[:, None], inside], 0.0).sum(axis=1) / length
    return total / number


def interval(means: Floats) -> tuple[float, float]:
    """The middle 95 % of resampled means."""
    low, high = np.quantile(means, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return float(low), float(high)
