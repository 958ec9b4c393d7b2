"""How noisy CommitEnsemble takes an arm to be: the model of `noise_model`, fed from sums of rewards once a batch.

``sigma`` below 0 in the state stands for nothing told. What was told is a ceiling, under which an arm's own estimate
takes over; if the rewards contradict it, it counts no more.
"""

from __future__ import annotations

import math
from typing import Any

from risingbandits._core.jit import kernel
from risingbandits.policies._kernels import noise_model
from risingbandits.policies.commit import _lines

NOTHING = -1.0
_BLOCK = 5  # rewards of a fourth difference
_STEEP = 2  # rewards of an arm that say nothing of its noise: a curve may begin with a jump
_FIRST_PAIRS = 12.0  # of all arms, before lines go by what they say
_CAUTION = 1.1  # lines are raised by so many times CommitUCB's width: a late bloomer whose line fails is lost


@kernel
def guesses(state: Any) -> bool:
    """Whether nothing is told, or nothing that holds."""
    return state.sigma < 0.0 or state.noise["contradicted"][0] != 0


@kernel
def told(state: Any) -> float:
    """What was told; 1/2, right for any reward in [0, 1], where that is nothing."""
    return 0.5 if guesses(state) else state.sigma


@kernel
def compare(state: Any, arm: int, start: int, last: int) -> bool:
    """What pull number ``last`` says of the noise, beside those before; whether what was told is contradicted now."""
    pool = state.pool
    before = _lines.prefix(pool, start, last - 1)
    reward = _lines.prefix(pool, start, last) - before
    noise_model.note(state.noise, reward)
    if last < _STEEP + 2:
        return False
    earlier = _lines.prefix(pool, start, last - 2)
    difference = reward - (before - earlier)
    noise_model.note_step(state.noise, difference)
    if last % 2 == 0:  # pairs of pulls 3 and 4, 5 and 6, ...
        square = 0.5 * difference * difference
        state.arms["squares"][arm] += square
        state.arms["pairs"][arm] += 1.0
        state.noise["squares"][0] += square
        state.noise["pairs"][0] += 1.0
    if last < _STEEP + 3:
        return False
    third = _lines.prefix(pool, start, last - 3)
    bend = difference - ((before - earlier) - (earlier - third))
    square = bend * bend / 12.0
    state.arms["bends"][arm] += square
    state.arms["triples"][arm] += 0.5
    state.noise["bends"][0] += square
    state.noise["triples"][0] += 0.5
    if last % _BLOCK > 0 or last == _BLOCK or state.sigma <= 0.0:  # the first pulls may jump
        return False
    fourth = _lines.prefix(pool, start, last - 4)
    fifth = _lines.prefix(pool, start, last - 5)
    wiggle = reward - 4.0 * (before - earlier) + 6.0 * (earlier - third) - 4.0 * (third - fourth) + (fourth - fifth)
    return noise_model.contradict(state.noise, state.sigma, wiggle)


@kernel
def variance(state: Any, arm: int) -> float:
    """The variance of a reward of the arm: at most what was told and, for long, no less than all arms have."""
    ceiling = told(state) ** 2
    prior = ceiling
    own = state.arms["squares"][arm]
    count = state.arms["pairs"][arm]
    if guesses(state):
        prior = noise_model.pooled(state.noise)
        if noise_model.by_bends(state.noise):
            own = state.arms["bends"][arm]
            count = state.arms["triples"][arm]
    return max(1e-12, min(ceiling, noise_model.believed(own, count, prior)))


@kernel
def of_line(state: Any, arm: int) -> float:
    """The noise of a reward, as the arm's line takes it: what was told until enough is known."""
    enough = state.arms["pairs"][arm] > noise_model.ENOUGH_PAIRS
    if guesses(state) and state.noise["mixed"][0] != 0 and state.noise["pairs"][0] > _FIRST_PAIRS:
        enough = True
    return _CAUTION * (math.sqrt(variance(state, arm)) if enough else told(state))
