"""Where an allocation stands, as plain values for other programs: what `show --json` prints."""

from __future__ import annotations

import time
from typing import Any

from risingbandits.allocation.arm_table import AllocationTable
from risingbandits.allocation.ledger import Ledger
from risingbandits.allocation.status import allocation_table


def status_dict(ledger: Ledger, table: AllocationTable | None = None) -> dict[str, Any]:
    """The policy, the budget, what is spent, the pulls in flight, and the ``table`` of the arms with its reasons.

    Examples
    --------
    >>> from risingbandits.allocation import Allocator
    >>> found = status_dict(Allocator(["a", "b"], budget=10).ledger)
    >>> found["budget"], found["unit"], found["spent"], found["recommended"]
    (10, 'pulls', 0, None)
    >>> [(arm["arm"], arm["pulls"], arm["status"]) for arm in found["arms"]]
    [('a', 0, 'untried'), ('b', 0, 'untried')]
    """
    settings, now = ledger.settings, time.time()
    return {
        "policy": ledger.policy.described(),
        "objective": settings.objective,
        "direction": settings.direction,
        "budget": settings.budget.amount,
        "unit": settings.budget.unit,
        "spent": ledger.spent,
        "finished": ledger.finished,
        **(allocation_table(ledger) if table is None else table).to_dict(),
        "in_flight": [
            {
                "arm": flight.arm.name,
                "pull": flight.n,
                "attempt": flight.attempt,
                "seconds": now - flight.asked,
                "lease_left": flight.deadline - now,
                "worker": flight.worker,
            }
            for flight in ledger.in_flight.values()
        ],
    }
