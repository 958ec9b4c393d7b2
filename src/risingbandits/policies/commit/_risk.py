"""Which arm to commit to: pure optimism, or optimism that asks what exploring has cost and may still cost.

``arms`` has a row per arm with the columns below, filled before a decision: pulls, earned, the line (u, s) at the
present number of pulls, the pessimistic level lo, the commit value V, and two columns that the rules fill for
`explain`: risk (what climbing to the incumbent may lose) and cost (what exploring the arm has cost).
"""

from __future__ import annotations

import math

from risingbandits._core.jit import kernel
from risingbandits._core.types import Floats, Mask
from risingbandits.policies.commit import _tables

N, EARNED, U, S, LO, V, RISK, COST = 0, 1, 2, 3, 4, 5, 6, 7
COLUMNS = 8
NONE, SUNK_COST, SHARED = 0, 1, 2


@kernel
def incumbent(arms: Floats) -> int:
    """The arm with the highest pessimistic level."""
    best = 0
    for arm in range(1, arms.shape[0]):
        if arms[arm, LO] > arms[best, LO]:
            best = arm
    return best


@kernel
def choose(
    arms: Floats, rule: int, b: int, cap: float, remaining: float, max_odds: float, share: float, mask: Mask
) -> int:
    """The available arm to play; the lowest number where several are equal."""
    level = max(0.0, arms[b, LO])
    spent = 0.0  # what exploration has cost so far, at today's level
    active = 0.0
    spent_by_active = 0.0
    for arm in range(arms.shape[0]):
        arms[arm, RISK] = 0.0
        arms[arm, COST] = 0.0 if arm == b else max(0.0, arms[arm, N] * level - arms[arm, EARNED])
        spent += arms[arm, COST]
        if arm != b and is_active(arms, arm, b, cap):
            active += 1.0
            spent_by_active += arms[arm, COST]
    chosen = -1
    best = -math.inf
    for arm in range(arms.shape[0]):
        if mask is not None and not mask[arm]:
            continue
        value = arms[arm, V]
        if arm != b and rule != NONE:
            k0, lost = _tables.climb(arms[arm, U], arms[arm, S], level, remaining)
            odds = min(max_odds, k0 / arms[arm, N])
            risk = odds * lost
            arms[arm, RISK] = risk / remaining
            if rule == SUNK_COST:
                value -= (risk + spent) / remaining
            else:
                shortfall = max(0.0, level - arms[arm, EARNED] / arms[arm, N])
                cost = _tables.shared_cost(
                    arms[arm, COST], active, spent_by_active, odds, shortfall, cap - level, share
                )
                value -= risk / remaining
                if not is_active(arms, arm, b, cap) or not value - cost / remaining > min(cap, arms[b, V]):
                    value = -math.inf if mask is None or mask[b] else value - 1e9
        elif arm == b and rule == SHARED:
            value = -1e300  # only if no other arm is eligible
        if value > best or chosen < 0:
            best = value
            chosen = arm
    return chosen


@kernel
def is_active(arms: Floats, arm: int, b: int, cap: float) -> bool:
    """Whether a rival may still turn out better than the incumbent (rule "shared")."""
    return arms[arm, V] > arms[b, V] or arms[arm, U] >= cap
