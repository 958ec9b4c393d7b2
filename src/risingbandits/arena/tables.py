"""The figures of the regret benchmark as tables for the terminal and as results.csv, summary.md and summary.json."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from risingbandits._core.files import write_whole
from risingbandits._core.tables import TextTable
from risingbandits.arena.cells import Row
from risingbandits.arena.scores import BASELINE, LARGE, YARDSTICKS, Report, Stats, value_of

__all__ = ["overall_table", "paired_table", "save", "task_table"]

_COLUMNS = 8  # policies in a table of tasks

HOW_TO_READ = f"""\
Regret in % of J*, what the best constant arm earns; lower is better. A task is a problem played many times (interval:
Student, 95 %, over runs) or many problems (Student, 95 %, over instances); of a lower-bound pair the side with the
larger regret in rewards counts. A group is the mean of its tasks, and the mean is that of the groups, all alike,
without misjudged settings and real curves; intervals of means add the variances of the tasks (normal, 95 %): they tell
how sure the figure is for these tasks, not for others. "real": regret on real curves as a share of what a random
constant arm loses (0: the best arm, 1: a random one), families alike, three orders of the arms each.
"real-best-arm": how much less the recommended arm is worth in the end than the best one, as a share of what a random
one is; arms cannot be pulled beyond the end of their curves, and only budgets that do not see all of them count.
Policies that look for the best arm are played on real curves only, and have no rank. Misjudged settings are given to
policies that have the setting, so these columns compare only those. Rank: mean rank over the tasks of a group, then
over groups, without misjudged settings; equal regrets share a rank, and a policy that failed has the last one. ">
{LARGE:g} %": share of runs that lose more than this share of J*, over the same tasks as the mean, each task alike;
the worst task and the worst run are over these tasks too. Regret can be negative where curves fall, since the best
constant arm is then not the best one can do. Tables of tasks have the value, the side of a pair that counts, the
regret in rewards, and in
brackets the share of runs above {LARGE:g} %."""


# -- tables -----------------------------------------------------------------------------------------------


def overall_table(report: Report) -> TextTable:
    header = ("policy", "mean % of J*", "rank", *report.groups, f"> {LARGE:g} %", "worst task", "worst run or instance")
    rows = [
        (
            line.policy + ("*" if line.failures else ""),
            _pm(line.mean, line.half),
            _number(line.rank, 1),
            *(_pm(*line.groups[group], 2 if group.startswith("real") else 1) for group in report.groups),
            _number(100 * line.share_large, 1),
            _case(line.worst_task),
            _case(line.worst_single),
        )
        for line in report.lines
    ]
    numeric = frozenset(range(1, 4 + len(report.groups)))
    return TextTable(header, rows, numeric, f"Regret over {len(report.outcome.tasks)} tasks, 95 % intervals")


def paired_table(report: Report) -> TextTable:
    rows = [
        (row["task"], row["policy"], f"{row['ratio']:.3f}", _range(row), f"{100 * row['wins']:.0f} %")
        for row in report.paired
    ]
    title = f"Paired with {BASELINE}: ratio of mean regrets in % of J*, 95 % interval (delta method, Student)"
    header = ("task", "policy", "ratio", "interval", "better on")
    return TextTable(header, rows, frozenset({2, 3, 4}), title)


def task_table(report: Report, group: str) -> TextTable:
    """Tasks of a group in rows; policies in columns, the best ones and the baseline where there are many."""
    labels = [line.policy for line in report.lines if line.policy not in YARDSTICKS]
    if len(labels) > _COLUMNS:
        labels = [label for label in labels if label in {*labels[: _COLUMNS - 1], BASELINE}]
    rows = []
    for task in report.outcome.tasks:
        found = report.stats[task.name]
        if task.group == group and found:
            digits = 1 if task.in_percent else 2
            cells = (_of_task(found[label], digits) if label in found else "-" for label in labels)
            count = max((one.count for one in found.values()), default=0)
            rows.append((task.name, f"{count} {task.unit}", *cells))
    numeric = frozenset(range(2, 2 + len(labels)))
    return TextTable(("task", "over", *labels), rows, numeric, group)


# -- files ------------------------------------------------------------------------------------------------


def save(report: Report, folder: Path) -> None:
    """Write results.csv, summary.md and summary.json; equal outcomes give equal bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "results.csv", _csv(report).encode())
    write_whole(folder / "summary.json", (json.dumps(_json(report), indent=1, allow_nan=False) + "\n").encode())
    write_whole(folder / "summary.md", _markdown(report).encode())


def _csv(report: Report) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("policy", "task", "group", *Row._fields, "value"))
    for task in report.outcome.tasks:
        for label, cell in report.outcome.cells[task.name].items():
            writer.writerows((label, task.name, task.group, *row, value_of(task, row)) for row in cell.rows)
    return text.getvalue()


def _json(report: Report) -> Any:
    tasks = [
        {
            "task": task.name,
            "group": task.group,
            "horizon": task.horizon,
            "runs": task.runs,
            "unit": task.unit,
            "weight": task.weight,
            "measure": "% of J*" if task.in_percent else "share of the loss of a random arm",
            "policies": {label: asdict(one) for label, one in report.stats[task.name].items()},
        }
        for task in report.outcome.tasks
    ]
    return _plain(
        {
            "format": 1,
            **report.outcome.parameters,
            "policies": dict(report.outcome.policies),
            "left_out": list(report.outcome.left_out),
            "failures": [dict(zip(("policy", "task", "error"), one, strict=True)) for one in report.failures],
            "overall": [asdict(line) for line in report.lines],
            "paired": report.paired,
            "tasks": tasks,
        }
    )


def _markdown(report: Report) -> str:
    given = ", ".join(f"{name} {value}" for name, value in report.outcome.parameters.items())
    parts = ["# Regret benchmark\n", f"{given}.\n", HOW_TO_READ + "\n", overall_table(report).markdown()]
    parts += [f"{sentence}\n" for sentence in report.notes()]
    if report.paired:
        parts += [f"## {paired_table(report).title}\n", paired_table(report).markdown()]
    for group in report.groups:
        parts += [f"## Tasks: {group}\n", task_table(report, group).markdown()]
    settings = [f"- {label}: `{settings}`" for label, settings in report.outcome.policies.items()]
    parts += ["## Settings\n", "\n".join(settings) + "\n"]
    return "\n".join(parts)


def _number(value: float, digits: int) -> str:
    return "-" if math.isnan(value) else f"{round(value, digits) + 0.0:.{digits}f}"


def _pm(mean: float, half: float, digits: int = 1) -> str:
    if math.isnan(mean) or math.isnan(half):
        return _number(mean, digits)
    return f"{_number(mean, digits)} ± {_number(half, digits)}"


def _of_task(stats: Stats, digits: int) -> str:
    """Value ± interval, the side that counts, the regret in rewards and, if there are any, the share of large ones."""
    if digits == 2:
        return _pm(stats.mean, stats.half, digits)
    side = f" ({stats.side})" if stats.side else ""
    large = f" [{100 * stats.share_large:.0f} %]" if stats.share_large > 0 else ""
    return f"{_pm(stats.mean, stats.half)}{side} = {stats.regret:,.0f}{large}"


def _case(case: tuple[str, float]) -> str:
    return f"{_number(case[1], 1)} {case[0]}".rstrip()


def _range(row: Mapping[str, Any]) -> str:
    return f"{_number(row['low'], 3)} to {_number(row['high'], 3)}"


def _plain(value: Any) -> Any:
    """Without NaN, which JSON does not have."""
    if isinstance(value, Mapping):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
