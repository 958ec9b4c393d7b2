"""The recent level of every arm, and the one rule of recommendation that follows from it.

The level is the mean of the last quarter of an arm's rewards: of those after the last mark that leaves at least a
quarter. Marks are the pulls 1 to 8, 10, 12, 14, 16, 20, 24, ..., four in each octave, so that an arm needs the sums at
four marks and not its history, and the mean is over at most 0.4 of its pulls, or two of five to seven. The rule
recommends the arm with the highest level less its standard error. The noise is that of the second differences of all
arms, of which a smooth curve has hardly any.

``levels`` has a row for each arm (columns below) and one for all: the sum of the squared second differences, and their
number.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Floats

_PULLS, _TOTAL, _LAST, _BEFORE, _NEXT, _STEP = range(6)  # the next mark, and the distance between marks
_MARKS, _SUMS = 6, 10  # the last four marks and the sums of the rewards up to them, the latest first
_SQUARES, _BENDS = 0, 1  # in the last row


def new_levels(n_arms: int) -> Floats:
    """Before the first reward."""
    levels = np.zeros((n_arms + 1, 14))
    levels[:n_arms, _NEXT] = levels[:n_arms, _STEP] = 1.0
    return levels


@kernel
def add(levels: Floats, arm: int, reward: float) -> None:
    """One more reward of the arm."""
    n = levels[arm, _PULLS] + 1.0
    if n > 2.0:
        bend = reward - 2.0 * levels[arm, _LAST] + levels[arm, _BEFORE]
        levels[-1, _SQUARES] += bend * bend
        levels[-1, _BENDS] += 1.0
    levels[arm, _BEFORE] = levels[arm, _LAST]
    levels[arm, _LAST] = reward
    levels[arm, _TOTAL] += reward
    levels[arm, _PULLS] = n
    if n == levels[arm, _NEXT]:
        _mark(levels, arm)


@rare_kernel
def _mark(levels: Floats, arm: int) -> None:
    for place in range(3, 0, -1):
        levels[arm, _MARKS + place] = levels[arm, _MARKS + place - 1]
        levels[arm, _SUMS + place] = levels[arm, _SUMS + place - 1]
    levels[arm, _MARKS] = levels[arm, _PULLS]
    levels[arm, _SUMS] = levels[arm, _TOTAL]
    if levels[arm, _NEXT] == 8.0 * levels[arm, _STEP]:
        levels[arm, _STEP] *= 2.0
    levels[arm, _NEXT] += levels[arm, _STEP]


@kernel
def first(levels: Floats, arm: int) -> int:
    """The place of the mark after which the arm's recent rewards begin; at most 3, where marks may be 0."""
    place = 0
    while 4.0 * levels[arm, _MARKS + place] > 3.0 * levels[arm, _PULLS]:
        place += 1
    return place


@kernel
def level(levels: Floats, arm: int, errors: float) -> float:
    """The arm's recent level less so many standard errors; -inf without a reward."""
    if levels[arm, _PULLS] == 0.0:
        return -math.inf
    place = first(levels, arm)
    count = levels[arm, _PULLS] - levels[arm, _MARKS + place]
    total = levels[arm, _TOTAL] - levels[arm, _SUMS + place]
    variance = levels[-1, _SQUARES] / (6.0 * levels[-1, _BENDS]) if levels[-1, _BENDS] > 0.0 else 0.0
    return total / count - errors * math.sqrt(variance / count)


@kernel
def recommend(state: Any, t: int, levels: Floats) -> int:
    """The arm with the highest recent level less its standard error, the lowest number of equals."""
    best = 0
    for arm in range(1, levels.shape[0] - 1):
        if level(levels, arm, 1.0) > level(levels, best, 1.0):
            best = arm
    return best


def columns(levels: Floats) -> dict[str, Floats]:
    """The level of each arm and its lower bound, for `explain`; NaN without a reward."""
    found = np.array([[level(levels, arm, errors) for arm in range(len(levels) - 1)] for errors in (0.0, 1.0)])
    found[np.isneginf(found)] = np.nan
    return {"level": found[0], "lcb": found[1]}
