"""How many rounds a policy plans for, if a budget is in cost or seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from risingbandits.allocation.ledger import Ledger

_FIRST_PER_ARM = 100  # guessed rounds per arm while no cost is known
_TOLERANCE = 0.1
_LONGEST = 10**9


def planned(ledger: Ledger) -> int:
    """The policy's total number of rounds, as known now: earlier runs, told pulls and what is left."""
    warm = sum(arm.warm for arm in ledger.opened)
    budget = ledger.settings.budget
    if budget.pulls is not None:
        return warm + budget.pulls
    spent = ledger.spent_cost.value
    told: float = ledger.told
    if ledger.rounds is not None:
        warm, told = ledger.rounds.rounds([arm.warm for arm in ledger.opened])
    if spent <= 0.0:
        rounds = max(int(told), _FIRST_PER_ARM * len(ledger.opened))
    else:
        rounds = int(told + int(min(_LONGEST, max(0.0, budget.amount - spent) / (spent / told))))
    return warm + max(1, len(ledger.opened), min(_LONGEST, rounds))


def has_changed(ledger: Ledger) -> bool:
    """Whether to plan again: the rounds that the budget pays for or the cost of a round have changed by a tenth."""
    if ledger.spent_cost.value >= ledger.settings.budget.amount:
        return False
    before = ledger.policy.horizon or 1
    if abs(planned(ledger) - before) > _TOLERANCE * before:
        return True
    return ledger.rounds is not None and ledger.rounds.stale()
