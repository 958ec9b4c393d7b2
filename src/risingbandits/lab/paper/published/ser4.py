"""Ser4 as in the published program."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import kernel
from risingbandits._core.types import Floats, Mask
from risingbandits.lab.paper.published._first_rounds import in_turn
from risingbandits.policies._kernels import reward_scale
from risingbandits.policies.base import Kernels, Policy


class State(NamedTuple):
    """What it knows."""

    phi: float  # chance of a restart after each sweep
    means: np.ndarray  # (K,) over the sweeps before this one
    coins: np.ndarray  # (K,) the last coin of each arm
    counts: np.ndarray  # (2,) place in the sweep, 0 to K; number of the sweep
    # Arms are never dropped: the threshold is above 2, no difference of means is above 1, and the line that would drop
    # one compares instead of assigning.


@kernel
def _mean(state: State, arm: int) -> float:
    sweep = state.counts[1]
    return float((sweep - 1.0) * state.means[arm] / sweep + state.coins[arm] / sweep)


@kernel
def select(state: State, t: int, available: Mask, rng: Any) -> int:
    """The next arm of the sweep; after its last one the arm with the best mean, once."""
    n_arms = state.means.shape[0]
    place = state.counts[0]
    if place < n_arms:
        return in_turn(place + 1, n_arms, available)
    best = -math.inf
    chosen = 0
    for arm in range(n_arms):
        if (available is None or available[arm]) and _mean(state, arm) > best:
            best = _mean(state, arm)
            chosen = arm
    return chosen


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Any) -> None:
    coin = reward_scale.coin(reward_scale.unit(reward, 0.0, 1.0), rng)
    n_arms = state.means.shape[0]
    state.counts[0] += 1
    if state.counts[0] > n_arms:  # that was the extra pull of the best arm
        for other in range(n_arms):
            state.means[other] = _mean(state, other)
        state.counts[0] = 0
        state.counts[1] += 1
        if rng.random() < state.phi:
            state.counts[1] = 1
            for other in range(n_arms):
                state.means[other] = 0.0
                state.coins[other] = 0
    state.coins[arm] = coin


class ProgramSer4(Policy):
    r"""Ser4 as in the published program: sweeps over all arms, after each one more pull of the arm with the best mean.

    It never drops an arm, so the best one gets 2 of every K + 1 pulls. A restart comes with probability
    :math:`(K \sqrt{K T})^{-1/2}` after each sweep, not after each pull.
    """

    name = "ser4-program"
    summary = "Ser4 as in the published program"
    kernels = Kernels(select=select, update=update)
    randomised = True
    _draws_on_tell = True
    needs_horizon = True

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        return State(
            phi=1.0 / math.sqrt(n_arms * math.sqrt(n_arms * (horizon or 1))),
            means=np.zeros(n_arms),
            coins=np.zeros(n_arms, dtype=np.int64),
            counts=np.array([0, 1], dtype=np.int64),
        )

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        return {"level": state.means.copy()}
