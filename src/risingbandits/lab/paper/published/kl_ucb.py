"""KL-UCB as in the published program."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import kernel
from risingbandits._core.types import Floats, Mask
from risingbandits.lab.paper.published._first_rounds import in_turn
from risingbandits.policies._kernels import argmax
from risingbandits.policies.base import Kernels, Policy

TOLERANCE = 1e-10  # the program keeps means and bounds this far from 0 and 1


class State(NamedTuple):
    """What it knows."""

    limit: float  # log T + 3 log log T
    totals: np.ndarray  # (K,) sum of the rewards of each arm


@kernel
def kl(p: float, q: float) -> float:
    """Divergence of coins with means p and q, both inside (0, 1)."""
    return p * math.log(p / q) + (1.0 - p) * math.log((1.0 - p) / (1.0 - q))


@kernel
def _rank(total: float, rounds: int, limit: float) -> float:
    """A number that orders arms like their bounds, without solving for them.

    All arms have the same limit, so the bound grows with the mean alone, until it meets the ceiling 1 - 1e-10.
    """
    mean = min(max(total / rounds, TOLERANCE), 1.0 - TOLERANCE)
    gap = 1.0 - TOLERANCE - mean
    if limit / rounds < 1.999 * gap * gap:  # kl >= 2 gap^2 (Pinsker): far below the ceiling, and no logarithm is needed
        return mean
    return 2.0 if limit / rounds >= kl(mean, 1.0 - TOLERANCE) else mean


@kernel
def select(state: State, t: int, available: Mask, rng: Any) -> int:
    n_arms = state.totals.shape[0]
    if t <= n_arms:
        return in_turn(t, n_arms, available)
    best = -math.inf
    chosen = argmax.first(available)
    ties = 0
    for arm in range(n_arms):
        if available is None or available[arm]:
            # In round K + 1 no bound was computed yet, and all are 0; later they are one round old.
            value = 0.0 if t == n_arms + 1 else _rank(state.totals[arm], t - 2, state.limit)
            best, chosen, ties = argmax.among_ties(value, best, arm, chosen, ties, rng)
    return chosen


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Any) -> None:
    state.totals[arm] += reward


class ProgramKLUCB(Policy):
    r"""KL-UCB as in the published program: the sum of an arm's rewards is divided by the round, not by its pulls.

    The bound of arm i is the largest q with :math:`\mathrm{kl}(S_i / t, q) \le (\log T + 3 \log\log T) / t`. The limit
    is the same for all arms, so the arm with the largest sum is pulled, which grows: after a few rounds one arm is
    pulled for ever.
    """

    name = "kl-ucb-program"
    summary = "KL-UCB as in the published program"
    kernels = Kernels(select=select, update=update)
    randomised = True
    needs_horizon = True

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        first = math.log(max(horizon or 3, 3))  # log log T is above 0 from T = 3 on
        return State(limit=first + 3.0 * math.log(first), totals=np.zeros(n_arms))

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        return {"level": state.totals / max(t - 1, 1)}
