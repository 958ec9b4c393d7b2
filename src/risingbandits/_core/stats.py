"""Intervals of means, quantiles and ranks."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from risingbandits._core.types import Floats

_NEWTON_STEPS = 200
_FRACTION_TERMS = 10_000
_LARGE = 500.0


def half_width(values: Any, level: float = 0.95) -> Floats:
    """Half the width of the Student-t interval of the mean over the first axis; NaN for a single value.

    >>> round(float(half_width([1.0, 2.0, 3.0])), 4)
    2.4841
    """
    runs = len(values)
    if runs < 2:
        return np.full(np.shape(values)[1:], np.nan)
    spread = np.std(values, axis=0, ddof=1) / np.sqrt(runs)
    return np.asarray(spread * student_quantile(runs - 1, 0.5 + level / 2))


def share_interval(share: float, runs: int, level: float = 0.95) -> tuple[float, float]:
    """The ends of Wilson's interval of a share that was seen in ``runs`` runs.

    >>> [round(end, 3) for end in share_interval(0.2, 50)]
    [0.112, 0.33]
    """
    z = normal_quantile(0.5 + level / 2)
    shrink = 1.0 + z * z / runs
    middle = (share + z * z / (2 * runs)) / shrink
    half = z * math.sqrt(share * (1 - share) / runs + (z / (2 * runs)) ** 2) / shrink
    # Exact where nothing or everything was seen: there the difference is 0 or 1 up to rounding.
    return 0.0 if share == 0.0 else middle - half, 1.0 if share == 1.0 else middle + half


def normal_quantile(share: float) -> float:
    """The number that a standard normal variable stays below with probability ``share``.

    >>> round(normal_quantile(0.975), 6)
    1.959964
    """
    from statistics import NormalDist  # takes longer to import than all else that the allocator needs from here

    return NormalDist().inv_cdf(share)


def normal_share(value: float) -> float:
    """The probability that a standard normal variable stays below ``value``.

    >>> round(normal_share(1.959964), 6)
    0.975
    """
    return 0.5 * math.erfc(-value / math.sqrt(2.0))


def normal_quantiles(shares: Floats) -> Floats:
    """The same as `normal_quantile` for many numbers, to seven digits and between -6 and 6: interpolated in a table.

    >>> normal_quantiles(np.array([0.5, 0.975])).round(5).tolist()
    [0.0, 1.95996]
    """
    below, points = _normal_table()
    return np.interp(shares, below, points)


def normal_shares(values: Floats) -> Floats:
    """The same as `normal_share` for many numbers.

    >>> normal_shares(np.array([0.0, 1.96])).round(4).tolist()
    [0.5, 0.975]
    """
    return np.array([normal_share(value) for value in np.asarray(values).tolist()])


@cache
def _normal_table() -> tuple[Floats, Floats]:
    points = np.linspace(-6.0, 6.0, 24_001)
    return normal_shares(points), points


def student_quantile(freedom: float, share: float) -> float:
    """The number that Student's t with ``freedom`` degrees stays below with probability ``share``, from one half on.

    >>> round(student_quantile(2, 0.975), 6)
    4.302653
    """
    # Newton's method from below: the distribution function is concave above 0, and the normal quantile is smaller.
    value = normal_quantile(share)
    log_scale = _log_gamma_half_step(freedom / 2) - 0.5 * math.log(freedom * math.pi)
    for _ in range(_NEWTON_STEPS):
        above = 0.5 * _upper_share(freedom, value)
        density = math.exp(log_scale - (freedom + 1) / 2 * math.log1p(value * value / freedom))
        step = (above - (1.0 - share)) / density
        value += step
        if abs(step) <= 1e-13 * abs(value):
            break
    return value


def _upper_share(freedom: float, value: float) -> float:
    """The probability that Student's t is further from 0 than ``value``: an incomplete beta function.

    Its continued fraction is evaluated by Lentz's method, on the side on which it converges quickly.
    """
    a, b, x = freedom / 2, 0.5, freedom / (freedom + value * value)
    swapped = x > (a + 1) / (a + b + 2)
    if swapped:
        a, b, x = b, a, value * value / (freedom + value * value)
    log_beta = math.lgamma(0.5) - _log_gamma_half_step(freedom / 2)
    front = math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta) / a
    fraction, c, d = 1.0, 1.0, 0.0
    for i in range(1, _FRACTION_TERMS):
        m = i // 2
        if i % 2 == 0:
            term = m * (b - m) * x / ((a + i - 1) * (a + i))
        else:
            term = -(a + m) * (a + b + m) * x / ((a + i - 1) * (a + i))
        d = 1.0 / (1.0 + term * d)
        c = 1.0 + term / c
        fraction *= c * d
        if abs(c * d - 1.0) < 1e-16:
            break
    return 1.0 - front / fraction if swapped else front / fraction


def _log_gamma_half_step(a: float) -> float:
    """log gamma(a + 1/2) - log gamma(a), by its expansion where the difference would lose digits."""
    if a < _LARGE:
        return math.lgamma(a + 0.5) - math.lgamma(a)
    return 0.5 * math.log(a) - 1.0 / (8.0 * a) + 1.0 / (192.0 * a**3)


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
