"""Rexp3 as in the published program."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import interpreted, kernel
from risingbandits._core.types import Floats, Mask
from risingbandits.policies._kernels import argmax, reward_scale
from risingbandits.policies.base import Kernels, Policy


class State(NamedTuple):
    """What it knows."""

    batch: int  # Delta
    gamma: float
    weights: np.ndarray  # (K,)
    odds: np.ndarray  # (K,) what the program takes for probabilities; their sum is not 1
    after: np.ndarray  # (K + 1,) sums of the weights from an arm to the last


@kernel
def _set_odds(state: State) -> None:
    """(1 - gamma) w / (sum of the OTHER weights) + gamma / K."""
    weights = state.weights
    n_arms = weights.shape[0]
    for arm in range(n_arms - 1, -1, -1):
        state.after[arm] = state.after[arm + 1] + weights[arm]
    before = 0.0
    for arm in range(n_arms):
        others = before + state.after[arm + 1]
        before += weights[arm]
        share = 1.0 if n_arms == 1 else weights[arm] / others
        state.odds[arm] = (1.0 - state.gamma) * share + state.gamma / n_arms


@kernel
def select(state: State, t: int, available: Mask, rng: Any) -> int:
    total = 0.0
    for arm in range(state.odds.shape[0]):
        if available is None or available[arm]:
            total += state.odds[arm]
    place = rng.random() * total
    chosen = argmax.first(available)
    for arm in range(state.odds.shape[0]):
        if available is None or available[arm]:
            chosen = arm
            place -= state.odds[arm]
            if place < 0.0:
                break
    return chosen


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Any) -> None:
    coin = reward_scale.coin(reward_scale.unit(reward, 0.0, 1.0), rng)
    state.weights[arm] *= math.exp(state.gamma * coin / (state.odds[arm] * state.weights.shape[0]))
    if t > state.batch and (t - 1) % state.batch == 0:  # the first batch has one round more than the others
        for other in range(state.weights.shape[0]):
            state.weights[other] = 1.0
    _set_odds(state)


class ProgramRexp3(Policy):
    r"""Rexp3 as in the published program.

    Different from the definition (`risingbandits.policies.Rexp3`): the variation is V = 0.001 T, so that the batches
    have :math:`\lceil 100 (K \log K)^{1/3} \rceil` rounds whatever T is; a weight is divided by the sum of the *other*
    weights, and the reward by the odds that this gives, which are no probabilities; rewards are turned into coins.
    """

    name = "rexp3-program"
    summary = "Rexp3 as in the published program"
    kernels = Kernels(select=select, update=update)
    randomised = True
    _draws_on_tell = True

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        spread = n_arms * math.log(n_arms)
        batch = max(1, math.ceil(spread ** (1 / 3) * (1 / 0.001) ** (2 / 3)))
        state = State(
            batch=batch,
            gamma=min(1.0, math.sqrt(spread / ((math.e - 1.0) * batch))),
            weights=np.ones(n_arms),
            odds=np.zeros(n_arms),
            after=np.zeros(n_arms + 1),
        )
        interpreted(_set_odds)(state)
        return state

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        return {"probability": state.odds / state.odds.sum()}
