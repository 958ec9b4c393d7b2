"""What CommitEnsemble believes about an arm: batches become sums for `_ensemble_members`, then a bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Floats
from risingbandits.policies.commit import _ensemble_members, _ensemble_noise, _lines, grid

_POOLED_WEIGHT = 8.0  # what the uniform prior over shapes counts against the other arms, in arms


@rare_kernel
def add_block(state: Any, arm: int, known: int, n: int) -> None:
    """Pulls known + 1 .. n, a batch."""
    start = state.places[arm, 0]
    pulls = float(n - known)
    x = known + 0.5 * (pulls + 1.0)
    y = (_lines.prefix(state.pool, start, n) - _lines.prefix(state.pool, start, known)) / pulls
    w = pulls / (_ensemble_noise.variance(state, arm) + state.drift * state.drift * x)
    _ensemble_members.add_block(state.moments, state.arms, state.taus, arm, x, y, w)


@rare_kernel
def learn_anew(state: Any, arm: int) -> None:
    """Weigh all batches of the arm, which ended at grid points, by the present estimate of the noise."""
    state.arms["weight"][arm] = 0.0
    state.arms["weighted"][arm] = 0.0
    state.moments[arm] = 0.0
    drawn = state.arms["drawn"][arm]
    known = 0
    while known < drawn:
        n = min(grid.next_point(known, state.growth), drawn)
        add_block(state, arm, known, n)
        known = n


@rare_kernel
def take_bound(state: Any, arm: int, remaining: float) -> None:
    """What the arm may bring in the remaining rounds: exceeded with a chance that pays for playing it as long again."""
    n = float(state.arms["pulls"][arm])
    count = weigh(state, arm, n, remaining, False)
    state.arms["bound"][arm] = _ensemble_members.upper_quantile(state.work, count, min(state.tail, n / remaining))
    state.arms["left"][arm] = remaining
    state.arms["expected"][arm] = _ensemble_members.expectation(state.work, count)
    state.arms["straight"][arm] = _ensemble_members.slower_than(state.work, count, 2.0 * n)


def log_priors(state: Any) -> Floats:
    """The logarithms of the prior weights of all components, for each arm, as `weigh` has them."""
    if not state.shares.shape[0]:
        return np.tile(state.log_prior, (state.arms.shape[0], 1))
    others = state.shares[-1] - state.shares[:-1]
    return np.asarray(np.log(_POOLED_WEIGHT / state.log_prior.size + np.maximum(0.0, others)))


@kernel
def weigh(state: Any, arm: int, n: float, remaining: float, final: bool) -> int:
    """Fill ``work`` with the arm's posterior, the likely components first; return their number."""
    pooled = state.shares.shape[0] > 0
    last = state.shares.shape[0] - 1
    if pooled:  # what the other arms look like
        for c in range(state.log_prior.shape[0]):
            others = state.shares[last, c] - state.shares[arm, c]
            state.log_prior[c] = math.log(_POOLED_WEIGHT / state.log_prior.shape[0] + max(0.0, others))
    top = _ensemble_members.posterior(
        state.moments, state.arms, state.taus, state.log_prior, state.cap, state.work, arm, n, remaining, final
    )
    _ensemble_members.shares(state.work, top)
    if pooled and not final:  # asking for a recommendation changes nothing
        for c in range(state.log_prior.shape[0]):
            share = state.work[_ensemble_members.SHARE, c]
            state.shares[last, c] += share - state.shares[arm, c]
            state.shares[arm, c] = share
    return _ensemble_members.drop_unlikely(state.work)
