"""An allocation on a terminal: the same facts as on the page, redrawn while the store is written."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from risingbandits.allocation.ledger import recent_mean
from risingbandits.reports.allocation_log import AllocationLog
from risingbandits.reports.store_follower import Follower

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = ["show_once", "watch_terminal"]

_EVERY = 0.25
_BAR, _WIDE_BAR = 24, 60
_MOST_ARMS = 30


def show_once(store: str | Path, console: Console) -> None:
    """Print the state of ``store`` as it is now."""
    with Follower(store) as follower:
        follower.read_all()
        console.print(view(follower))


def watch_terminal(store: str | Path, console: Console) -> None:
    """Show the state of ``store`` until the allocation is finished or the user interrupts."""
    from rich.live import Live

    with Follower(store) as follower, Live(console=console, auto_refresh=False) as live:
        while True:
            taken = follower.poll()
            live.update(view(follower), refresh=True)
            if follower.log.ledger.finished and not taken and not follower.trouble:
                return
            if not taken:
                time.sleep(_EVERY)


def view(follower: Follower) -> RenderableType:
    """What is shown: a line on the budget, the arms, the last failure and the last decision."""
    from rich.console import Group
    from rich.text import Text

    log = follower.log
    budget, ledger = log.settings.budget, log.ledger
    done = min(1.0, ledger.spent / budget.amount)
    lines: list[RenderableType] = [
        Text(f"{follower.shown_store}: {log.settings.policy!r}", style="bold"),
        Text(
            f"{ledger.spent:,.6g} of {budget.amount:,.6g} {budget.unit} spent ({100 * done:.1f} %), "
            f"{len(ledger.in_flight)} in flight, {log.n_failures} failed or expired"
        ),
        Text("█" * round(_WIDE_BAR * done) + "░" * (_WIDE_BAR - round(_WIDE_BAR * done))),
        _arms(log),
        Text(f"recommended: {log.recommendation() or 'nothing told yet'}", style="bold"),
    ]
    if log.decision is not None:
        lines.append(Text(f"last pull given out: {log.decision.event.arm}, its pull {log.decision.event.n:,}"))
    if log.failures:
        last = log.failures[-1]
        lines.append(Text(f"last failure: {last.arm}, pull {last.n:,}: {last.text or last.kind}", style="red"))
    if follower.trouble:
        lines.append(Text(follower.trouble, style="yellow"))
    return Group(*lines)


def _arms(log: AllocationLog) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    spent, known = log.spent_by_arm(), log.table().rows
    highest = float(spent.max(initial=0.0)) or 1.0
    order = np.argsort(-spent, kind="stable")[:_MOST_ARMS]
    hidden = len(log.arms) - order.size
    table = Table(box=None, pad_edge=False, caption=f"{hidden:,} more arms" if hidden else None)
    for column in ("arm", "pulls", log.unit, "", "recent mean", "status"):
        table.add_column(column, justify="right" if column in ("pulls", log.unit, "recent mean") else "left")
    for index in order:
        arm = log.arms[index]
        recent = f"{recent_mean(arm):.4g}" if arm.rewards else "-"
        bar = "█" * round(_BAR * float(spent[index]) / highest)
        pulls = f"{len(arm.rewards) - arm.warm:,}"
        table.add_row(*map(Text, (arm.name, pulls, f"{spent[index]:,.5g}", bar, recent, known[index].status)))
    return table
