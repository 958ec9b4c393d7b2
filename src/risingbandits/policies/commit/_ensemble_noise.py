"""How noisy CommitEnsemble takes an arm to be: the model of `noise_model`, fed from sums of rewards once a batch.

``sigma`` below 0 in the state stands for nothing told. What was told is a ceiling, under which an arm's own estimate
takes over; if the rewards contradict it, it counts no more.
"""

from __future__ import annotations

import math
from typing import Any

from risingbandits._core.jit import kernel
from risingbandits.policies._kernels import noise_model
from risingbandits.policies.commit import _differences

NOTHING = -1.0
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
def compare(state: Any, arm: int, last: int) -> bool:
    """What pull number ``last`` says of the noise, beside those before; whether what was told is contradicted now."""
    _differences.follow(state, arm, last)
    if last % _differences.BLOCK > 0 or last == _differences.BLOCK or state.sigma <= 0.0:
        return False
    return _differences.contradict(state, arm, last)


@kernel
def variance(state: Any, arm: int) -> float:
    """The variance of a reward of the arm: at most what was told and, for long, no less than all arms have."""
    ceiling = told(state) ** 2
    if guesses(state):
        found = _differences.own_variance(state, arm, noise_model.pooled(state.noise))
    else:
        found = noise_model.believed(state.arms["squares"][arm], state.arms["pairs"][arm], ceiling)
    return max(1e-12, min(ceiling, found))


@kernel
def of_line(state: Any, arm: int) -> float:
    """The noise of a reward, as the arm's line takes it: what was told until enough is known."""
    enough = state.arms["pairs"][arm] > noise_model.ENOUGH_PAIRS
    if guesses(state) and state.noise["mixed"][0] != 0 and state.noise["pairs"][0] > _FIRST_PAIRS:
        enough = True
    return _CAUTION * (math.sqrt(variance(state, arm)) if enough else told(state))
