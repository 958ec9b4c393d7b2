"""The noise level of rewards: one model for all policies, and a test for a told level that is too small.

The model. Two neighbouring rewards of an arm give (r - r')^2 / 2, three give (r - 2 r' + r'')^2 / 6: both are sigma^2
on average, and more where the curve rises or bends between the pulls. Summed over all arms, the kind with the smaller
mean is nearer to the truth, and its mean is what one arm is believed to have before it is known better: the pooled
variance, which counts for 4 pairs in the estimate of each arm; with up to 50 pairs of its own no arm is believed to be
quieter. Before any reward the variance is 1/4, the largest that rewards in [0, 1] can have; that counts for one pair,
and for 1/e of that with every six pairs that are seen, so that rewards without noise are soon known to have none.

Few discrete rewards may be equal by chance, whatever their noise. As long as all rewards are 0 or 1 the pooled variance
is 1/4, so that an arm with n equal rewards has about 2/n; with other steps it is at least a quarter of the square of
the smallest difference between neighbouring rewards, which is next to nothing where rewards are continuous.

The guard. A told sigma says that x^2 of a standardised fourth difference of five rewards is 1 on average or less;
curves that bend slowly hardly touch it. For noise that is sigma-sub-Gaussian E exp(3/8 x^2) <= 2, so that the sum of
3/8 x^2 - log 2 reaches 20 with probability e^-20 at most. Where it does, what was told is wrong.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from risingbandits._core.jit import kernel
from risingbandits._core.types import Records
from risingbandits.policies._kernels import records

# All arms together: sums and numbers of squared differences of two and of three neighbours (three overlap, so they
# count half), the smallest step between neighbours; what the guard has summed up; whether a reward was neither 0 nor
# 1, and whether what was told is contradicted.
NOISE = records.record_type((np.float64, "squares pairs bends triples step evidence"), (np.int64, "mixed contradicted"))
_LARGEST = 0.25  # variance of rewards in [0, 1]
_FORGOTTEN = 6.0  # pairs of all arms with which the weight of that falls to 1/e
_MANY = 200.0  # pairs after which it is 0, to the last digits
_POOLED_WEIGHT = 4.0  # of what all arms have shown, in pairs, in the estimate of one
ENOUGH_PAIRS = 50.0  # from here on an arm may be quieter than all arms together
NO_STEP = 1e-6  # differences that are smaller are none: sums of rewards are rounded
_SURE = 20.0
_MOST = 16.0  # the most that x^2 of one block counts for: a curve may jump
_LOG_2 = math.log(2.0)


def new_noise() -> np.ndarray:
    """The record before the first reward."""
    noise = np.zeros(1, NOISE)
    noise["step"] = math.inf
    return noise


def contradiction(sigma: Any, found: float) -> str:
    """The warning about a told sigma that cannot be right."""
    return (
        f"sigma={sigma} is contradicted by the rewards, whose noise is about {found:.2g}: it is estimated from now on."
    )


@kernel
def note(noise: Records, reward: float) -> None:
    """Whether the reward is neither 0 nor 1."""
    if abs(reward) > NO_STEP and abs(reward - 1.0) > NO_STEP:
        noise["mixed"][0] = 1


@kernel
def note_step(noise: Records, difference: float) -> None:
    """Whether two neighbouring rewards are nearer to each other than any before, and not equal."""
    step = abs(difference)
    if NO_STEP < step < noise["step"][0]:
        noise["step"][0] = step


@kernel
def _mean(squares: float, count: float) -> float:
    weight = math.exp(-count / _FORGOTTEN) if count < _MANY else 0.0
    return (squares + weight * _LARGEST) / (count + weight)


@kernel
def by_bends(noise: Records) -> bool:
    """Whether differences of three neighbours are nearer to the noise than those of two."""
    return _mean(noise["bends"][0], noise["triples"][0]) < _mean(noise["squares"][0], noise["pairs"][0])


@kernel
def pooled(noise: Records) -> float:
    """The variance of a reward of an unknown arm, for rewards in [0, 1]."""
    return min(_LARGEST, unbounded(noise))


@kernel
def unbounded(noise: Records) -> float:
    """The same for any rewards."""
    if noise["mixed"][0] == 0:
        return _LARGEST
    variance = min(_mean(noise["bends"][0], noise["triples"][0]), _mean(noise["squares"][0], noise["pairs"][0]))
    step = noise["step"][0]
    if step < math.inf:
        variance = max(variance, 0.25 * step * step)
    return variance


@kernel
def believed(squares: float, count: float, prior: float) -> float:
    """The variance of an arm with ``count`` squared differences of its own."""
    variance = (squares + _POOLED_WEIGHT * prior) / (count + _POOLED_WEIGHT)
    return variance if count > ENOUGH_PAIRS else max(variance, prior)


@kernel
def weigh(evidence: float, sigma: float, difference: float) -> float:
    """The evidence that sigma > 0 is too small, with one more fourth difference of five rewards.

    Evidence in favour of sigma is kept up to 20 only, so that noise which grows later is noticed as well.
    """
    x2 = min(_MOST, difference * difference / (70.0 * sigma * sigma))
    return max(-_SURE, evidence + 0.375 * x2 - _LOG_2)


@kernel
def is_enough(evidence: float) -> bool:
    """Whether the evidence suffices."""
    return evidence >= _SURE


@kernel
def contradict(noise: Records, sigma: float, difference: float) -> bool:
    """Take in a fourth difference of five rewards; whether the evidence that sigma > 0 is too small now suffices."""
    noise["evidence"][0] = weigh(noise["evidence"][0], sigma, difference)
    if not is_enough(noise["evidence"][0]) or noise["contradicted"][0] != 0:
        return False
    noise["contradicted"][0] = 1
    return True
