"""How good each arm of a task is, in normal scores, from curves of different lengths.

Runs train good arms longer than bad ones, so last values are not comparable: two arms are compared at the age of the
younger one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from risingbandits._core.stats import mid_ranks, normal_quantile
from risingbandits._core.types import Floats

LEAST_ARMS = 3  # of a task that says anything
_SHARE = 0.05  # of a curve that is known to its end, whose mean is its level


def normal_scores(curves: Sequence[Floats], share: float = _SHARE) -> Floats:
    """A normal score for each curve (high is good), by comparing every pair at the age of the younger one.

    The level at an age is the mean of the last ``share`` of the values until then, of at least one. An arm whose last
    level is not finite has failed and is below all that have not. The number of comparisons won (ties count one half)
    gives the ranks, and a rank r of m, from 0, the score Phi^-1((r + 1/2) / m).

    >>> curves = [np.array([0.1, 0.2, 0.9]), np.array([0.3, 0.4]), np.array([0.0]), np.array([0.5, np.nan])]
    >>> normal_scores(curves).round(2).tolist()
    [0.32, 1.15, -0.32, -1.15]
    """
    return scores_of_ranks(wins(curves, share))


def wins(curves: Sequence[Floats], share: float = _SHARE) -> Floats:
    """How many comparisons each curve wins."""
    lengths = np.array([len(curve) for curve in curves], int)
    failed = np.array([not math.isfinite(_level(curve, len(curve), share)) for curve in curves], bool)
    won = np.zeros(len(curves))
    for age in sorted({len(curve) for curve in curves}):
        first = age - _width(age, share)
        older = np.flatnonzero(lengths >= age)
        with np.errstate(invalid="ignore"):  # inf - inf
            levels = np.stack([curves[i][first:age] for i in older.tolist()]).mean(axis=1)
        levels[failed[older] | ~np.isfinite(levels)] = -math.inf
        own = lengths[older] == age  # their last age: now they are compared with all that are as old or older
        mine, others = levels[own][:, None], levels[None, :]
        points = (mine > others) + 0.5 * (mine == others)
        won[older[own]] += points.sum(axis=1) - 0.5  # less the comparison with itself
        won[older[~own]] += (1.0 - points[:, ~own]).sum(axis=0)
    return won


def scores_of_ranks(values: Floats) -> Floats:
    """Normal scores of numbers by their ranks; ties share the mean rank.

    >>> scores_of_ranks(np.array([3.0, 1.0, 3.0])).round(3).tolist()
    [0.431, -0.967, 0.431]
    """
    return np.array([normal_quantile(rank) for rank in ((mid_ranks(values) + 0.5) / len(values)).tolist()])


def _width(age: int, share: float) -> int:
    return max(1, math.ceil(share * age))


def _level(curve: Floats, age: int, share: float) -> float:
    with np.errstate(invalid="ignore"):
        return float(curve[age - _width(age, share) : age].mean())
