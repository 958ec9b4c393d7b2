"""When each arm is likely to be pulled again: the policy plays on by itself, on extrapolated curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from risingbandits.allocation.ledger import Ledger

_MOST_ROUNDS = 200  # that are looked ahead


def rounds_until_pulled(ledger: Ledger, most: int = _MOST_ROUNDS) -> dict[str, int]:
    """In how many rounds each arm would be pulled again; arms that would not are left out.

    A copy of the policy decides as the policy would, and is told what each arm's rewards so far suggest. Every process
    that reads the same events gets the same answer, and asking changes nothing.

    >>> from risingbandits import Allocator
    >>> allocator = Allocator(["a", "b", "c"], budget=9, policy="round-robin")
    >>> _ = allocator.tell(allocator.ask(), 0.5)
    >>> rounds_until_pulled(allocator.ledger)
    {'b': 1, 'c': 2, 'a': 3}
    """
    policy = ledger.policy.clone()
    left = 0 if ledger.finished else max(0, ledger.horizon() - policy.rounds)
    curves = [
        _Continued(_scaled(ledger, arm.rewards), ledger.settings.reward_range is not None) for arm in ledger.opened
    ]
    tried = [curve for curve in curves if curve.known]
    first = float(np.median([curve.values[0] for curve in tried])) if tried else 0.5
    limits = [math.inf if arm.limit is None else arm.limit for arm in ledger.opened]
    free = np.array([arm.eligible for arm in ledger.opened], dtype=bool)
    found: dict[str, int] = {}
    waiting = {arm.place for arm in ledger.opened if arm.index >= 0 and arm.eligible}
    for step in range(1, min(left, most) + 1):
        if not free.any() or not waiting:
            break
        place = policy.ask(None if free.all() else free)
        curve = curves[place]
        policy.tell(place, curve.next() if curve.known else curve.begin(first))
        free[place] = curve.pulls < limits[place]
        if place in waiting:
            waiting.remove(place)
            found[ledger.opened[place].name] = step
    return found


def _scaled(ledger: Ledger, rewards: Sequence[float]) -> list[float]:
    return [(reward - ledger.zero) / ledger.span + 0.0 for reward in rewards]


class _Continued:
    """A curve that continues from its last reward, with the slope of its last quarter, which falls like 1 / pulls."""

    def __init__(self, values: list[float], bounded: bool) -> None:
        self.values, self.bounded, self.pulls = values, bounded, len(values)
        back = max(1, len(values) // 4)
        self.slope = max(0.0, (values[-1] - values[-1 - back]) / back) if len(values) > back else 0.0

    @property
    def known(self) -> bool:
        return bool(self.values)

    def begin(self, value: float) -> float:
        """The first reward of an arm without rewards."""
        self.values, self.pulls = [value], 1
        return value

    def next(self) -> float:
        """The next reward."""
        self.pulls += 1
        told = len(self.values)
        value = self.values[-1] + self.slope * told * math.log(self.pulls / told)
        return min(1.0, value) if self.bounded else value
