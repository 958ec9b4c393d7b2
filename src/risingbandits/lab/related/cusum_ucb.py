"""CUSUM-UCB: upper confidence bounds, and a cumulative sum for each arm that says when to forget it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Mask, Rng
from risingbandits.lab.related import _restarts
from risingbandits.policies._kernels import argmax, reward_scale, running_means
from risingbandits.policies._settings import integer, number, tie_rule, unit_range
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.explanation import Moment
from risingbandits.policies.registry import register


class State(NamedTuple):
    """What CUSUM-UCB knows."""

    alpha: float  # chance of a random arm
    h: float  # what a cumulative sum must reach
    M: int  # rewards that make the level before a change
    eps: float
    scale: float  # sqrt(xi)
    random_ties: bool
    low: float  # rewards x become (x - low) / width, clipped to [0, 1]
    width: float
    counts: np.ndarray  # (K,), total, mean, root: since the last restart of the arm (running_means)
    total: np.ndarray
    mean: np.ndarray
    root: np.ndarray
    before: np.ndarray  # (K,) mean of the arm's first M rewards
    rise: np.ndarray  # (K,) g+
    fall: np.ndarray  # (K,) g-
    known: np.ndarray  # (1,) rewards of all arms that count
    changes: np.ndarray  # (K,) restarts so far


@kernel
def select(state: State, t: int, available: Mask, rng: Any) -> int:
    n_arms = state.mean.shape[0]
    if rng.random() < state.alpha:
        return argmax.any_arm(n_arms, available, rng)
    width = _width(state.scale, state.known[0])
    if state.random_ties:
        return argmax.highest_line(state.mean, state.root, width, available, rng)
    return argmax.highest_line(state.mean, state.root, width, available, None)


@kernel
def _width(scale: float, known: float) -> float:
    return scale * math.sqrt(math.log(max(known, 1.0)))


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    x = reward_scale.unit(reward, state.low, state.width)
    running_means.add(state, arm, x)
    state.known[0] += 1.0
    n = state.counts[arm]
    if n == state.M:
        state.before[arm] = state.mean[arm]
    elif n > state.M:
        state.rise[arm] = max(0.0, state.rise[arm] + (x - state.before[arm] - state.eps))
        state.fall[arm] = max(0.0, state.fall[arm] + (state.before[arm] - x - state.eps))
        if state.rise[arm] >= state.h or state.fall[arm] >= state.h:
            _restart(state, arm)


@rare_kernel
def _restart(state: State, arm: int) -> None:
    """Nothing is known of the arm any more."""
    state.known[0] -= state.counts[arm]
    state.counts[arm] = 0.0
    state.total[arm] = 0.0
    state.mean[arm] = math.inf
    state.root[arm] = 0.0
    state.rise[arm] = 0.0
    state.fall[arm] = 0.0
    state.changes[arm] += 1


@register
class CUSUMUCB(Policy):
    r"""CUSUM-UCB: UCB that forgets an arm when a cumulative sum says that its mean has changed.

    With probability :math:`\alpha` any arm is pulled, otherwise the one with the highest

    .. math:: \bar x_i + \sqrt{\frac{\xi \log n_t}{N_i}}, \qquad +\infty \text{ without a reward},

    where :math:`N_i` and :math:`\bar x_i` are of the arm's rewards since its last restart and :math:`n_t = \sum_i N_i`.
    Of these rewards :math:`y_1, y_2, \dots` the first M have the mean :math:`\hat u`; each later one moves two sums,

    .. math:: g^+ \leftarrow \max(0, g^+ + y_k - \hat u - \epsilon), \qquad
              g^- \leftarrow \max(0, g^- + \hat u - y_k - \epsilon),

    and when one of them reaches h the arm, and no other, is restarted: its rewards are forgotten, its sums are 0.

    From the paper (Liu, Lee and Shroff, 2018): all of this, Algorithms 1 and 2; the orders of h and :math:`\alpha` are
    those of its Corollary 2, without the constants that depend on the unknown changes, as also in the programs of
    others. Choices of ours: ``M``, ``eps`` and ``xi``, which the paper leaves to what is known of the problem.

    Use it where means jump with time, seldom and by more than ``eps``. Rested arms change with their own pulls: an arm
    that nobody pulls rises by the random pulls alone, and the one that is pulled is found to have changed a few times,
    upwards, which speaks for it anyway. So on ``paper-15arms`` it does what UCB does.

    Parameters
    ----------
    M : int
        Rewards that make the level before a change. Default 100.
    eps : float
        Half of the smallest change that is worth a restart. Default 0.05.
    h : float or None
        What a cumulative sum must reach. None: log(T / changes), for which the horizon is needed.
    alpha : float or None
        Chance of a random arm, in [0, 1]. None: sqrt(changes log(T / changes) / T), at most 1.
    changes : int
        The number of changes that h and alpha are set for. Default 1, as when it is unknown.
    xi : float
        Width of the confidence interval. Default 2, as in UCB1.
    reward_range : (float, float)
        Range that is mapped onto [0, 1]; what lies outside is clipped.
    ties : {"lowest", "random"}
        Which of several arms with the same index, also of those at infinity.

    References
    ----------
    F. Liu, J. Lee, N. Shroff. A Change-Detection based Framework for Piecewise-stationary Multi-Armed Bandit Problem.
    AAAI 2018.
    E. S. Page. Continuous Inspection Schemes. Biometrika 41, 1954.
    """

    name = "cusum-ucb"
    summary = "UCB that forgets an arm when a cumulative sum says that it has changed"
    verified = "published definition"
    randomised = True
    needs_horizon = ("h", "alpha")
    kernels = Kernels(select=select, update=update)

    M: int = integer(100)
    eps: float = number(0.05, minimum=0.0)
    h: float | None = number(None, above=0.0)
    alpha: float | None = number(None, minimum=0.0, maximum=1.0)
    changes: int = integer(1)
    xi: float = number(2.0, minimum=0.0)
    reward_range: tuple[float, float] = unit_range()
    ties: str = tie_rule()

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        stretch = max((horizon or 1) / self.changes, 1.0)  # rounds between changes
        low, width = reward_scale.low_and_width(self.reward_range)
        return State(
            alpha=math.sqrt(math.log(stretch) / stretch) if self.alpha is None else float(self.alpha),
            h=math.log(stretch) if self.h is None else float(self.h),
            M=int(self.M),
            eps=float(self.eps),
            scale=math.sqrt(self.xi),
            random_ties=self.ties == "random",
            low=low,
            width=width,
            **running_means.new_fields(n_arms),
            before=np.zeros(n_arms),
            rise=np.zeros(n_arms),
            fall=np.zeros(n_arms),
            known=np.zeros(1),
            changes=np.zeros(n_arms, dtype=np.int64),
        )

    def _parts(self, state: Any, t: int) -> dict[str, np.ndarray]:
        width = state.scale * math.sqrt(math.log(max(float(state.known[0]), 1.0)))
        return _restarts.parts(running_means.parts(state, width), state.changes)

    def _why_next(self, at: Moment) -> str:
        if at.pulls[at.arm] and not at.leads("value"):
            return "drawn at random, so that changes are noticed"
        return _restarts.forgotten(at) or super()._why_next(at)
