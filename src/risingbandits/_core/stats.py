"""Intervals of means, and ranks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from risingbandits._core.types import Floats


def half_width(values: Any, level: float = 0.95) -> Floats:
    """Half the width of the Student-t interval of the mean over the first axis; NaN for a single value.

    >>> round(float(half_width([1.0, 2.0, 3.0])), 4)
    2.4841
    """
    from scipy.special import stdtrit  # far quicker to import than scipy.stats

    runs = len(values)
    if runs < 2:
        return np.full(np.shape(values)[1:], np.nan)
    spread = np.std(values, axis=0, ddof=1) / np.sqrt(runs)
    return np.asarray(spread * float(stdtrit(runs - 1, 0.5 + level / 2)))


def share_interval(share: float, runs: int, level: float = 0.95) -> tuple[float, float]:
    """The ends of Wilson's interval of a share that was seen in ``runs`` runs.

    >>> [round(end, 3) for end in share_interval(0.2, 50)]
    [0.112, 0.33]
    """
    from scipy.special import ndtri

    z = float(ndtri(0.5 + level / 2))
    shrink = 1.0 + z * z / runs
    middle = (share + z * z / (2 * runs)) / shrink
    half = z * math.sqrt(share * (1 - share) / runs + (z / (2 * runs)) ** 2) / shrink
    return max(0.0, middle - half), min(1.0, middle + half)


def mid_ranks(values: Floats) -> Floats:
    """Ranks from 0; ties share the mean rank.

    >>> mid_ranks(np.array([3.0, 1.0, 3.0])).tolist()
    [1.5, 0.0, 1.5]
    """
    ordered = np.sort(values)
    below = np.searchsorted(ordered, values, "left")
    return (below + np.searchsorted(ordered, values, "right") - 1) / 2.0


def rank_correlation(one: Floats, other: Floats) -> float | None:
    """Spearman's; None with fewer than 3 values, or if all are equal.

    >>> rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([5.0, 7.0, 6.0]))
    0.5
    """
    if len(one) < 3:
        return None
    first, second = (ranks - ranks.mean() for ranks in map(mid_ranks, (one, other)))
    scale = math.sqrt(float(first @ first) * float(second @ second))
    return float(first @ second) / scale if scale > 0.0 else None
