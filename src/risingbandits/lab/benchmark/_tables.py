"""The figures of the benchmark as tables and files: benchmark.md, benchmark.json and tasks.csv.

Tables are made from the plain values that `summarise` returns and benchmark.json holds; equal outcomes give equal
bytes.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from risingbandits._core.files import json_text, write_whole
from risingbandits._core.tables import TextTable
from risingbandits.lab.benchmark._play import Outcome
from risingbandits.lab.benchmark._scores import LARGE
from risingbandits.policies import Objective

_COLUMNS = 9  # policies side by side
PARTS = {"real": "Real curves", "made": "Made from real curves", "synthetic": "Simulated problems"}

_HOW_TO_READ = f"""\
Lower is better. On real curves figures are normalised regret: 0 is the best arm and 1 a random one. Cumulative: regret
against the best constant arm; after its end an arm keeps paying its final value. Best-arm: how much less the
recommended arm is worth in the end than the best one; an arm cannot be pulled beyond its end, and only budgets that do
not see every curve to its end count. Other figures are in % of J*, the reward of the best constant arm, where the table
says so. Every task is played with 2, 5, 10, 20 and 50 pulls per arm and in several orders of its arms; budgets are
averaged within a task, tasks within a benchmark, and all benchmarks have the same weight. Policies are given only the
numbers of arms and rounds. Intervals are 95 %, from resampling tasks and, within each, orders (or runs): they say
how certain a figure is for these benchmarks, not for others. Rank: mean over the benchmarks of real curves. Worst
ratio: the benchmark on which the policy is furthest from the best policy there, as a ratio of their figures (0.05, or
0.5 % of J*, is the least that counts). "> J*/{1 / LARGE:g}": share of runs that lose more than a quarter of J*.
"""


def save(outcome: Outcome, summary: Mapping[str, Any], folder: Path) -> None:
    """Write all files."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "benchmark.md", markdown(summary).encode())
    write_whole(folder / "benchmark.json", json_text(summary).encode())
    write_whole(folder / "tasks.csv", _csv(outcome).encode())


def notes(summary: Mapping[str, Any]) -> list[str]:
    """What is missing and why."""
    failures = [one for found in summary["objectives"].values() for one in found["failures"]]
    return [
        *summary["left_out"],
        *("{policy} failed on {benchmark} (marked *): {error}".format(**one) for one in failures),
    ]


def markdown(summary: Mapping[str, Any]) -> str:
    """The whole report as a string."""
    given = ", ".join(f"{name} {value}" for name, value in summary["parameters"].items())
    version = summary["versions"]["risingbandits"]
    parts = ["# Benchmark\n", f"`{summary['command']}` (version {version}, {given}).\n", _HOW_TO_READ]
    parts += [f"{sentence}\n" for sentence in notes(summary)]
    for objective, found in summary["objectives"].items():
        overall, *tables = objective_tables(objective, found)
        parts += [f"## {overall.title}\n", overall.markdown()]
        for table in (*tables, *_detailed_tables(found)):
            parts += [f"### {table.title}\n", table.markdown()]
    policies = [f"- {label}: `{text}`" for label, text in summary["policies"].items()]
    return "\n".join([*parts, "## Policies\n", "\n".join(policies) + "\n"])


def objective_tables(objective: str, found: Mapping[str, Any], intervals: bool = True) -> list[TextTable]:
    """A line for each policy, then the groups of each kind."""
    tables = (_groups_table(found, kind, intervals) for kind in PARTS)
    return [_overall_table(objective, found), *(table for table in tables if table.rows)]


def _overall_table(objective: str, found: Mapping[str, Any]) -> TextTable:
    header = ["policy", "real curves", "rank", "worst ratio", "in", f"> J*/{1 / LARGE:g}", "synthetic, % of J*"]
    rows = [
        (
            line["policy"] + ("*" if line["failures"] else ""),
            figure(line["real"]),
            number(line["rank"], 1),
            number(line["worst_ratio"]["ratio"], 2),
            line["worst_ratio"]["group"],
            "-" if line["large"] is None else f"{100 * line['large']:.1f} %",
            figure(line["synthetic"], 1),
        )
        for line in found["policies"]
    ]
    table = TextTable(tuple(header), rows, frozenset({1, 2, 3, 5, 6}), Objective.get(objective).title)
    return table.only([head for at, head in enumerate(header) if any(row[at] != "-" for row in rows)])


def _groups_table(found: Mapping[str, Any], kind: str, intervals: bool) -> TextTable:
    """Groups in rows, policies in columns."""
    groups = {name: group for name, group in found["groups"].items() if group["kind"] == kind}
    labels = _played(found, groups.values())
    rows = []
    for name, group in groups.items():
        percent = group["measure"] == "percent"
        own = {
            label: (figure(one, 1 if percent else 2) if intervals else number(one["mean"], 1 if percent else 2))
            + (" %" if percent else "")
            for label, one in group["policies"].items()
        }
        over = f"{group['benchmarks']} benchmarks" if group["benchmarks"] > 1 else f"{group['tasks']:,}"
        rows.append((name, over, *(own.get(label, "-") for label in labels)))
    return TextTable(("benchmark", "tasks", *labels), rows, frozenset(range(1, 2 + len(labels))), PARTS[kind])


def _detailed_tables(found: Mapping[str, Any]) -> list[TextTable]:
    """The benchmarks of groups of several, or in % of J*: value, the side of a pair that counts, regret in rewards."""
    tables = []
    for name, group in found["groups"].items():
        if group["benchmarks"] == 1 and group["measure"] != "percent":
            continue
        members = [one for one in found["benchmarks"] if one["group"] == name]
        labels = _played(found, members)
        rows = []
        for one in members:
            runs = max((stats["runs"] for stats in one["policies"].values()), default=0)
            cells = (
                _detail(one["policies"][label], one["measure"]) if label in one["policies"] else "-" for label in labels
            )
            rows.append((one["benchmark"], f"{runs:,}", *cells))
        header = ("benchmark", "runs", *labels)
        tables.append(TextTable(header, rows, frozenset(range(1, len(header))), f"Benchmarks of {name}"))
    return tables


def _played(found: Mapping[str, Any], groups: Iterable[Mapping[str, Any]]) -> list[str]:
    """The policies that have a figure in one of the groups, the best first; as many as fit side by side."""
    known = {label for group in groups for label in group["policies"]}
    return [line["policy"] for line in found["policies"] if line["policy"] in known][:_COLUMNS]


def figure(value: Mapping[str, float] | None, digits: int = 2) -> str:
    """A mean and its interval.

    >>> figure({"mean": 0.612, "low": 0.58, "high": 0.651}), figure(None)
    ('0.61 [0.58, 0.65]', '-')
    """
    if value is None:
        return "-"
    return "{} [{}, {}]".format(*(number(value[name], digits) for name in ("mean", "low", "high")))


def number(value: float | None, digits: int) -> str:
    """A number, a dash if there is none, and no minus before zero."""
    return "-" if value is None else f"{round(value, digits) + 0.0:.{digits}f}"


def _detail(stats: Mapping[str, Any], measure: str) -> str:
    side = f" ({stats['side']})" if stats["side"] else ""
    large = f" [{100 * stats['large']:.0f} %]" if stats["large"] > 0 else ""
    mean = f"{number(stats['mean'], 1)} %" if measure == "percent" else number(stats["mean"], 2)
    return f"{mean}{side} = {stats['regret']:,.0f}{large}"


def _csv(outcome: Outcome) -> str:
    """A line for every policy and task: the mean over budgets and orders, and its spread over the orders."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("objective", "benchmark", "group", "measure", "policy", "task", "runs", "value", "sd"))
    for benchmark, cells in outcome.cells.items():
        for label, cell in cells.items():
            for task, values in benchmark.values(cell.runs).items():
                spread = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
                known = (benchmark.objective, benchmark.name, benchmark.group, benchmark.measure, label, task)
                writer.writerow((*known, len(values), f"{values.mean():.6g}", f"{spread:.6g}"))
    return text.getvalue()
