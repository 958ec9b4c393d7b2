"""The state of an allocation as tables and sentences for the command line."""

from __future__ import annotations

import math
import time

from risingbandits._core.tables import TextTable
from risingbandits.allocation.explained import allocation_table
from risingbandits.allocation.ledger import Ledger

__all__ = ["arms_table", "flights_table", "spent", "standing"]


def arms_table(ledger: Ledger) -> TextTable:
    """One row per arm: what it gives, what it has cost, and why it is next or not."""
    table = allocation_table(ledger)
    header = ("arm", "pulls", "cost", "last", "level", "trend", "width", "value", "status", "why")
    rows = []
    for row in table.rows:
        rewards = ledger.by_name[row.arm].rewards
        numbers = (rewards[-1] if rewards else math.nan, row.level, row.trend, row.width, row.value)
        rows.append((row.arm, str(row.pulls), f"{row.cost:g}", *map(_number, numbers), row.status, row.why))
    return TextTable(header, rows, frozenset(range(1, 8)), table.title)


def flights_table(ledger: Ledger) -> TextTable:
    """The pulls in flight: who has them and for how long yet."""
    now = time.time()
    rows = [
        (
            flight.arm.name,
            str(flight.n),
            str(flight.attempt),
            f"{now - flight.asked:,.0f} s",
            f"{flight.deadline - now:,.0f} s",
            ":".join(flight.worker.split(":")[:2]),
        )
        for flight in ledger.in_flight.values()
    ]
    header = ("arm", "pull", "attempt", "for", "lease left", "host and process")
    return TextTable(header, rows, frozenset({1, 2, 3, 4}), "In flight")


def spent(ledger: Ledger) -> str:
    """How much of the budget is spent.

    >>> from risingbandits.allocation import Allocator
    >>> spent(Allocator(["a"], budget=10).ledger)
    '0 of 10 pulls'
    """
    budget = ledger.settings.budget
    return f"{_amount(ledger.spent)} of {_amount(budget.amount)} {budget.unit}"


def _amount(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,g}"


def standing(ledger: Ledger) -> str:
    """What is spent and which arm to keep, in a sentence or two."""
    if not ledger.told:
        return f"Spent {spent(ledger)}. No pull is done yet."
    done = "The budget is spent." if ledger.spent >= ledger.settings.budget.amount else f"Spent {spent(ledger)}."
    if ledger.finished and ledger.spent < ledger.settings.budget.amount:
        done += " No arm is left that can be pulled."
    return f"{done} Recommended: {ledger.recommend()}"


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4g}"
