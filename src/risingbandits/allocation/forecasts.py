"""What a curve model expects from the arms of an allocation, for any policy; no decision uses it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from risingbandits._core.types import Floats
from risingbandits.allocation.ledger import Ledger
from risingbandits.policies.commit.forecast import Forecast, forecast
from risingbandits.policies.explanation import Units, counted

_HEADROOM = 0.25  # of the rewards so far, above the best of them, where no range is known


class Forecasts(NamedTuple):
    """The forecast of each arm at the end of the run, with ``units`` that make rewards of its numbers."""

    found: Forecast
    units: Units
    age: int | None  # pulls that the most pulled arm could have by the end; None if arms are compared by cost

    def of(self, column: str, arm: int) -> float:
        """A level of an arm, as a reward."""
        return self.units.zero + self.units.span * float(getattr(self.found, column)[arm])

    def sentence(self) -> str:
        """Where this comes from."""
        if not np.isfinite(self.found.final).any():
            return ""
        model = "end and band (90 %) come from a curve model, the chance of being the best from levels at equal age"
        taken = "given all of the budget that is left" if self.age is None else f"taken to {counted(self.age)}"
        return f"{model}: each tried arm {taken}"


def forecasts(ledger: Ledger) -> Forecasts:
    """What to expect from each arm at the age that the most pulled one can reach by the end of the run.

    Arms are compared at equal age, or at an arm's limit of pulls. If costs are compared, each is as old as the rest of
    the budget can make it: an expensive arm gets fewer pulls.
    """
    if ledger.rounds is None:
        left = 0 if ledger.finished else max(0, ledger.horizon() - ledger.policy.rounds)
        age = left + max((len(arm.rewards) for arm in ledger.arms), default=0)
        reached = [age] * len(ledger.arms)
    else:
        age, costs = None, ledger.rounds.expected()
        money = 0.0 if ledger.finished else max(0.0, ledger.settings.budget.amount - ledger.spent)
        reached = [len(arm.rewards) + round(money / costs[arm.place]) for arm in ledger.arms]
    ages = [n if arm.limit is None else min(n, arm.limit) for arm, n in zip(ledger.arms, reached, strict=True)]
    units = _units(ledger)
    curves = [(np.array(arm.rewards) - units.zero) / units.span for arm in ledger.arms]
    limits = (0.0, 1.0) if ledger.settings.reward_range is not None else (-np.inf, np.inf)
    found = forecast(curves, ages, limits)
    if np.isfinite(found.chance).sum() < 2:  # of one arm alone it says nothing
        found.chance.fill(np.nan)
    return Forecasts(found, units, age)


def _units(ledger: Ledger) -> Units:
    """Units in which rewards are shares of the range, or of what was seen and a little more."""
    if ledger.settings.reward_range is not None or not ledger.told:
        return Units(ledger.zero, ledger.span)
    seen: Floats = np.concatenate([np.array(arm.rewards) for arm in ledger.arms]) / ledger.span
    low, high = float(seen.min()), float(seen.max())
    span = (1.0 + _HEADROOM) * (high - low) or max(1.0, abs(high))
    return Units(ledger.span * low, ledger.span * span)
