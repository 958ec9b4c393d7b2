"""The figures of the arena as tables for the terminal, for Markdown and for the page."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence

from risingbandits._core.tables import TextTable
from risingbandits.lab.benchmark._scores import LARGE, Board, Figure, Stats
from risingbandits.policies import Objective

_COLUMNS = 9  # policies side by side

HOW_TO_READ = f"""\
Lower is better. On real curves, 0 is always the best arm and 1 a random one. Cumulative: regret against the best
constant arm, relative to that of a random constant arm; after its end an arm keeps paying its final value. Best-arm:
how much less the recommended arm is worth in the end than the best one, relative to a random one; an arm cannot be
pulled beyond its end, and only budgets that do not see every curve to its end count. Other rows are in % of J*, what
the best constant arm earns, where the table says so. Every task is played with 2, 5, 10, 20 and 50 pulls per arm and
in several orders of its arms; budgets are averaged within a task, tasks within a family, and all families have the
same weight. Policies know nothing but the numbers of arms and rounds. Intervals are 95 %, from resampling tasks and,
within each, orders (or runs): they say how certain a figure is for these families, not for others. Rank: mean over the
families of real curves. Worst ratio: the row in which the policy is furthest from the best policy of that row, as a
ratio of their figures (0.05, or 0.5 % of J*, is the least that counts). "> J*/{1 / LARGE:g}": share of runs that lose
more than a quarter of what the best arm earns."""


def overall_table(board: Board) -> TextTable:
    """A line for each policy."""
    header = ["policy", "real curves", "rank", "worst ratio", "in", f"> J*/{1 / LARGE:g}", "synthetic, % of J*"]
    rows = []
    for line in board.lines:
        cells = [
            line.label + ("*" if line.failures else ""),
            figure(line.real),
            number(line.rank, 1),
            number(line.worst_ratio[1], 2),
            line.worst_ratio[0],
            "-" if math.isnan(line.large) else f"{100 * line.large:.1f} %",
            figure(line.synthetic, 1),
        ]
        rows.append(tuple(cells))
    kept = [at for at in range(len(header)) if any(row[at] != "-" for row in rows)]  # no column without a figure
    numeric = frozenset(place for place, at in enumerate(kept) if header[at] not in ("policy", "in"))
    shown = [tuple(row[at] for at in kept) for row in rows]
    return TextTable(tuple(header[at] for at in kept), shown, numeric, Objective.get(board.objective).title)


def regimes_table(board: Board, kinds: tuple[str, ...], name: str, intervals: bool = True) -> TextTable:
    """Regimes in rows, policies in columns, the best ones first; all of them need a wide page."""
    regimes = [regime for regime in board.figures if board.kind(regime) in kinds]
    labels = _played(board, [board.figures[regime] for regime in regimes])
    form = figure if intervals else _mean
    rows = []
    for regime in regimes:
        found = board.figures[regime]
        percent = board.measure(regime) == "percent"
        own = {label: form(one, 1 if percent else 2) + (" %" if percent else "") for label, one in found.items()}
        several = len(board.regimes[regime])
        tasks = max((board.stats[row][label].tasks for row in board.regimes[regime] for label in found), default=0)
        over = f"{several} rows" if several > 1 else f"{tasks:,}"
        rows.append((regime, over, *(own.get(label, "-") for label in labels)))
    return TextTable(("row", "tasks", *labels), rows, frozenset(range(1, 2 + len(labels))), name)


def rows_table(board: Board, regime: str) -> TextTable:
    """The rows of a regime: value, the side of a pair that counts, and regret in rewards."""
    labels = _played(board, [board.stats[row] for row in board.regimes[regime]])
    rows = []
    for row in board.regimes[regime]:
        found = board.stats[row]
        cells = (_detail(found[label], row.measure) if label in found else "-" for label in labels)
        runs = max((one.runs for one in found.values()), default=0)
        rows.append((row.name, f"{runs:,}", *cells))
    return TextTable(("row", "runs", *labels), rows, frozenset(range(1, 2 + len(labels))), regime)


def _played(board: Board, found: Sequence[Container[str]]) -> list[str]:
    """The policies that have a figure in some row, the best first; as many as fit side by side."""
    return [line.label for line in board.lines if any(line.label in row for row in found)][:_COLUMNS]


def regimes_in_detail(board: Board) -> list[str]:
    """Regimes of several rows, or whose regret in rewards is of interest."""
    return [regime for regime, rows in board.regimes.items() if len(rows) > 1 or rows[0].measure == "percent"]


def figure(value: Figure | None, digits: int = 2) -> str:
    """A mean and its interval.

    >>> figure(Figure(0.612, 0.58, 0.651)), figure(None)
    ('0.61 [0.58, 0.65]', '-')
    """
    if value is None:
        return "-"
    return f"{number(value.mean, digits)} [{number(value.low, digits)}, {number(value.high, digits)}]"


def _mean(value: Figure, digits: int) -> str:
    return number(value.mean, digits)


def number(value: float, digits: int) -> str:
    """A number, a dash if there is none, and no minus before zero."""
    return "-" if math.isnan(value) else f"{round(value, digits) + 0.0:.{digits}f}"


def _detail(stats: Stats, measure: str) -> str:
    side = f" ({stats.side})" if stats.side else ""
    large = f" [{100 * stats.large:.0f} %]" if stats.large > 0 else ""
    mean = f"{number(stats.figure.mean, 1)} %" if measure == "percent" else number(stats.figure.mean, 2)
    return f"{mean}{side} = {stats.regret:,.0f}{large}"
