"""Learning curves straight from their formulas, in decimal arithmetic: slow, obvious, and exact to 40 digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext

import numpy as np
import numpy.typing as npt

from risingbandits.problems import (
    ConstantCurve,
    Curve,
    Exponential,
    LinearCapped,
    Polynomial,
    PowerLaw,
    Tabulated,
)

__all__ = ["best_value_by_enumeration", "reference_increment", "reference_sum", "reference_value", "summed_values"]

DIGITS = 60


def _exact(curve: Curve, n: int) -> Decimal:
    """mu(n) within the current decimal context."""
    if isinstance(curve, Exponential):
        limit, rate, start = map(Decimal, (curve.limit, curve.rate, curve.start))
        return start + (limit - start) * (1 - (-rate * n).exp())
    if isinstance(curve, Polynomial):
        limit, scale, exponent = map(Decimal, (curve.limit, curve.scale, curve.exponent))
        inner = scale if curve.inner is None else Decimal(curve.inner)
        return limit * (1 - scale * (n + inner ** (1 / exponent)) ** (-exponent))
    if isinstance(curve, PowerLaw):
        limit, amplitude, exponent = map(Decimal, (curve.limit, curve.amplitude, curve.exponent))
        return limit - amplitude * Decimal(n) ** (-exponent)
    if isinstance(curve, LinearCapped):
        return min(Decimal(curve.slope) * n, Decimal(curve.cap))
    if isinstance(curve, ConstantCurve):
        return Decimal(curve.value)
    assert isinstance(curve, Tabulated)
    return Decimal(float(curve.values[min(n, len(curve.values)) - 1]))


def _in_decimals(compute: Callable[[], Decimal]) -> float:
    with localcontext() as context:
        context.prec = DIGITS
        return float(compute())


def reference_value(curve: Curve, n: int) -> float:
    """mu(n)."""
    return _in_decimals(lambda: _exact(curve, n))


def reference_increment(curve: Curve, n: int) -> float:
    """mu(n + 1) - mu(n)."""
    return _in_decimals(lambda: _exact(curve, n + 1) - _exact(curve, n))


def reference_sum(curve: Curve, n: int) -> float:
    """mu(1) + ... + mu(n), one by one: for small n."""
    return _in_decimals(lambda: sum((_exact(curve, k) for k in range(1, n + 1)), Decimal(0)))


def summed_values(curve: Curve, n: int) -> float:
    """The curve's own values 1..n added without rounding: for large n, where decimals take too long."""
    return math.fsum(curve(np.arange(1, n + 1)))


def best_value_by_enumeration(means: npt.NDArray[np.float64]) -> float:
    """Largest sum of means over all ways to split the rounds among rested arms; ``means`` is (K, T)."""
    n_arms, horizon = means.shape
    if n_arms == 1:
        return math.fsum(means[0])
    return max(
        math.fsum(means[0, :pulls])
        + (best_value_by_enumeration(means[1:, : horizon - pulls]) if pulls < horizon else 0)
        for pulls in range(horizon + 1)
    )
