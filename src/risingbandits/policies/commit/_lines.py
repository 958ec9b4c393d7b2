"""Optimistic lines above an arm's future, from windows of its past.

For concave means, a line through the means of two disjoint blocks lies above everything after the second block. So does
the line from 0 at the first pull through the mean of one block, because the first mean is 0 or more (docs/commit-ucb.md
has the proofs). Nothing is assumed about a pull number 0. With noise, both lines are raised by the width of their
confidence intervals. Windows depend only on the number of pulls; over all of them, the line with the smallest commit
value is kept.
"""

from __future__ import annotations

import math

from risingbandits._core.jit import kernel
from risingbandits._core.types import Floats
from risingbandits.policies.commit import _commit_value, _widths
from risingbandits.policies.commit import _grid as grid

_ROUNDING = 1e-12  # a slope this little below 0, in units of the cap, is that of a flat arm


@kernel
def prefix(pool: Floats, start: int, n: int) -> float:
    """Sum of the arm's first n rewards."""
    return pool[start + n] if n > 0 else 0.0


@kernel
def block_mean(pool: Floats, start: int, first: int, last: int, kind: int) -> float:
    """Mean of the rewards of pulls first + 1 .. last, clipped to [0, 1] if the widths need it."""
    mean = (prefix(pool, start, last) - prefix(pool, start, first)) / (last - first)
    return mean if kind == _widths.GAUSSIAN else min(max(mean, 0.0), 1.0)


@kernel
def best_line(
    pool: Floats, start: int, n: int, kind: int, z: float, sigma: float, cap: float, remaining: float
) -> tuple[float, float, float]:
    """(u, s, lo): the line of smallest commit value after n pulls, and the highest pessimistic level.

    One reward says nothing about the next: after one pull there is no line, and the future may be at the cap. Among
    such arms a higher raised reward counts a little more, as among all whose lines start at the cap.
    """
    best = math.inf
    best_u = cap
    best_s = 0.0
    lo = -math.inf
    w = n
    while w >= 1 and w >= grid.SMALLEST_WINDOW * n:
        first = n - w
        mean = block_mean(pool, start, first, n, kind)
        lo = max(lo, mean - _widths.below(kind, z, sigma, mean, float(w)))
        above = _widths.above(kind, z, sigma, mean, float(w))
        if n == 1:
            best_u = max(cap, mean + above)
        else:
            u, s = anchored_line(mean, above, n, w)
            value = _commit_value.value(u, s, cap, remaining)
            if value < best or (value == best and u < best_u):
                best, best_u, best_s = value, u, s
        q = w // 3
        if q >= 1:
            u, s = two_block_line(pool, start, first, n, q, kind, z, sigma)
            if s >= -_ROUNDING * cap:  # a negative upper bound on a slope means that the interval has failed
                s = max(s, 0.0)
                value = _commit_value.value(u, s, cap, remaining)
                if value < best or (value == best and u < best_u):
                    best, best_u, best_s = value, u, s
        w = grid.next_window(w)
    return best_u, best_s, lo


@kernel
def anchored_line(mean: float, width: float, n: int, w: int) -> tuple[float, float]:
    """The line from 0 at the first pull through the raised mean of the last w of n >= 2 rewards.

    As a level at pull n and a slope.
    """
    s = max(0.0, mean + width) / (n - 0.5 * (w - 1) - 1.0)
    return s * (n - 1), s


@kernel
def two_block_line(
    pool: Floats, start: int, first: int, n: int, q: int, kind: int, z: float, sigma: float
) -> tuple[float, float]:
    """The line through the first and the last q rewards of a window, raised; as a level at pull n and a slope.

    The errors of the two blocks are independent, so their widths add in quadrature: exact for Gaussian noise, a
    heuristic for KL widths.
    """
    old = block_mean(pool, start, first, first + q, kind)
    new = block_mean(pool, start, n - q, n, kind)
    down = _widths.below(kind, z, sigma, old, float(q))
    up = _widths.above(kind, z, sigma, new, float(q))
    distance = float(n - first - q)
    slope = (new - old) / distance
    e = 0.5 * (q - 1) / distance
    u = new + slope * 0.5 * (q - 1) + math.sqrt(((1.0 + e) * up) ** 2 + (e * down) ** 2)
    return u, slope + math.sqrt(up * up + down * down) / distance
