"""From the rows of the regret benchmark to its figures: means, intervals, ranks, worst cases, paired ratios."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from risingbandits.arena.cells import Cell, Row
from risingbandits.arena.synthetic import GROUPS, Task

__all__ = ["BASELINE", "LARGE", "YARDSTICKS", "Outcome", "Report", "Stats", "ratio_interval", "task_stats", "value_of"]

BASELINE = "kl-ucb"
YARDSTICKS = frozenset({"oracle"})  # shown, but not ranked: it has no regret by definition
LARGE = 25.0  # % of J*
_LEVEL = 0.95


@dataclass(frozen=True)
class Stats:
    """A policy on a task. ``mean`` and ``half`` are in the task's measure, ``regret`` in rewards."""

    mean: float
    half: float
    count: int
    median: float
    worst: float
    share_large: float
    regret: float
    regret_half: float
    side: str = ""
    sides: dict[str, float] = field(default_factory=dict)  # mean of each side, in rewards


@dataclass(frozen=True)
class Outcome:
    """All cells: by task, then by policy."""

    tasks: Sequence[Task]
    policies: Mapping[str, str]  # label -> settings
    cells: Mapping[str, Mapping[str, Cell]]
    left_out: Sequence[str] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)


def task_stats(task: Task, rows: Sequence[Row]) -> Stats:
    """Mean and interval over blocks; of several sides the one with the larger regret in rewards."""
    by_side: dict[str, list[Row]] = {}
    for row in rows:
        by_side.setdefault(row.side, []).append(row)
    stats = {side: _side_stats(task, side, members) for side, members in by_side.items()}
    worse = max(stats.values(), key=lambda one: one.regret)
    if len(stats) == 1:
        return worse
    return Stats(**{**vars(worse), "sides": {side: one.regret for side, one in stats.items()}})


def _side_stats(task: Task, side: str, rows: Sequence[Row]) -> Stats:
    values = np.array(list(block_values(task, rows).values()))
    regrets = np.array(list(_blocks(rows, [row.regret for row in rows]).values()))
    singles = np.array([value_of(task, row) for row in rows])
    mean, half = student(values)
    regret, regret_half = student(regrets)
    large = float((singles > LARGE).mean()) if task.in_percent else math.nan
    return Stats(
        mean, half, len(values), float(np.median(values)), float(values.max()), large, regret, regret_half, side
    )


def block_values(task: Task, rows: Sequence[Row]) -> dict[str, float]:
    """The task's measure of each block: of each run, instance or real task."""
    return _blocks(rows, [value_of(task, row) for row in rows])


def value_of(task: Task, row: Row) -> float:
    """A run in the task's measure: % of J*, or a share of what a random arm loses."""
    return (100.0 if task.in_percent else 1.0) * row.regret / row.scale


def _blocks(rows: Sequence[Row], values: Sequence[float]) -> dict[str, float]:
    blocks: dict[str, list[float]] = {}
    for row, value in zip(rows, values, strict=True):
        blocks.setdefault(row.block or f"run {row.run}", []).append(value)
    return {block: float(np.mean(members)) for block, members in blocks.items()}


def student(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Mean and half the width of its Student interval; NaN for one value."""
    n = len(values)
    half = math.nan if n < 2 else float(stdtrit(n - 1, 0.5 + _LEVEL / 2)) * float(values.std(ddof=1)) / math.sqrt(n)
    return float(values.mean()), half


def ratio_interval(values: npt.NDArray[np.float64], base: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """Ratio of the means of paired values, and its 95 % interval by the delta method (Student)."""
    n = len(values)
    ratio = float(values.mean() / base.mean())
    if n < 2:
        return ratio, math.nan, math.nan
    spread = float((values - ratio * base).std(ddof=1)) / (math.sqrt(n) * abs(float(base.mean())))
    half = float(stdtrit(n - 1, 0.5 + _LEVEL / 2)) * spread
    return ratio, ratio - half, ratio + half


@dataclass(frozen=True)
class Line:
    """The figures of one policy over all tasks."""

    policy: str
    mean: float
    half: float
    rank: float
    groups: dict[str, tuple[float, float]]
    share_large: float
    worst_task: tuple[str, float]
    worst_single: tuple[str, float]
    failures: int


class Report:
    """The figures of an outcome, computed once."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.stats: dict[str, dict[str, Stats]] = {
            task.name: {
                label: task_stats(task, cell.rows) for label, cell in outcome.cells[task.name].items() if cell.rows
            }
            for task in outcome.tasks
        }
        self.failures = [
            (label, task.name, cell.failure)
            for task in outcome.tasks
            for label, cell in outcome.cells[task.name].items()
            if cell.failure
        ]
        self.groups = [group for group in GROUPS if any(task.group == group for task in outcome.tasks)]
        ranks = self._ranks()
        lines = [self._line(label, ranks[label]) for label in outcome.policies]
        self.lines = sorted(lines, key=lambda line: (_last(line.mean), _last(line.rank), line.policy))
        self.paired = self._paired()

    def _line(self, label: str, rank: float) -> Line:
        groups = {group: self._group(label, group) for group in self.groups}
        counted = [groups[group] for group in self.groups if _counts(group) and not math.isnan(groups[group][0])]
        tasks = [task for task in self.outcome.tasks if _counts(task.group) and label in self.stats[task.name]]
        here = {task.name: self.stats[task.name][label] for task in tasks}
        return Line(
            label,
            *_combined([mean for mean, _ in counted], [half for _, half in counted], [1.0] * len(counted)),
            rank,
            groups,
            _mean([one.share_large for one in here.values()]),
            _largest({name: one.mean for name, one in here.items()}),
            _largest({name: one.worst for name, one in here.items()}),
            sum(failed == label for failed, _, _ in self.failures),
        )

    def _group(self, label: str, group: str) -> tuple[float, float]:
        tasks = [task for task in self.outcome.tasks if task.group == group and label in self.stats[task.name]]
        found = [self.stats[task.name][label] for task in tasks]
        return _combined([one.mean for one in found], [_normal(one) for one in found], [task.weight for task in tasks])

    def _ranks(self) -> dict[str, float]:
        """Mean rank of each policy that is played on all tasks but those of finding the best arm: over tasks by their
        weights, then over groups.
        """
        ranked_tasks = [task for task in self.outcome.tasks if task.change is None and task.group != "real-best-arm"]
        labels = [
            label
            for label in self.outcome.policies
            if label not in YARDSTICKS
            and not any(self.outcome.cells[task.name][label].skipped for task in ranked_tasks)
        ]
        by_group: dict[str, list[tuple[float, npt.NDArray[np.float64]]]] = {}
        for task in ranked_tasks:
            if labels:
                found = self.stats[task.name]
                means = np.array([found[label].mean if label in found else math.inf for label in labels])
                below = (means[:, None] > means[None, :]).sum(axis=1)
                equal = (means[:, None] == means[None, :]).sum(axis=1)
                ranks = np.where(np.isinf(means), len(labels), below + (equal + 1) / 2)
                by_group.setdefault(task.group, []).append((task.weight, ranks))
        if not by_group:
            return dict.fromkeys(self.outcome.policies, math.nan)
        of_groups = [
            np.average([ranks for _, ranks in members], axis=0, weights=[weight for weight, _ in members])
            for members in by_group.values()
        ]
        ranked = dict(zip(labels, np.mean(of_groups, axis=0).tolist(), strict=True))
        return {label: ranked.get(label, math.nan) for label in self.outcome.policies}

    def _paired(self) -> list[dict[str, Any]]:
        """Every policy against the baseline on the random instances, both on the same instances and seeds."""
        found = []
        for task in self.outcome.tasks:
            cells = self.outcome.cells[task.name]
            if task.group != "random" or BASELINE not in cells or not cells[BASELINE].rows:
                continue
            base = block_values(task, cells[BASELINE].rows)
            for label, cell in cells.items():
                if cell.rows and label != BASELINE and label not in YARDSTICKS:
                    own = block_values(task, cell.rows)
                    values, against = np.array([own[block] for block in base]), np.array(list(base.values()))
                    ratio, low, high = ratio_interval(values, against)
                    wins = float((values < against).mean())
                    found.append(
                        {"task": task.name, "policy": label, "ratio": ratio, "low": low, "high": high, "wins": wins}
                    )
        order = [task.name for task in self.outcome.tasks]
        return sorted(found, key=lambda row: (order.index(row["task"]), row["ratio"], row["policy"]))

    def notes(self) -> list[str]:
        """What is missing and why."""
        found = list(self.outcome.left_out)
        found += [f"{label} failed on {task} (marked *): {sentence}" for label, task, sentence in self.failures]
        if "random" in self.groups and not self.paired:
            found.append(f"No paired comparison: it needs {BASELINE} and another policy.")
        return found


def _counts(group: str) -> bool:
    """Whether the group belongs to the mean: in % of J* and open to all policies."""
    return not group.startswith(("real", "misjudged"))


def _normal(stats: Stats) -> float:
    """The half width that a normal interval would have, from the Student one."""
    if math.isnan(stats.half):
        return 0.0
    return stats.half * float(ndtri(0.5 + _LEVEL / 2)) / float(stdtrit(stats.count - 1, 0.5 + _LEVEL / 2))


def _combined(means: Sequence[float], halves: Sequence[float], weights: Sequence[float]) -> tuple[float, float]:
    if not means:
        return math.nan, math.nan
    share = np.array(weights) / sum(weights)
    return float(share @ np.array(means)), float(np.sqrt(((share * np.array(halves)) ** 2).sum()))


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else math.nan


def _largest(values: Mapping[str, float]) -> tuple[str, float]:
    return max(values.items(), key=lambda item: item[1], default=("", math.nan))


def _last(value: float) -> float:
    return math.inf if math.isnan(value) else value
