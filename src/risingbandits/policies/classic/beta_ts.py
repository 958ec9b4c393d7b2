"""Thompson sampling with a Beta posterior, the classic for coins: on all rounds, and on the last tau (SW-TS)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import kernel
from risingbandits._core.types import Rng
from risingbandits.policies._kernels import reward_scale
from risingbandits.policies._settings import integer, number, unit_range
from risingbandits.policies.base import Kernels
from risingbandits.policies.classic import _thompson, _windows
from risingbandits.policies.registry import register


class State(NamedTuple):
    """What Beta Thompson sampling knows."""

    low: float
    width: float
    held: np.ndarray  # (K + 1, 2) pulls and wins of each arm; the last row is not used
    log_beta: np.ndarray  # (K,), leader: (1,), log_factorials: constants (_thompson)
    leader: np.ndarray
    log_factorials: np.ndarray


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    state.held[arm, 0] += 1
    state.held[arm, 1] += reward_scale.coin(reward_scale.unit(reward, state.low, state.width), rng)
    _thompson.refresh(state.held, state.log_beta, state.log_factorials, arm)
    _thompson.follow(state.held, state.leader, arm)


@register
class BetaThompson(_thompson.CoinPolicy):
    r"""Thompson sampling for rewards in [0, 1]: pull the arm with the best draw from its posterior.

    With N_i pulls of arm i, S_i of which were wins, each round draws
    :math:`\theta_i \sim \mathrm{Beta}(1 + S_i, 1 + N_i - S_i)` and pulls the arm with the highest one (Thompson, 1933).
    A reward x in [0, 1] becomes a win with probability x (Agrawal and Goyal, 2012, Algorithm 2). As in `SWTS`, most
    rounds draw for one or two arms only, with exactly the law of drawing for all.

    Use it for means that do not change. On rising arms it weighs the whole past and stays with what was good early.

    Parameters
    ----------
    reward_range : (float, float)
        Range that is mapped onto [0, 1]; rewards outside are clipped.

    References
    ----------
    W. R. Thompson. On the Likelihood that One Unknown Probability Exceeds Another in View of the Evidence of Two
    Samples. Biometrika 25, 1933.
    S. Agrawal, N. Goyal. Analysis of Thompson Sampling for the Multi-armed Bandit Problem. COLT 2012.
    """

    name = "beta-ts"
    summary = "Thompson sampling with Beta posteriors"
    verified = "published definition"
    kernels = Kernels(select=_thompson.select, update=update)

    reward_range: tuple[float, float] = unit_range()

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        return State(**self._coin_fields(n_arms))


class WindowState(NamedTuple):
    """What SW-TS knows."""

    low: float
    width: float
    ring: np.ndarray  # (tau, 2), held: (K + 1, 2): the window (_windows), of coins
    held: np.ndarray
    log_beta: np.ndarray  # (K,), leader: (1,), log_factorials: constants (_thompson)
    leader: np.ndarray
    log_factorials: np.ndarray


@kernel
def update_in_window(state: WindowState, t: int, arm: int, reward: float, rng: Rng) -> None:
    win = reward_scale.coin(reward_scale.unit(reward, state.low, state.width), rng)
    leaving = _windows.push(state.ring, state.held, arm, win)
    if leaving >= 0:
        _thompson.refresh(state.held, state.log_beta, state.log_factorials, leaving)
    _thompson.refresh(state.held, state.log_beta, state.log_factorials, arm)
    _thompson.follow(state.held, state.leader, arm)


@register
class SWTS(_thompson.CoinPolicy):
    r"""SW-TS: Thompson sampling that forgets rewards older than tau rounds.

    With N_i pulls of arm i within the last :math:`\tau` rounds, S_i of which were wins, each round draws

    .. math:: \theta_i \sim \mathrm{Beta}(1 + S_i, 1 + N_i - S_i)

    and pulls the arm with the highest :math:`\theta_i` (Trovo et al., 2020). A reward x in [0, 1] becomes a win with
    probability x. Only the arm with the most pulls in the window is drawn in every round; of the others those whose
    draw may exceed it, which is decided exactly in law by an exponential envelope of the Beta density above the value
    to beat. A round takes one or two Beta draws on average instead of K (2.0 of 15 on ``paper-15arms``).

    Use it for means that change slowly with time. Rising arms change with their own pulls: arms outside the window
    are explored again and again, which finds arms that start low but rise fast, and misses those that rise slowly.

    Parameters
    ----------
    tau : int or None
        Rounds in the window. None: T^(1 - beta), rounded up, for which the horizon is needed.
    beta : float
        Exponent of the window, in [0, 1]. Default 1/2, as in the paper on rising bandits.
    reward_range : (float, float)
        Range that is mapped onto [0, 1]; rewards outside are clipped.

    References
    ----------
    F. Trovo, S. Paladino, M. Restelli, N. Gatti. Sliding-Window Thompson Sampling for Non-Stationary Settings. JAIR 68,
    2020.
    """

    name = "sw-ts"
    summary = "Thompson sampling on the last tau rounds"
    verified = "published definition"
    needs_horizon = ("tau",)
    kernels = Kernels(select=_thompson.select, update=update_in_window)

    tau: int | None = integer(None)
    beta: float = number(0.5, minimum=0.0, maximum=1.0)
    reward_range: tuple[float, float] = unit_range()

    def _window_fields(self, n_arms: int, horizon: int | None) -> dict[str, Any]:
        """The fields of the state at the start."""
        formula = float(horizon or 1) ** (1.0 - self.beta)
        tau = _windows.tau_or(self.tau, horizon, formula, type(self).__name__)
        return {"ring": _windows.new_ring(tau), **self._coin_fields(n_arms)}

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        return WindowState(**self._window_fields(n_arms, horizon))
