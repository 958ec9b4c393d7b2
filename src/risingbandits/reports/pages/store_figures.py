"""Who got the budget, and when: over time and pull by pull."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from risingbandits._core.tables import TextTable
from risingbandits._core.types import Floats, Ints
from risingbandits.reports.allocation_log import AllocationLog
from risingbandits.reports.pages import plotly_figures as draw
from risingbandits.reports.pages.elements import Figure
from risingbandits.reports.pages.escaping import numbers

__all__ = ["block_size", "shown_arms", "spent_by_block", "spent_over_time"]

_MOST_ARMS = 12  # shown one by one; the others together
_POINTS = 150
_BLOCKS = 60
_ROWS = 10
_UNITS = (
    (3 * 86_400.0, 86_400.0, "days"),
    (3 * 3600.0, 3600.0, "hours"),
    (180.0, 60.0, "minutes"),
    (0.0, 1.0, "seconds"),
)


def shown_arms(log: AllocationLog) -> list[int]:
    """Numbers of the arms that pictures show one by one: those that got most, in the order of the arms."""
    order = np.argsort(-log.spent_by_arm(), kind="stable")[:_MOST_ARMS]
    return sorted(int(arm) for arm in order)


def block_size(count: int, most: int = _BLOCKS) -> int:
    """The least of 1, 2, 5, 10, 20, 50, ... in which ``count`` makes at most ``most`` blocks.

    >>> block_size(60), block_size(61), block_size(1_000_000)
    (1, 2, 20000)
    """
    size = 1
    while -(-count // size) > most:
        leading = int(str(size)[0])
        size = size * 5 // 2 if leading == 2 else size * 2
    return size


def spent_over_time(log: AllocationLog, arms: Sequence[int]) -> Figure:
    """A stack of areas: what each arm has had of the budget by each moment."""
    of, amounts, times = log.tells()
    start = log.first_time or 0.0
    length = max(float(times.max()) - start, 1e-3) if times.size else 1.0
    seconds, unit = next((each, unit) for least, each, unit in _UNITS if length >= least)
    grid = np.linspace(0.0, length, _POINTS)
    cells = np.minimum(np.searchsorted(grid, times - start), _POINTS - 1)
    sums = np.cumsum(_by_arm(log, of, cells, amounts, _POINTS), axis=1)
    x = numbers(grid / seconds, 5)
    names, rows, places = _layers(log, sums, arms)
    hover = "%{y:,.5~r}"
    title = f"time since the first event ({unit})"
    at = np.unique(np.linspace(0, _POINTS - 1, _ROWS).round().astype(int))
    table = TextTable(
        (unit, *names),
        [(f"{grid[i] / seconds:.3g}", *(f"{row[i]:,.5g}" for row in rows)) for i in at],
        frozenset(range(len(names) + 1)),
        f"Budget spent by each arm ({log.unit}) at some times",
    )
    return Figure(
        key="spent",
        title="Budget over time",
        caption=f"What each arm has had of the budget, in {log.unit}; the upper edge is all that was spent.",
        data=[
            draw.stacked(name, x, numbers(row, 5), place, hover)
            for name, row, place in zip(names, rows, places, strict=True)
        ],
        layout=draw.layout(
            draw.axis(title, range=[0, x[-1]]),
            draw.axis(f"spent ({log.unit})", rangemode="tozero"),
            hovermode="x unified",
        ),
        table=table,
        legend=_legend(names, places, "area"),
        height=380,
    )


def spent_by_block(log: AllocationLog, arms: Sequence[int]) -> Figure:
    """Stacked bars: of each block of told pulls, what each arm got."""
    of, amounts, _ = log.tells()
    size = block_size(of.size)
    count = max(1, -(-of.size // size))
    sums = _by_arm(log, of, np.arange(of.size) // size, amounts, count)
    first = np.arange(count) * size + 1
    last = np.minimum(first + size - 1, max(of.size, 1))
    middle, width = numbers((first + last) / 2), numbers(last - first + 1.0)
    names, rows, places = _layers(log, sums, arms)
    each = "each pull" if size == 1 else f"each {size:,} pulls"
    ranges = [f"{a:,}" if a == b else f"{a:,} to {b:,}" for a, b in zip(first, last, strict=True)]
    data = [
        draw.bars(name, middle, numbers(row, 5), width, place, "%{y:,.5~r}")
        for name, row, place in zip(names, rows, places, strict=True)
    ]
    table = TextTable(
        ("pulls", *names),
        [(ranges[i], *(f"{row[i]:,.5g}" for row in rows)) for i in range(count)],
        frozenset(range(1, len(names) + 1)),
        f"Budget ({log.unit}) that {each} gave to each arm",
    )
    axis = draw.axis("pulls told, in their order", hoverformat=",.0f", range=[0.5, max(of.size, 1) + 0.5])
    return Figure(
        key="blocks",
        title="Who got each part of the budget",
        caption=f"Of {each} told, in their order, what went to which arm.",
        data=data,
        layout=draw.layout(
            axis,
            draw.axis(f"{log.unit} per {size:,} pulls" if size > 1 else log.unit),
            hovermode="x unified",
            barmode="stack",
        ),
        table=table,
        legend=_legend(names, places, "bar"),
        height=340,
    )


def _by_arm(log: AllocationLog, of: Ints, cells: Ints, amounts: Floats, count: int) -> Floats:
    """Sums of the amounts, one row for each arm and one column for each cell."""
    shape = (len(log.arms), count)
    sums = np.bincount(of * count + cells, amounts, minlength=shape[0] * count)
    return sums.astype(float).reshape(shape)  # of nothing they would be integers


def _layers(log: AllocationLog, sums: Floats, arms: Sequence[int]) -> tuple[list[str], list[Floats], list[int]]:
    """Names, rows and places in the palette: the shown arms, then all others together."""
    names, rows, places = [log.arms[arm].name for arm in arms], [sums[arm] for arm in arms], list(arms)
    others = len(log.arms) - len(arms)
    if others:
        shown = np.zeros(len(log.arms), dtype=bool)
        shown[list(arms)] = True
        names.append(f"{others:,} others")
        rows.append(sums[~shown].sum(axis=0))
        places.append(draw.MUTED)
    return names, rows, places


def _legend(names: Sequence[str], places: Sequence[int], kind: str) -> list[dict[str, object]]:
    return [draw.entry(name, place, kind) for name, place in zip(names, places, strict=True)]
