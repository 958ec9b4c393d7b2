"""What the best policy is, and how much it earns, where arms may fall.

Rested arms that never fall: one arm, for ever (Heidari et al., 2016). Arms that only fall: the highest next mean in
every round, because waiting gains nothing. If arms rise and fall, the best policy is a split of the rounds that no
simple rule finds; curves that keep their highest value so far bound what it earns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from risingbandits._core.types import Floats

if TYPE_CHECKING:
    from risingbandits.problems._curve import Curve
    from risingbandits.problems.bandit import RisingBandit

_WAVER = 0.05  # of J*: measured curves of rising arms may fall by this much without a warning

ONE_ARM, EACH_ROUND, GREEDY, UNKNOWN = "one arm", "each round", "greedy", "unknown"


def best_policy(problem: RisingBandit, horizon: int) -> str:
    """Which policy is the best for ``horizon`` rounds."""
    if problem.restless:
        return EACH_ROUND
    if problem.is_non_decreasing(max(horizon, 2)):
        return ONE_ARM
    return GREEDY if all(_only_falls(curve, horizon) for curve in problem.curves) else UNKNOWN


def _only_falls(curve: Curve, horizon: int) -> bool:
    """Whether no pull is better than the one before; closed forms rise or fall all the way, so their ends tell."""
    if curve.table is None:
        return curve(horizon) <= curve(1)
    values = curve.table[:horizon]
    return bool((np.diff(values) <= 1e-12 * np.abs(values).max()).all())


def greedy_sums(problem: RisingBandit, horizon: int) -> Floats:
    """Sums of the means that the greedy policy has earned after 0, 1, ... ``horizon`` rounds on arms that only fall."""
    means = problem.means(np.arange(1, horizon + 1))
    largest = np.sort(means, axis=None)[::-1][:horizon]
    return np.concatenate([[0.0], np.cumsum(largest)])


def most_that_can_be_had(problem: RisingBandit, horizon: int) -> float:
    """An upper bound for every policy: the best single arm, if every arm kept its highest mean so far."""
    best = -np.inf
    for arm in range(problem.n_arms):
        curve = problem.curves[arm]
        if curve.is_non_decreasing(max(horizon, 2)):
            total = float(problem.mean_sums(horizon)[arm])
        elif curve.table is None:
            total = horizon * float(problem.means(1)[arm])
        else:
            highest = np.maximum.accumulate(problem.means(np.arange(1, min(horizon, curve.table.size) + 1))[arm])
            total = float(highest.sum() + (horizon - highest.size) * highest[-1])
        best = max(best, total)
    return best


def why_unknown(problem: RisingBandit, horizon: int) -> str | None:
    """What falls, and what regret is against; None if more than that is hardly possible."""
    best, most = problem.oracle_value(horizon), most_that_can_be_had(problem, horizon)
    if most <= best + _WAVER * abs(best):
        return None
    shape = problem.is_non_decreasing(max(horizon, 2))
    return against_one_arm(f"{shape.arm_name} falls after pull {shape.first_violation}", best, most, "is")


def against_one_arm(why: str, best: float, most: float, verb: str) -> str:
    """The sentence that regret is against the best single arm, which a better policy may beat."""
    return (
        f"{why}: regret is against the best single arm ({best:,.6g}), and may be negative, because up to {most:,.6g} "
        f"{verb} possible."
    )
