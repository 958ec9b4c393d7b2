"""Trust in a prior as its definition says, pair by pair, and the order of arms, one after another."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence

import numpy as np

from reference_process import slow_prediction
from risingbandits.allocation.prior.gaussian_process import most_probable


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


def settings_order(
    points: dict[int, list[float]], curves: dict[int, Sequence[float]], told: Sequence[int], seed: int
) -> list[tuple[int, float]]:
    """Arms without a pull by what a model of their points hopes, best first, and what it expects.

    ``curves`` are all rewards of arms, ``told`` the arms of all pulls; the model is made at the last of 1, 2, ..., n,
    max(n + 1, 1.05 n), ... pulls.
    """
    at = 0
    while max(at + 1, math.ceil(1.05 * at)) <= len(told):
        at = max(at + 1, math.ceil(1.05 * at))
    pulls = Counter(told[:at])
    drawn = [int(i) for i in np.random.default_rng([seed, 4, at]).permutation(len(curves)) if int(i) in points]
    seen = [i for i in drawn if pulls[i] > 0][:200]
    closed = [i for i in drawn if pulls[i] == 0][:1000]
    if len(seen) < 8 or not closed:
        return []
    values = np.array(scores([curves[i][: pulls[i]] for i in seen]))
    places = np.array([points[i] for i in seen])
    groups = np.arange(places.shape[1])
    hyper = most_probable(places[:60], values[:60], groups)
    means, deviations = slow_prediction(places, values, groups, hyper, np.array([points[i] for i in closed]))
    certain = [math.sqrt(max(0.0, deviation**2 - math.exp(hyper[-1]))) for deviation in deviations]
    found = [(mean + width, arm, float(mean)) for mean, width, arm in zip(means, certain, closed, strict=True)]
    return [(arm, mean) for _, arm, mean in sorted(found, key=lambda each: -each[0])]
