"""The files of a contest: arena.md, arena.json and tasks.csv. Equal outcomes give equal bytes."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from risingbandits._core.files import for_json, write_whole
from risingbandits.lab.benchmark import _tables as tables
from risingbandits.lab.benchmark._scores import Board, Figure, Stats
from risingbandits.lab.benchmark.outcome import Outcome, task_values
from risingbandits.policies import Objective

Boards = Mapping[str, Board]
"""By objective."""


def boards_of(outcome: Outcome) -> Boards:
    """The figures of all objectives."""
    return {objective: Board(outcome, objective) for objective in outcome.objectives()}


def save(outcome: Outcome, boards: Boards, folder: Path, command: str) -> None:
    """Write all files."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "arena.md", markdown(outcome, boards, command).encode())
    content = {"format": 2, "command": command, **summary(outcome, boards)}
    write_whole(folder / "arena.json", (json.dumps(for_json(content), indent=1, allow_nan=False) + "\n").encode())
    write_whole(folder / "tasks.csv", _csv(outcome).encode())


def notes(outcome: Outcome, boards: Boards) -> list[str]:
    """What is missing and why."""
    found = list(outcome.left_out)
    for board in boards.values():
        found += [f"{label} failed on {row} (marked *): {why}" for label, row, why in board.failures]
    return found


def markdown(outcome: Outcome, boards: Boards, command: str) -> str:
    """The whole report as a string."""
    given = ", ".join(f"{name} {value}" for name, value in outcome.parameters.items())
    parts = ["# Arena\n", f"`{command}` ({given}).\n", f"{tables.HOW_TO_READ}\n"]
    parts += [f"{sentence}\n" for sentence in notes(outcome, boards)]
    for objective, board in boards.items():
        parts += [f"## {Objective.get(objective).title}\n", tables.overall_table(board).markdown()]
        for kinds, name in PARTS:
            table = tables.regimes_table(board, kinds, name)
            if table.rows:
                parts += [f"### {table.title}\n", table.markdown()]
        for regime in tables.regimes_in_detail(board):
            parts += [f"### Rows of {regime}\n", tables.rows_table(board, regime).markdown()]
    settings = [f"- {label}: `{what}`" for label, what in outcome.settings.items()]
    return "\n".join([*parts, "## Policies\n", "\n".join(settings) + "\n"])


PARTS = (
    (("real",), "Families of real curves"),
    (("made",), "Made from real curves"),
    (("synthetic",), "Simulated problems"),
)


def summary(outcome: Outcome, boards: Boards) -> dict[str, Any]:
    """All figures as plain values."""
    return {
        **outcome.parameters,
        "policies": dict(outcome.settings),
        "left_out": list(outcome.left_out),
        "objectives": {objective: board_summary(board) for objective, board in boards.items()},
    }


def board_summary(board: Board) -> dict[str, Any]:
    """The figures of one board."""
    return {
        "failures": [dict(zip(("policy", "row", "error"), one, strict=True)) for one in board.failures],
        "lines": [
            {
                "policy": line.label,
                "real": _figure(line.real),
                "families": [regime for regime in line.regimes if board.kind(regime) == "real"],
                "synthetic": _figure(line.synthetic),
                "rank": line.rank,
                "worst_ratio": {"row": line.worst_ratio[0], "ratio": line.worst_ratio[1]},
                "large": line.large,
                "regimes": {regime: _figure(one) for regime, one in line.regimes.items()},
            }
            for line in board.lines
        ],
        "rows": [
            {
                "row": row.name,
                "regime": row.regime,
                "kind": row.kind,
                "measure": row.measure,
                "policies": {label: _stats(one) for label, one in board.stats[row].items()},
            }
            for row in board.rows
        ],
    }


def _figure(figure: Figure | None) -> dict[str, float] | None:
    return None if figure is None else {"mean": figure.mean, "low": figure.low, "high": figure.high}


def _stats(stats: Stats) -> dict[str, Any]:
    return {
        **(_figure(stats.figure) or {}),
        **{name: value for name, value in vars(stats).items() if name != "figure"},
    }


def _csv(outcome: Outcome) -> str:
    """A line for every policy and task: the mean over budgets and orders, and its spread over the orders."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("objective", "row", "regime", "measure", "policy", "task", "runs", "value", "sd"))
    for row, of_row in outcome.cells.items():
        for label in outcome.settings:
            for task, values in task_values(row, of_row[label].runs).items() if label in of_row else ():
                spread = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
                known = (row.objective, row.name, row.regime, row.measure, label, task, len(values))
                writer.writerow((*known, f"{values.mean():.6g}", f"{spread:.6g}"))
    return text.getvalue()
