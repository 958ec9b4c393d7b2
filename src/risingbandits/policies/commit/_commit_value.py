"""The commit value of an arm: what committing the remaining rounds to it could bring, and what that may cost.

A line (u, s) says that the arm's mean k pulls from now is at most u + s k; means never exceed ``cap``.
"""

from __future__ import annotations

import math

from risingbandits._core.jit import kernel

_TIE = 1e-9  # lines at the cap are ordered by their raw level


@kernel
def value(u: float, s: float, cap: float, remaining: float) -> float:
    """Average over k = 1..remaining of min(cap, u + s k); lines that begin at the cap count a little more."""
    if u >= cap:
        return cap + _TIE * min(u, 1e6)
    if s <= 0.0 or cap - u >= s * remaining:
        return u + s * (remaining + 1.0) / 2.0
    return cap - (cap - u) * (cap - u) / (2.0 * s * remaining)


@kernel
def climb(u: float, s: float, level: float, remaining: float) -> tuple[float, float]:
    """How many pulls k0 the line needs to reach ``level``, and the reward W lost against it meanwhile."""
    if u >= level:
        return 0.0, 0.0
    k0 = remaining
    if s > 0.0:
        k0 = min(remaining, (level - u) / s)
    return k0, (level - u) * k0 - 0.5 * s * k0 * k0


@kernel
def shared_cost(
    spent: float, active: float, spent_by_active: float, odds: float, shortfall: float, room: float, share: float
) -> float:
    """E (1 + odds / 4 + l): the sunk cost of an arm, shared with the other active arms, with its two surcharges."""
    cost = share * math.sqrt(active * spent * spent_by_active)
    if cost <= 0.0:
        return 0.0
    if room <= 0.0:
        return math.inf
    return cost * (1.0 + 0.25 * odds + 0.25 * shortfall / room)
