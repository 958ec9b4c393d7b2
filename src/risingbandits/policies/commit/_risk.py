"""Which arm to commit to: pure optimism, or optimism that asks what exploring has cost and may still cost.

``arms`` has a record per arm, of which these numbers are filled before a decision: pulls n, earned, the line (u, s) at
the present number of pulls, the pessimistic level lo, the commit value, and two that the rules fill for `explain`: risk
(what climbing to the incumbent may lose) and cost (what exploring the arm has cost).
"""

from __future__ import annotations

import math

from risingbandits._core.jit import kernel
from risingbandits._core.types import Mask, Records
from risingbandits.policies._kernels import argmax
from risingbandits.policies.commit import _commit_value

NONE, SUNK_COST, SHARED = 0, 1, 2


@kernel
def incumbent(arms: Records) -> int:
    """The arm with the highest pessimistic level."""
    return argmax.highest(arms["lo"], None)


@kernel
def choose(
    arms: Records, rule: int, b: int, cap: float, remaining: float, max_odds: float, share: float, mask: Mask
) -> int:
    """The available arm to play; the lowest number where several are equal."""
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
    chosen = -1
    best = -math.inf
    for arm in range(arms.shape[0]):
        if mask is not None and not mask[arm]:
            continue
        value = arms["value"][arm]
        if arm != b and rule != NONE:
            n = arms["n"][arm]
            k0, lost = _commit_value.climb(arms["u"][arm], arms["s"][arm], level, remaining)
            odds = min(max_odds, k0 / n)
            risk = odds * lost
            arms["risk"][arm] = risk / remaining
            if rule == SUNK_COST:
                value -= (risk + spent) / remaining
            else:
                shortfall = max(0.0, level - arms["earned"][arm] / n)
                cost = _commit_value.shared_cost(
                    arms["cost"][arm], active, spent_by_active, odds, shortfall, cap - level, share
                )
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
