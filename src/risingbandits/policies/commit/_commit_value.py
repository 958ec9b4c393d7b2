"""The commit value of an arm: what committing the remaining rounds to it could bring, and what that may cost.

A line (u, s) says that the arm's mean k pulls from now is at most u + s k; means never exceed ``cap``.

Which arm to commit to is decided by pure optimism, or by optimism that asks what exploring has cost and may still cost.
``arms`` has a record per arm, of which these numbers are filled before a decision: pulls n, earned, the line (u, s) at
the present number of pulls, the pessimistic level lo, the commit value, and two that the rules fill for `explain`: risk
(what climbing to the incumbent may lose) and cost (what exploring the arm has cost).
"""

from __future__ import annotations

import math

from risingbandits._core.jit import kernel
from risingbandits._core.types import Mask, Records
from risingbandits.policies._kernels import argmax

NONE, SUNK_COST, SHARED = 0, 1, 2
MAX_ODDS = 8.0  # upper limit of the odds that a trend breaks
_SHARE = 0.7  # weight of the shared cost: smaller favours slow starters, 1 is nearer to KL-UCB
_TIE = 1e-9  # lines at the cap are ordered by their raw level


@kernel
def value(u: float, s: float, cap: float, remaining: float) -> float:
    """Average over k = 1..remaining of min(cap, u + s k), s >= 0; lines that start at the cap count a little more.

    ``remaining`` is an integer. The sum is exact, so it is an upper bound whenever the line is.
    """
    room = cap - u
    if room <= 0.0:
        return cap + _TIE * min(u, 1e6)
    if room >= s * remaining:
        return u + s * (remaining + 1.0) / 2.0
    below = math.floor(room / s)  # pulls before the line is at the cap
    return cap - below * (room - 0.5 * s * (below + 1.0)) / remaining


@kernel
def climb(u: float, s: float, level: float, remaining: float) -> tuple[float, float]:
    """The number of pulls k0 that the line needs to reach ``level``, and the reward W lost on the way."""
    if u >= level:
        return 0.0, 0.0
    k0 = remaining
    if s > 0.0:
        k0 = min(remaining, (level - u) / s)
    return k0, (level - u) * k0 - 0.5 * s * k0 * k0


@kernel
def most_sunk(n_arms: int, sigma: float, cap: float, horizon: float) -> float:
    """The most that past exploration may count for: about what exploring has to cost on any arms.

    Without it, early bad luck could keep a rival out for ever.
    """
    log = math.log(horizon)
    noisy = sigma * horizon / cap
    return cap * n_arms * ((noisy * noisy * log) ** (1.0 / 3.0) + log)


@kernel
def shared_cost(
    spent: float, active: float, spent_by_active: float, odds: float, shortfall: float, room: float, most: float
) -> float:
    """E (1 + odds / 4 + l): the sunk cost of an arm, shared with the other active arms, with its two surcharges.

    At most ``most``.
    """
    cost = _SHARE * math.sqrt(active * spent * spent_by_active)
    if cost <= 0.0:
        return 0.0
    if room <= 0.0:
        return most
    return min(most, cost * (1.0 + 0.25 * odds + 0.25 * shortfall / room))


@kernel
def incumbent(arms: Records) -> int:
    """The arm with the highest pessimistic level."""
    return argmax.highest(arms["lo"], None)


@kernel
def choose(arms: Records, rule: int, b: int, cap: float, remaining: float, most: float, mask: Mask) -> int:
    """The available arm to play, the lowest number among equals. ``most`` is that of `most_sunk`."""
    level = max(0.0, arms["lo"][b])
    spent = 0.0  # what exploration has cost so far, at today's level
    active = 0.0
    spent_by_active = 0.0
    for arm in range(arms.shape[0]):
        cost = 0.0 if arm == b else max(0.0, arms["n"][arm] * level - arms["earned"][arm])
        arms["risk"][arm] = 0.0
        arms["cost"][arm] = cost
        spent += cost
        if arm != b and is_active(arms, arm, b, cap):
            active += 1.0
            spent_by_active += cost
    spent = min(spent, most)
    chosen = -1
    best = -math.inf
    for arm in range(arms.shape[0]):
        if mask is not None and not mask[arm]:
            continue
        value = arms["value"][arm]
        if arm != b and rule != NONE:
            n = arms["n"][arm]
            k0, lost = climb(arms["u"][arm], arms["s"][arm], level, remaining)
            odds = min(MAX_ODDS, k0 / n)
            risk = odds * lost
            arms["risk"][arm] = risk / remaining
            if rule == SUNK_COST:
                value -= (risk + spent) / remaining
            else:
                shortfall = max(0.0, level - arms["earned"][arm] / n)
                cost = shared_cost(arms["cost"][arm], active, spent_by_active, odds, shortfall, cap - level, most)
                value -= risk / remaining
                if not is_active(arms, arm, b, cap) or not value - cost / remaining > min(cap, arms["value"][b]):
                    value = -math.inf if mask is None or mask[b] else value - 1e9
        elif arm == b and rule == SHARED:
            value = -1e300  # only if no other arm is eligible
        if value > best or chosen < 0:
            best = value
            chosen = arm
    return chosen


@kernel
def is_active(arms: Records, arm: int, b: int, cap: float) -> bool:
    """Whether a rival may still turn out better than the incumbent (rule "shared")."""
    return arms["value"][arm] > arms["value"][b] or arms["u"][arm] >= cap
