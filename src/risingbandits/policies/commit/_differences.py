"""What differences of neighbouring rewards of an arm say about its noise, from sums of its rewards.

States have ``noise``, the record of `noise_model`, and four numbers of each arm's own: sums and numbers of squared
differences of two and of three neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from risingbandits._core.jit import kernel
from risingbandits._core.types import Floats
from risingbandits.policies._kernels import noise_model
from risingbandits.policies.commit import _lines

OWN = (np.float64, "squares pairs bends triples")  # of each arm
BLOCK = 5  # rewards of a fourth difference
STEEP = 2  # first rewards that say nothing about the noise: a curve may start with a jump


@kernel
def follow(state: Any, arm: int, last: int) -> None:
    """What pull ``last`` of the arm says about the noise, together with those before."""
    pool = state.pool
    start = state.places[arm, 0]
    before = _lines.prefix(pool, start, last - 1)
    reward = _lines.prefix(pool, start, last) - before
    noise_model.note(state.noise, reward)
    if last < STEEP + 2:
        return
    earlier = _lines.prefix(pool, start, last - 2)
    difference = reward - (before - earlier)
    noise_model.note_step(state.noise, difference)
    if last % 2 == 0:  # pairs of pulls 3 and 4, 5 and 6, ...
        square = 0.5 * difference * difference
        state.arms["squares"][arm] += square
        state.arms["pairs"][arm] += 1.0
        state.noise["squares"][0] += square
        state.noise["pairs"][0] += 1.0
    if last < STEEP + 3:
        return
    third = _lines.prefix(pool, start, last - 3)
    bend = difference - ((before - earlier) - (earlier - third))
    square = bend * bend / 12.0
    state.arms["bends"][arm] += square
    state.arms["triples"][arm] += 0.5
    state.noise["bends"][0] += square
    state.noise["triples"][0] += 0.5


@kernel
def own_variance(state: Any, arm: int, prior: float) -> float:
    """The variance of a reward of the arm, given the ``prior`` variance before its own rewards."""
    if noise_model.by_bends(state.noise):
        return noise_model.believed(state.arms["bends"][arm], state.arms["triples"][arm], prior)
    return noise_model.believed(state.arms["squares"][arm], state.arms["pairs"][arm], prior)


@kernel
def fourth(pool: Floats, start: int, last: int) -> float:
    """The fourth difference of the five rewards that end with pull number ``last``."""
    before = _lines.prefix(pool, start, last - 1)
    earlier = _lines.prefix(pool, start, last - 2)
    third = _lines.prefix(pool, start, last - 3)
    second = _lines.prefix(pool, start, last - 4)
    first = _lines.prefix(pool, start, last - 5)
    reward = _lines.prefix(pool, start, last) - before
    return reward - 4.0 * (before - earlier) + 6.0 * (earlier - third) - 4.0 * (third - second) + (second - first)


@kernel
def contradict(state: Any, arm: int, last: int) -> bool:
    """Whether the evidence that ``state.sigma`` > 0 is too small suffices, with the five rewards up to ``last``.

    ``last`` is a multiple of five and not the first, as the first pulls may jump.
    """
    return noise_model.contradict(state.noise, state.sigma, fourth(state.pool, state.places[arm, 0], last))


@kernel
def measure_noise(state: Any, start: int, n: int) -> None:
    """Noise from second differences: those of white noise have six times its variance, those of a line none."""
    p3 = _lines.prefix(state.pool, start, n - 3)
    p2 = state.pool[start + n - 2]
    p1 = state.pool[start + n - 1]
    bend = (state.pool[start + n] - p1) - 2.0 * (p1 - p2) + (p2 - p3)
    state.plan["squares"][0] += bend * bend / 6.0
    state.plan["measured"][0] += 1.0
