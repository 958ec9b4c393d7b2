"""What a finished run says about the arms that it never tried."""

from __future__ import annotations

from collections.abc import Sequence

from risingbandits.allocation.arm_state import ArmState
from risingbandits.allocation.ledger import Ledger

_NEXT = 2  # arms that could be tried next


def untried_sentence(ledger: Ledger) -> str:
    """How many arms were never tried, and how many pulls it would take to try two of them; empty if all were.

    A trial takes the mean number of pulls of the tried arms, without the one that had most.

    >>> from risingbandits import Allocator
    >>> allocator = Allocator(["a", "b", "c", "d"], budget=6, policy="round-robin", max_arms=2)
    >>> while (pull := allocator.ask()) is not None:
    ...     _ = allocator.tell(pull, 0.5)
    >>> untried_sentence(allocator.ledger)
    '2 of 4 arms were never tried: max_arms is 2'
    """
    if not ledger.finished or not ledger.told:
        return ""
    untried = [arm for arm in ledger.arms if not arm.rewards and arm.retired is None]
    if not untried:
        return ""
    were = "was" if len(untried) == 1 else "were"
    said = f"{len(untried):,} of {len(ledger.arms):,} arms {were} never tried"
    limit = ledger.settings.max_arms
    if limit is not None and all(arm.place < 0 for arm in untried):
        return f"{said}: max_arms is {limit}"
    possible = [arm for arm in untried if not arm.masked]
    if not possible:
        return f"{said}: {'it is' if len(untried) == 1 else 'they are'} masked"
    chosen = possible[:_NEXT]
    pulls = _about(len(chosen) * _trial(ledger))
    more = f"{pulls:,} more pull{'' if pulls == 1 else 's'}"
    return f"{said}; with about {more}{_amount(ledger, pulls)} {_which(ledger, possible)} could be"


def _trial(ledger: Ledger) -> float:
    """Mean pulls of the tried arms, without the one that had most."""
    pulls = sorted(len(arm.rewards) for arm in ledger.arms if arm.rewards)
    others = pulls[:-1] or pulls
    return sum(others) / len(others)


def _about(pulls: float) -> int:
    """A rounded number of pulls.

    >>> _about(3.4), _about(28.9), _about(1_234.0)
    (3, 30, 1200)
    """
    unit = 1 if pulls < 15.0 else 5 if pulls < 100.0 else 10 ** (len(str(int(pulls))) - 2)
    return max(1, unit * round(pulls / unit))


def _amount(ledger: Ledger, pulls: int) -> str:
    """What these pulls take from a budget that is not in pulls."""
    budget = ledger.settings.budget
    if budget.pulls is not None:
        return ""
    amount = f"{pulls * ledger.spent / ledger.told:.2g}"
    return f" ({amount} seconds)" if budget.unit == "seconds" else f" (a cost of {amount})"


def _which(ledger: Ledger, possible: Sequence[ArmState]) -> str:
    """Which arms these are: named if a prior says which are the most promising."""
    prior = ledger.settings.prior
    if len(possible) == 1:
        return "it"
    if prior is not None and not ledger.dropped:
        known = [(belief.mean, arm.name) for arm in possible if (belief := prior.of(arm.name)).source != "stranger"]
        best = [name for _, name in sorted(known, reverse=True)[:_NEXT]]
        if len(best) == _NEXT:
            return f"the two most promising of them, {best[0]} and {best[1]},"
    return "both" if len(possible) == _NEXT else "two of them"
