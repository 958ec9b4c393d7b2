"""Tsallis-INF: online mirror descent, optimal for stochastic and for adversarial rewards."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import kernel
from risingbandits._core.types import Floats, Mask
from risingbandits.policies._kernels import argmax, reward_scale
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.registry import register
from risingbandits.policies.settings import number, unit_range

_STEPS = 40  # Newton needs 3 to 6


class State(NamedTuple):
    """What Tsallis-INF knows."""

    rate: float  # eta_t = rate / sqrt(t)
    low: float  # rewards x become (x - low) / width, clipped to [0, 1]
    width: float
    losses: np.ndarray  # (K,) L, sums of estimated losses
    chances: np.ndarray  # (K,) p of the last question, all arms being available
    asked: np.ndarray  # (K,) p with which an arm was asked for; 0: not asked for since its last reward
    level: np.ndarray  # (1,) x, the normaliser found last


@kernel
def select(state: State, t: int, available: Mask, rng: Any) -> int:
    total = _solve(state, t)
    return argmax.drawn(state.chances, total, state.asked, available, rng)


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Any) -> None:
    chance = state.asked[arm]
    if chance == 0.0:  # this arm was not asked for
        _solve(state, t)
        chance = state.chances[arm]
    state.asked[arm] = 0.0
    state.losses[arm] += (1.0 - reward_scale.unit(reward, state.low, state.width)) / chance


@kernel
def _solve(state: State, t: int) -> float:
    """Fill ``chances`` with 4 / (eta (L - x))^2, where x makes their sum 1; return that sum.

    The sum rises with x and is convex, so Newton's method from a point where it is at least 1 goes down to the
    solution and never past it. At x = min L - 2 / eta one chance is 1: the start is never higher. From a start below
    the solution, such as the last one often is, the first step goes above it.
    """
    eta = state.rate / math.sqrt(float(t))
    highest = math.inf
    for arm in range(state.losses.shape[0]):
        highest = min(highest, state.losses[arm])
    highest -= 2.0 / eta
    x = min(state.level[0], highest)
    exact = 1e-15 * state.losses.shape[0]  # about the rounding error of the sum
    total = 0.0
    for _ in range(_STEPS):
        total = 0.0
        slope = 0.0
        for arm in range(state.losses.shape[0]):
            root = 2.0 / (eta * (state.losses[arm] - x))
            chance = root * root
            state.chances[arm] = chance
            total += chance
            slope += chance * root
        if abs(total - 1.0) < exact:
            break
        step = (total - 1.0) / (eta * slope)
        moved = min(x - step, highest)
        if moved == x:
            break
        x = moved
    state.level[0] = x
    return total


@register
class TsallisINF(Policy):
    r"""Tsallis-INF: mirror descent with the Tsallis entropy of power 1/2, the practical OSMD.

    With the estimated losses :math:`L_i` and :math:`\eta_t = 2 / \sqrt t` arm i is drawn with probability

    .. math:: p_i = \frac{4}{(\eta_t (L_i - x))^2}, \qquad x \text{ such that } \sum_i p_i = 1,

    and a reward r in [0, 1] of arm I adds :math:`(1 - r) / p_I` to :math:`L_I` (Zimmert and Seldin, 2021, Algorithm 1
    with the importance-weighted estimate). The number x is found by Newton's method (Algorithm 2).

    Use it if rewards may be stochastic or adversarial: it is optimal for both, up to constants, without a horizon.
    It compares with the best fixed arm on the rewards that were offered: like Exp3 it does not look ahead on rising
    arms.

    Parameters
    ----------
    rate : float
        eta_t = rate / sqrt(t); 2 is the paper's choice for this estimate.
    reward_range : (float, float)
        Rewards between these two are mapped to [0, 1]; others are clipped.

    References
    ----------
    J. Zimmert, Y. Seldin. Tsallis-INF: An Optimal Algorithm for Stochastic and Adversarial Bandits. Journal of Machine
    Learning Research 22, 2021.

    Examples
    --------
    >>> policy = TsallisINF().reset(n_arms=2, seed=1)
    >>> for _ in range(500):
    ...     arm = policy.ask()
    ...     policy.tell(arm, [0.2, 0.8][arm])
    >>> policy.recommend(), bool(policy.pulls[1] > 400)
    (1, True)
    """

    name = "tsallis-inf"
    summary = "mirror descent for stochastic and adversarial rewards"
    verified = "published definition"
    kernels = Kernels(select=select, update=update)
    randomised = True

    rate: float = number(2.0, above=0.0)
    reward_range: tuple[float, float] = unit_range()

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        low, width = reward_scale.low_and_width(self.reward_range)
        return State(
            rate=float(self.rate),
            low=low,
            width=width,
            losses=np.zeros(n_arms),
            chances=np.full(n_arms, 1.0 / n_arms),
            asked=np.zeros(n_arms),
            level=np.zeros(1),
        )

    def parts(self, state: Any, t: int) -> dict[str, Floats]:
        losses = state.losses - state.losses.min()
        eta = self.rate / math.sqrt(t)
        low, high = -2.0 * math.sqrt(len(losses)) / eta, -2.0 / eta
        for _ in range(100):  # halving: plain and safe
            x = (low + high) / 2
            low, high = (low, x) if np.sum(4.0 / (eta * (losses - x)) ** 2) > 1.0 else (x, high)
        return {"loss": state.losses.copy(), "probability": 4.0 / (eta * (losses - x)) ** 2}
