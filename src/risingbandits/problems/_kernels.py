"""What the compiled loop needs from a problem: the value of a curve, the mean of a pull and the draw of a reward.

All problems have the same types here, so one compiled loop serves them all. Kernels use ``math`` only, never
NumPy on scalars: compiled and interpreted runs then agree in every bit.
"""

# Elements of arrays are Any to the type checker, and kernels return little else.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import math
from typing import Any, NamedTuple

from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Floats, Ints

# Codes of the curve families, with the meaning of their parameters p.
EXPONENTIAL = 0  # p0 + p1 (1 - e^(-p2 n))
POLYNOMIAL = 1  # p0 + p1 (1 - (1 + (n - p4)/p3)^(-p2)); the power law is the case p3 = p4 = 1
LINEAR_CAPPED = 2  # min(p0 n, p1)
CONSTANT = 3  # p0
TABULATED = 4  # values in the problem's data
N_PARAMETERS = 5

# Codes of the noise. From BERNOULLI on, means are probabilities and are clipped to [0, 1].
NO_NOISE = 0
GAUSSIAN = 1
BERNOULLI = 2
BETA = 3


class Environment(NamedTuple):
    """A problem as numbers and arrays; K arms, the first M pulls tabulated."""

    family: Ints  # (K,) code of the curve family
    params: Floats  # (K, N_PARAMETERS)
    data: Floats  # (D,) values of the tabulated curves one after another, D >= 1
    data_start: Ints  # (K,)
    data_length: Ints  # (K,)
    table: Floats  # (K, M) effective means of pulls 1..M, M may be 0
    noise: int  # code of the noise
    noise_scale: float
    restless: int  # 0: means move with the pulls of the arm; 1: with the round


@kernel
def curve_value(env: Environment, arm: int, n: int) -> float:
    """The arm's curve at pull ``n``, evaluated."""
    family = env.family[arm]
    p = env.params
    if family == EXPONENTIAL:
        return p[arm, 0] - p[arm, 1] * math.expm1(-p[arm, 2] * n)
    if family == POLYNOMIAL:
        return p[arm, 0] - p[arm, 1] * math.expm1(-p[arm, 2] * math.log1p((n - p[arm, 4]) / p[arm, 3]))
    if family == TABULATED:
        return env.data[env.data_start[arm] + min(n, env.data_length[arm]) - 1]
    if family == LINEAR_CAPPED:
        return min(p[arm, 0] * n, p[arm, 1])
    return p[arm, 0]


@kernel
def curve_increment(env: Environment, arm: int, n: int) -> float:
    """mu(n + 1) - mu(n), without the cancellation of subtracting two close values."""
    family = env.family[arm]
    p = env.params
    if family == EXPONENTIAL:
        return -p[arm, 1] * math.exp(-p[arm, 2] * n) * math.expm1(-p[arm, 2])
    if family == POLYNOMIAL:
        x = n - p[arm, 4]
        here = math.exp(-p[arm, 2] * math.log1p(x / p[arm, 3]))
        return -p[arm, 1] * here * math.expm1(-p[arm, 2] * math.log1p(1.0 / (p[arm, 3] + x)))
    if family == LINEAR_CAPPED and p[arm, 0] * (n + 1) <= p[arm, 1]:
        return p[arm, 0]
    return curve_value(env, arm, n + 1) - curve_value(env, arm, n)


@rare_kernel
def effective_mean(env: Environment, arm: int, n: int) -> float:
    """The mean reward of pull ``n``: the curve, clipped to [0, 1] where the noise needs a probability."""
    mean = curve_value(env, arm, n)
    if env.noise >= BERNOULLI:
        return min(max(mean, 0.0), 1.0)
    return mean


@kernel
def mean_at(env: Environment, arm: int, n: int) -> float:
    """The mean reward of pull ``n`` >= 1: one load within the table, evaluated beyond it, with equal bits."""
    if n <= env.table.shape[1]:
        return env.table[arm, n - 1]
    return effective_mean(env, arm, n)


@kernel
def tabulated_mean(env: Environment, arm: int, n: int) -> float:
    """The same where the table has every pull of a run, which leaves less to compile."""
    return env.table[arm, n - 1]


@kernel
def draw_reward(env: Environment, mean: float, rng: Any) -> float:
    """A reward with mean ``mean``, as given by ``mean_at``."""
    if env.noise == BETA:
        return _draw_beta(env.noise_scale, mean, rng)
    return draw_simple_reward(env, mean, rng)


@kernel
def draw_simple_reward(env: Environment, mean: float, rng: Any) -> float:
    """The same for all noise but Beta, whose generator takes longer to compile than most policies."""
    if env.noise == GAUSSIAN:
        return mean + env.noise_scale * rng.standard_normal()
    if env.noise == NO_NOISE:
        return mean
    return 1.0 if rng.random() < mean else 0.0


@rare_kernel
def _draw_beta(scale: float, mean: float, rng: Any) -> float:
    if mean <= 0.0:
        return 0.0
    if mean >= 1.0:
        return 1.0
    return rng.beta(scale * mean / (1.0 - mean), scale)
