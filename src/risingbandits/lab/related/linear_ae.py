"""R-ed-AE: drop the arms whose line cannot promise most any more, for rewards that rise linearly."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import interpreted, kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.lab.related import _least_squares as least_squares
from risingbandits.policies._kernels import noise, sweeps
from risingbandits.policies._settings import number
from risingbandits.policies.base import Kernels
from risingbandits.policies.explanation import Moment
from risingbandits.policies.registry import register


class State(NamedTuple):
    """What the policy knows."""

    horizon: int  # T
    log_factor: float  # log(4 K / delta)
    order: np.ndarray  # (K,) arms: played in this sweep, to be played, dropped (sweeps)
    place: np.ndarray  # (K,) where each arm is
    marks: np.ndarray
    pulls: np.ndarray  # (K,) n
    sums: np.ndarray  # (K, 2) S and J (least_squares)
    value: np.ndarray  # (K,) the mean of the line over the rounds left, when last compared; -inf before
    width: np.ndarray  # (K,) its width, +inf before the second pull
    noise: np.ndarray  # heard: the same (noise)
    heard: np.ndarray


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    return sweeps.next_in_order(state.order, state.marks, available)


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    noise.add(state, arm, reward)
    state.pulls[arm] += 1
    state.sums[arm, 0] += reward
    state.sums[arm, 1] += state.pulls[arm] * reward
    if sweeps.note(state.order, state.place, state.marks, arm):
        sweeps.begin(state.marks, _eliminate(state, float(max(state.horizon - t, 0))))


@kernel
def _eliminate(state: State, rest: float) -> int:
    """Keep the arm with the highest lower bound and all whose upper bound reaches it; return their number."""
    active = state.marks[sweeps.ACTIVE]
    highest = -math.inf
    for i in range(active):
        arm = state.order[i]
        _judge(state, arm, rest)
        highest = max(highest, state.value[arm] - state.width[arm])
    kept = 0
    for i in range(active):
        arm = state.order[i]
        if state.width[arm] == math.inf or state.value[arm] + state.width[arm] >= highest:
            sweeps.exchange(state.order, state.place, i, kept)
            kept += 1
    return kept


@kernel
def _judge(state: State, arm: int, rest: float) -> None:
    """The mean of the arm's line over its next ``rest`` pulls, and how wrong it may be."""
    n = float(state.pulls[arm])
    if n >= 2.0:
        middle = n + (rest + 1.0) / 2.0
        state.value[arm] = least_squares.value_at(n, state.sums[arm, 0], state.sums[arm, 1], middle)
        log = state.log_factor + 2.0 * math.log(n)
        state.width[arm] = noise.level(state) * math.sqrt(2.0 * log * least_squares.variance_at(n, middle))


@kernel
def recommend(state: State, t: int, known: Floats | None) -> int:
    """The active arm with the highest value, the lowest number among equals."""
    best = state.order[0]
    for i in range(1, state.marks[sweeps.ACTIVE]):
        arm = state.order[i]
        if state.value[arm] > state.value[best] or (state.value[arm] == state.value[best] and arm < best):
            best = arm
    return best


@register
class LinearAE(noise.NoisePolicy):
    r"""R-ed-AE: pull all arms in turn and drop those whose line cannot promise most any more in the rounds left.

    For rewards that rise linearly with an arm's own pulls, :math:`\mu_i(n) = L_i n + b_i` (Amichay and Mansour, 2025).
    From the paper: elimination of arms by confidence bounds of their lines, with regret that adapts to the slopes and
    intercepts. Its widths are not known here; ours are derived from the least-squares fit. An arm with n pulls that got
    the R rounds left would make pulls n+1 to n+R, so that its mean over them is the line at
    :math:`x = n + (R+1)/2`. The fit there is a weighted sum of the rewards, sub-Gaussian with the variance
    :math:`\sigma^2 v`, and all bounds

    .. math:: \hat L x + \hat b \pm \sigma \sqrt{2 v \log(4 K n^2 / \delta)}, \qquad
              v = \frac1n + \frac{12 (x - (n+1)/2)^2}{n (n^2 - 1)},

    hold for all arms and all n together with probability 1 - delta at least (a union bound, as sum 1/n^2 < 2). After a
    sweep over the active arms j is dropped when its upper bound is below the lower bound of another.

    Use it where arms rise linearly up to the end and differ much: it stops exploring as soon as they can be told apart,
    where `LinearEE` explores a fixed share. Arms that flatten break the model, and the bounds mean nothing.

    Parameters
    ----------
    delta : float or None
        Confidence, in (0, 1]; None: 1/T, our choice. With 0.1 the best arm is sometimes dropped.
    sigma : float or "auto"
        Sub-Gaussian scale of the noise; "auto" estimates it. By default the problem's in `simulate`, "auto" elsewhere.
        If rewards contradict a number above 0, a warning says so once; the number is kept.

    References
    ----------
    O. Amichay, Y. Mansour. Rising Rested MAB with Linear Drift. 2025, arXiv 2501.04403.
    """

    name = "linear-ae"
    summary = "drops arms by bounds of their lines, for rewards that rise linearly (R-ed-AE)"
    verified = "derived here"
    kernels = Kernels(select=select, update=update, recommend=recommend)
    needs_horizon = True

    delta: float | None = number(None, above=0.0, maximum=1.0)
    sigma: float | str | None = noise.setting()

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        rounds = horizon or 1
        delta = 1.0 / rounds if self.delta is None else float(self.delta)
        return State(
            horizon=rounds,
            log_factor=math.log(4.0 * n_arms / delta),
            **sweeps.new_fields(n_arms),
            sums=np.zeros((n_arms, 2)),
            value=np.full(n_arms, -np.inf),
            width=np.full(n_arms, np.inf),
            **self._noise_fields(n_arms),
        )

    def _why_kept(self, at: Moment) -> str:
        return "best line of the remaining arms"

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        value_at = interpreted(least_squares.value_at)
        level = [
            value_at(float(n), float(total), float(moment), float(n)) if n else np.nan
            for n, (total, moment) in zip(state.pulls, state.sums, strict=True)
        ]
        known = np.isfinite(state.width)
        mean = np.where(known, state.value, np.nan)
        width = np.where(known, state.width, np.nan)
        return {
            "level": np.array(level),
            "lower": mean - width,
            "upper": mean + width,
            "active": sweeps.active(state.place, state.marks),
        }
