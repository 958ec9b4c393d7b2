"""Explore, then commit: every arm equally often, then the one that looked best, for ever."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import kernel
from risingbandits._core.types import Floats, Ints, Mask, Rng
from risingbandits.policies._kernels import sweeps
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.registry import register
from risingbandits.policies.settings import integer


class State(NamedTuple):
    """What is known from exploring; later rewards change nothing."""

    m: int  # pulls of each arm
    pulls: np.ndarray  # (K,) pulls of each arm, at most m
    total: np.ndarray  # (K,) sum of the rewards of these
    turn: np.ndarray  # (3,) arm whose turn it is; arms that still need pulls; the best arm once there are none


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    if available is None:
        return state.turn[0] if state.turn[1] > 0 else state.turn[2]
    n_arms = state.pulls.shape[0]
    for i in range(n_arms):
        arm = (state.turn[0] + i) % n_arms
        if available[arm] and state.pulls[arm] < state.m:
            return arm
    return _best(state, available)


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    if state.pulls[arm] == state.m:
        return
    state.pulls[arm] += 1
    state.total[arm] += reward
    state.turn[1] -= state.pulls[arm] == state.m
    if state.turn[1] == 0:
        state.turn[2] = _best(state, None)
    else:
        n_arms = state.pulls.shape[0]
        turn = (arm + 1) % n_arms
        while state.pulls[turn] == state.m:
            turn = (turn + 1) % n_arms
        state.turn[0] = turn


@kernel
def recommend(state: State, t: int, pulls: Ints) -> int:
    return _best(state, None)


@kernel
def _best(state: State, available: Mask) -> int:
    """The best mean among the (available) arms; arms without a reward come last."""
    best = -math.inf
    chosen = -1
    for arm in range(state.pulls.shape[0]):
        if available is not None and not available[arm]:
            continue
        mean = state.total[arm] / state.pulls[arm] if state.pulls[arm] > 0 else -math.inf
        if chosen < 0 or mean > best:
            best = mean
            chosen = arm
    return chosen


@register
class ExploreThenCommit(Policy):
    """Pull every arm m times in turn, then always the arm with the best mean.

    Explore-then-commit, or "explore-first" (the textbook of Lattimore and Szepesvari, Algorithm 1). An arm that is not
    available loses its turn and catches up later; the mean that decides is over its first m pulls.

    Use it as the plainest way to spend a budget, and where switching between arms is dear. On rising arms the mean of
    early pulls favours arms that start well; a larger m is the only remedy.

    Parameters
    ----------
    m : int or None
        Pulls of each arm while exploring. None: ceil(T^(2/3) / K), so that exploring takes about T^(2/3) of the T
        rounds, the order that balances exploring and a wrong commitment when the gaps are unknown. A choice of this
        package, not of a paper.

    References
    ----------
    T. Lattimore, C. Szepesvari. Bandit Algorithms, chapter 6. Cambridge University Press, 2020.

    Examples
    --------
    >>> policy = ExploreThenCommit(m=2).reset(n_arms=2)
    >>> [(arm := policy.ask(), policy.tell(arm, [0.2, 0.8][arm]))[0] for _ in range(7)]
    [0, 1, 0, 1, 1, 1, 1]
    """

    name = "explore-then-commit"
    summary = "m pulls of each arm, then the best mean for ever"
    needs_horizon = True
    from_horizon = ("m",)
    kernels = Kernels(select=select, update=update, recommend=recommend)

    m: int | None = integer(None)

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        m = math.ceil((horizon or 1) ** (2 / 3) / n_arms) if self.m is None else int(self.m)
        return State(
            m=m,
            pulls=np.zeros(n_arms, dtype=np.int64),
            total=np.zeros(n_arms),
            turn=np.array([0, n_arms, 0], dtype=np.int64),
        )

    def parts(self, state: Any, t: int) -> dict[str, Floats]:
        return {"level": sweeps.means(state.total, state.pulls)}
