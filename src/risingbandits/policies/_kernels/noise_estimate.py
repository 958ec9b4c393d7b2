"""The noise level of rewards: one model for all policies (``sigma="estimate"``), and an older one ("smooth").

The model. Two neighbouring rewards of an arm give (r - r')^2 / 2, three give (r - 2 r' + r'')^2 / 6: both are sigma^2
on average, and more where the curve rises or bends between the pulls. Summed over all arms, the kind with the smaller
mean is nearer to the truth, and its mean is what one arm is believed to have before it is known better: the pooled
variance, which counts for 4 pairs in the estimate of each arm. Before any reward the variance is 1/4, the largest that
rewards in [0, 1] can have; that counts for one pair.

Few discrete rewards may be equal by chance, whatever their noise. As long as all rewards are 0 or 1 the pooled variance
is 1/4, so that an arm with n equal rewards has about 2/n; with other steps it is at least a quarter of the square of
the smallest difference between neighbouring rewards, which is next to nothing where rewards are continuous.

The guard. A told sigma says that x^2 of a standardised fourth difference of five rewards is 1 on average or less;
curves that bend slowly hardly touch it. For noise that is sigma-sub-Gaussian E exp(3/8 x^2) <= 2, so that the sum of
3/8 x^2 - log 2 reaches 20 with probability e^-20 at most. Where it does, what was told is wrong.

The older estimate.

Where a curve bends little from one pull to the next, its second differences r(n) - 2 r(n-1) + r(n-2) are nearly noise
alone, of variance 6 sigma^2. An arm's own estimate is the mean of their squares divided by 6; it is taken to be no less
than the median over the arms that have three rewards or more, because few differences may be small by chance, and the
noise level no more than 1/2, which is right for any reward in [0, 1]. Before any arm has three rewards it is 1/2.

The median costs a pass over all arms. It is taken again whenever the second differences seen have grown by an eighth.

``smooth`` is one array, so that compiled code takes one argument more: a row for each arm with its last two rewards,
the sum of squared second differences, the number of rewards, the noise level, working space, and columns for the
policy's own use; then a row with the median, how many second differences there were, and at how many it is due again.
"""

from __future__ import annotations

import math
from collections import namedtuple
from typing import Any, ClassVar

import numpy as np

from risingbandits._core.errors import check_choice, check_finite
from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Floats, Records
from risingbandits.policies._kernels import records
from risingbandits.policies._kernels.pruning import nth_largest
from risingbandits.policies.base import Kernels, Policy

SMOOTH = "smooth"
SIGMA, OWN = 4, 6  # columns: the noise level, and the first of the policy's own
_LAST, _BEFORE, _SQUARES, _COUNT, _WORK = 0, 1, 2, 3, 5
_MEDIAN, _SEEN, _DUE = 0, 1, 2  # places in the last row
_CEILING = 0.5


def check_sigma(name: str, sigma: Any) -> None:
    """Refuse what is neither a number from 0 on nor "smooth"."""
    if isinstance(sigma, str):
        check_choice(name, sigma, (SMOOTH,))
    else:
        check_finite(name, sigma, minimum=0.0)


def number(sigma: Any) -> float:
    """The noise level as a number: 1/2, right for any reward in [0, 1], where none is given."""
    return _CEILING if sigma is None or isinstance(sigma, str) else float(sigma)


class NoisePolicy(Policy):
    """Base of policies whose ``sigma`` may be "smooth": they have other kernels then, and a longer state."""

    kernels_smooth: ClassVar[Kernels]
    sigma: float | str | None

    @property
    def smooth(self) -> bool:
        """Whether the noise level is estimated from second differences."""
        return self.sigma == SMOOTH

    def unit_sigma(self) -> float:
        """The noise level, or 1 where the kernels multiply by the estimate."""
        return 1.0 if self.smooth else number(self.sigma)

    def kernels_for(self, n_arms: int, horizon: int | None = None) -> Kernels:
        return self.kernels_smooth if self.smooth else self.kernels


def extended(state_class: Any, module: str) -> Any:
    """The state with the field ``smooth`` at the end, a class that its module must keep as ``SmoothState``."""
    return namedtuple("SmoothState", (*state_class._fields, SMOOTH), module=module)


def new_smooth(n_arms: int, own: int = 0) -> Floats:
    """The array before the first reward, with ``own`` columns for the policy."""
    smooth = np.zeros((n_arms + 1, OWN + own))
    smooth[:, SIGMA] = _CEILING
    smooth[n_arms, :] = 0.0
    smooth[n_arms, _MEDIAN] = math.inf
    smooth[n_arms, _DUE] = 1.0
    return smooth


@kernel
def add(smooth: Floats, arm: int, reward: float) -> bool:
    """One more reward of the arm. True when the noise levels of all arms may have changed, else only its own has."""
    marks = smooth.shape[0] - 1
    if smooth[arm, _COUNT] >= 2.0:
        bend = reward - 2.0 * smooth[arm, _LAST] + smooth[arm, _BEFORE]
        smooth[arm, _SQUARES] += bend * bend
        smooth[marks, _SEEN] += 1.0
    smooth[arm, _BEFORE] = smooth[arm, _LAST]
    smooth[arm, _LAST] = reward
    smooth[arm, _COUNT] += 1.0
    if smooth[marks, _SEEN] >= smooth[marks, _DUE]:
        _take_median(smooth)
        return True
    smooth[arm, SIGMA] = _level(smooth, arm)
    return False


@kernel
def _level(smooth: Floats, arm: int) -> float:
    """The larger of the arm's own estimate and the median, at most 1/2."""
    variance = smooth[smooth.shape[0] - 1, _MEDIAN]
    if smooth[arm, _COUNT] > 2.0:
        variance = max(variance, smooth[arm, _SQUARES] / (6.0 * (smooth[arm, _COUNT] - 2.0)))
    return min(_CEILING, math.sqrt(variance))


@rare_kernel
def _take_median(smooth: Floats) -> None:
    """The median over the arms with second differences, of which there is one, and the noise levels of all arms."""
    marks = smooth.shape[0] - 1
    known = 0
    for arm in range(marks):
        if smooth[arm, _COUNT] > 2.0:
            smooth[known, _WORK] = smooth[arm, _SQUARES] / (6.0 * (smooth[arm, _COUNT] - 2.0))
            known += 1
    values = smooth[:known, _WORK]
    upper = nth_largest(values, (known + 1) // 2)
    smooth[marks, _MEDIAN] = 0.5 * (upper + nth_largest(values, known // 2 + 1))
    smooth[marks, _DUE] = smooth[marks, _SEEN] + 1.0 + math.floor(smooth[marks, _SEEN] / 8.0)
    for arm in range(marks):
        smooth[arm, SIGMA] = _level(smooth, arm)


# -- one model for all: pooled over arms, shrunk, with a floor for discrete rewards -----------------------------------

# All arms together: sums and numbers of squared differences of two and of three neighbours (three overlap, so they
# count half), the smallest step between neighbours; what the guard has summed up; whether a reward was neither 0 nor
# 1, and whether what was told is contradicted.
NOISE = records.record_type(
    {"all_arms": (np.float64, "squares pairs bends triples step evidence"), "kinds": (np.int64, "mixed contradicted")},
    single=True,
)
ESTIMATE = "estimate"
_LARGEST = 0.25  # variance of rewards in [0, 1]
_FIRST_WEIGHT = 1.0  # of that, in pairs, among what all arms have shown
_POOLED_WEIGHT = 4.0  # of what all arms have shown, in pairs, in the estimate of one
_NO_STEP = 1e-6  # differences that are smaller are none: sums of rewards are rounded
_SURE = 20.0
_MOST = 16.0  # x^2 of one block counts for so much at most: a curve may jump
_LOG_2 = math.log(2.0)


def new_noise() -> np.ndarray:
    """The record before the first reward."""
    noise = np.zeros(1, NOISE)
    noise["step"] = math.inf
    return noise


def contradiction(sigma: Any, found: float) -> str:
    """What to say of a told sigma that cannot be right."""
    return (
        f"sigma={sigma} is contradicted by the rewards, whose noise is about {found:.2g}: it is estimated from now on."
    )


@kernel
def note(noise: Records, reward: float) -> None:
    """Whether the reward is neither 0 nor 1."""
    if abs(reward) > _NO_STEP and abs(reward - 1.0) > _NO_STEP:
        noise["mixed"][0] = 1


@kernel
def note_step(noise: Records, difference: float) -> None:
    """Whether two neighbouring rewards are nearer to each other than any before, and not equal."""
    step = abs(difference)
    if _NO_STEP < step < noise["step"][0]:
        noise["step"][0] = step


@kernel
def _mean(squares: float, count: float) -> float:
    return (squares + _FIRST_WEIGHT * _LARGEST) / (count + _FIRST_WEIGHT)


@kernel
def by_bends(noise: Records) -> bool:
    """Whether differences of three neighbours are nearer to the noise than those of two."""
    return _mean(noise["bends"][0], noise["triples"][0]) < _mean(noise["squares"][0], noise["pairs"][0])


@kernel
def pooled(noise: Records) -> float:
    """The variance of a reward of an arm of which nothing is known."""
    if noise["mixed"][0] == 0:
        return _LARGEST
    variance = min(_mean(noise["bends"][0], noise["triples"][0]), _mean(noise["squares"][0], noise["pairs"][0]))
    step = noise["step"][0]
    if step < math.inf:
        variance = max(variance, 0.25 * step * step)
    return min(_LARGEST, variance)


@kernel
def shrunk(squares: float, count: float, prior: float) -> float:
    """The variance of an arm with ``count`` squared differences of its own."""
    return (squares + _POOLED_WEIGHT * prior) / (count + _POOLED_WEIGHT)


@kernel
def contradict(noise: Records, sigma: float, difference: float) -> bool:
    """Take in a fourth difference of five rewards; whether it is now sure that sigma > 0 is too small.

    Evidence in favour of sigma is kept up to 20 only, so that noise which grows later is noticed as well.
    """
    x2 = min(_MOST, difference * difference / (70.0 * sigma * sigma))
    noise["evidence"][0] = max(-_SURE, noise["evidence"][0] + 0.375 * x2 - _LOG_2)
    if noise["evidence"][0] < _SURE or noise["contradicted"][0] != 0:
        return False
    noise["contradicted"][0] = 1
    return True


# -- indexes of the form mean + width / sqrt(n) -----------------------------------------------------------------------


@kernel
def widen_roots(state: Any, arm: int, reward: float) -> None:
    """After `_means.add`: ``root`` of every arm becomes sigma / sqrt(n)."""
    if add(state.smooth, arm, reward):
        for other in range(state.root.shape[0]):
            if state.counts[other] > 0.0:
                state.root[other] = state.smooth[other, SIGMA] / math.sqrt(state.counts[other])
    else:
        state.root[arm] = state.smooth[arm, SIGMA] / math.sqrt(state.counts[arm])
