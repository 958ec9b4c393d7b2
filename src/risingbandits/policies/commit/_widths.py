"""How far the mean of a block of w rewards may be from the mean of their expectations, above and below.

``z`` is the width of an interval in standard errors, and z^2 / 2 the same as a deviation probability e^(-z^2 / 2).
Gaussian: z sigma / sqrt(w), for noise that is sigma-sub-Gaussian. KL: the smaller of that and the Bernoulli divergence
at z^2 / (2 w), for rewards in [0, 1], sharper for means near 0 and 1.
"""

from __future__ import annotations

import math

from risingbandits._core.jit import kernel, rare_kernel

GAUSSIAN, KL = 0, 1
_NEWTON_STEPS = 60
_TOP = 1.0 - 2.0**-40


@kernel
def gaussian(z: float, sigma: float, w: float) -> float:
    return z * sigma / math.sqrt(w)


@rare_kernel
def kl_above(mean: float, x: float) -> float:
    """d >= 0 with kl(mean, mean + d) = x, or 1 - mean where no d reaches x; ``mean`` in [0, 1].

    Newton's method from above, where the divergence is convex: kl(p, q) >= 2 (p - q)^2 gives the start.
    """
    if mean <= 0.0:
        return -math.expm1(-x)
    if mean >= _TOP:
        return 1.0 - mean
    rest = 1.0 - mean
    constant = mean * math.log(mean) + rest * math.log(rest) - x
    if constant - mean * math.log(_TOP) - rest * math.log(1.0 - _TOP) <= 0.0:
        return rest
    q = min(mean + math.sqrt(0.5 * x), _TOP)
    if not q > mean:  # x = 0: nothing is divided by 0, which Python refuses
        return 0.0
    for _ in range(_NEWTON_STEPS):
        step = (constant - mean * math.log(q) - rest * math.log(1.0 - q)) * q * (1.0 - q) / (q - mean)
        q -= step
        if not step > 1e-12:
            break
    return q - mean


@kernel
def above(kind: int, z: float, sigma: float, mean: float, w: float) -> float:
    """Half-width above the mean of a block."""
    width = gaussian(z, sigma, w)
    return width if kind == GAUSSIAN else min(width, kl_above(mean, 0.5 * z * z / w))


@kernel
def below(kind: int, z: float, sigma: float, mean: float, w: float) -> float:
    """Half-width below the mean of a block: that above, seen from the other end of [0, 1]."""
    return above(kind, z, sigma, 1.0 - mean, w)
