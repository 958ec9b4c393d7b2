"""SW-UCB: upper confidence bounds on a window, for means that change with time.

After tau rounds the logarithm in the width is constant, and a round changes two arms at most: the one that is pulled
and the one whose reward leaves. The mean and 1/sqrt(N) of each arm are kept, so that a round costs one multiplication
per arm.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import kernel
from risingbandits._core.types import Mask, Rng
from risingbandits.policies._kernels import argmax, reward_scale, running_means
from risingbandits.policies._settings import integer, number, tie_rule, unit_range
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.classic import _windows
from risingbandits.policies.registry import register


class WindowState(NamedTuple):
    """What SW-UCB knows."""

    scale: float  # B sqrt(xi)
    last_width: float  # B sqrt(xi log tau)
    low: float
    width: float
    units: float  # of the amounts in the window
    ring: np.ndarray  # (tau, 2), held: (K + 1, 2), the window (_windows)
    held: np.ndarray
    mean: np.ndarray  # (K,) over the window, +inf for an arm that is not in it
    root: np.ndarray  # (K,) 1/sqrt(N), 0 for an arm that is not in the window


@kernel
def select_in_window(state: WindowState, t: int, available: Mask, rng: Rng) -> int:
    return argmax.highest_line(state.mean, state.root, _width(state, t), available, rng)


@kernel
def update_in_window(state: WindowState, t: int, arm: int, reward: float, rng: Rng) -> None:
    x = reward_scale.unit(reward, state.low, state.width)
    leaving = _windows.push(state.ring, state.held, arm, _windows.in_units(x, state.units))
    if leaving >= 0:
        _refresh(state, leaving)
    _refresh(state, arm)


@kernel
def _refresh(state: WindowState, arm: int) -> None:
    count = state.held[arm, 0]
    seen = count > 0
    inverse = 1.0 / (count if seen else 1)
    state.mean[arm] = state.held[arm, 1] / state.units * inverse if seen else math.inf
    state.root[arm] = math.sqrt(inverse) if seen else 0.0


@kernel
def _width(state: WindowState, t: int) -> float:
    if t >= state.ring.shape[0]:
        return state.last_width
    return state.scale * math.sqrt(math.log(float(t)))


@register
class SWUCB(Policy):
    r"""SW-UCB: upper confidence bounds on the last tau rounds only.

    With the pulls N_i and the mean of arm i within the last :math:`\tau` rounds, the index at round t is

    .. math:: \bar x_i + B \sqrt{\frac{\xi \log(\min(t, \tau))}{N_i}}, \qquad +\infty \text{ if } N_i = 0

    (Garivier and Moulines, 2011).

    Use it for means that change abruptly and rarely. Rising arms change with their own pulls, and a window forgets
    those that were not pulled: on ``paper-2arms`` its regret is far above that of round robin.

    Parameters
    ----------
    tau : int or None
        Rounds in the window. None: 4 sqrt(T log T), rounded up, for which the horizon is needed. The choice
        of the paper on rising bandits; Garivier and Moulines have 2 B sqrt(T log T / Upsilon_T).
    xi : float
        Width of the confidence interval; the theory needs more than 1/2. Default 0.6.
    B : float
        Bound of the rewards after ``reward_range``: 1.
    reward_range : (float, float)
        Range that is mapped onto [0, 1]; rewards outside are clipped.
    ties : {"lowest", "random"}
        Which of several arms with the same index, including infinite ones.

    References
    ----------
    A. Garivier, E. Moulines. On Upper-Confidence Bound Policies for Switching Bandit Problems. ALT 2011.
    """

    name = "sw-ucb"
    summary = "UCB on the last tau rounds"
    verified = "public implementation"
    needs_horizon = ("tau",)
    kernels = Kernels(select=select_in_window, update=update_in_window)

    tau: int | None = integer(None)
    xi: float = number(0.6, minimum=0.0)
    B: float = number(1.0, minimum=0.0)
    reward_range: tuple[float, float] = unit_range()
    ties: str = tie_rule()

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> WindowState:
        rounds = float(horizon or 1)
        tau = _windows.tau_or(self.tau, horizon, 4.0 * math.sqrt(rounds * math.log(rounds)), "SWUCB")
        scale = float(self.B) * math.sqrt(self.xi)
        low, width = reward_scale.low_and_width(self.reward_range)
        return WindowState(
            scale=scale,
            last_width=scale * math.sqrt(math.log(tau)),
            low=low,
            width=width,
            units=_windows.units_per_reward(tau),
            ring=_windows.new_ring(tau),
            held=_windows.new_held(n_arms),
            mean=np.full(n_arms, np.inf),
            root=np.zeros(n_arms),
        )

    def _parts(self, state: Any, t: int) -> dict[str, np.ndarray]:
        width = state.scale * math.sqrt(math.log(min(t, state.ring.shape[0])))
        return running_means.parts(state, width, seen=state.root > 0.0)
