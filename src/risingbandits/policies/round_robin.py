"""Round robin: every arm in turn. What a budget buys without deciding anything."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from risingbandits._core.jit import kernel
from risingbandits._core.types import Mask, Rng
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.registry import register


class State(NamedTuple):
    """The arm whose turn it is."""

    turn: np.ndarray  # (1,) int64
    n_arms: int


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    arm = state.turn[0]
    if available is not None:
        while not available[arm]:
            arm = (arm + 1) % state.n_arms
    return arm


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    state.turn[0] = (arm + 1) % state.n_arms


@register
class RoundRobin(Policy):
    """Pull the arms in turn: 0, 1, ..., K - 1, 0, ...

    An arm that is not available loses its turn. A yardstick: a policy that does not beat it has learned nothing.

    Examples
    --------
    >>> policy = RoundRobin().reset(n_arms=3)
    >>> [(arm := policy.ask(), policy.tell(arm, 0.0))[0] for _ in range(5)]
    [0, 1, 2, 0, 1]
    """

    name = "round-robin"
    summary = "every arm in turn"
    kernels = Kernels(select=select, update=update)

    def __init__(self) -> None:
        pass

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        return State(turn=np.zeros(1, dtype=np.int64), n_arms=n_arms)
