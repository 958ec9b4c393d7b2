"""How noisy CommitEnsemble takes an arm to be: the model of `noise_model`, updated from sums of rewards once per batch.

``sigma`` below 0 in the state means that none was told. A told sigma is a ceiling, below which an arm's own estimate
takes over; if the rewards contradict it, it no longer counts.
"""

from __future__ import annotations

import math
from typing import Any

from risingbandits._core.jit import kernel
from risingbandits.policies._kernels import noise_model
from risingbandits.policies.commit import _differences

NOTHING = -1.0
_FIRST_PAIRS = 12.0  # of all arms, before lines go by what they say
_CAUTION = 1.1  # times CommitUCB's width by which lines are raised: a late bloomer whose line fails is lost


@kernel
def guesses(state: Any) -> bool:
    """Whether no sigma was told, or one that is contradicted."""
    return state.sigma < 0.0 or state.noise["contradicted"][0] != 0


@kernel
def told(state: Any) -> float:
    """The told sigma; 1/2, valid for any reward in [0, 1], if none was."""
    return 0.5 if guesses(state) else state.sigma


@kernel
def compare(state: Any, arm: int, last: int) -> bool:
    """What pull ``last`` says about the noise, with those before; whether the told sigma is now contradicted."""
    _differences.follow(state, arm, last)
    if last % _differences.BLOCK > 0 or last == _differences.BLOCK or state.sigma <= 0.0:
        return False
    return _differences.contradict(state, arm, last)


@kernel
def variance(state: Any, arm: int) -> float:
    """The variance of a reward of the arm: at most the told one and, for a long time, no less than that of all arms."""
    ceiling = told(state) ** 2
    if guesses(state):
        found = _differences.own_variance(state, arm, noise_model.pooled(state.noise))
    else:
        found = noise_model.believed(state.arms["squares"][arm], state.arms["pairs"][arm], ceiling)
    return max(1e-12, min(ceiling, found))


@kernel
def of_line(state: Any, arm: int) -> float:
    """The noise of a reward for the arm's line: the told one until enough is known."""
    enough = state.arms["pairs"][arm] > noise_model.ENOUGH_PAIRS
    if guesses(state) and state.noise["mixed"][0] != 0 and state.noise["pairs"][0] > _FIRST_PAIRS:
        enough = True
    return _CAUTION * (math.sqrt(variance(state, arm)) if enough else told(state))
