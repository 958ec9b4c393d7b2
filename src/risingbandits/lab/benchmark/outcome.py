"""Everything played in the arena."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from risingbandits._core.types import Floats
from risingbandits.lab.benchmark._cells import Cell
from risingbandits.lab.benchmark._rows import Played, Row

CellsOfRow = Mapping[str, Cell]


@dataclass(frozen=True)
class Outcome:
    """The cells of all rows.

    ``settings`` says what each label stands for.
    """

    rows: Sequence[Row]
    settings: Mapping[str, str]
    cells: Mapping[Row, CellsOfRow]
    left_out: Sequence[str] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def objectives(self) -> list[str]:
        """Those of the rows, in their order."""
        return list(dict.fromkeys(row.objective for row in self.rows))


def task_values(row: Row, runs: Sequence[Played]) -> dict[str, Floats]:
    """By task, the measure of each of its runs (orders), the mean over budgets."""
    found: dict[str, dict[int, list[float]]] = {}
    for run in runs:
        found.setdefault(run.task, {}).setdefault(run.run, []).append(value_of(row, run))
    return {
        task: np.array([float(np.mean(values)) for _, values in sorted(by_run.items())])
        for task, by_run in found.items()
    }


def value_of(row: Row, run: Played) -> float:
    """A run in the measure of its row: a share of what a random arm loses, or % of J*."""
    return run.percent if row.measure == "percent" else run.share


def mean_of(row: Row, runs: Sequence[Played]) -> float:
    """The figure of a row: the mean over its tasks."""
    return float(np.mean([values.mean() for values in task_values(row, runs).values()]))
