"""How far the mean of a block of w rewards may be from the mean of their expectations, above and below.

``z`` is the width of an interval in standard errors and ``level`` = z^2 / 2 the same as a deviation probability
e^-level. Three kinds, each the smallest of its own width and those before it:

- Gaussian: z sigma / sqrt(w), for noise that is sigma-sub-Gaussian;
- KL: the Bernoulli divergence at level / w, for rewards in [0, 1], sharper for means near 0 and 1;
- Bernstein: for rewards in [0, 1] of unknown variance, estimated from differences of neighbouring rewards of the
  block, which rising means hardly touch (Maurer and Pontil, 2009, with pairs instead of the sample variance).
"""

from __future__ import annotations

import math

from risingbandits._core.jit import kernel, rare_kernel

GAUSSIAN, KL, BERNSTEIN = 0, 1, 2
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
def above(kind: int, z: float, sigma: float, mean: float, w: float, spread: float) -> float:
    """Half-width above the mean of a block; ``spread`` is its Bernstein width (unused by the other kinds)."""
    width = gaussian(z, sigma, w)
    if kind == GAUSSIAN:
        return width
    width = min(width, kl_above(mean, 0.5 * z * z / w))
    return width if kind == KL else min(width, spread)


@kernel
def below(kind: int, z: float, sigma: float, mean: float, w: float, spread: float) -> float:
    """Half-width below the mean of a block: that above, seen from the other end of [0, 1]."""
    return above(kind, z, sigma, 1.0 - mean, w, spread)


@kernel
def bernstein(z: float, variance: float, w: float) -> float:
    """z s / sqrt(w) + level / (3 w) with s = sqrt(V + level / (2 w)) + sqrt(level / (2 w))."""
    level = 0.5 * z * z
    share = level / (2.0 * w)
    return z * (math.sqrt(variance + share) + math.sqrt(share)) / math.sqrt(w) + level / (3.0 * w)
