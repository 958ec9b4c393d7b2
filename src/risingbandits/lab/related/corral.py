"""CORRAL: mirror descent with a log barrier over learners, of which none is ever given up."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies._kernels import reward_scale
from risingbandits.policies._settings import number, unit_range
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.registry import register

_STEPS = 200  # halvings; an interval of floats is empty after far fewer


class State(NamedTuple):
    """What CORRAL knows."""

    gamma: float  # share of uniform draws
    growth: float  # beta, by which a rate grows
    low: float  # rewards x become (x - low) / width, clipped to [0, 1]
    width: float
    weights: np.ndarray  # (K,) p
    chances: np.ndarray  # (K,) (1 - gamma) p + gamma / K
    asked: np.ndarray  # (K,) the chance with which an arm was asked for; 0: not asked for since its last reward
    rates: np.ndarray  # (K,) eta
    rho: np.ndarray  # (K,) 1 / chance at which the rate grows
    restarts: np.ndarray  # (K,) how often it has


@kernel
def _drawn(chances: Floats, total: float, asked: Floats, available: Mask, rng: Any) -> int:
    """An available arm by the ``chances`` of all, whose sum is ``total``; ``asked`` keeps the probability it had."""
    if available is not None:
        total = 0.0
        for arm in range(chances.shape[0]):
            if available[arm]:
                total += chances[arm]
    target = rng.random() * total
    running = 0.0
    chosen = -1
    for arm in range(chances.shape[0]):
        if (available is None or available[arm]) and (chosen < 0 or running <= target):
            chosen = arm
            running += chances[arm]
    asked[chosen] = chances[chosen] / total
    return chosen


@kernel
def select(state: State, t: int, available: Mask, rng: Any) -> int:
    return _drawn(state.chances, 1.0, state.asked, available, rng)


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    chance = state.asked[arm]
    if chance == 0.0:  # nobody asked for this arm
        chance = state.chances[arm]
    state.asked[arm] = 0.0
    _step(state, arm, (1.0 - reward_scale.unit(reward, state.low, state.width)) / chance)
    n_arms = state.weights.shape[0]
    for i in range(n_arms):
        mixed = (1.0 - state.gamma) * state.weights[i] + state.gamma / n_arms
        state.chances[i] = mixed
        if 1.0 / mixed > state.rho[i]:
            state.rho[i] = 2.0 / mixed
            state.rates[i] *= state.growth
            state.restarts[i] += 1


@kernel
def _step(state: Any, arm: int, loss: float) -> None:
    """1/p_i <- 1/p_i + eta_i (l_i - x), where the loss of the other arms is 0 and x makes the sum of all p 1.

    The sum rises with x, from at most 1 at x = 0 to at least 1 at x = loss; beyond a pole, where some 1/p would be
    negative, x is too high as well.
    """
    low = 0.0
    high = loss
    for _ in range(_STEPS):
        x = 0.5 * (low + high)
        if x <= low or x >= high:
            break
        if _sum(state, arm, loss, x) < 1.0:
            low = x
        else:
            high = x
    for i in range(state.weights.shape[0]):
        own = loss if i == arm else 0.0
        state.weights[i] = 1.0 / (1.0 / state.weights[i] + state.rates[i] * (own - low))


@kernel
def _sum(state: Any, arm: int, loss: float, x: float) -> float:
    total = 0.0
    for i in range(state.weights.shape[0]):
        own = loss if i == arm else 0.0
        inverse = 1.0 / state.weights[i] + state.rates[i] * (own - x)
        if inverse <= 0.0:
            return math.inf
        total += 1.0 / inverse
    return total


@register
class Corral(Policy):
    r"""CORRAL: draw learners by weights that mirror descent with a log barrier moves, and never give one up.

    The base learners are the arms. Base i is drawn with probability :math:`\bar p_i = (1 - \gamma) p_i + \gamma / K`.
    The loss l = 1 - reward of the drawn one counts :math:`l / \bar p_i`, that of the others 0, and

    .. math:: \frac{1}{p_i} \leftarrow \frac{1}{p_i} + \eta_i (\ell_i - x), \qquad x \text{ such that } \sum_i p_i = 1.

    When :math:`1 / \bar p_i` exceeds :math:`\rho_i`, then :math:`\rho_i = 2 / \bar p_i`, the rate :math:`\eta_i` is
    multiplied by :math:`\beta`, and the base is restarted: a base that is seldom drawn learns slowly, and the greater
    rate gives it credit when it has caught up.

    From the paper (Agarwal, Luo, Neyshabur and Schapire, 2017): Algorithms 1 and 2 with :math:`\gamma = 1/T`,
    :math:`\beta = e^{1 / \log T}`, :math:`\rho_i = 2K` and :math:`p_i = 1/K` at the start; x is found by bisection. The
    rate :math:`\eta = \sqrt{K / T}` balances the terms :math:`K / \eta` and :math:`T \eta` of its regret bound.

    Our reading: arms as bases. What a base would do with its weighted feedback is its own training, which takes the
    reward of a pull as it is; and a restarted base is the same rested arm: what it has learnt is not taken from it, and
    only rate and :math:`\rho` change.

    Use it where learners must not be given up, whatever rewards do. It compares what bases pay and does not
    extrapolate: on ``paper-2arms`` it stays with the arm that starts well; small rates feed all arms for longer.

    Parameters
    ----------
    eta : float or None
        The rate at the start, above 0; None: sqrt(K / T), for which the horizon is needed.
    gamma : float or None
        Share of uniform draws, in (0, 1]; None: 1/T.
    growth : float or None
        beta, by which the rate of a base grows, at least 1; None: exp(1 / log T), with T = 2 for one round.
    reward_range : (float, float)
        Rewards between these two are mapped to [0, 1]; what lies outside is clipped.

    References
    ----------
    A. Agarwal, H. Luo, B. Neyshabur, R. E. Schapire. Corralling a Band of Bandit Algorithms. COLT 2017.
    """

    name = "corral"
    summary = "mirror descent over learners that never gives one up"
    verified = "published definition"
    kernels = Kernels(select=select, update=update)
    randomised = True
    needs_horizon = ("eta", "gamma", "growth")

    eta: float | None = number(None, above=0.0)
    gamma: float | None = number(None, above=0.0, maximum=1.0)
    growth: float | None = number(None, minimum=1.0)
    reward_range: tuple[float, float] = unit_range()

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        rounds = horizon or 1
        low, width = reward_scale.low_and_width(self.reward_range)
        return State(
            gamma=1.0 / rounds if self.gamma is None else float(self.gamma),
            growth=math.exp(1.0 / math.log(max(rounds, 2))) if self.growth is None else float(self.growth),
            low=low,
            width=width,
            weights=np.full(n_arms, 1.0 / n_arms),
            chances=np.full(n_arms, 1.0 / n_arms),
            asked=np.zeros(n_arms),
            rates=np.full(n_arms, math.sqrt(n_arms / rounds) if self.eta is None else float(self.eta)),
            rho=np.full(n_arms, 2.0 * n_arms),
            restarts=np.zeros(n_arms, dtype=np.int64),
        )

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        """The chance of each arm, all being available, its rate and how often that has grown."""
        return {
            "probability": state.chances.copy(),
            "rate": state.rates.copy(),
            "restarts": state.restarts.astype(np.float64),
        }
