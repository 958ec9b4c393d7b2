"""Everything played in the arena, and the choice among candidates of one label, with each family left out in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.types import Floats
from risingbandits.lab.benchmark.cells import Cell
from risingbandits.lab.benchmark.entrants import Tuned
from risingbandits.lab.benchmark.rows import Played, Row

CellsOfRow = Mapping[str, Cell]


@dataclass(frozen=True)
class Outcome:
    """The cells of all rows.

    ``settings`` says what each label stands for, ``chosen`` which candidate a tuned label is for each objective and
    family left out.
    """

    rows: Sequence[Row]
    settings: Mapping[str, str]
    cells: Mapping[Row, CellsOfRow]
    chosen: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
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


def tune(
    tuned: Tuned, rows: Sequence[Row], cells: Mapping[Row, CellsOfRow]
) -> tuple[dict[Row, Cell], dict[str, dict[str, str]]]:
    """The cells of a tuned label, and which candidate it is, by objective and family left out.

    A run is that of the candidate that is best on all families of real curves but the one its curves are from.
    Simulated rows are not families: their candidate is the best on all.
    """
    made: dict[Row, Cell] = {}
    chosen: dict[str, dict[str, str]] = {}
    for objective in dict.fromkeys(row.objective for row in rows):
        own = [row for row in rows if row.objective == objective]
        scores = _scores(tuned, [row for row in own if row.kind == "real"], cells)
        if len(next(iter(scores.values()), {})) < 2:
            raise RisingBanditsError(f"tune needs at least two families of real curves to choose {tuned.label!r} by.")
        choice = {family: best_without(scores, family) for family in (*next(iter(scores.values())), "")}
        for row in own:
            made[row] = _mixed(row, cells[row], choice)
        chosen[objective] = choice
    return made, chosen


def _scores(tuned: Tuned, families: Sequence[Row], cells: Mapping[Row, CellsOfRow]) -> dict[str, dict[str, float]]:
    """What each candidate lost in each family, of those that played all."""
    found = {}
    for label in tuned.candidates:
        own = {row.name: cells[row][label].runs for row in families}
        if all(own.values()):
            found[label] = {row.name: mean_of(row, own[row.name]) for row in families}
    return found


def _mixed(row: Row, cells: CellsOfRow, choice: Mapping[str, str]) -> Cell:
    """The runs of each family's choice; the lists of all candidates name the same runs."""
    sources = {run.source for cell in cells.values() for run in cell.runs}
    labels = {source: choice.get(source, choice[""]) for source in sources}
    if any(not cells[label].runs for label in labels.values()):
        return Cell(skipped=True)
    return Cell(tuple(run for source, label in labels.items() for run in cells[label].runs if run.source == source))


def best_without(scores: Mapping[str, Mapping[str, float]], left_out: str) -> str:
    """The candidate with the lowest mean over all families except one; the first among equals.

    ``scores`` has the losses by candidate, then by family. All families have the same weight. An unknown family leaves
    none out.

    >>> scores = {"quick": {"a": 0.1, "b": 0.9, "c": 0.8}, "slow": {"a": 0.9, "b": 0.2, "c": 0.7}}
    >>> best_without(scores, "a"), best_without(scores, "b"), best_without(scores, "no family")
    ('slow', 'quick', 'quick')
    """
    means = {}
    for candidate, families in scores.items():
        others = [value for family, value in families.items() if family != left_out]
        if not others:
            raise RisingBanditsError("tune needs at least two families of real curves that every candidate has played.")
        means[candidate] = float(np.mean(others))
    return min(means, key=means.__getitem__)
