"""Figures of an allocation: which arms got the budget and when, and their rewards with what the policy expects."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from risingbandits._core.tables import TextTable
from risingbandits._core.types import Floats, Ints
from risingbandits.allocation._arm_state import ArmState
from risingbandits.allocation.status.arm_table import AllocationTable, ArmRow
from risingbandits.reports._allocation_log import AllocationLog
from risingbandits.reports._figure_data import MUTED, Line, coloured
from risingbandits.reports.pages import _plotly_figures as draw
from risingbandits.reports.pages.layout import Figure

_MOST_ARMS = 12  # shown one by one; the others together
_CURVE_POINTS = 100  # more pulls are averaged in blocks
_AHEAD = 1.3  # times the longest curve are shown at most
_NOTHING_TOLD = "No reward has been told yet; the picture begins with the first one."


def shown_arms(log: AllocationLog) -> list[int]:
    """Numbers of the arms that figures show one by one: those that got most, in the order of the arms."""
    order = np.argsort(-log.spent_by_arm(), kind="stable")[:_MOST_ARMS]
    return sorted(int(arm) for arm in order)


def palette_places(log: AllocationLog) -> list[int]:
    """The place of each arm in the palette: in the order of their first pulls, so that few tried arms differ most."""
    tried, first = np.unique(log.tells()[0], return_index=True)
    order = tried[np.argsort(first)].tolist()
    order += sorted(set(range(len(log.arms))).difference(order))
    return [coloured(int(place)) for place in np.argsort(order)]


def spent_by_block(log: AllocationLog, arms: Sequence[int]) -> Figure:
    """Stacked bars: of each block of told pulls, what each arm got."""
    of, amounts = log.tells()

    def layers(middles: Floats, blocks: Ints) -> list[Line]:
        return _layers(log, middles, _by_arm(log, of, blocks, amounts, len(middles)), arms)

    return draw.blocks_figure(
        "blocks",
        "Which arms got each part of the budget",
        "what each arm got of the budget",
        of.size,
        layers,
        log.unit,
        empty=_NOTHING_TOLD,
    )


def _by_arm(log: AllocationLog, of: Ints, cells: Ints, amounts: Floats, count: int) -> Floats:
    """Sums of the amounts, one row for each arm and one column for each cell."""
    shape = (len(log.arms), count)
    sums = np.bincount(of * count + cells, amounts, minlength=shape[0] * count)
    return sums.astype(float).reshape(shape)  # of nothing they would be integers


def _layers(log: AllocationLog, x: Floats, sums: Floats, arms: Sequence[int]) -> list[Line]:
    """The shown arms, then all others together; none of an arm that has had no pull."""
    places = palette_places(log)
    pulls = np.bincount(log.tells()[0], minlength=len(log.arms))
    layers = [Line(log.arms[arm].name, places[arm], x, sums[arm]) for arm in arms if pulls[arm]]
    others = int(np.count_nonzero(np.delete(pulls, list(arms))))
    if others:
        layers.append(Line(f"{others:,} others", MUTED, x, np.delete(sums, list(arms), axis=0).sum(axis=0)))
    return layers


def learning_curves(log: AllocationLog, arms: Sequence[int], found: AllocationTable) -> Figure:
    """Rewards of the shown arms, in blocks, and where the table of arms predicts that each will be."""
    shown = [log.arms[arm] for arm in arms if log.arms[arm].rewards]
    rows = {row.arm: row for row in found.rows}
    longest = max((len(arm.rewards) for arm in shown), default=1)
    edge = min(max(found.end, longest + 1.0), _AHEAD * longest)
    size = draw.block_size(longest, _CURVE_POINTS)
    places = palette_places(log)
    curves = [Line(arm.name, places[arm.index], *_block_means(np.array(arm.rewards), size)) for arm in shown]
    expected = [trace for arm in shown for trace in _expected(arm, places[arm.index], rows[arm.name], edge)]
    blocks = "single rewards" if size == 1 else f"means of {size:,} rewards"
    where = f"{found.end:,.0f} pulls" + (", drawn at the right edge" if found.end > edge else "")
    lines = f"Dotted: to the predicted value at {where}; the bar is its 90 % interval." if expected else ""
    hidden = sum(bool(arm.rewards) for arm in log.arms) - len(shown)
    return draw.lines_figure(
        "curves",
        "Rewards over each arm's own pulls",
        f"Shown are {blocks}. {lines}" + (f" {hidden:,} arms that got less are not drawn." if hidden else ""),
        curves,
        (draw.axis("pull of the arm", range=[0, 1.03 * edge]), draw.axis("reward")),
        TextTable(
            ("arm", "pulls", "first reward", "last reward", "predicted", "low", "high"),
            [_row(arm, rows[arm.name]) for arm in shown],
            frozenset(range(1, 7)),
            "Learning curves, and what is predicted",
        ),
        draw=lambda curve: draw.line(curve, "%{y:.4~r}", markers=curve.x.size <= 30),
        further=expected,
        height=440,
        hovermode="closest",
        empty=_NOTHING_TOLD,
    )


def _block_means(rewards: Floats, size: int) -> tuple[Floats, Floats]:
    """Middle pull and mean reward of each block of ``size`` pulls; the last block may be shorter."""
    first = np.arange(0, rewards.size, size)
    last = np.minimum(first + size, rewards.size)
    return (first + last + 1) / 2, np.add.reduceat(rewards, first) / (last - first)


def _expected(arm: ArmState, place: int, row: ArmRow, edge: float) -> list[draw.Trace]:
    """The way from an arm's last reward to its predicted value, and the interval of that."""
    if not np.isfinite(row.predicted):
        return []
    way = Line(arm.name, place, np.array([len(arm.rewards), edge]), np.array([arm.rewards[-1], row.predicted]))
    traces = [draw.line(way, "predicted %{y:.4~r}", dash="2px,3px", width=1.5)]
    if np.isfinite(row.low):
        interval = Line(arm.name, place, np.full(2, edge), np.array([row.low, row.high]))
        traces.append(draw.line(interval, "90 %: %{y:.4~r}", width=1.5))
    return traces


def _row(arm: ArmState, row: ArmRow) -> tuple[str, ...]:
    expected = row.predicted, row.low, row.high
    texts = ["-" if not np.isfinite(value) else f"{value:.4g}" for value in expected]
    return arm.name, f"{len(arm.rewards):,}", f"{arm.rewards[0]:.4g}", f"{arm.rewards[-1]:.4g}", *texts
