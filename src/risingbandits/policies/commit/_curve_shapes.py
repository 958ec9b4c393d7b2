"""Shapes of rising curves, from 0 before the first pull to 1 in the limit, and their integrals.

A shape is a family and a pace tau: the curve at n pulls is ``rise(family, n / tau)``. The families differ in how slowly
they end: a straight line with a sharp end, exponential, and power laws with exponents 1, 1/2 and 1/4.
"""

from __future__ import annotations

import math

import numpy as np

from risingbandits._core.jit import kernel
from risingbandits._core.types import Floats

EXPONENTIAL, HYPERBOLIC, SQUARE_ROOT, FOURTH_ROOT, BROKEN_LINE = 0, 1, 2, 3, 4
FAMILIES = 5

_FASTEST = 0.5  # pulls
_RATIO = math.sqrt(2.0)  # with 2, bounds failed on curves that lie between two paces
_SLOWEST = 4.0  # horizons
_LONG = 1_000_000  # if the horizon is not known, the paces are those of this one


def paces(horizon: int | None) -> Floats:
    """The paces tau, from half a pull to four horizons, each the square root of 2 times the one before."""
    last = _SLOWEST * (_LONG if horizon is None else horizon)
    count = 1 + int(math.log(last / _FASTEST) / math.log(_RATIO) + 1e-9)
    return np.asarray(_FASTEST * _RATIO ** np.arange(count))


@kernel
def rise(family: int, x: float) -> float:
    """The curve after x paces."""
    if family == EXPONENTIAL:
        return -math.expm1(-x)
    if family == HYPERBOLIC:
        return x / (1.0 + x)
    if family == SQUARE_ROOT:
        return 1.0 - 1.0 / math.sqrt(1.0 + x)
    if family == FOURTH_ROOT:
        return 1.0 - 1.0 / math.sqrt(math.sqrt(1.0 + x))
    return min(x, 1.0)


@kernel
def area(family: int, x: float) -> float:
    """The integral of ``rise`` from 0 to x."""
    if family == EXPONENTIAL:
        return x + math.expm1(-x)
    if family == HYPERBOLIC:
        return x - math.log1p(x)
    if family == SQUARE_ROOT:
        return x - 2.0 * (math.sqrt(1.0 + x) - 1.0)
    if family == FOURTH_ROOT:
        root = math.sqrt(math.sqrt(1.0 + x))
        return x - (root * root * root - 1.0) / 0.75
    return 0.5 * x * x if x < 1.0 else x - 0.5


@kernel
def average(family: int, tau: float, n: float, remaining: float) -> float:
    """The mean of the curve over pulls n + 1 .. n + remaining, each taken at its number."""
    first = (n + 0.5) / tau
    return (area(family, first + remaining / tau) - area(family, first)) * (tau / remaining)
