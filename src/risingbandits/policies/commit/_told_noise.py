"""How noisy CommitUCB takes an arm to be: as given, unless the rewards contradict that and no bound is promised.

Until then only every fifth pull of an arm is checked, which costs next to nothing; sigma = 0 says that there is no
noise, and is not checked. Once the evidence that sigma is too small suffices, all rewards so far are processed once.
From then on an arm is as noisy as `noise_model` says, though never less than given. Where a bound on the regret is
promised, sigma is kept: the bound is about it, and a concave curve with kinks looks like noise to the check.
"""

from __future__ import annotations

import math
from typing import Any

from risingbandits._core.jit import kernel, rare_kernel
from risingbandits.policies._kernels import noise_model
from risingbandits.policies.commit import _commit_value, _differences, _widths


@kernel
def has_bound(state: Any) -> bool:
    """Whether a bound on the regret is promised: pure optimism, no second chances, Gaussian widths."""
    return state.rule == _commit_value.NONE and state.recheck <= 0.0 and state.kind == _widths.GAUSSIAN


@kernel
def is_replaced(state: Any) -> bool:
    """Whether sigma has been contradicted and an estimate is used instead."""
    return state.noise["contradicted"][0] != 0 and not has_bound(state)


@kernel
def of_all(state: Any) -> float:
    """The noise level of all arms together."""
    if is_replaced(state):
        return max(state.sigma, math.sqrt(noise_model.unbounded(state.noise)))
    return state.sigma


@kernel
def of_arm(state: Any, arm: int) -> float:
    """The noise level of an arm."""
    if is_replaced(state):
        variance = _differences.own_variance(state, arm, noise_model.unbounded(state.noise))
        return max(state.sigma, math.sqrt(variance))
    return state.sigma


@kernel
def watch(state: Any, arm: int) -> bool:
    """Take in the arm's pulls since its line was drawn; whether sigma is replaced with them."""
    known = state.arms["drawn"][arm]
    n = state.arms["pulls"][arm]
    if is_replaced(state):
        for last in range(known + 1, n + 1):
            _differences.follow(state, arm, last)
        return False
    if state.sigma <= 0.0:
        return False
    block = _differences.BLOCK
    last = max(2 * block, known - known % block + block)
    while last <= n:
        if _differences.contradict(state, arm, last) and not has_bound(state):
            _follow_all(state, arm)
            return True
        last += block
    return False


@rare_kernel
def _follow_all(state: Any, arm: int) -> None:
    """All rewards so far: of the arm whose batch is over up to now, of others up to when their lines were drawn."""
    for other in range(state.arms.shape[0]):
        n = state.arms["pulls"][arm] if other == arm else state.arms["drawn"][other]
        for last in range(1, n + 1):
            _differences.follow(state, other, last)
