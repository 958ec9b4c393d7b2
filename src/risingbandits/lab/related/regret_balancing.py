"""Regret balancing: learners with a claimed regret bound each share rounds so that the bounds stay equal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_finite, shown
from risingbandits._core.jit import kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies._kernels import reward_scale, sweeps
from risingbandits.policies._settings import number, setting, unit_range
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.explanation import Moment
from risingbandits.policies.registry import register


class State(NamedTuple):
    """What regret balancing knows."""

    c: float
    log_factor: float  # log(K / delta)
    low: float  # rewards x become (x - low) / width, clipped to [0, 1]
    width: float
    d: np.ndarray  # (K,)
    pulls: np.ndarray  # (K,)
    total: np.ndarray  # (K,)
    lower: np.ndarray  # (K,) mean - width; -inf without a reward
    upper: np.ndarray  # (K,) mean + d / sqrt(n) + width; +inf without a reward
    active: np.ndarray  # (K,) 1, or 0 for a base that was dropped


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    """The least d sqrt(n), of the active arms if one is available."""
    chosen = -1
    least = math.inf
    racing = 0
    for arm in range(state.d.shape[0]):
        if available is not None and not available[arm]:
            continue
        bound = state.d[arm] * math.sqrt(float(state.pulls[arm]))
        if chosen < 0 or state.active[arm] > racing or (state.active[arm] == racing and bound < least):
            chosen = arm
            least = bound
            racing = state.active[arm]
    return chosen


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    state.pulls[arm] += 1
    state.total[arm] += reward_scale.unit(reward, state.low, state.width)
    n = float(state.pulls[arm])
    mean = state.total[arm] / n
    width = state.c * math.sqrt((state.log_factor + math.log(max(math.log(n), 1.0))) / n)
    state.lower[arm] = mean - width
    state.upper[arm] = mean + state.d[arm] / math.sqrt(n) + width
    best = -math.inf
    for i in range(state.d.shape[0]):
        if state.active[i]:
            best = max(best, state.lower[i])
    for i in range(state.d.shape[0]):
        if state.upper[i] < best:
            state.active[i] = 0


@kernel
def recommend(state: State, t: int, known: Floats | None) -> int:
    """The active arm with the best mean."""
    chosen = -1
    best = -math.inf
    for arm in range(state.d.shape[0]):
        if state.active[arm] and state.pulls[arm] > 0:
            mean = state.total[arm] / state.pulls[arm]
            if chosen < 0 or mean > best:
                chosen = arm
                best = mean
    return max(chosen, 0)


def _check_d(name: str, value: Any) -> None:
    """Refuse what is neither a number above 0 nor a list of such."""
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        if not len(value):
            raise RisingBanditsError(f"{name} must have a number for each arm, got none.")
        for one in value:
            check_finite(name, one, above=0.0)
    else:
        check_finite(name, value, above=0.0)


@register
class RegretBalancing(Policy):
    r"""Regret balancing: pull the learner whose claimed regret so far is least, drop those that break their claim.

    The base learners are the arms. Base i claims that its regret over n pulls is at most :math:`R_i(n) = d_i \sqrt n`,
    against the best mean that any base reaches. The active base with the least :math:`R_i(N_i)` is pulled, the lowest
    number of equals, so that the claims stay balanced. After each reward, with the mean :math:`\bar x_i` of the rewards
    of a base and :math:`w_i = c \sqrt{\log(K \log(N_i) / \delta) / N_i}`, every active i is dropped with

    .. math:: \bar x_i + \frac{R_i(N_i)}{N_i} + w_i < \max_{j \text{ active}} (\bar x_j - w_j):

    if its claim were true, its rewards could not be so low.

    From the papers (Abbasi-Yadkori, Pacchiano and Phan, 2020; with the elimination, Pacchiano, Dann, Gentile and
    Bartlett, 2020): all of this, for any R. Choices of ours: arms as bases, :math:`R_i(n) = d_i \sqrt n` with d = 1 for
    all, which pulls the active arms in turn; log n counts as 1 where it is less; and ``c`` and ``delta``, of which the
    papers say that c is a constant.

    Use it where it is known how far learners lag behind what they become: an arm whose curve is d / (2 sqrt(n))
    below its limit or less keeps the claim d. It does not extrapolate: a slow starter breaks its claim and is dropped
    for good.

    Parameters
    ----------
    d : float or sequence of float
        The claims, above 0: one for all arms, or one each. A base with twice the claim gets a quarter of the pulls.
    c : float
        Factor of the width of the confidence intervals, at least 0.
    delta : float
        Chance of dropping a base that keeps its claim, in (0, 1].
    reward_range : (float, float)
        Rewards between these two are mapped to [0, 1]; what lies outside is clipped.

    References
    ----------
    A. Pacchiano, C. Dann, C. Gentile, P. Bartlett. Regret Bound Balancing and Elimination for Model Selection in
    Bandits and RL. 2020.
    Y. Abbasi-Yadkori, A. Pacchiano, M. Phan. Regret Balancing for Bandit and RL Model Selection. 2020.
    """

    name = "regret-balancing"
    summary = "learners share rounds by their claimed regret and are dropped if they break the claim"
    verified = "published definition"
    kernels = Kernels(select=select, update=update, recommend=recommend)

    d: float | Sequence[float] = setting(1.0, _check_d)
    c: float = number(1.0, minimum=0.0)
    delta: float = number(0.05, above=0.0, maximum=1.0)
    reward_range: tuple[float, float] = unit_range()

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        claims = np.atleast_1d(np.asarray(self.d, dtype=np.float64))
        if claims.size not in (1, n_arms) or (claims.size != n_arms and np.ndim(self.d)):
            raise RisingBanditsError(f"d must be one number, or {n_arms}, one for each arm, got {shown(self.d)}.")
        low, width = reward_scale.low_and_width(self.reward_range)
        return State(
            c=float(self.c),
            log_factor=math.log(n_arms / self.delta),
            low=low,
            width=width,
            d=np.broadcast_to(claims, n_arms).copy(),
            pulls=np.zeros(n_arms, dtype=np.int64),
            total=np.zeros(n_arms),
            lower=np.full(n_arms, -np.inf),
            upper=np.full(n_arms, np.inf),
            active=np.ones(n_arms, dtype=np.int64),
        )

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        seen = state.pulls > 0
        return {
            "level": sweeps.means(state.total, state.pulls),
            "claim": state.d * np.sqrt(state.pulls),
            "lower": np.where(seen, state.lower, np.nan),
            "upper": np.where(seen, state.upper, np.nan),
            "active": state.active.astype(np.float64),
        }

    def _why_next(self, at: Moment) -> str:
        left = int(at.parts["active"].sum())
        if not at.pulls[at.arm] or left == 1 or not at.parts["active"][at.arm]:
            return super()._why_next(at)
        return f"least claimed regret {at.parts['claim'][at.arm]:.4g} of the {left} remaining arms"
