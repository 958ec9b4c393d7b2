"""The noise level from short, smooth curves: ``sigma="smooth"``.

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
from risingbandits._core.types import Floats
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
