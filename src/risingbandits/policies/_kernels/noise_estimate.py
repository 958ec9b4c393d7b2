"""The noise level of each arm, estimated during the run: ``sigma="estimate"``, and the older ``sigma="smooth"``.

"estimate" is the model of `noise_model`, with second differences for what an arm has of its own. Of "smooth" an arm's
own estimate is the mean of its squared second differences divided by 6; it is taken to be no less than the median over
the arms that have three rewards or more, because few differences may be small by chance, and the noise level no more
than 1/2, which is right for any reward in [0, 1]. Before any arm has three rewards it is 1/2. As long as all rewards
are 0 or 1, of which second differences say little, "smooth" is "estimate".

What all arms share, the pooled variance or the median, changes with every reward. The levels of all arms follow it
whenever the second differences seen have grown by an eighth.

A state with estimates has three more fields. ``smooth`` is one array, so that compiled code takes one argument more: a
row for each arm with its last two rewards, the sum of squared second differences, the number of rewards, the noise
level, working space, and columns for the policy's own use; then a row with the median, how many second differences
there were, at how many it is due again, and whether "smooth" is itself. ``noise`` is the record of `noise_model`,
``pooled`` whether its model counts whatever the rewards are.
"""

from __future__ import annotations

import math
from collections import namedtuple
from typing import Any, ClassVar

import numpy as np

from risingbandits._core.errors import check_choice, check_finite
from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Floats, Records
from risingbandits.policies._kernels import noise_model, watched
from risingbandits.policies._kernels.pruning import nth_largest
from risingbandits.policies.base import Kernels, Policy

SMOOTH, ESTIMATE = "smooth", "estimate"
SIGMA, OWN = 4, 6  # columns: the noise level, and the first of the policy's own
_LAST, _BEFORE, _SQUARES, _COUNT, _WORK = 0, 1, 2, 3, 5
_MEDIAN, _SEEN, _DUE, _PLAIN = 0, 1, 2, 3  # places in the last row; plain: "smooth" in its own right
_CEILING = 0.5


def check_sigma(name: str, sigma: Any) -> None:
    """Refuse anything but a number from 0 on or a way to estimate it."""
    if isinstance(sigma, str):
        check_choice(name, sigma, (ESTIMATE, SMOOTH))
    else:
        check_finite(name, sigma, minimum=0.0)


def number(sigma: Any) -> float:
    """The noise level as a number: 1/2, valid for any reward in [0, 1], if none is given."""
    return _CEILING if sigma is None or isinstance(sigma, str) else float(sigma)


class NoisePolicy(Policy):
    """Base of policies whose ``sigma`` may be estimated: they have other kernels then, and a longer state.

    If it is told, it is checked against the rewards, which also needs a longer state.
    """

    kernels_smooth: ClassVar[Kernels]
    smooth_state: ClassVar[Any]
    sigma: float | str | None

    @property
    def smooth(self) -> bool:
        """Whether the noise level is estimated during the run."""
        return self.sigma in (SMOOTH, ESTIMATE)

    def unit_sigma(self) -> float:
        """The noise level, or 1 if the kernels multiply by the estimate."""
        return 1.0 if self.smooth else number(self.sigma)

    @property
    def is_watched(self) -> bool:
        """Whether rewards that contradict sigma are noticed. 0 stands for rules without noise."""
        return isinstance(self.sigma, int | float) and self.sigma > 0.0

    def kernels_for(self, n_arms: int, horizon: int | None = None) -> Kernels:
        if self.smooth:
            return self.kernels_smooth
        return watched.watched_kernels(self.kernels) if self.is_watched else self.kernels

    def with_noise(self, state: Any, n_arms: int, own: int = 0) -> Any:
        """The state with what an estimate, with ``own`` columns for the policy, or the watch needs."""
        if self.smooth:
            return self.smooth_state(*state, **new_fields(self.sigma, n_arms, own))
        if not self.is_watched:
            return state
        made: Any = watched.watched_state(state.__class__)
        return made(*state, watch=watched.new_watch(n_arms, number(self.sigma)))

    def remark(self, state: Any) -> str | None:
        return watched.remark(self.sigma, state.watch) if self.is_watched else None


def extended(state_class: Any, module: str) -> Any:
    """The state with the fields of an estimate at the end, a class that its module must keep as ``SmoothState``."""
    added = [name for name in ("smooth", "noise", "pooled") if name not in state_class._fields]
    return namedtuple("SmoothState", (*state_class._fields, *added), module=module)


def new_fields(sigma: Any, n_arms: int, own: int = 0) -> dict[str, Any]:
    """The fields of an estimate before the first reward, with ``own`` columns for the policy."""
    return {"smooth": _new_smooth(n_arms, own), "noise": noise_model.new_noise(), "pooled": sigma == ESTIMATE}


def _new_smooth(n_arms: int, own: int) -> Floats:
    smooth = np.zeros((n_arms + 1, OWN + own))
    smooth[:, SIGMA] = _CEILING
    smooth[n_arms, :] = 0.0
    smooth[n_arms, _MEDIAN] = math.inf
    smooth[n_arms, _DUE] = 1.0
    return smooth


@kernel
def add(state: Any, arm: int, reward: float) -> bool:
    """One more reward of the arm. True if the noise levels of all arms may have changed, otherwise only its own has."""
    smooth = state.smooth
    marks = smooth.shape[0] - 1
    if smooth[marks, _PLAIN] == 0.0:  # in a function of its own, so that "smooth" is as fast as it can be
        return _add_pooled(smooth, state.noise, state.pooled, arm, reward)
    _add_difference(smooth, arm, reward)
    if smooth[marks, _SEEN] >= smooth[marks, _DUE]:
        _take_median(smooth)
        _take_plain_levels(smooth)
        return True
    smooth[arm, SIGMA] = _plain_level(smooth, arm)
    return False


@kernel
def _add_difference(smooth: Floats, arm: int, reward: float) -> None:
    """The arm's second difference, if it has one, and its last two rewards."""
    if smooth[arm, _COUNT] >= 2.0:
        bend = reward - 2.0 * smooth[arm, _LAST] + smooth[arm, _BEFORE]
        smooth[arm, _SQUARES] += bend * bend
        smooth[smooth.shape[0] - 1, _SEEN] += 1.0
    smooth[arm, _BEFORE] = smooth[arm, _LAST]
    smooth[arm, _LAST] = reward
    smooth[arm, _COUNT] += 1.0


@rare_kernel
def _add_pooled(smooth: Floats, noise: Records, pooled: bool, arm: int, reward: float) -> bool:
    """`add` where the model counts: always, or as long as all rewards are 0 or 1."""
    marks = smooth.shape[0] - 1
    discrete = noise["mixed"][0] == 0
    _follow(smooth, noise, arm, reward)
    _add_difference(smooth, arm, reward)
    due = smooth[marks, _SEEN] >= smooth[marks, _DUE]
    if due:
        if pooled:
            smooth[marks, _DUE] = smooth[marks, _SEEN] + 1.0 + math.floor(smooth[marks, _SEEN] / 8.0)
        else:
            _take_median(smooth)
    if not pooled and noise["mixed"][0] != 0:
        smooth[marks, _PLAIN] = 1.0
        return _take_plain_levels(smooth) or due
    if due or (discrete and noise["mixed"][0] != 0):
        return _take_pooled_levels(smooth, noise) or due
    smooth[arm, SIGMA] = _pooled_level(smooth, noise, arm)
    return False


@kernel
def _follow(smooth: Floats, noise: Records, arm: int, reward: float) -> None:
    """What the reward adds to the record of all arms."""
    known = smooth[arm, _COUNT]
    noise_model.note(noise, reward)
    if known >= 1.0:
        difference = reward - smooth[arm, _LAST]
        noise_model.note_step(noise, difference)
        if known % 2.0 == 1.0:  # pairs of pulls 1 and 2, 3 and 4, ...
            noise["squares"][0] += 0.5 * difference * difference
            noise["pairs"][0] += 1.0
        if known >= 2.0:
            bend = difference - (smooth[arm, _LAST] - smooth[arm, _BEFORE])
            noise["bends"][0] += bend * bend / 12.0
            noise["triples"][0] += 0.5


@kernel
def _pooled_level(smooth: Floats, noise: Records, arm: int) -> float:
    """The arm's noise level by the model, at most 1/2."""
    count = max(0.0, smooth[arm, _COUNT] - 2.0)  # of second differences
    variance = noise_model.believed(smooth[arm, _SQUARES] / 12.0, 0.5 * count, noise_model.pooled(noise))
    return min(_CEILING, math.sqrt(variance))


@kernel
def _plain_level(smooth: Floats, arm: int) -> float:
    """The larger of the arm's own estimate and the median, at most 1/2."""
    variance = smooth[smooth.shape[0] - 1, _MEDIAN]
    if smooth[arm, _COUNT] > 2.0:
        variance = max(variance, smooth[arm, _SQUARES] / (6.0 * (smooth[arm, _COUNT] - 2.0)))
    return min(_CEILING, math.sqrt(variance))


@rare_kernel
def _take_pooled_levels(smooth: Floats, noise: Records) -> bool:
    """The noise levels of all arms by the model; whether one has changed."""
    changed = False
    for arm in range(smooth.shape[0] - 1):
        level = _pooled_level(smooth, noise, arm)
        changed = changed or level != smooth[arm, SIGMA]
        smooth[arm, SIGMA] = level
    return changed


@rare_kernel
def _take_plain_levels(smooth: Floats) -> bool:
    """The same for "smooth"."""
    changed = False
    for arm in range(smooth.shape[0] - 1):
        level = _plain_level(smooth, arm)
        changed = changed or level != smooth[arm, SIGMA]
        smooth[arm, SIGMA] = level
    return changed


@rare_kernel
def _take_median(smooth: Floats) -> None:
    """The median over the arms with second differences, of which there is one, and when it is due again."""
    marks = smooth.shape[0] - 1
    smooth[marks, _DUE] = smooth[marks, _SEEN] + 1.0 + math.floor(smooth[marks, _SEEN] / 8.0)
    known = 0
    for arm in range(marks):
        if smooth[arm, _COUNT] > 2.0:
            smooth[known, _WORK] = smooth[arm, _SQUARES] / (6.0 * (smooth[arm, _COUNT] - 2.0))
            known += 1
    values = smooth[:known, _WORK]
    upper = nth_largest(values, (known + 1) // 2)
    smooth[marks, _MEDIAN] = 0.5 * (upper + nth_largest(values, known // 2 + 1))


# -- policies that keep the noise level of each arm in a field of their own, told or estimated -------------------------


def levels(sigma: Any, n_arms: int) -> Floats:
    """The field ``sigma`` of a state before the first reward."""
    return np.full(n_arms, number(sigma))


@kernel
def follow(state: Any, arm: int, reward: float) -> None:
    """One more reward of the arm: the levels in ``state.sigma`` become those of the estimate."""
    if add(state, arm, reward):
        for other in range(state.sigma.shape[0]):
            state.sigma[other] = state.smooth[other, SIGMA]
    else:
        state.sigma[arm] = state.smooth[arm, SIGMA]


# -- indexes of the form mean + width / sqrt(n) -----------------------------------------------------------------------


@kernel
def widen_roots(state: Any, arm: int, reward: float) -> None:
    """After `running_means.add`: ``root`` of every arm becomes sigma / sqrt(n)."""
    if add(state, arm, reward):
        for other in range(state.root.shape[0]):
            if state.counts[other] > 0.0:
                state.root[other] = state.smooth[other, SIGMA] / math.sqrt(state.counts[other])
    else:
        state.root[arm] = state.smooth[arm, SIGMA] / math.sqrt(state.counts[arm])
