"""From the runs of the benchmark to its figures: means with intervals, ranks, ratios to the best, large regrets."""

from __future__ import annotations

import math
import platform
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from risingbandits._core.files import for_json
from risingbandits._core.jit import NUMBA_VERSION
from risingbandits._core.types import Floats
from risingbandits._version import __version__
from risingbandits.lab.benchmark._play import Outcome
from risingbandits.lab.benchmark._policies import ORACLE
from risingbandits.lab.benchmark._problems import OBJECTIVES, Benchmark, Played

FORMAT = 3
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
        """Of independent figures, which have the same weight."""
        return Figure.of(float(np.mean([one.mean for one in figures])), np.mean([one.draws for one in figures], axis=0))

    def to_dict(self) -> dict[str, float]:
        return {"mean": self.mean, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class Stats:
    """A policy on a benchmark: its figure in the benchmark's measure, and in rewards, and how bad it can be."""

    figure: Figure
    tasks: int
    runs: int
    large: float  # share of runs that lose more than a quarter of J*
    regret: float  # in rewards
    side: str = ""  # of a pair: the one that counts

    def to_dict(self) -> dict[str, Any]:
        return {**self.figure.to_dict(), **{name: value for name, value in vars(self).items() if name != "figure"}}


def stats_of(benchmark: Benchmark, runs: Sequence[Played]) -> Stats:
    """The figures of a benchmark; of several sides those of the one with the larger regret in rewards."""
    by_side: dict[str, list[Played]] = {}
    for run in runs:
        by_side.setdefault(run.side, []).append(run)
    return max((_side_stats(benchmark, side, own) for side, own in by_side.items()), key=lambda one: one.regret)


def _side_stats(benchmark: Benchmark, side: str, runs: Sequence[Played]) -> Stats:
    values = list(benchmark.values(runs).values())
    key = zlib.crc32(f"{benchmark.objective} {benchmark.name}".encode())  # the same draws for every policy
    return Stats(
        Figure.of(float(np.mean([own.mean() for own in values])), resampled_means(values, [key])),
        len(values),
        len(runs),
        float(np.mean([run.regret > LARGE * run.best for run in runs])),
        float(np.mean([run.regret for run in runs])),
        side,
    )


def summarise(outcome: Outcome, command: str = "") -> dict[str, Any]:
    """All figures as plain values: what benchmark.json holds, and what every table is made from."""
    versions = {
        "risingbandits": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": NUMBA_VERSION,
    }
    summary = {
        "format": FORMAT,
        "command": command,
        "versions": versions,
        "parameters": outcome.parameters,
        "policies": dict(outcome.labels),
        "left_out": list(outcome.left_out),
        "objectives": {
            objective: _objective_summary(outcome, objective)
            for objective in OBJECTIVES
            if any(benchmark.objective == objective for benchmark in outcome.cells)
        },
    }
    return for_json(summary)  # type: ignore[no-any-return]


def _objective_summary(outcome: Outcome, objective: str) -> dict[str, Any]:
    cells = {benchmark: own for benchmark, own in outcome.cells.items() if benchmark.objective == objective}
    labels = [label for label in outcome.labels if any(label in own for own in cells.values())]
    stats = {
        benchmark: {label: stats_of(benchmark, cell.runs) for label, cell in own.items() if cell.runs}
        for benchmark, own in cells.items()
    }
    failures = [
        {"policy": label, "benchmark": benchmark.name, "error": cell.failure}
        for benchmark, own in cells.items()
        for label, cell in own.items()
        if cell.failure
    ]
    by_group: dict[str, list[Benchmark]] = {}
    for benchmark in cells:
        by_group.setdefault(benchmark.group, []).append(benchmark)
    groups = [_Group(name, members, [stats[each] for each in members]) for name, members in by_group.items()]
    lines = _lines(groups, labels)
    for line in lines:
        line["failures"] = sum(failure["policy"] == line["policy"] for failure in failures)
    return {
        "policies": lines,
        "groups": {group.name: group.to_dict() for group in groups},
        "benchmarks": [
            {
                "benchmark": benchmark.name,
                "group": benchmark.group,
                "measure": benchmark.measure,
                "policies": {label: one.to_dict() for label, one in own.items()},
            }
            for benchmark, own in stats.items()
        ],
        "failures": failures,
    }


class _Group:
    """Benchmarks that the tables gather, with the figures of the policies that have played all of them."""

    def __init__(self, name: str, members: Sequence[Benchmark], stats: Sequence[Mapping[str, Stats]]) -> None:
        self.name, self.members, self.stats = name, members, stats
        self.kind, self.measure = members[0].kind, members[0].measure
        labels = [label for label in stats[0] if all(label in own for own in stats)]
        self.figures = {label: Figure.mean_of([own[label].figure for own in stats]) for label in labels}
        self.large = {label: float(np.mean([own[label].large for own in stats])) for label in labels}

    def ratio(self, label: str) -> float:
        """To the best policy of the group; anything nearly perfect counts as 0.05, or 0.5 % of J*."""
        best = min((one.mean for label, one in self.figures.items() if label != ORACLE), default=math.nan)
        least = _LEAST[self.measure]
        return max(self.figures[label].mean, least) / max(best, least)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "measure": self.measure,
            "benchmarks": len(self.members),
            "tasks": max((one.tasks for own in self.stats for one in own.values()), default=0),
            "policies": {label: figure.to_dict() for label, figure in self.figures.items()},
        }


def _lines(groups: Sequence[_Group], labels: Sequence[str]) -> list[dict[str, Any]]:
    """Each policy over all groups, the lowest mean on real curves first, then by rank."""
    real = [group for group in groups if group.kind == "real"]
    synthetic = [group for group in groups if group.kind == "synthetic" and group.measure == "percent"]
    ranks = _ranks(real or groups, labels)
    lines = []
    for label in labels:
        own = [group for group in groups if label in group.figures]
        ratio, worst = max(((group.ratio(label), group.name) for group in own), default=(math.nan, ""))
        lines.append(
            {
                "policy": label,
                "real": _mean(real, label),
                "synthetic": _mean(synthetic, label),
                "rank": ranks.get(label, math.nan),
                "worst_ratio": {"group": worst, "ratio": ratio},
                "large": float(np.mean([group.large[label] for group in own])) if own else math.nan,
            }
        )
    return sorted(lines, key=_order)


def _mean(groups: Sequence[_Group], label: str) -> dict[str, float] | None:
    """Over groups, all of which the policy must have played."""
    if not groups or any(label not in group.figures for group in groups):
        return None
    return Figure.mean_of([group.figures[label] for group in groups]).to_dict()


def _ranks(groups: Sequence[_Group], labels: Sequence[str]) -> dict[str, float]:
    """Mean ranks of the policies that have played all groups; equals share a rank."""
    labels = [label for label in labels if label != ORACLE and all(label in group.figures for group in groups)]
    if not groups or not labels:
        return {}
    means = np.array([[group.figures[label].mean for label in labels] for group in groups])
    below = (means[:, :, None] > means[:, None, :]).sum(axis=2)
    equal = (means[:, :, None] == means[:, None, :]).sum(axis=2)
    return dict(zip(labels, (below + (equal + 1) / 2).mean(axis=0).tolist(), strict=True))


def _order(line: Mapping[str, Any]) -> tuple[float, float, str]:
    """By the mean on real curves; if there is none, by rank."""
    real = math.inf if line["real"] is None else line["real"]["mean"]
    return real, math.inf if math.isnan(line["rank"]) else line["rank"], line["policy"]


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
