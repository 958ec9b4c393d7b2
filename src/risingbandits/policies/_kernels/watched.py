"""Checking a told sigma where rewards are not kept: index policies warn once that it is too small, and keep it.

The guard of `noise_model` asks for fourth differences of five rewards, which add up pull by pull: one number for each
arm. Only an arm's pulls 6 to 500 are watched, which is enough to notice three quarters of the truth or less, and costs
long runs nothing.

A state that is watched has one more field, ``watch``: a row for each arm with its pulls, up to 500, and what its block
adds up to so far; then a row with the evidence, inf once it is enough, and sigma; then one with the sum of squared
fourth differences and their number.
"""

from __future__ import annotations

import math
import sys
from collections import namedtuple
from functools import cache
from typing import Any

import numpy as np

from risingbandits._core.jit import bound_kernel, kernel
from risingbandits._core.types import Floats, Rng
from risingbandits.policies._kernels import noise_model
from risingbandits.policies.base import Kernels

FIELD = "watch"
_PULLS, _SUM = 0, 1  # columns of an arm
_EVIDENCE, _SIGMA = 0, 1  # of the last row but one
_SQUARES, _BLOCKS = 0, 1  # of the last row
_LAST = 500.0
_FAR = 1.2
_BLOCK = 5


def new_watch(n_arms: int, sigma: float) -> Floats:
    watch = np.zeros((n_arms + 2, 2))
    watch[n_arms, _SIGMA] = sigma
    return watch


def remark(sigma: Any, watch: Floats) -> str | None:
    """The warning about the told sigma; none if only a few jumps contradict it."""
    if watch[-2, _EVIDENCE] < math.inf:
        return None
    found = math.sqrt(watch[-1, _SQUARES] / watch[-1, _BLOCKS])
    return noise_model.kept(sigma, found) if found > _FAR * sigma else None


inner_update: Any = None


def _update(state: Any, t: int, arm: int, reward: float, rng: Rng) -> None:
    inner_update(state, t, arm, reward, rng)
    if state.watch[arm, _PULLS] < _LAST:
        look(state.watch, arm, reward)


@kernel
def look(watch: Floats, arm: int, reward: float) -> None:
    """One more reward of an arm with fewer than 500."""
    n = watch[arm, _PULLS] + 1.0
    watch[arm, _PULLS] = n
    if n <= _BLOCK:  # the first pulls may jump
        return
    place = int(n) % _BLOCK  # the weights of places 1 to 5 are 1, -4, 6, -4, 1; of floats the rest takes far longer
    if place > 0:
        sum_so_far = 0.0 if place == 1 else watch[arm, _SUM]
        weight = 1.0 if place == 1 else -4.0
        watch[arm, _SUM] = sum_so_far + (6.0 if place == 3 else weight) * reward
    else:
        all_arms = watch.shape[0] - 2
        difference = watch[arm, _SUM] + reward
        sigma = watch[all_arms, _SIGMA]
        evidence = noise_model.weigh(watch[all_arms, _EVIDENCE], sigma, difference)
        watch[all_arms, _EVIDENCE] = math.inf if noise_model.is_enough(evidence) else evidence
        watch[all_arms + 1, _SQUARES] += difference * difference / 70.0
        watch[all_arms + 1, _BLOCKS] += 1.0


@cache
def watched_kernels(kernels: Kernels) -> Kernels:
    """The same with a watch."""
    return kernels._replace(update=bound_kernel(_update, inner_update=kernels.update))


@cache
def watched_state(state_class: Any) -> Any:
    """The state with a watch. The class is kept in this module, where Numba's disk cache looks for it by name."""
    name = "_".join(("State", *state_class.__module__.split(".")))
    made = namedtuple(name, (*state_class._fields, FIELD), module=__name__)  # type: ignore[misc]
    setattr(sys.modules[__name__], name, made)
    return made
