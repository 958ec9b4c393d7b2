"""UCB1, the mean plus a width that shrinks with the pulls, and the same with the width of the actual noise."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import interpreted, kernel
from risingbandits._core.types import Mask, Rng
from risingbandits.policies._kernels import argmax, noise, reward_scale, running_means
from risingbandits.policies._settings import tie_rule, unit_range
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.registry import register


class State(NamedTuple):
    """What UCB1 knows."""

    scale: float  # sqrt(2)
    low: float
    width: float
    counts: np.ndarray  # (K,), total, mean, root: the same (running_means)
    total: np.ndarray
    mean: np.ndarray
    root: np.ndarray


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    """The logarithm is that of the plays made so far, which are t - 1 when round t is decided."""
    width = state.scale * math.sqrt(math.log(max(float(t - 1), 1.0)))
    return argmax.highest_line(state.mean, state.root, width, available, rng)


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    running_means.add(state, arm, reward_scale.unit(reward, state.low, state.width))


class GaussianState(NamedTuple):
    """What Gaussian UCB knows."""

    scale: float  # 2 sigma
    counts: np.ndarray  # (K,), total, mean, root: the same (running_means)
    total: np.ndarray
    mean: np.ndarray
    root: np.ndarray
    noise: np.ndarray  # heard: the same (noise)
    heard: np.ndarray


@kernel
def select_gaussian(state: Any, t: int, available: Mask, rng: Rng) -> int:
    width = state.scale * math.sqrt(math.log(float(t))) * noise.factor(state)
    return argmax.highest_line(state.mean, state.root, width, available, rng)


@kernel
def update_gaussian(state: Any, t: int, arm: int, reward: float, rng: Rng) -> None:
    running_means.add(state, arm, reward)
    noise.add(state, arm, reward)


@register
class UCB1(Policy):
    """UCB1: mean plus sqrt(2 log n / N_i), n the plays made so far (Auer, Cesa-Bianchi and Fischer, 2002, Figure 1).

    Every arm is pulled once before. In round t, n is t - 1. Use it as the simplest confidence bound, for rewards in [0,
    1] whose means do not change. Its width is valid for any such reward and far too wide for noise of 0.1: see
    `GaussianUCB`.

    Parameters
    ----------
    reward_range : (float, float)
        Range that is mapped onto [0, 1]; rewards outside are clipped. With the default, noise N(mu, 0.1^2) is clipped
        to a mean of 0.040 where mu = 0 and of 0.960 where mu = 1.
    ties : {"lowest", "random"}
        Which of several arms with the same index, including infinite ones.

    References
    ----------
    P. Auer, N. Cesa-Bianchi, P. Fischer. Finite-time Analysis of the Multiarmed Bandit Problem. Machine Learning 47,
    2002.
    """

    name = "ucb1"
    summary = "mean plus sqrt(2 log(plays so far) / n)"
    verified = "public implementation"
    kernels = Kernels(select=select, update=update)

    reward_range: tuple[float, float] = unit_range()
    ties: str = tie_rule()

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        low, width = reward_scale.low_and_width(self.reward_range)
        return State(scale=math.sqrt(2.0), low=low, width=width, **running_means.new_fields(n_arms))

    def _parts(self, state: Any, t: int) -> dict[str, np.ndarray]:
        return running_means.parts(state, state.scale * math.sqrt(math.log(max(t - 1, 1))))


@register
class GaussianUCB(noise.NoisePolicy):
    r"""Gaussian UCB: mean plus sigma sqrt(4 log t / N_i), for noise of known scale sigma.

    The confidence bound of UCB for :math:`\sigma`-sub-Gaussian rewards with delta_t = t^-2 (Bubeck and Cesa-Bianchi,
    2012, Section 2.2, with alpha = 2). Every arm is pulled once before. It sees the raw reward.

    Use it if means do not change and the noise is known: with little noise it explores far less than `UCB1`. It does
    not ask what arms will become: on ``paper-15arms`` it settles early, in some runs on a poor arm, and does no better.

    Parameters
    ----------
    sigma : float or "auto"
        Sub-Gaussian scale of the noise; "auto" estimates it. By default the problem's in `simulate`, "auto" elsewhere.
        If rewards contradict a number above 0, a warning says so once; the number is kept. 0 is greedy.
    ties : {"lowest", "random"}
        Which of several arms with the same index, including infinite ones.

    References
    ----------
    S. Bubeck, N. Cesa-Bianchi. Regret Analysis of Stochastic and Nonstochastic Multi-armed Bandit Problems. Foundations
    and Trends in Machine Learning 5(1), 2012.

    Examples
    --------
    >>> policy = GaussianUCB(sigma=0.1).reset(n_arms=2)
    >>> for _ in range(300):
    ...     arm = policy.ask()
    ...     policy.tell(arm, [0.2, 0.8][arm])
    >>> policy.pulls.tolist()
    [1, 299]
    """

    name = "gaussian-ucb"
    summary = "mean plus sigma sqrt(4 log t / n)"
    verified = "published definition"
    kernels = Kernels(select=select_gaussian, update=update_gaussian)

    sigma: float | str | None = noise.setting()
    ties: str = tie_rule()

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        scale = 2.0 * self._unit_sigma()
        return GaussianState(scale=scale, **running_means.new_fields(n_arms), **self._noise_fields(n_arms))

    def _parts(self, state: Any, t: int) -> dict[str, np.ndarray]:
        return running_means.parts(state, state.scale * math.sqrt(math.log(t)) * interpreted(noise.factor)(state))
