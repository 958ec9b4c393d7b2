"""Trust in a prior as its definition says, pair by pair, and the order of arms, one after another."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import numpy as np


def level(curve: Sequence[float], age: int) -> float:
    width = -(-age // 3)
    return statistics.fmean(curve[age - width : age])


def scores(curves: Sequence[Sequence[float]]) -> list[float]:
    wins = []
    for curve in curves:
        won = 0.0
        for other in curves:
            if other is not curve:
                age = min(len(curve), len(other))
                mine, theirs = level(curve, age), level(other, age)
                won += 1.0 if mine > theirs else 0.5 if mine == theirs else 0.0
        wins.append(won)
    normal = statistics.NormalDist()
    found = []
    for won in wins:
        rank = sum(other < won for other in wins) + (sum(other == won for other in wins) - 1) / 2
        found.append(normal.inv_cdf((rank + 0.5) / len(curves)))
    return found


def trust(means: Sequence[float], curves: Sequence[Sequence[float]]) -> float:
    told = [(mean, curve) for mean, curve in zip(means, curves, strict=True) if curve]
    if len(told) < 2:
        return 1.0
    means, curves = [mean for mean, _ in told], [curve for _, curve in told]
    centre, median = statistics.fmean(means), statistics.median([len(curve) for curve in curves])
    start = 4 * max(0.05, statistics.pvariance(means))
    above = below = start
    for mean, curve, score in zip(means, curves, scores(curves), strict=True):
        weight = min(1.0, len(curve) / median)
        above += weight * score * (mean - centre)
        below += weight * (mean - centre) ** 2
    return min(1.5, max(0.0, above / below))


def order(means: dict[int, float], opened: int, seed: int, dropped: bool) -> list[tuple[int, str]]:
    """The arms by number as they are opened after so many others, and why."""
    ties = np.random.default_rng([seed, 3]).random(1 + max(means))
    left, found = sorted(means, key=lambda arm: (-means[arm], ties[arm])), []
    while left:
        opened += 1
        if dropped or opened % 5 == 0:
            drawn = int(np.random.default_rng([seed, 2, opened]).integers(len(left)))
            found.append((left.pop(drawn), "dropped" if dropped else "random"))
        elif opened == 2:
            found.append((left.pop(len(left) // 3), "yardstick"))
        else:
            found.append((left.pop(0), "prior"))
    return found
