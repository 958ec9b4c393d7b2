"""The yardstick for small budgets: Gaussian UCB that looks at few arms, drawn at random."""

from __future__ import annotations

import math
from collections import namedtuple
from typing import TYPE_CHECKING, Any

import numpy as np

from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Mask, Rng
from risingbandits.policies import GaussianUCB
from risingbandits.policies._kernels import sweeps
from risingbandits.policies.base import Kernels
from risingbandits.policies.classic import ucb1

# What Gaussian UCB knows, whose other arms have the mean -inf, and besides: how many arms it looks at, their order, and
# whether they were drawn.
if TYPE_CHECKING:
    State: Any = None
else:  # fields that are not written out are beyond a type checker
    State = namedtuple("State", [*ucb1.GaussianState._fields, "few", "order", "drawn"])


@kernel
def select(state: Any, t: int, available: Mask, rng: Rng) -> int:
    if state.drawn[0] == 0:
        _draw(state, rng)
    return ucb1.select_gaussian(state, t, available, rng)


@rare_kernel
def _draw(state: Any, rng: Rng) -> None:
    sweeps.shuffle(state.order, 0, state.few, rng)
    for place in range(state.few, state.order.shape[0]):
        arm = state.order[place]
        if state.counts[arm] == 0.0:
            state.mean[arm] = -math.inf
    state.drawn[0] = 1


class FewArmsUCB(GaussianUCB):
    """Gaussian UCB on ceil(sqrt(T) / 3) random arms, for any number of arms; the noise is estimated.

    If none of them is available, a random other arm gets the pull.

    >>> FewArmsUCB()._new_state(50, 900, 900).few
    10
    """

    name = "few-arms-ucb"
    summary = "Gaussian UCB on a few arms, the yardstick for small budgets"
    randomised = True
    kernels = Kernels(select=select, update=ucb1.update_gaussian)

    def __init__(self) -> None:
        super().__init__(sigma="auto")

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        return State(
            *super()._new_state(n_arms, horizon, capacity),
            few=n_arms if horizon is None else min(n_arms, math.ceil(math.sqrt(horizon) / 3)),
            order=np.arange(n_arms),
            drawn=np.zeros(1, dtype=np.int64),
        )
