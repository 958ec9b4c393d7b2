"""Slow and obvious: the noise level from differences of neighbouring rewards, and what contradicts a told one."""

from __future__ import annotations

import itertools
import math

import numpy as np


def estimated(rewards: list[list[float]]) -> float:
    """The variance that sigma="auto" takes all arms to have: by pairs, with a first guess that is soon forgotten."""
    everything = [r for own in rewards for r in own]
    first = (max(everything) - min(everything)) ** 2 / 4
    if len(set(everything)) <= 2:
        return first
    found = [v for own in rewards for v in pairs(own)]
    weight = math.exp(-len(found) / 6) if len(found) < 200 else 0.0
    return (sum(found) + weight * first) / (len(found) + weight)


def pairs(rewards: list[float]) -> list[float]:
    """Variances by rewards 1 and 2, 3 and 4, ..."""
    return [(rewards[i] - rewards[i - 1]) ** 2 / 2 for i in range(1, len(rewards), 2)]


def triples(rewards: list[float]) -> list[float]:
    """Variances by every three neighbours."""
    return [float(bend) ** 2 / 6 for bend in np.diff(rewards, 2)] if len(rewards) > 2 else []


def kinds(rewards: list[list[float]]) -> tuple[float, float]:
    """The mean variance over all arms by pairs and by triples, of which each counts half.

    1/4 counts for one pair at first, for 1/e of that after every six pairs.
    """
    two = [v for own in rewards for v in pairs(own)]
    three = [v for own in rewards for v in triples(own)]
    return _with_first(sum(two), len(two)), _with_first(sum(three) / 2, len(three) / 2)


def _with_first(squares: float, count: float) -> float:
    weight = math.exp(-count / 6) if count < 200 else 0.0
    return (squares + weight / 4) / (count + weight)


def pooled_variance(rewards: list[list[float]], steep: int = 0, largest: float = 0.25) -> float:
    """That of all arms together, of which the first ``steep`` rewards only say whether all are 0 or 1."""
    if all(min(abs(r), abs(r - 1)) < 1e-6 for own in rewards for r in own):
        return 0.25
    rewards = [own[steep:] for own in rewards]
    steps = [abs(b - a) for own in rewards for a, b in itertools.pairwise(own) if abs(b - a) > 1e-6]
    return min(largest, max(min(kinds(rewards)), min(steps) ** 2 / 4 if steps else 0.0))


def arm_variance(rewards: list[list[float]], arm: int, steep: int = 0, largest: float = 0.25) -> tuple[float, float]:
    """The variance of an arm, and how many pairs that rests on: those of all arms count for four."""
    pooled = pooled_variance(rewards, steep, largest)
    rewards = [own[steep:] for own in rewards]
    two, three = kinds(rewards)
    own = [v / 2 for v in triples(rewards[arm])] if three < two else pairs(rewards[arm])
    count = len(own) / 2 if three < two else len(own)
    return min(largest, (sum(own) + 4 * pooled) / (count + 4)), count


class Guard:
    """Evidence against a told sigma, from blocks of five rewards after each arm's first."""

    def __init__(self, sigma: float) -> None:
        self.sigma = sigma
        self.evidence = 0.0
        self.contradicted = False

    def look(self, five: list[float]) -> None:
        x2 = float(np.diff(five, 4)[0]) ** 2 / (70 * self.sigma**2)
        self.evidence = max(-20.0, self.evidence + 3 / 8 * min(16.0, x2) - math.log(2))
        self.contradicted |= self.evidence >= 20
