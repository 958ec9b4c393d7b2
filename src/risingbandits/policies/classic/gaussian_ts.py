"""Thompson sampling with a Gaussian posterior."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import interpreted, kernel
from risingbandits._core.types import Mask, Rng
from risingbandits.policies import _reasons as reasons
from risingbandits.policies._kernels import argmax, noise, running_means
from risingbandits.policies.base import Kernels
from risingbandits.policies.explanation import Moment
from risingbandits.policies.registry import register


class State(NamedTuple):
    """What Gaussian Thompson sampling knows."""

    sigma: float  # or 1, which the estimate multiplies
    counts: np.ndarray  # (K,), total, mean, root: the same (running_means)
    total: np.ndarray
    mean: np.ndarray
    root: np.ndarray
    noise: np.ndarray  # heard: the same (noise)
    heard: np.ndarray


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    sigma = state.sigma * noise.factor(state)
    best = -math.inf
    chosen = argmax.first(available)
    for arm in range(state.mean.shape[0]):
        if available is not None and not available[arm]:
            continue
        width = sigma * state.root[arm]
        value = state.mean[arm] + width * rng.standard_normal()  # type: ignore[union-attr]
        better = value > best
        best = value if better else best
        chosen = arm if better else chosen
    return chosen


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    running_means.add(state, arm, reward)
    noise.add(state, arm, reward)


@register
class GaussianThompson(noise.NoisePolicy):
    r"""Thompson sampling for Gaussian noise of known scale: pull the arm with the best draw from its posterior.

    Each round draws :math:`\theta_i \sim N(\bar x_i, \sigma^2 / N_i)`, the posterior under a flat prior, and pulls the
    arm with the highest one. Every arm is pulled once before, the lowest number first. It sees the raw reward. One
    normal number per available arm is drawn in every round; at 10 ns each this is faster than deciding which are
    needed.

    Use it for means that do not change. On rising arms it weighs the whole past.

    Parameters
    ----------
    sigma : float or "auto"
        Standard deviation of the noise; "auto" estimates it. By default the problem's in `simulate`, "auto" elsewhere.
        If rewards contradict a number above 0, a warning says so once; the number is kept. 0 is greedy.

    References
    ----------
    N. Korda, E. Kaufmann, R. Munos. Thompson Sampling for 1-Dimensional Exponential Family Bandits. NeurIPS 2013.
    """

    name = "gaussian-ts"
    summary = "Thompson sampling with Gaussian posteriors"
    verified = "published definition"
    randomised = True
    kernels = Kernels(select=select, update=update)

    sigma: float | str | None = noise.setting()

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        return State(sigma=self._unit_sigma(), **running_means.new_fields(n_arms), **self._noise_fields(n_arms))

    def _parts(self, state: Any, t: int) -> dict[str, np.ndarray]:
        spread = running_means.parts(state, state.sigma * interpreted(noise.factor)(state))
        return {"level": spread["level"], "width": spread["width"]}

    def _why_next(self, at: Moment) -> str:
        return reasons.drew_best(at)
