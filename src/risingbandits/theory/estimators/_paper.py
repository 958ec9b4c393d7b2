"""The estimators of R-ed-UCB, from their definitions, and what the paper's lemmas say about them.

Slow and plain on purpose: the policy computes the same numbers in O(1). ``curve`` is anything that gives mu(n) for an
array of pull numbers, such as a `Curve`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import RisingBanditsError, check_finite, check_positive_int
from risingbandits._core.types import Floats, Ints

CurveLike = Callable[[Ints], Floats]


def deterministic_estimate(curve: CurveLike, n: int, t: int) -> float:
    """mu(n) + (t - n) gamma(n - 1): the index without noise after n pulls at round t; inf if n < 2.

    The lemma on it says that it is at least mu(t), and at most `deterministic_bias_bound` above mu(n + 1).

    Examples
    --------
    >>> from risingbandits.problems import PowerLaw
    >>> curve = PowerLaw(1.0, 1.0, 1.0)
    >>> round(deterministic_estimate(curve, 10, 100), 6), curve(100)
    (1.9, 0.99)
    """
    n, t = _counts(n, t)
    if n < 2:
        return math.inf
    before, now = curve(np.array([n - 1, n]))
    return float(now + (t - n) * (now - before))


def deterministic_bias_bound(curve: CurveLike, n: int, t: int) -> float:
    """(t - n) gamma(n - 1), the most by which the estimate exceeds mu(n + 1)."""
    n, t = _counts(n, t)
    before, now = curve(np.array([n - 1, n]))
    return float((t - n) * (now - before))


def window_estimate(values: npt.ArrayLike, h: int, t: int) -> float:
    """(1/h) sum over the last h pulls l of [ r(l) + (t - l) (r(l) - r(l - h))/h ], inf if h = 0.

    ``values`` are those of pulls 1..n: rewards for the estimator, means for what it estimates.

    Examples
    --------
    >>> window_estimate([0.1, 0.2, 0.3, 0.4], h=2, t=10)  # of a straight line: its value at t
    1.0
    """
    seen = np.asarray(values, dtype=np.float64)
    n, t = _counts(seen.size, t)
    if h == 0:
        return math.inf
    if not 0 < h <= n // 2:
        raise RisingBanditsError(f"h must be at most half of the {n} values, got {h}.")
    pulls = np.arange(n - h + 1, n + 1)
    last, before = seen[n - h :], seen[n - 2 * h : n - h]
    return float(np.mean(last + (t - pulls) * (last - before) / h))


def stochastic_bias_bound(curve: CurveLike, n: int, h: int, t: int) -> float:
    """(2t - 2n + h - 1) gamma(n - 2h + 1)/2, the most by which the window estimate of the means exceeds mu(n + 1)."""
    n, t = _counts(n, t)
    low, high = curve(np.array([n - 2 * h + 1, n - 2 * h + 2]))
    return float(0.5 * (2 * t - 2 * n + h - 1) * (high - low))


def concentration_width(n: int, h: int, t: int, sigma: float, delta: float) -> float:
    """beta = sigma (t - n + h - 1) sqrt(10 log(1/delta)/h^3): the window estimate is farther than this from its mean
    with probability at most 2 delta, for fixed n (the concentration lemma; with random n, at most 2 t delta).

    The definition of sub-Gaussian noise in the paper lacks the square: E exp(x X) <= exp(sigma^2 x^2/2).

    Examples
    --------
    >>> round(concentration_width(100, 25, 1_000, 0.1, 1e-9), 3)
    10.641
    """
    n, t = _counts(n, t)
    scale = check_finite("sigma", sigma, minimum=0) * (t - n + h - 1)
    if h == 0:
        return math.inf
    return scale * math.sqrt(10.0 * math.log(1.0 / check_finite("delta", delta, above=0, maximum=1)) / h**3)


def _counts(n: int, t: int) -> tuple[int, int]:
    t = check_positive_int("t", t)
    if not 0 <= n < t:
        raise RisingBanditsError(f"n, the pulls before round t = {t}, must lie in 0 to t - 1, got {n}.")
    return int(n), t
