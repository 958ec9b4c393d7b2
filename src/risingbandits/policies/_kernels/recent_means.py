"""Recent means of all arms, for policies that compare current levels.

The state that these kernels work on has the fields ``pulls``, ``total``, ``pool`` and ``places``: every arm keeps the
running sums of its rewards (`histories`), so that the mean of any of its last rewards is one subtraction. Kernels that
take no length also use the field ``share``, the share of an arm's rewards that counts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from risingbandits._core.jit import interpreted, kernel, rare_kernel
from risingbandits._core.types import Floats, Ints, Mask
from risingbandits.policies._kernels import histories
from risingbandits.policies.base import Policy

_FLOOR_SLACK = 1e-12  # share n is meant exactly


def new_fields(n_arms: int, capacity: int) -> dict[str, np.ndarray]:
    """Everything but the share, before the first pull."""
    return {
        "pulls": np.zeros(n_arms, dtype=np.int64),
        "total": np.zeros(n_arms),
        "pool": np.empty(histories.places_for(n_arms, capacity)),
        "places": histories.new_places(n_arms),
    }


@kernel
def add(state: Any, arm: int, reward: float) -> int:
    """One more reward of the arm; return how many there are."""
    n = state.pulls[arm] + 1
    state.pulls[arm] = n
    state.total[arm] += reward
    histories.append(state.pool, state.places, arm, n, state.total[arm])
    return n


@kernel
def mean_of_last(state: Any, arm: int, length: int) -> float:
    """The mean of the arm's last ``length`` rewards, of all if it has fewer; -inf if it has none."""
    n = state.pulls[arm]
    if n == 0:
        return -math.inf
    length = max(min(length, n), 1)
    before = state.pool[state.places[arm, 0] + n - length] if n > length else 0.0
    return (state.total[arm] - before) / length


@kernel
def mean(state: Any, arm: int) -> float:
    """The mean of the last share of the arm's rewards, at least of one; -inf if it has none."""
    return mean_of_last(state, arm, int(state.share * state.pulls[arm] + _FLOOR_SLACK))


@rare_kernel
def best(state: Any, available: Mask) -> int:
    """The arm with the highest recent mean, the lowest number of equals; the lowest available one if none has any."""
    chosen = -1
    highest = -math.inf
    for arm in range(state.pulls.shape[0]):
        if available is None or available[arm]:
            value = mean(state, arm)
            if chosen < 0 or value > highest:
                chosen = arm
                highest = value
    return chosen


@kernel
def recommend(state: Any, t: int, known: Floats | None) -> int:
    return best(state, None)


class RecentPolicy(Policy):
    """Base of the policies that identify the best arm by recent means."""

    objective = "best-arm"

    def _make_room(self, state: Any, capacity: int) -> None:
        histories.make_room(state.pool, self.n_arms, capacity)


def levels(state: Any, lengths: Ints) -> Floats:
    """The means of the given numbers of last rewards of each arm, NaN without any, for `explain`."""
    slowly = interpreted(mean_of_last)
    found = np.array([slowly(state, arm, int(length)) for arm, length in enumerate(lengths)])
    return np.where(np.isneginf(found), np.nan, found)


def parts(state: Any) -> dict[str, Floats]:
    """The recent means, for `explain`."""
    return {"level": levels(state, (state.share * state.pulls + _FLOOR_SLACK).astype(np.int64))}
