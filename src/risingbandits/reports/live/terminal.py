"""An allocation on a terminal: the table of the arms, redrawn while others write to the store."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from risingbandits.allocation.status.progress import ended
from risingbandits.allocation.status.status import allocation_table, standing
from risingbandits.reports.allocation_log import AllocationLog, Follower

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_EVERY = 0.25
_BAR = 60
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


def _how_far(log: AllocationLog) -> str:
    """How far it is, and, while pulls run, how long it will take and how fast it is."""
    progress, gone = log.progress(time.time()), log.abandoned()
    if gone and len(gone) == len(log.ledger.in_flight):
        return f"{progress}, stopped: {ended(gone, log.ledger)}"
    return str(progress) if log.ledger.in_flight else progress.percent()


def view(follower: Follower) -> RenderableType:
    """What is shown: the budget as a bar, the arms, where it stands, the last decision and the last failure."""
    from rich.console import Group
    from rich.text import Text

    log = follower.log
    table = allocation_table(log.ledger)
    done = min(1.0, log.ledger.spent / log.settings.budget.amount)
    bar = "█" * round(_BAR * done) + "░" * (_BAR - round(_BAR * done))
    lines: list[RenderableType] = [
        Text(follower.shown_store, style="bold"),
        Text(f"{bar} {_how_far(log)}"),
        log.arms_table(_MOST_ARMS, table.text_table()),
    ]
    if len(log.arms) > _MOST_ARMS:
        lines.append(Text(f"{len(log.arms) - _MOST_ARMS:,} more arms"))
    lines += [Text(sentence) for sentence in table.reasons()]
    lines.append(Text(standing(log.ledger), style="bold"))
    if log.decision is not None:
        lines.append(Text(f"last pull given out: {log.decision.event.arm}, its pull {log.decision.event.n:,}"))
    if log.failures:
        last = log.failures[-1]
        reason = f"{last.arm}, pull {last.n:,}: {last.text or last.kind}"
        lines.append(Text(f"{log.n_failures:,} failed or expired, the last: {reason}", style="red"))
    if follower.trouble:
        lines.append(Text(follower.trouble, style="yellow"))
    return Group(*lines)
