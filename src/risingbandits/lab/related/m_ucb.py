"""M-UCB: upper confidence bounds, and two halves of a window of each arm that say when to begin anew."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Mask, Rng
from risingbandits.lab.related import _restarts
from risingbandits.policies._kernels import argmax, histories, recent_means, reward_scale, running_means
from risingbandits.policies._settings import integer, number, tie_rule, unit_range
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.explanation import Moment
from risingbandits.policies.registry import register


class State(NamedTuple):
    """What M-UCB knows since the last restart."""

    w: int  # rewards in a window
    b: float  # by how much the sums of its halves must differ
    every: int  # floor(K / gamma)
    low: float  # rewards x become (x - low) / width, clipped to [0, 1]
    width: float
    pulls: np.ndarray  # (K,), total: (K,), pool, places: running sums of each arm's rewards (recent_means)
    total: np.ndarray
    pool: np.ndarray
    places: np.ndarray
    mean: np.ndarray  # (K,) +inf for an arm without a reward
    root: np.ndarray  # (K,) 1/sqrt(n), 0 for such an arm
    since: np.ndarray  # (1,) tau, the round of the last restart
    changes: np.ndarray  # (K,) changes found so far


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    elapsed = t - state.since[0]
    due = _restarts.arm_due(elapsed, state.every, state.mean.shape[0], available)
    if due >= 0:
        return due
    return argmax.highest_line(state.mean, state.root, _width(elapsed), available, rng)


@kernel
def _width(elapsed: int) -> float:
    return math.sqrt(2.0 * math.log(float(elapsed)))


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    n = recent_means.add(state, arm, reward_scale.unit(reward, state.low, state.width))
    state.mean[arm] = state.total[arm] / n
    state.root[arm] = 1.0 / math.sqrt(float(n))
    if n >= state.w and abs(_difference(state, arm, n)) > state.b:
        _restart(state, t, arm)


@kernel
def _difference(state: State, arm: int, n: int) -> float:
    """The sum of the arm's last w/2 rewards less that of the w/2 before."""
    start = state.places[arm, 0]
    half = state.w // 2
    first = state.pool[start + n - state.w] if n > state.w else 0.0
    return state.total[arm] - 2.0 * state.pool[start + n - half] + first


@rare_kernel
def _restart(state: State, t: int, arm: int) -> None:
    """Nothing is known of any arm any more."""
    for i in range(state.mean.shape[0]):
        state.pulls[i] = 0
        state.total[i] = 0.0
        state.mean[i] = math.inf
        state.root[i] = 0.0
    state.since[0] = t
    state.changes[arm] += 1


@register
class MUCB(Policy):
    r"""M-UCB: UCB that begins anew when the two halves of a window of rewards of one arm differ.

    With :math:`\tau` the round of the last restart, of every :math:`\lfloor K / \gamma \rfloor` rounds since then the
    first K belong to the arms, one each; in the others the arm with the highest

    .. math:: \bar x_i + \sqrt{\frac{2 \log(t - \tau)}{N_i}}, \qquad +\infty \text{ without a reward since } \tau,

    is pulled. When the sum of the last w/2 rewards of the pulled arm and that of the w/2 before, all since
    :math:`\tau`, differ by more than b, all arms are restarted: :math:`\tau = t`.

    From the paper (Cao, Wen, Kveton and Xie, 2019): all of this, Algorithms 1 and 2, and
    :math:`b = \sqrt{w \log(2 K T^2) / 2}`, :math:`\gamma = \sqrt{m K (2 b + 3 \sqrt w) / (2 T)}` for m changes. A
    choice of ours: ``w``, which the paper sets by the smallest change.

    Use it where means jump with time, seldom, by more than 2 b / w, which is 0.53 with the default w at 15 arms and
    200,000 rounds. Rested arms that rise slowly differ by less between two halves of a window and are never found to
    change.

    Parameters
    ----------
    w : int
        Rewards of an arm in a window, an even number. Default 200.
    b : float or None
        By how much the sums of the two halves must differ. None: sqrt(w log(2 K T^2) / 2), for which the horizon is
        needed.
    gamma : float or None
        Share of forced exploration, in [0, 1]. None: sqrt(m K (2 b + 3 sqrt(w)) / (2 T)), at most 1.
    changes : int
        m, the number of changes that gamma is set for. Default 1, as when it is unknown.
    reward_range : (float, float)
        Range that is mapped onto [0, 1]; what lies outside is clipped.
    ties : {"lowest", "random"}
        Which of several arms with the same index, also of those at infinity.

    References
    ----------
    Y. Cao, Z. Wen, B. Kveton, Y. Xie. Nearly Optimal Adaptive Procedure with Change Detection for Piecewise-Stationary
    Bandit. AISTATS 2019.
    """

    name = "m-ucb"
    summary = "UCB that begins anew when two halves of a window of an arm differ"
    verified = "published definition"
    needs_horizon = ("b", "gamma")
    kernels = Kernels(select=select, update=update)
    _scratch = frozenset({"pool"})

    w: int = integer(200, minimum=2)
    b: float | None = number(None, minimum=0.0)
    gamma: float | None = number(None, minimum=0.0, maximum=1.0)
    changes: int = integer(1)
    reward_range: tuple[float, float] = unit_range()
    ties: str = tie_rule()

    def _validate(self) -> None:
        super()._validate()
        if self.w % 2:
            raise RisingBanditsError(f"w must be an even number, got {self.w}.")

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        rounds = float(horizon or 1)
        b = math.sqrt(self.w * math.log(2.0 * n_arms * rounds**2) / 2.0) if self.b is None else float(self.b)
        gamma = self.gamma
        if gamma is None:
            gamma = min(1.0, math.sqrt(self.changes * n_arms * (2.0 * b + 3.0 * math.sqrt(self.w)) / (2.0 * rounds)))
        low, width = reward_scale.low_and_width(self.reward_range)
        return State(
            w=int(self.w),
            b=b,
            every=_restarts.period(n_arms, float(gamma)),
            low=low,
            width=width,
            **recent_means.new_fields(n_arms, capacity),
            mean=np.full(n_arms, np.inf),
            root=np.zeros(n_arms),
            since=np.zeros(1, dtype=np.int64),
            changes=np.zeros(n_arms, dtype=np.int64),
        )

    def _make_room(self, state: Any, capacity: int) -> None:
        histories.make_room(state.pool, self.n_arms, capacity)

    def _parts(self, state: Any, t: int) -> dict[str, np.ndarray]:
        width = math.sqrt(2.0 * math.log(t - int(state.since[0])))
        return _restarts.parts(running_means.parts(state, width, seen=state.pulls > 0), state.changes)

    def _why_next(self, at: Moment) -> str:
        state = at.state
        return _restarts.why_next(at, state.every, at.t - int(state.since[0]), super()._why_next(at))
