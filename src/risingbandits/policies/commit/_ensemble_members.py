r"""What the future of an arm may be: a closed-form posterior over curve shapes.

Every shape of `_curve_shapes` is tried in two modes, as :math:`\mu(n) = b\,g(n)` (from nothing) and
:math:`\mu(n) = a + b\,g(n)` (with a start). Given the shape, the model is linear, so normal priors give normal
posteriors and the evidence of each component in closed form; a, b > 0 is imposed softly. Sufficient statistics of an
arm are few sums, added to once per batch: with w the weight of a batch (its pulls divided by the variance of one), y
its mean and g the shape at its centre, ``arms`` has the sums of w (weight) and w y (weighted), and ``moments`` those of
w g, w g^2 and w g y for every shape.
"""

from __future__ import annotations

import math

from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Floats, Records
from risingbandits.policies.commit import _curve_shapes

MODES = 2

# Rows of `work`, one place for each component: weight in the posterior, mean and standard deviation of what is asked
# for, and the pace of the shape. An array and no records, so that the numbers that the loops run over lie side by side.
SHARE, MEAN, SPREAD, PACE = 0, 1, 2, 3
ROWS = 4

# Priors, in units of the cap: b where the curve begins at 0; a and b each where it does not.
RISE, RISE_SPREAD = 0.5, 0.4
PART, PART_SPREAD = 0.3, 0.3

IMPOSSIBLE = -8.0  # standard deviations of a or b below 0 from which on a component is out
CLEAR = 3.0  # above, cutting b at 0 changes nothing
LEAST_SHARE = 1e-5
_BISECTIONS = 36
_SQRT_HALF = math.sqrt(0.5)
_DENSITY_AT_0 = 1.0 / math.sqrt(2.0 * math.pi)


@kernel
def normal_cdf(x: float) -> float:
    """Phi(x); 0 and 1 beyond 8 standard deviations."""
    if x > 8.0:
        return 1.0
    return 0.0 if x < -8.0 else 0.5 * math.erfc(-x * _SQRT_HALF)


@rare_kernel
def add_block(moments: Floats, arms: Records, taus: Floats, arm: int, x: float, y: float, w: float) -> None:
    """Add a batch with mean y, centre x and weight w."""
    arms["weight"][arm] += w
    arms["weighted"][arm] += w * y
    for family in range(_curve_shapes.FAMILIES):
        for i in range(taus.shape[0]):
            g = _curve_shapes.rise(family, x / taus[i])
            k = family * taus.shape[0] + i
            moments[arm, k, 0] += w * g
            moments[arm, k, 1] += w * g * g
            moments[arm, k, 2] += w * g * y


@rare_kernel
def posterior(
    moments: Floats,
    arms: Records,
    taus: Floats,
    log_prior: Floats,
    scale: float,
    work: Floats,
    arm: int,
    n: float,
    remaining: float,
    final: bool,
) -> float:
    """Fill ``work`` with all components for the arm after n pulls; return the greatest log weight.

    The quantity is the mean over the ``remaining`` pulls or, if ``final``, the level after the last of them. The
    first row of ``work`` has logarithms: `shares` makes weights of them.
    """
    shapes = _curve_shapes.FAMILIES * taus.shape[0]
    weight = arms["weight"][arm]
    weighted = arms["weighted"][arm]
    p0 = 1.0 / (RISE_SPREAD * scale * RISE_SPREAD * scale)
    b0 = RISE * scale
    p1 = 1.0 / (PART_SPREAD * scale * PART_SPREAD * scale)
    a1 = PART * scale
    top = -math.inf
    for family in range(_curve_shapes.FAMILIES):
        for i in range(taus.shape[0]):
            k = family * taus.shape[0] + i
            s_g, s_gg, s_gy = moments[arm, k, 0], moments[arm, k, 1], moments[arm, k, 2]
            if final:
                g = _curve_shapes.rise(family, (n + remaining) / taus[i])
            else:
                g = _curve_shapes.average(family, taus[i], n, remaining)
            work[PACE, k] = taus[i]
            work[PACE, shapes + k] = taus[i]
            # From nothing.
            p = p0 + s_gg
            b = (b0 * p0 + s_gy) / p
            sd = 1.0 / math.sqrt(p)
            log_weight = -math.inf
            if b > IMPOSSIBLE * sd:
                positive = normal_cdf(b / sd)
                log_weight = log_prior[k] + 0.5 * (math.log(p0 / p) + p * b * b - p0 * b0 * b0) + math.log(positive)
                shift, shrink = cut(b / sd, positive)
                b += shift * sd
                sd *= math.sqrt(shrink)
            work[SHARE, k] = log_weight
            work[MEAN, k] = b * g
            work[SPREAD, k] = sd * g
            top = max(top, log_weight)
            # With a start.
            det = (p1 + weight) * (p1 + s_gg) - s_g * s_g
            var_a, var_b, cov = (p1 + s_gg) / det, (p1 + weight) / det, -s_g / det
            r_a, r_b = a1 * p1 + weighted, a1 * p1 + s_gy
            a = var_a * r_a + cov * r_b
            b = cov * r_a + var_b * r_b
            sd = math.sqrt(var_b)
            log_weight = -math.inf
            if b > IMPOSSIBLE * sd and a > IMPOSSIBLE * math.sqrt(var_a):
                positive = normal_cdf(b / sd)
                log_weight = log_prior[shapes + k] + 0.5 * (math.log(p1 * p1 / det) + a * r_a + b * r_b)
                log_weight += math.log(positive) + math.log(normal_cdf(a / math.sqrt(var_a))) - p1 * a1 * a1
                shift, shrink = cut(b / sd, positive)
                slope = cov / var_b  # of a on b
                b += shift * sd
                a += slope * shift * sd
                var_a -= slope * cov * (1.0 - shrink)
                cov *= shrink
                var_b *= shrink
            work[SHARE, shapes + k] = log_weight
            work[MEAN, shapes + k] = a + b * g
            work[SPREAD, shapes + k] = math.sqrt(max(0.0, var_a + g * (2.0 * cov + g * var_b)))
            top = max(top, log_weight)
    return top


@kernel
def cut(x: float, positive: float) -> tuple[float, float]:
    """A normal variable x standard deviations above 0, cut at 0: the shift of its mean and the factor of its variance.

    ``positive`` is Phi(x), the probability that is left.
    """
    if x >= CLEAR:
        return 0.0, 1.0
    hazard = math.exp(-0.5 * x * x) * _DENSITY_AT_0 / positive
    return hazard, max(1e-3, 1.0 - hazard * (hazard + x))


@kernel
def shares(work: Floats, top: float) -> None:
    """Make weights with sum 1 of the logarithms in the first row."""
    total = 0.0
    for c in range(work.shape[1]):
        work[SHARE, c] = math.exp(work[SHARE, c] - top)
        total += work[SHARE, c]
    for c in range(work.shape[1]):
        work[SHARE, c] /= total


@kernel
def drop_unlikely(work: Floats) -> int:
    """Move the components that count to the front of ``work``; return their number."""
    count = 0
    for c in range(work.shape[1]):
        if work[SHARE, c] > LEAST_SHARE:
            work[SHARE, count] = work[SHARE, c]
            work[MEAN, count] = work[MEAN, c]
            work[SPREAD, count] = max(work[SPREAD, c], 1e-9)
            work[PACE, count] = work[PACE, c]
            count += 1
    return count


@kernel
def upper_quantile(work: Floats, count: int, tail: float) -> float:
    """The value that the quantity exceeds with probability ``tail``, by bisection."""
    low = math.inf
    high = -math.inf
    for c in range(count):
        low = min(low, work[MEAN, c] - 8.0 * work[SPREAD, c])
        high = max(high, work[MEAN, c] + 8.0 * work[SPREAD, c])
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        above = 0.0
        for c in range(count):
            above += work[SHARE, c] * normal_cdf((work[MEAN, c] - middle) / work[SPREAD, c])
        if above > tail:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@kernel
def expectation(work: Floats, count: int) -> float:
    """The posterior mean of the quantity."""
    total = 0.0
    weights = 0.0
    for c in range(count):
        total += work[SHARE, c] * work[MEAN, c]
        weights += work[SHARE, c]
    return total / weights


@kernel
def slower_than(work: Floats, count: int, pace: float) -> float:
    """The posterior probability that the arm's pace is at least ``pace``."""
    total = 0.0
    for c in range(count):
        if work[PACE, c] >= pace:
            total += work[SHARE, c]
    return total
