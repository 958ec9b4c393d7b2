"""Budgets, what they pay for, and sums that are exact enough for them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from risingbandits._core.errors import RisingBanditsError, check_finite, check_positive_int, shown

_MOST_PULLS = 10**15
_FIRST_PER_ARM = 100  # guessed rounds per arm while no cost is known
_LONGEST = 10**9  # rounds that a policy plans for, if a budget is in cost or seconds


@dataclass(frozen=True)
class Budget:
    """What may be spent in total: exactly one of ``pulls``, ``cost`` or ``seconds``.

    A budget in pulls is exact: told pulls and pulls in flight never exceed it. With ``cost`` (the sum of what `tell`
    says) and ``seconds`` (the summed time of the pulls, without idle time), no pull starts once the sum has reached the
    budget, so the last pulls may end beyond it.

    Examples
    --------
    >>> Budget(pulls=100)
    Budget(pulls=100)
    >>> Budget(seconds=3600).unit
    'seconds'
    """

    pulls: int | None = None
    cost: float | None = None
    seconds: float | None = None
    unit: str = field(init=False, compare=False)  #: "pulls", "cost" or "seconds"
    amount: float = field(init=False, compare=False)  #: how much of its unit

    def __post_init__(self) -> None:
        fields = {"pulls": self.pulls, "cost": self.cost, "seconds": self.seconds}
        given = {name: value for name, value in fields.items() if value is not None}
        if len(given) != 1:
            raise RisingBanditsError(
                f"budget must have exactly one of pulls, cost and seconds, got {', '.join(given) or 'none'}."
            )
        ((unit, amount),) = given.items()
        if unit == "pulls":
            check_pulls("budget", amount)
        else:
            check_finite(f"budget in {unit}", amount, above=0.0)
        object.__setattr__(self, "unit", unit)
        object.__setattr__(self, "amount", amount)

    def __repr__(self) -> str:
        return f"Budget({self.unit}={self.amount!r})"


def as_budget(name: str, value: Any) -> Budget:
    """A `Budget` as it is, an integer as a number of pulls.

    >>> as_budget("budget", 50)
    Budget(pulls=50)
    """
    if isinstance(value, Budget):
        return value
    if isinstance(value, float):
        raise RisingBanditsError(f"{name} must be an integer (pulls) or a Budget, got {shown(value)}.")
    return Budget(pulls=check_pulls(name, value))


def amount_text(amount: float, unit: str = "") -> str:
    """An amount of a budget for a sentence.

    >>> amount_text(1200, "pulls"), amount_text(0.5)
    ('1,200 pulls', '0.5')
    """
    text = f"{amount:,.0f}" if float(amount).is_integer() else f"{amount:,g}"
    return f"{text} {unit}" if unit else text


def check_pulls(name: str, value: Any) -> int:
    """``value``, if it can be a number of pulls: up to a limit beyond any use, exact in every store."""
    if check_positive_int(name, value) > _MOST_PULLS:
        raise RisingBanditsError(f"{name} must be an integer up to 10^15, got {shown(value)}.")
    return int(value)


def planned_rounds(budget: Budget, spent: float, n_arms: int, warm: int, told: float) -> int:
    """Rounds that a policy plans for: those of earlier runs (``warm``), those told, and what is left pays for.

    >>> planned_rounds(Budget(pulls=50), 7, n_arms=3, warm=4, told=7)
    54
    >>> planned_rounds(Budget(cost=50.0), 10.0, n_arms=3, warm=0, told=4)
    20
    """
    if budget.pulls is not None:
        return warm + budget.pulls
    if spent <= 0.0:
        rounds = max(int(told), _FIRST_PER_ARM * n_arms)
    else:
        rounds = int(told + int(min(_LONGEST, max(0.0, budget.amount - spent) / (spent / told))))
    return warm + max(1, n_arms, min(_LONGEST, rounds))


class ExactSum:
    """A sum of floats without accumulated rounding errors (Neumaier's compensation).

    Ten costs of 0.1 reach a budget of 1.0, which the plain sum 0.9999999999999999 would not.

    >>> total = ExactSum()
    >>> for _ in range(10):
    ...     total.add(0.1)
    >>> total.value
    1.0
    """

    __slots__ = ("high", "low")

    def __init__(self, high: float = 0.0, low: float = 0.0) -> None:
        self.high, self.low = high, low

    def add(self, number: float) -> None:
        """Add ``number``."""
        total = self.high + number
        if math.fabs(self.high) >= math.fabs(number):
            self.low += (self.high - total) + number
        else:
            self.low += (number - total) + self.high
        self.high = total

    @property
    def value(self) -> float:
        """The sum, rounded once; infinite if it overflows.

        >>> total = ExactSum()
        >>> for _ in range(3):
        ...     total.add(9e307)
        >>> total.value
        inf
        """
        return self.high if math.isinf(self.high) else self.high + self.low
