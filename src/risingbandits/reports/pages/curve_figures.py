"""The arms' rewards over their pulls, with the lines between which the policy expects them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from risingbandits._core.tables import TextTable
from risingbandits._core.types import Floats
from risingbandits.allocation.ledger import ArmState
from risingbandits.reports.allocation_log import AllocationLog, Outlook
from risingbandits.reports.pages import plotly_figures as draw
from risingbandits.reports.pages.elements import Figure
from risingbandits.reports.pages.escaping import number, numbers
from risingbandits.reports.pages.store_figures import block_size

__all__ = ["learning_curves"]

_POINTS = 100  # of a curve; more pulls are averaged in blocks
_AHEAD = 0.25  # the lines go on for this share of the longest curve
_AHEAD_AT_END = 0.1


def learning_curves(log: AllocationLog, arms: Sequence[int]) -> Figure:
    """Rewards of the shown arms, in blocks, and the policy's optimistic and pessimistic line of each."""
    shown = [log.arms[arm] for arm in arms if log.arms[arm].rewards]
    outlooks = log.outlooks()
    longest = max((len(arm.rewards) for arm in shown), default=1)
    share = _AHEAD_AT_END if log.ledger.finished else _AHEAD
    ahead = max(2.0, share * longest)
    size = block_size(longest, _POINTS)
    data, rows = [], []
    for arm in shown:
        x, y = _blocks(np.array(arm.rewards), size)
        hover = "%{y:.4~r}"
        data.append(draw.line(arm.name, numbers(x), numbers(y, 5), arm.index, hover, markers=x.size <= 30))
        outlook = outlooks.get(arm.name)
        if outlook is not None:
            data += _lines(arm, outlook, ahead)
        rows.append(_row(arm, outlook))
    blocks = "single rewards" if size == 1 else f"means of {size:,} rewards"
    has_lines = any(np.isfinite(outlook.high) or np.isfinite(outlook.low) for outlook in outlooks.values())
    lines = (
        " From an arm's last pull on: dotted, what it could reach if the policy's optimism is right; dashed, what it "
        "surely has."
        if has_lines
        else " This policy draws no optimistic or pessimistic lines."
    )
    hidden = sum(bool(arm.rewards) for arm in log.arms) - len(shown)
    return Figure(
        key="curves",
        title="Rewards over each arm's own pulls",
        caption=f"Shown are {blocks}.{lines}" + (f" {hidden:,} arms that got less are not drawn." if hidden else ""),
        data=data,
        layout=draw.layout(
            draw.axis("pull of the arm", range=[0, number(longest + ahead)]), draw.axis("reward"), hovermode="closest"
        ),
        table=TextTable(
            ("arm", "pulls", "first reward", "last reward", "optimistic", "per pull", "pessimistic"),
            rows,
            frozenset(range(1, 7)),
            "Learning curves, and what the policy expects next",
        ),
        legend=[draw.entry(arm.name, arm.index) for arm in shown],
        height=440,
    )


def _blocks(rewards: Floats, size: int) -> tuple[Floats, Floats]:
    """Middle pull and mean reward of each block of ``size`` pulls; the last block may be shorter."""
    first = np.arange(0, rewards.size, size)
    last = np.minimum(first + size, rewards.size)
    return (first + last + 1) / 2, np.add.reduceat(rewards, first) / (last - first)


def _lines(arm: ArmState, outlook: Outlook, ahead: float) -> list[draw.Trace]:
    """The two lines of an arm from its last pull on."""
    n = len(arm.rewards)
    lines = []
    if np.isfinite(outlook.high):
        corners = outlook.optimistic(ahead)
        x, y = numbers(n + k for k, _ in corners), numbers((value for _, value in corners), 5)
        lines.append(draw.line(arm.name, x, y, arm.index, "at best %{y:.4~r}", dash="2px,3px", width=1.5))
    if np.isfinite(outlook.low):
        x, y = numbers([n, n + ahead]), numbers([outlook.low, outlook.low], 5)
        lines.append(draw.line(arm.name, x, y, arm.index, "surely %{y:.4~r}", dash="8px,5px", width=1.5))
    return lines


def _row(arm: ArmState, outlook: Outlook | None) -> tuple[str, ...]:
    expected = (outlook.high, outlook.slope, outlook.low) if outlook is not None else (np.nan,) * 3
    texts = ["-" if not np.isfinite(value) else f"{value:.4g}" for value in expected]
    return arm.name, f"{len(arm.rewards):,}", f"{arm.rewards[0]:.4g}", f"{arm.rewards[-1]:.4g}", *texts
