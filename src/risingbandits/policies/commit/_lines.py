"""Optimistic lines above an arm's future, from windows of its past.

For concave means a line through the means of two disjoint blocks lies above everything after the second block, and so
does the line from the origin through the mean of one block, because means begin at 0 or above (the two-block lemma;
docs/commit-ucb.md has the proof). With noise, both lines are raised by the width of their confidence intervals. Of all
windows, which depend on the number of pulls alone, the line with the smallest commit value is kept.
"""

from __future__ import annotations

import math

from risingbandits._core.jit import kernel
from risingbandits._core.types import Floats
from risingbandits.policies.commit import _commit_value, _widths, grid


@kernel
def prefix(pool: Floats, start: int, n: int) -> float:
    """Sum of the arm's first n rewards."""
    return pool[start + n] if n > 0 else 0.0


@kernel
def block_mean(pool: Floats, start: int, first: int, last: int, kind: int) -> float:
    """Mean of the rewards of pulls first + 1 .. last, clipped to [0, 1] where the widths need it."""
    mean = (prefix(pool, start, last) - prefix(pool, start, first)) / (last - first)
    return mean if kind == _widths.GAUSSIAN else min(max(mean, 0.0), 1.0)


@kernel
def block_spread(pairs: Floats, start: int, first: int, last: int, kind: int, z: float) -> float:
    """Bernstein width of that block, from the pairs (2k - 1, 2k) that lie inside it; +inf where there is none."""
    if kind != _widths.BERNSTEIN:
        return math.inf
    before = first + first % 2
    count = last // 2 - before // 2
    if count < 1:
        return math.inf
    variance = (prefix(pairs, start, last) - prefix(pairs, start, before)) / count
    return _widths.bernstein(z, max(variance, 0.0), float(last - first))


@kernel
def best_line(
    pool: Floats, pairs: Floats, start: int, n: int, kind: int, z: float, sigma: float, cap: float, remaining: float
) -> tuple[float, float, float]:
    """(u, s, lo): the line of smallest commit value after n pulls, and the highest pessimistic level."""
    best = math.inf
    best_u = math.inf
    best_s = 0.0
    lo = -math.inf
    w = n
    while w >= 1 and w >= grid.SMALLEST_WINDOW * n:
        first = n - w
        mean = block_mean(pool, start, first, n, kind)
        spread = block_spread(pairs, start, first, n, kind, z)
        lo = max(lo, mean - _widths.below(kind, z, sigma, mean, float(w), spread))
        s = max(0.0, mean + _widths.above(kind, z, sigma, mean, float(w), spread)) / (n - 0.5 * (w - 1))
        u = s * n
        value = _commit_value.value(u, s, cap, remaining)
        if value < best or (value == best and u < best_u):
            best, best_u, best_s = value, u, s
        q = w // 3
        if q >= 1:
            u, s = two_block_line(pool, pairs, start, first, n, q, kind, z, sigma)
            if s >= 0.0:  # a negative upper bound on a slope means that the interval has failed
                value = _commit_value.value(u, s, cap, remaining)
                if value < best or (value == best and u < best_u):
                    best, best_u, best_s = value, u, s
        w = grid.next_window(w)
    return best_u, best_s, lo


@kernel
def two_block_line(
    pool: Floats, pairs: Floats, start: int, first: int, n: int, q: int, kind: int, z: float, sigma: float
) -> tuple[float, float]:
    """The line through the first and the last q rewards of a window, raised; as a level at pull n and a slope.

    The errors of the two blocks are independent, so their widths add in quadrature: exact for Gaussian noise, a
    heuristic for the other kinds.
    """
    old = block_mean(pool, start, first, first + q, kind)
    new = block_mean(pool, start, n - q, n, kind)
    down = _widths.below(kind, z, sigma, old, float(q), block_spread(pairs, start, first, first + q, kind, z))
    up = _widths.above(kind, z, sigma, new, float(q), block_spread(pairs, start, n - q, n, kind, z))
    distance = float(n - first - q)
    slope = (new - old) / distance
    e = 0.5 * (q - 1) / distance
    u = new + slope * 0.5 * (q - 1) + math.sqrt(((1.0 + e) * up) ** 2 + (e * down) ** 2)
    return u, slope + math.sqrt(up * up + down * down) / distance
