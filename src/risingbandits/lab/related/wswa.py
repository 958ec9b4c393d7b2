"""wSWA: the best mean of each arm's last M rewards, in epochs of doubled length, for arms that fall."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from risingbandits._core.jit import interpreted, kernel, rare_kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies._kernels import argmax, histories, recent_means
from risingbandits.policies._settings import number
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.registry import register
from risingbandits.problems import RisingBandit

_ANY_NOISE = 0.5  # valid for all rewards in [0, 1]


class State(NamedTuple):
    """What wSWA knows of this epoch."""

    alpha: float
    sigma: float
    pulls: np.ndarray  # (K,), total, pool, places: running sums of each arm's rewards (recent_means)
    total: np.ndarray
    pool: np.ndarray
    places: np.ndarray
    epoch: np.ndarray  # (3,) its length, the rounds that are left of it, M


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    window = state.epoch[2]
    n_arms = state.pulls.shape[0]
    chosen = -1
    for arm in range(n_arms):  # ramp up: arms with fewer than M rewards, in turn
        if available is not None and not available[arm]:
            continue
        if state.pulls[arm] < window and (chosen < 0 or state.pulls[arm] < state.pulls[chosen]):
            chosen = arm
    if chosen >= 0:
        return chosen
    chosen = argmax.first(available)
    best = recent_means.mean_of_last(state, chosen, window)
    for arm in range(n_arms):
        if available is None or available[arm]:
            mean = recent_means.mean_of_last(state, arm, window)
            if mean > best:
                best = mean
                chosen = arm
    return chosen


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    recent_means.add(state, arm, reward)
    state.epoch[1] -= 1
    if state.epoch[1] == 0:
        begin(state, 2 * state.epoch[0])


@rare_kernel
def begin(state: State, length: int) -> None:
    """An epoch of ``length`` rounds: nothing is known."""
    for arm in range(state.pulls.shape[0]):
        state.pulls[arm] = 0
        state.total[arm] = 0.0
    state.epoch[0] = length
    state.epoch[1] = length
    share = 4.0 * state.sigma * length / state.pulls.shape[0]
    cube = share * share * math.log(math.sqrt(2.0) * length)
    state.epoch[2] = max(1, math.ceil(state.alpha * cube ** (1.0 / 3.0)))


@register
class WSWA(Policy):
    r"""Sliding-window average (wSWA): pull the arm with the best mean of its last M rewards; restart at doubling times.

    In an epoch of T' rounds every arm is pulled M times in turn, then the arm with the highest mean of its last M
    rewards. After it everything is forgotten and T' is doubled. The number M is

    .. math:: M = \lceil \alpha\, (4 \sigma T' / K)^{2/3} \log^{1/3}(\sqrt 2\, T') \rceil.

    From the paper (Levine, Crammer and Mannor, 2017), as the program of Seznec (SMPyBandits) has it, with
    :math:`\alpha = 0.2` as there. The paper's theorem has an :math:`\alpha` that depends on how fast arms fall.

    Like `RAWUCB`, it is meant for arms that fall. On arms that rise it compares recent means and does not ask what arms
    will become.

    Parameters
    ----------
    alpha : float
        Factor of the window, above 0.
    noise : float or None
        Sub-Gaussian scale sigma of the noise, at least 0. None means the problem's in `simulate`, and 1/2 elsewhere.

    References
    ----------
    N. Levine, K. Crammer, S. Mannor. Rotting Bandits. NeurIPS 2017.
    """

    name = "wswa"
    summary = "the best mean of each arm's last M rewards, in doubling epochs, for arms that fall"
    verified = "published definition (read from a public program)"
    kernels = Kernels(select=select, update=update)
    _scratch = frozenset({"pool"})

    alpha: float = number(0.2, above=0.0)
    noise: float | None = number(None, minimum=0.0)

    def _for_problem(self, problem: RisingBandit, horizon: int) -> Self:
        """With the noise of the problem, where none is given."""
        return self.replace(noise=problem.sigma) if self.noise is None else self

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        state = State(
            alpha=float(self.alpha),
            sigma=_ANY_NOISE if self.noise is None else float(self.noise),
            **recent_means.new_fields(n_arms, capacity),
            epoch=np.zeros(3, dtype=np.int64),
        )
        interpreted(begin)(state, 1)
        return state

    def _make_room(self, state: Any, capacity: int) -> None:
        histories.make_room(state.pool, self.n_arms, capacity)

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        """The mean of the last M rewards in this epoch."""
        return {"level": recent_means.levels(state, np.full(len(state.pulls), state.epoch[2]))}
