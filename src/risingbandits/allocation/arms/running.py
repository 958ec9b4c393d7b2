"""`Allocator.run`: prepare the arms, let the driver pull them until the budget is spent, and clean up."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from risingbandits._core.errors import RisingBanditsError
from risingbandits.allocation.arms.checkpointed import Checkpointed
from risingbandits.allocation.arms.checkpoints import Name
from risingbandits.allocation.arms.display import progress_bar
from risingbandits.allocation.arms.driver import Driver
from risingbandits.allocation.arms.economy import Economy
from risingbandits.allocation.arms.places import Slots
from risingbandits.allocation.remembering import remember_quietly

if TYPE_CHECKING:
    from risingbandits.allocation.allocator import Allocator


def run_arms(
    allocator: Allocator,
    arms: Mapping[str, Any],
    jobs: int | None,
    progress: bool,
    slots: Slots,
    keep: int | str | None = None,
) -> None:
    """Pull ``arms`` until the budget of ``allocator`` is spent, as `Allocator.run` says."""
    if hasattr(arms, "belong_to"):
        arms.belong_to(allocator)
    ready: dict[str, Checkpointed] = {}
    for name, arm in arms.items():
        before = allocator.checkpointed.get(name)  # an object that was pulled before has learnt something
        same = before is not None and before.given is arm
        ready[name] = before if before is not None and same else Checkpointed.of(name, arm, allocator)
    allocator.checkpointed.update(ready)
    with progress_bar(allocator, progress) as display:
        driver = Driver(allocator, ready, jobs, display, slots=slots, find=allocator.find_arm)
        if keep is not None:
            folder = getattr(arms, "folder", None) or allocator.store.directory
            driver.economy = Economy(allocator, folder, driver.arms, keep, driver.jobs)
            driver.economy.tidy()
        received = driver.run()
    remember_quietly(allocator)
    if received == signal.SIGINT:
        raise KeyboardInterrupt
    if received is not None:
        signal.raise_signal(received)  # now it does what it did before
    ledger = allocator.ledger
    if ledger.finished and not ledger.told:
        first = ledger.arms[0]
        said = f"every arm was retired before a pull counted; {first.name} {str(first.retired).rstrip('.')}"
        if allocator.store.directory is not None:  # the store remembers, even after the cause is fixed
            said += f"; once the cause is fixed, retries={allocator.settings.retries + 3} lets them be tried again"
        raise RisingBanditsError(f"{said}.")
    if ledger.told:
        kept = allocator.recommend()
        if kept in ready:
            state = ledger.arm(kept)
            ready[kept].catch_up(state.last, Name(len(state.rewards), state.last_pull))
