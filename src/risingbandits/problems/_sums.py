"""Sums mu(1) + ... + mu(n) of curves in closed form, in time that does not grow with n.

Written out, these sums subtract numbers of size n from each other, and the slow curves of the benchmark (whose values
are 1e-8 of their limit) would lose all digits. Every part below is therefore a sum of what the curve has risen, not
of what it lacks to its limit. Relative error about 1e-14 (tests compare with exact sums).
"""

# Elements of arrays are Any to the type checker, and kernels return little else.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import math
from typing import Any

from risingbandits._core.jit import kernel
from risingbandits._core.types import Floats, Ints
from risingbandits.problems._kernels import (
    EXPONENTIAL,
    LINEAR_CAPPED,
    POLYNOMIAL,
    TABULATED,
    Environment,
    effective_mean,
)

# B_2k / (2k)!: Bernoulli numbers of the Euler-Maclaurin formula and of 1/(e^r - 1).
_EULER = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160)


@kernel
def _rise_of_exponential(rate: float, n: int) -> float:
    """Sum over l = 1..n of 1 - e^(-rate l) = n - (1 - e^(-rate n)) / (e^rate - 1), regrouped around 1/rate."""
    z = rate * n
    reached = -math.expm1(-z)
    if z < 0.5:  # z - (1 - e^(-z)) by its series: z^2/2! - z^3/3! + ...
        term = 0.5 * z * z
        excess = 0.0
        for k in range(3, 20):
            excess += term
            term *= -z / k
    else:
        excess = z - reached
    if rate < 0.25:  # 1/rate - 1/(e^rate - 1)
        square = rate * rate
        power = rate
        correction = 0.5
        for factor in _EULER:
            correction -= factor * power
            power *= square
    else:
        correction = 1.0 / rate - 1.0 / math.expm1(rate)
    return excess / rate + reached * correction


@kernel
def _integral_of_polynomial(exponent: float, u: float) -> float:
    """Integral over 0..u of 1 - (1 + x)^(-exponent)."""
    if u * max(1.0, exponent) < 0.1:
        term = 0.5 * exponent * u * u
        total = 0.0
        for k in range(2, 20):
            total += term
            term *= -u * (exponent + k - 1) / (k + 1)
        return total
    rest = 1.0 - exponent
    logarithm = math.log1p(u)
    if rest == 0.0:
        return u - logarithm
    return u - math.expm1(rest * logarithm) / rest


@kernel
def _rise_of_polynomial(exponent: float, scale: float, n: int) -> float:
    """Sum over l = 1..n of 1 - (1 + l/scale)^(-exponent): first terms one by one, the rest by Euler-Maclaurin."""
    # From here on the last correction that is kept is below 1e-12 of the sum, for any exponent.
    smooth_from = 20.0 + 2.0 * exponent
    first = 0
    total = 0.0
    if scale < smooth_from:
        first = min(n, math.ceil(smooth_from - scale))
        for k in range(1, first + 1):
            total -= math.expm1(-exponent * math.log1p(k / scale))
    if first == n:
        return total
    low = first / scale
    high = n / scale
    log_low = -exponent * math.log1p(low)
    log_high = -exponent * math.log1p(high)
    total += scale * (_integral_of_polynomial(exponent, high) - _integral_of_polynomial(exponent, low))
    total += 0.5 * (math.expm1(log_low) - math.expm1(log_high))
    step_low = 1.0 / (scale + first)
    step_high = 1.0 / (scale + n)
    slope_low = exponent * math.exp(log_low) * step_low
    slope_high = exponent * math.exp(log_high) * step_high
    order = 1
    for factor in _EULER:
        total += factor * (slope_high - slope_low)
        grow = (exponent + order) * (exponent + order + 1)
        slope_low *= grow * step_low * step_low
        slope_high *= grow * step_high * step_high
        order += 2
    return total


@kernel
def _curve_sum(env: Environment, data_sums: Floats, arm: int, n: int) -> float:
    """mu(1) + ... + mu(n) of the arm's curve; ``data_sums`` holds the running sums of ``env.data`` arm by arm."""
    if n == 0:
        return 0.0
    family = env.family[arm]
    p = env.params
    if family == EXPONENTIAL:
        return p[arm, 0] * n + p[arm, 1] * _rise_of_exponential(p[arm, 2], n)
    if family == POLYNOMIAL:
        return p[arm, 0] * n + p[arm, 1] * _rise_of_polynomial(p[arm, 2], p[arm, 3], n - int(p[arm, 4]))
    if family == TABULATED:
        length = env.data_length[arm]
        last = env.data_start[arm] + min(n, length) - 1
        return data_sums[last] + max(n - length, 0) * env.data[last]
    if family == LINEAR_CAPPED:
        slope = p[arm, 0]
        cap = p[arm, 1]
        rising = n
        if slope * n > cap:
            rising = max(0, math.floor(cap / slope))
        return slope * (0.5 * rising * (rising + 1.0)) + cap * (n - rising)
    return p[arm, 0] * n


@kernel
def _add(total: float, lost: float, value: float) -> tuple[float, float]:
    """Neumaier's compensated addition; the sum is ``total + lost``."""
    new = total + value
    if abs(total) >= abs(value):
        lost += (total - new) + value
    else:
        lost += (value - new) + total
    return new, lost


# Below: the loops behind the entry points. Each fills its last argument.


value_at: Any = None  # a kernel of (env, arm, n), which `_encoding` binds


def fill_values(env: Environment, pulls: Ints, out: Floats) -> None:
    """What `value_at` gives for all arms at each of ``pulls``: out is (K, len(pulls))."""
    for arm in range(out.shape[0]):
        for j in range(pulls.size):
            out[arm, j] = value_at(env, arm, pulls[j])


def fill_sums(env: Environment, data_sums: Floats, counts: Ints, out: Floats) -> None:
    """Sums of the first ``counts[i, arm]`` values of each curve: counts and out are (any, K)."""
    for i in range(counts.shape[0]):
        for arm in range(counts.shape[1]):
            out[i, arm] = _curve_sum(env, data_sums, arm, counts[i, arm])


def cumulate_data(env: Environment, out: Floats) -> None:
    """Running sums of the tabulated curves, in the layout of ``env.data``."""
    for arm in range(env.family.size):
        total = 0.0
        lost = 0.0
        for j in range(env.data_start[arm], env.data_start[arm] + env.data_length[arm]):
            total, lost = _add(total, lost, env.data[j])
            out[j] = total + lost


def cumulate_means(env: Environment, arm: int, out: Floats) -> None:
    """Running sums of one arm's effective means: out[n - 1] is the sum of the first n."""
    total = 0.0
    lost = 0.0
    for n in range(1, out.size + 1):
        total, lost = _add(total, lost, effective_mean(env, arm, n))
        out[n - 1] = total + lost


def cumulate_best(env: Environment, out: Floats) -> None:
    """Running sums over the rounds of the largest effective mean among all arms."""
    total = 0.0
    lost = 0.0
    for n in range(1, out.size + 1):
        best = effective_mean(env, 0, n)
        for arm in range(1, env.family.size):
            best = max(best, effective_mean(env, arm, n))
        total, lost = _add(total, lost, best)
        out[n - 1] = total + lost
