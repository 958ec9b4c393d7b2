"""The rewards of every arm at a few of its pulls, its recent level, and the recommendation that follows from it.

The level is the mean of the last quarter of an arm's rewards: of those after the last mark that leaves at least a
quarter. Marks are the pulls 0 to 8, 10, 12, 14, 16, 20, 24, ..., four in each octave, so that an arm needs the sums at
its marks and not its history, and the mean is over at most 0.4 of its pulls, or two of five to seven. The rule
recommends the arm with the highest level less its standard error. The noise is that of the second differences of all
arms, of which a smooth curve has hardly any.

``levels`` has a row for each arm (columns below) and one for all: the sum of the squared second differences, and their
number.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from risingbandits._core.jit import interpreted, kernel, rare_kernel
from risingbandits._core.types import Floats

PULLS, TOTAL, LAST, BEFORE, _PASSED, _NEXT = range(6)  # how many marks above 0 an arm has passed, and the next one
SUMS = 6  # from here on the sums of the rewards up to each mark
_SQUARES, _BENDS = 0, 1  # in the last row


def mark(place: int) -> int:
    """The mark with this number; the first is 0.

    >>> [mark(place) for place in range(14)]
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20]
    """
    return place if place < 5 else (5 + (place - 1) % 4) << ((place - 1) // 4 - 1)


_mark_at = kernel(mark)


def new_levels(n_arms: int, pulls: int) -> Floats:
    """Before the first reward, with room for arms of at most so many ``pulls``."""
    levels = np.zeros((n_arms + 1, SUMS + _marks_until(pulls) + 1))
    levels[:n_arms, _NEXT] = 1.0
    return levels


def make_room(levels: Floats, pulls: int) -> Floats:
    """The same, with room for so many pulls."""
    return np.pad(levels, ((0, 0), (0, max(0, SUMS + _marks_until(pulls) + 1 - levels.shape[1]))))


def with_arms(levels: Floats, more: int) -> Floats:
    """The same, with so many more arms."""
    fresh = np.zeros((more, levels.shape[1]))
    fresh[:, _NEXT] = 1.0
    return np.concatenate([levels[:-1], fresh, levels[-1:]])


def room(levels: Floats) -> int:
    """Most pulls that an arm may have."""
    return mark(levels.shape[1] - SUMS) - 1


def _marks_until(pulls: int) -> int:
    place = 0
    while mark(place + 1) <= pulls:
        place += 1
    return place


@kernel
def add(levels: Floats, arm: int, reward: float) -> None:
    """One more reward of the arm."""
    n = levels[arm, PULLS] + 1.0
    if n > 2.0:
        bend = reward - 2.0 * levels[arm, LAST] + levels[arm, BEFORE]
        levels[-1, _SQUARES] += bend * bend
        levels[-1, _BENDS] += 1.0
    levels[arm, BEFORE] = levels[arm, LAST]
    levels[arm, LAST] = reward
    levels[arm, TOTAL] += reward
    levels[arm, PULLS] = n
    if n == levels[arm, _NEXT]:
        _pass_mark(levels, arm)


@rare_kernel
def _pass_mark(levels: Floats, arm: int) -> None:
    place = int(levels[arm, _PASSED]) + 1
    levels[arm, _PASSED] = place
    levels[arm, SUMS + place] = levels[arm, TOTAL]
    levels[arm, _NEXT] = _mark_at(place + 1)


def noise(levels: Floats) -> float:
    """The variance of one reward around its curve."""
    return levels[-1, _SQUARES] / (6.0 * levels[-1, _BENDS]) if levels[-1, _BENDS] > 0.0 else 0.0


_noise = kernel(noise)


@kernel
def level(levels: Floats, arm: int, errors: float) -> float:
    """The arm's recent level less so many standard errors; -inf without a reward."""
    if levels[arm, PULLS] == 0.0:
        return -math.inf
    place = int(levels[arm, _PASSED])
    while 4.0 * _mark_at(place) > 3.0 * levels[arm, PULLS]:
        place -= 1
    count = levels[arm, PULLS] - _mark_at(place)
    return (levels[arm, TOTAL] - levels[arm, SUMS + place]) / count - errors * math.sqrt(_noise(levels) / count)


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
    slowly = interpreted(level)
    found = np.array([[slowly(levels, arm, errors) for arm in range(len(levels) - 1)] for errors in (0.0, 1.0)])
    found[np.isneginf(found)] = np.nan
    return {"estimate": found[0], "lcb": found[1]}
