"""The least-squares line through an arm's rewards, from three sums that grow by one reward in O(1).

With rewards r(1), ..., r(n) the sums are n, S = sum r(k) and J = sum k r(k). The line has the slope
12 (J - S (n+1)/2) / (n (n^2 - 1)) and goes through the mean reward S/n at (n+1)/2. For noise of variance 1 its value at
x has the variance 1/n + 12 (x - (n+1)/2)^2 / (n (n^2 - 1)), which is (4n + 2) / (n (n-1)) at the next pull, n + 1.
"""

from __future__ import annotations

from risingbandits._core.jit import kernel


@kernel
def slope(n: float, total: float, moment: float) -> float:
    """By how much the line rises from pull to pull; 0 with fewer than two rewards."""
    if n < 2.0:
        return 0.0
    return 12.0 * (moment - total * (n + 1.0) / 2.0) / (n * (n * n - 1.0))


@kernel
def value_at(n: float, total: float, moment: float, x: float) -> float:
    """The line at x, which is also the mean of its values at any pulls with the mean x. Needs n >= 1."""
    return total / n + slope(n, total, moment) * (x - (n + 1.0) / 2.0)


@kernel
def variance_at(n: float, x: float) -> float:
    """The variance of the line at x for noise of variance 1. Needs n >= 2."""
    off = x - (n + 1.0) / 2.0
    return 1.0 / n + 12.0 * off * off / (n * (n * n - 1.0))
