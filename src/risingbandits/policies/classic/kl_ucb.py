"""KL-UCB and SW-KL-UCB: optimism measured by the Kullback-Leibler divergence of coins, of all rounds or the last."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import interpreted, kernel
from risingbandits._core.types import Mask, Rng
from risingbandits.policies._kernels import reward_scale
from risingbandits.policies._settings import integer, number, tie_rule, unit_range
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.classic import _kl, _windows
from risingbandits.policies.registry import register


class State(NamedTuple):
    """What KL-UCB knows."""

    c: float
    low: float
    width: float
    arms: np.ndarray  # (K, 5), level: (3,): the bounds (_kl)
    level: np.ndarray
    thresholds: np.ndarray  # f of the first rounds


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    return _kl.best_arm(state.arms, state.level, _threshold(state, t), available, rng)


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    x = reward_scale.unit(reward, state.low, state.width)
    n = state.arms[arm, 0] + 1.0
    s = state.arms[arm, 1] + x
    _kl.set_arm(state.arms, state.level, arm, n, s, _threshold(state, t))


@kernel
def _threshold(state: State, t: int) -> float:
    return _kl.tabulated_threshold(state.thresholds, t, state.c)


@register
class KLUCB(Policy):
    r"""KL-UCB: the upper confidence bound that is tight for coins.

    With N_i pulls of mean m_i, the index of arm i at round t is

    .. math:: \max\{q \in [m_i, 1] : N_i\, \mathrm{kl}(m_i, q) \le \log t + c \log \log t\},

    where kl is the divergence of two Bernoulli distributions (Garivier and Cappe, 2011, Algorithm 1); every arm is
    pulled once before. No index is computed: the winner is the arm that passes a level that all others fail.

    Use it for rewards in [0, 1] whose means do not change. On rising arms it averages over the whole past and stays
    with what was good early.

    Parameters
    ----------
    c : float
        Factor of log log t (with log t below e counted as e). 3 in the theorem, the default; the authors recommend 0 in
        practice.
    reward_range : (float, float)
        Range that is mapped onto [0, 1]; rewards outside are clipped.
    ties : {"lowest", "random"}
        Which of several arms with the same index, including infinite ones. "random" solves for every index and is
        several times slower.

    References
    ----------
    A. Garivier, O. Cappe. The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond. COLT 2011.
    """

    name = "kl-ucb"
    summary = "upper confidence bound by Bernoulli divergence"
    verified = "public implementation"
    kernels = Kernels(select=select, update=update)
    _scratch = frozenset({"thresholds"})

    c: float = number(3.0, minimum=0.0)
    reward_range: tuple[float, float] = unit_range()
    ties: str = tie_rule()

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        low, width = reward_scale.low_and_width(self.reward_range)
        return State(
            c=float(self.c),
            low=low,
            width=width,
            arms=_kl.new_arms(n_arms),
            level=_kl.new_level(),
            thresholds=_kl.new_thresholds(capacity + 1, float(self.c)),
        )

    def _parts(self, state: Any, t: int) -> dict[str, np.ndarray]:
        return _kl.parts(state.arms, interpreted(_threshold)(state, t))


class WindowState(NamedTuple):
    """What SW-KL-UCB knows."""

    c: float
    last_threshold: float  # f(tau)
    low: float
    width: float
    units: float  # of the amounts in the window
    ring: np.ndarray  # (tau, 2), held: (K + 1, 2): the window (_windows)
    held: np.ndarray
    arms: np.ndarray  # (K, 5), level: (3,): the bounds (_kl)
    level: np.ndarray


@kernel
def select_in_window(state: WindowState, t: int, available: Mask, rng: Rng) -> int:
    return _kl.best_arm(state.arms, state.level, _window_threshold(state, t), available, rng)


@kernel
def update_in_window(state: WindowState, t: int, arm: int, reward: float, rng: Rng) -> None:
    x = reward_scale.unit(reward, state.low, state.width)
    leaving = _windows.push(state.ring, state.held, arm, _windows.in_units(x, state.units))
    f = _window_threshold(state, t)
    if leaving >= 0 and leaving != arm:
        _refresh(state, leaving, f)
    _refresh(state, arm, f)


@kernel
def _refresh(state: WindowState, arm: int, f: float) -> None:
    n = float(state.held[arm, 0])
    _kl.set_arm(state.arms, state.level, arm, n, state.held[arm, 1] / state.units, f)


@kernel
def _window_threshold(state: WindowState, t: int) -> float:
    if t >= state.ring.shape[0]:
        return state.last_threshold
    return _kl.threshold(t, state.c)


@register
class SWKLUCB(Policy):
    r"""SW-KL-UCB: KL upper confidence bounds on the last tau rounds only.

    With the pulls N_i and the mean m_i of arm i within the last :math:`\tau` rounds, the index at round t is

    .. math:: \max\{q \in [m_i, 1] : N_i\, \mathrm{kl}(m_i, q) \le \log(\min(t,\tau)) + c \log \log(\min(t,\tau))\},

    and :math:`+\infty` if N_i = 0 (Combes and Proutiere, 2014).

    Use it for means that drift slowly with time. A short window makes it explore for ever.

    Parameters
    ----------
    c : float
        Factor of log log. Default 3, as in KL-UCB.
    drift : float
        Lipschitz constant of the means over the rounds (not the noise), which sets the window: tau = drift^(-4/5),
        rounded up. Default 0.001, tau = 252, as in the experiments of the paper on rising bandits.
    tau : int or None
        Rounds in the window, instead of ``drift``.
    reward_range : (float, float)
        Range that is mapped onto [0, 1]; rewards outside are clipped.
    ties : {"lowest", "random"}
        Which of several arms with the same index, including infinite ones.

    References
    ----------
    R. Combes, A. Proutiere. Unimodal Bandits: Regret Lower Bounds and Optimal Algorithms. ICML 2014.
    """

    name = "sw-kl-ucb"
    summary = "KL-UCB on the last tau rounds"
    verified = "published definition"
    kernels = Kernels(select=select_in_window, update=update_in_window)

    c: float = number(3.0, minimum=0.0)
    drift: float = number(0.001, minimum=1e-9)
    tau: int | None = integer(None)
    reward_range: tuple[float, float] = unit_range()
    ties: str = tie_rule()

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> WindowState:
        tau = _windows.whole_rounds(float(self.drift) ** (-4.0 / 5.0)) if self.tau is None else int(self.tau)
        low, width = reward_scale.low_and_width(self.reward_range)
        return WindowState(
            c=float(self.c),
            last_threshold=interpreted(_kl.threshold)(tau, float(self.c)),
            low=low,
            width=width,
            units=_windows.units_per_reward(tau),
            ring=_windows.new_ring(tau),
            held=_windows.new_held(n_arms),
            arms=_kl.new_arms(n_arms),
            level=_kl.new_level(),
        )

    def _parts(self, state: Any, t: int) -> dict[str, np.ndarray]:
        return _kl.parts(state.arms, interpreted(_window_threshold)(state, t))
