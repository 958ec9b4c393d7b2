"""The comparison of arms at equal resource straight from its description: every pair by itself, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist


def level(curve: Sequence[float], age: int) -> float:
    """Mean of the last twentieth of the first ``age`` values, at least of one; lowest if that is no number."""
    last = max(1, math.ceil(age * 0.05))
    value = sum(curve[age - last : age]) / last
    return value if math.isfinite(value) else -math.inf


def slow_scores(curves: Sequence[Sequence[float]]) -> list[float]:
    """Normal scores of the numbers of comparisons won."""
    failed = [level(curve, len(curve)) == -math.inf for curve in curves]
    won = []
    for i, mine in enumerate(curves):
        points = 0.0
        for j, other in enumerate(curves):
            if i == j:
                continue
            age = min(len(mine), len(other))
            a = -math.inf if failed[i] else level(mine, age)
            b = -math.inf if failed[j] else level(other, age)
            points += 1.0 if a > b else 0.5 if a == b else 0.0
        won.append(points)
    scores = []
    for points in won:
        rank = sum(other < points for other in won) + (sum(other == points for other in won) - 1) / 2
        scores.append(NormalDist().inv_cdf((rank + 0.5) / len(won)))
    return scores
