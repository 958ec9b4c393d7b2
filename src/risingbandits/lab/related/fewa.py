"""FEWA: arms are filtered by the means of ever longer windows of their last rewards, for arms that fall."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from risingbandits._core.jit import kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies._kernels import argmax, histories, recent_means
from risingbandits.policies._settings import number
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.registry import register
from risingbandits.problems import RisingBandit

_ANY_NOISE = 0.5  # valid for all rewards in [0, 1]


class State(NamedTuple):
    """What FEWA knows."""

    scale: float  # 2 sigma sqrt(2 alpha)
    pulls: np.ndarray  # (K,), total, pool, places: running sums of each arm's rewards (recent_means)
    total: np.ndarray
    pool: np.ndarray
    places: np.ndarray
    kept: np.ndarray  # (K,) the arms that are left while a round is decided


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    n_arms = state.pulls.shape[0]
    left = 0
    fewest = argmax.first(available)
    for arm in range(n_arms):
        free = available is None or available[arm]
        state.kept[arm] = free
        left += free
        if free and state.pulls[arm] < state.pulls[fewest]:
            fewest = arm
    if state.pulls[fewest] == 0:
        return fewest
    width = state.scale * math.sqrt(math.log(float(t)))
    h = 1
    while True:
        best = -math.inf
        for arm in range(n_arms):
            if state.kept[arm]:
                best = max(best, recent_means.mean_of_last(state, arm, h))
        lowest = best - width / math.sqrt(float(h))
        chosen = -1
        for arm in range(n_arms):
            if state.kept[arm]:
                if recent_means.mean_of_last(state, arm, h) < lowest:
                    state.kept[arm] = False
                    left -= 1
                elif chosen < 0 or state.pulls[arm] < state.pulls[chosen]:
                    chosen = arm
        if left == 1 or state.pulls[chosen] == h:  # an arm that is left alone would be chosen at its last window
            return chosen
        h += 1


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    recent_means.add(state, arm, reward)


@register
class FEWA(Policy):
    r"""FEWA: filter arms by windows of 1, 2, 3, ... last rewards, pull the first that has no longer window.

    For h = 1, 2, ... the arms stay whose mean of the last h rewards is at least the highest such mean less
    :math:`2 \sigma \sqrt{2 \alpha \log t / h}`. The first arm that stays and has only h rewards is pulled.

    From the paper (Seznec et al., 2019) and the program of its first author (SMPyBandits), with :math:`\alpha = 4`. The
    program has the log of the plays made so far; here it is that of the round, as in `RAWUCB`. An arm that is left
    alone is pulled at once, which changes no decision.

    Like `RAWUCB`, it is **not valid for arms that rise**, where old rewards lie below the next one.

    Parameters
    ----------
    alpha : float
        Confidence exponent, above 0. The theorem has 4, the authors' efficient form 0.06.
    noise : float or None
        Sub-Gaussian scale sigma of the noise, at least 0. None means the problem's in `simulate`, and 1/2 elsewhere.

    References
    ----------
    J. Seznec, A. Locatelli, A. Carpentier, A. Lazaric, M. Valko. Rotting Bandits Are No Harder Than Stochastic Ones.
    AISTATS 2019.
    """

    name = "fewa"
    summary = "filters arms by the means of ever longer windows, for arms that fall"
    verified = "published definition (read from a public program)"
    kernels = Kernels(select=select, update=update)
    _scratch = frozenset({"pool", "kept"})

    alpha: float = number(4.0, above=0.0)
    noise: float | None = number(None, minimum=0.0)

    def _for_problem(self, problem: RisingBandit, horizon: int) -> Self:
        """With the noise of the problem, where none is given."""
        return self.replace(noise=problem.sigma) if self.noise is None else self

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        sigma = _ANY_NOISE if self.noise is None else float(self.noise)
        return State(
            scale=2.0 * sigma * math.sqrt(2.0 * float(self.alpha)),
            **recent_means.new_fields(n_arms, capacity),
            kept=np.zeros(n_arms, dtype=np.bool_),
        )

    def _make_room(self, state: Any, capacity: int) -> None:
        histories.make_room(state.pool, self.n_arms, capacity)

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        """The last reward of each arm, the first mean that it is filtered by."""
        return {"level": recent_means.levels(state, np.ones(len(state.pulls), dtype=np.int64))}
