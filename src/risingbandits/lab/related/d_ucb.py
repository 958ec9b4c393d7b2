"""D-UCB: upper confidence bounds on discounted rewards, for means that change with time.

A round discounts every arm by the same factor, so nothing is discounted: the weight of a new pull grows instead, and
all widths share one factor. A round changes one arm. Before weights become too large for a float all are scaled down.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Mask, Rng
from risingbandits.policies._kernels import argmax, reward_scale, running_means
from risingbandits.policies._settings import number, tie_rule, unit_range
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.registry import register

_LARGEST = 2.0**200
_SMALLER = 2.0**-200


class FadingState(NamedTuple):
    """What D-UCB knows."""

    scale: float  # 2 B sqrt(xi)
    discount: float  # g
    low: float
    width: float
    clock: np.ndarray  # (2,) weight w of the last pull, in units of which counts and totals are; n = sum of all N_i(g)
    counts: np.ndarray  # (K,) w N_i(g)
    total: np.ndarray  # (K,) w times the discounted sum of rewards
    mean: np.ndarray  # (K,) +inf for an arm never pulled
    root: np.ndarray  # (K,) 1 / sqrt(w N_i(g))


@kernel
def select_fading(state: FadingState, t: int, available: Mask, rng: Rng) -> int:
    width = state.scale * math.sqrt(math.log(max(state.clock[1], 1.0)) * state.clock[0])
    return argmax.highest_line(state.mean, state.root, width, available, rng)


@kernel
def update_fading(state: FadingState, t: int, arm: int, reward: float, rng: Rng) -> None:
    weight = state.clock[0] / state.discount
    if weight > _LARGEST:
        weight *= _SMALLER
        _scale_down(state)
    state.clock[0] = weight
    state.clock[1] = state.clock[1] * state.discount + 1.0
    count = state.counts[arm] + weight
    total = state.total[arm] + weight * reward_scale.unit(reward, state.low, state.width)
    state.counts[arm] = count
    state.total[arm] = total
    state.mean[arm] = total / count
    state.root[arm] = 1.0 / math.sqrt(count)


@rare_kernel
def _scale_down(state: FadingState) -> None:
    """Smaller units. An arm whose weight has vanished counts as unopened."""
    for arm in range(state.counts.shape[0]):
        state.counts[arm] *= _SMALLER
        state.total[arm] *= _SMALLER
        if state.counts[arm] > 1e-300:
            state.root[arm] = 1.0 / math.sqrt(state.counts[arm])
        else:
            state.counts[arm] = 0.0
            state.total[arm] = 0.0
            state.mean[arm] = math.inf
            state.root[arm] = 0.0


@register
class DUCB(Policy):
    r"""D-UCB: upper confidence bounds that let old rewards fade.

    A pull s rounds ago counts :math:`g^s` (the last one 1). With the discounted count :math:`N_i(g)` and mean of arm i
    and :math:`n(g) = \sum_i N_i(g)`, the index is

    .. math:: \bar x_i(g) + 2 B \sqrt{\frac{\xi \log n(g)}{N_i(g)}}, \qquad +\infty \text{ before the first pull}

    (Garivier and Moulines, 2011).

    Use it for means that change with time, like `SWUCB`, without a sharp window. Its width is twice as large.

    Parameters
    ----------
    discount : float or None
        g in (0, 1); None: 1 - 1 / (4 sqrt(T)), for which the horizon is needed.
    xi : float
        Width of the confidence interval; the theory needs more than 1/2. Default 0.6, as in `SWUCB`.
    B : float
        Bound of the rewards after ``reward_range``: 1.
    reward_range : (float, float)
        Range that is mapped onto [0, 1]; rewards outside are clipped.
    ties : {"lowest", "random"}
        Which of several arms with the same index, including infinite ones.

    References
    ----------
    A. Garivier, E. Moulines. On Upper-Confidence Bound Policies for Switching Bandit Problems. ALT 2011.
    L. Kocsis, C. Szepesvari. Discounted UCB. 2nd PASCAL Challenges Workshop, 2006.
    """

    name = "d-ucb"
    summary = "UCB with fading rewards"
    verified = "published definition"
    needs_horizon = ("discount",)
    kernels = Kernels(select=select_fading, update=update_fading)

    discount: float | None = number(None, minimum=1e-6, below=1.0)
    xi: float = number(0.6, minimum=0.0)
    B: float = number(1.0, minimum=0.0)
    reward_range: tuple[float, float] = unit_range()
    ties: str = tie_rule()

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> FadingState:
        if self.discount is not None:
            discount = float(self.discount)
        elif horizon is not None:
            discount = 1.0 - 1.0 / (4.0 * math.sqrt(horizon))
        else:
            raise RisingBanditsError("DUCB needs horizon, the number of rounds, or discount, got neither.")
        low, width = reward_scale.low_and_width(self.reward_range)
        return FadingState(
            scale=2.0 * float(self.B) * math.sqrt(self.xi),
            discount=discount,
            low=low,
            width=width,
            clock=np.array([1.0, 0.0]),
            counts=np.zeros(n_arms),
            total=np.zeros(n_arms),
            mean=np.full(n_arms, np.inf),
            root=np.zeros(n_arms),
        )

    def _parts(self, state: Any, t: int) -> dict[str, np.ndarray]:
        width = state.scale * math.sqrt(math.log(max(float(state.clock[1]), 1.0)) * float(state.clock[0]))
        return running_means.parts(state, width, seen=state.root > 0.0)
