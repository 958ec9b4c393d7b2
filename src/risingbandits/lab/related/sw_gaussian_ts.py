"""Thompson sampling with a Gaussian posterior, on the last tau rounds."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Rng
from risingbandits.policies._kernels import noise, running_means
from risingbandits.policies._settings import integer, number
from risingbandits.policies.base import Kernels
from risingbandits.policies.classic import _windows, gaussian_ts
from risingbandits.policies.registry import register


class State(NamedTuple):
    """What Gaussian Thompson sampling knows, of the window only."""

    sigma: float  # or 1, which the estimate multiplies
    counts: np.ndarray  # (K,), total, mean, root: the same (running_means)
    total: np.ndarray
    mean: np.ndarray
    root: np.ndarray
    arms: np.ndarray  # (tau,), amounts: (tau,): the window; place: (1,) of its next round
    amounts: np.ndarray
    place: np.ndarray
    noise: np.ndarray  # heard: the same (noise)
    heard: np.ndarray


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    leaving = _push(state, arm, reward)
    if leaving >= 0:
        _refresh(state, leaving)
    _refresh(state, arm)
    noise.add(state, arm, reward)


@kernel
def _push(state: State, arm: int, amount: float) -> int:
    """Let a round enter the window and the oldest leave; return the arm of that one, or -1.

    After every lap of the window all sums are made anew, so that no error outlives it.
    """
    place = state.place[0]
    leaving = state.arms[place]
    if leaving >= 0:
        state.counts[leaving] -= 1.0
        state.total[leaving] -= state.amounts[place]
    state.arms[place] = arm
    state.amounts[place] = amount
    state.counts[arm] += 1.0
    state.total[arm] += amount
    state.place[0] = place + 1
    if place + 1 == state.arms.shape[0]:
        state.place[0] = 0
        _sum_anew(state)
    return leaving


@rare_kernel
def _sum_anew(state: State) -> None:
    """The sums of a window that is full."""
    for arm in range(state.total.shape[0]):
        state.total[arm] = 0.0
    for place in range(state.arms.shape[0]):
        state.total[state.arms[place]] += state.amounts[place]


@kernel
def _refresh(state: Any, arm: int) -> None:
    count = state.counts[arm]
    seen = count > 0.0
    state.total[arm] = state.total[arm] if seen else 0.0
    state.mean[arm] = state.total[arm] / count if seen else math.inf
    state.root[arm] = 1.0 / math.sqrt(count) if seen else 0.0


@register
class SWGaussianThompson(gaussian_ts.GaussianThompson):
    r"""Gaussian Thompson sampling that forgets what is older than tau rounds.

    With N_i pulls of arm i within the last :math:`\tau` rounds and their mean :math:`\bar x_i`, each round draws

    .. math:: \theta_i \sim N(\bar x_i, \sigma^2 / N_i)

    and pulls the arm with the highest one; an arm without a pull in the window comes first, the lowest number of
    several. It sees the raw reward.

    From the papers: this is :math:`\gamma`-SWGTS (Fiandri, Metelli and Trovo, 2024), whose variance is written
    :math:`1 / (\gamma N_i)`, so that :math:`\gamma = 1 / \sigma^2`. Their theorems ask for
    :math:`\gamma \le 1 / (4 \lambda^2)` with :math:`\lambda`-sub-Gaussian rewards: a ``sigma`` of at least twice the
    noise. Choices of ours: the noise itself, which makes the draw one from the posterior under a flat prior, as in
    `GaussianThompson`, and the window of `SWTS`.

    Use it for means that change slowly with time and noise that is known. An arm outside of the window is tried again
    every tau rounds, and with little noise hardly more than once: of rising arms it misses more than `SWTS`, whose
    coins are noisier.

    Parameters
    ----------
    tau : int or None
        Rounds in the window. None: T^(1 - beta), rounded up, for which the horizon is needed.
    beta : float
        Exponent of the window, in [0, 1]. Default 1/2, as in `SWTS`.
    sigma : float or "auto"
        Standard deviation of the noise, as for `GaussianThompson`.

    References
    ----------
    M. Fiandri, A. M. Metelli, F. Trovo. Sliding-Window Thompson Sampling for Non-Stationary Settings. 2024.
    F. Trovo, S. Paladino, M. Restelli, N. Gatti. Sliding-Window Thompson Sampling for Non-Stationary Settings. JAIR 68,
    2020.
    """

    name = "sw-gaussian-ts"
    summary = "Gaussian Thompson sampling on the last tau rounds"
    verified = "published definition"
    needs_horizon = ("tau",)
    kernels = Kernels(select=gaussian_ts.select, update=update)

    tau: int | None = integer(None)
    beta: float = number(0.5, minimum=0.0, maximum=1.0)
    sigma: float | str | None = noise.setting()

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        formula = float(horizon or 1) ** (1.0 - self.beta)
        tau = _windows.tau_or(self.tau, horizon, formula, type(self).__name__)
        return State(
            sigma=self._unit_sigma(),
            arms=np.full(tau, -1),
            amounts=np.zeros(tau),
            place=np.zeros(1, dtype=np.int64),
            **running_means.new_fields(n_arms),
            **self._noise_fields(n_arms),
        )
