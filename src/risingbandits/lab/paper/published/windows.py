"""SW-UCB, SW-KL-UCB and SW-TS as in the published program; all three see coins: 1 with the reward as its chance."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import kernel
from risingbandits._core.types import Floats, Mask
from risingbandits.lab.paper.published._first_rounds import highest_at_random, in_turn
from risingbandits.lab.paper.published.kl_ucb import TOLERANCE
from risingbandits.policies._kernels import reward_scale
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.classic import _kl, _thompson, _windows


class State(NamedTuple):
    """What SW-UCB and SW-KL-UCB know."""

    tau: int  # length of the window
    coins: np.ndarray  # (tau,) coins of the last rounds
    held: np.ndarray  # (K, 2) pulls and sum of coins, as the program counts them
    bounds: np.ndarray  # (K,) 0 before they are first computed
    solver: np.ndarray  # (K, 5) for SW-KL-UCB: arms as `_kl` has them


@kernel
def _count(state: State, t: int, arm: int, reward: float, rng: Any) -> None:
    """A coin enters. What leaves a full window is taken from the arm that is pulled NOW, so pulls are frozen.

    The program compares with > where it should with >=, so the very first coin never leaves.
    """
    coin = reward_scale.coin(reward_scale.unit(reward, 0.0, 1.0), rng)
    place = (t - 1) % state.tau
    leaving = state.coins[place]
    state.coins[place] = coin
    state.held[arm, 0] += 1
    state.held[arm, 1] += coin
    if t - 1 > state.tau:
        state.held[arm, 0] -= 1
        state.held[arm, 1] -= leaving


@kernel
def _select_ucb(state: State, t: int, available: Mask, rng: Any) -> int:
    n_arms = state.bounds.shape[0]
    if t <= n_arms:
        return in_turn(t, n_arms, available)
    return highest_at_random(state.bounds, available, rng)


@kernel
def _update_ucb(state: State, t: int, arm: int, reward: float, rng: Any) -> None:
    _count(state, t, arm, reward, rng)
    n_arms = state.bounds.shape[0]
    if t > n_arms:
        first, last = (arm, arm + 1) if t - 1 > state.tau + 1 else (0, n_arms)  # later nothing changes for the others
        log = math.log(float(min(t - 1, state.tau)))
        for other in range(first, last):
            n = state.held[other, 0]
            state.bounds[other] = math.inf if n == 0 else state.held[other, 1] / n + math.sqrt(0.6 * log / n)


@kernel
def _select_kl(state: State, t: int, available: Mask, rng: Any) -> int:
    for arm in range(state.bounds.shape[0]):
        if state.held[arm, 0] == 0 and (available is None or available[arm]):
            return arm
    return highest_at_random(state.bounds, available, rng)


@kernel
def _update_kl(state: State, t: int, arm: int, reward: float, rng: Any) -> None:
    _count(state, t, arm, reward, rng)
    n_arms = state.bounds.shape[0]
    if t > n_arms:
        first, last = (arm, arm + 1) if t - 1 > state.tau + 1 else (0, n_arms)
        rounds = min(t - 1, state.tau)
        limit = -1.0
        if rounds >= 2:
            log = math.log(float(rounds))
            limit = log + 3.0 * math.log(log)
        for other in range(first, last):
            state.bounds[other] = _kl_bound(state, other, limit)


@kernel
def _kl_bound(state: State, arm: int, limit: float) -> float:
    """The bound of an arm; 1 where the limit is negative or the mean exactly 1, else at most 1 - 1e-10."""
    n = float(state.held[arm, 0])
    s = float(state.held[arm, 1])
    if n == 0.0:
        return math.inf
    if limit < 0.0 or s == n:
        return 1.0
    state.solver[arm, 0] = n
    state.solver[arm, 1] = n * min(max(s / n, TOLERANCE), 1.0 - TOLERANCE)
    state.solver[arm, 2] = math.nan
    return min(_kl.bound(state.solver, arm, limit), 1.0 - TOLERANCE)


class _FrozenWindow(Policy, ABC):
    randomised = True
    _draws_on_tell = True

    @abstractmethod
    def window(self, horizon: int | None) -> int:
        """tau."""

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        tau = self.window(horizon)
        return State(
            tau=tau,
            coins=np.zeros(tau, dtype=np.int64),
            held=np.zeros((n_arms, 2), dtype=np.int64),
            bounds=np.zeros(n_arms),
            solver=_kl.new_arms(n_arms),
        )

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        return {"value": state.bounds.copy()}


class ProgramSWUCB(_FrozenWindow):
    r"""SW-UCB as in the published program: the coin that leaves the window is taken from the arm pulled now.

    So once the window of :math:`\lfloor 4 \sqrt{T \log T} \rfloor` rounds is full the number of an arm's pulls is
    frozen, and its sum may leave [0, pulls]: a pull replaces the coin of whatever arm had that round by one of its own.
    """

    name = "sw-ucb-program"
    summary = "SW-UCB as in the published program"
    kernels = Kernels(select=_select_ucb, update=_update_ucb)
    needs_horizon = True

    def window(self, horizon: int | None) -> int:
        rounds = horizon or 1
        return max(1, math.floor(4.0 * math.sqrt(rounds * math.log(rounds))))


class ProgramSWKLUCB(_FrozenWindow):
    """SW-KL-UCB as in the published program: with the same slip as its SW-UCB, and a window of 252 rounds."""

    name = "sw-kl-ucb-program"
    summary = "SW-KL-UCB as in the published program"
    kernels = Kernels(select=_select_kl, update=_update_kl)

    def window(self, horizon: int | None) -> int:
        return _windows.whole_rounds(0.001 ** (-4 / 5))


class SamplingState(NamedTuple):
    """What SW-TS knows."""

    ring: np.ndarray  # the window (`_windows`)
    window: np.ndarray  # (K + 1, 2) pulls and sum of coins in it
    held: np.ndarray  # (K + 1, 2) of the drawn Beta(1 + s, 1 + n - s): n and s (`_thompson`)
    log_beta: np.ndarray
    leader: np.ndarray
    log_factorials: np.ndarray


@kernel
def _update_sampling(state: SamplingState, t: int, arm: int, reward: float, rng: Any) -> None:
    coin = reward_scale.coin(reward_scale.unit(reward, 0.0, 1.0), rng)
    leaving = _windows.push(state.ring, state.window, arm, coin)
    _draw_from(state, arm)
    if leaving >= 0:
        _draw_from(state, leaving)
    _thompson.follow(state.held, state.leader, arm)


@kernel
def _draw_from(state: SamplingState, arm: int) -> None:
    """Beta(1 + pulls, 1 + pulls - sum) is Beta(1 + s, 1 + n - s) for s = pulls and n = 2 pulls - sum."""
    state.held[arm, 1] = state.window[arm, 0]
    state.held[arm, 0] = 2 * state.window[arm, 0] - state.window[arm, 1]
    _thompson.refresh(state.held, state.log_beta, state.log_factorials, arm)


class ProgramSWTS(Policy):
    r"""SW-TS as in the published program: it draws from Beta(1 + pulls, 1 + pulls - sum) where 1 + sum was meant.

    An arm without reward has a mean of about 1/2 for it, so that it keeps coming back; the window is
    :math:`\lceil \sqrt T \rceil` rounds.
    """

    name = "sw-ts-program"
    summary = "SW-TS as in the published program"
    kernels = Kernels(select=_thompson.select, update=_update_sampling)
    randomised = True
    _draws_on_tell = True
    needs_horizon = True
    _scratch = frozenset({"log_factorials"})

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> SamplingState:
        return SamplingState(
            ring=_windows.new_ring(_windows.whole_rounds(math.sqrt(horizon or 1))),
            window=_windows.new_held(n_arms),
            held=_windows.new_held(n_arms),
            log_beta=np.zeros(n_arms),
            leader=np.zeros(1, dtype=np.int64),
            log_factorials=_thompson.new_log_factorials(),
        )

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        s, n = state.held[:-1, 1], state.held[:-1, 0]
        return {"level": (1.0 + s) / (2.0 + n)}
