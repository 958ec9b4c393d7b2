"""RC-BE: elimination within windows that grow, for concave arms that rise with time (restless)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies._kernels import noise, sweeps
from risingbandits.policies._settings import number
from risingbandits.policies.base import Kernels
from risingbandits.policies.explanation import Moment
from risingbandits.policies.registry import register

_CEIL_SLACK = 1e-12  # of its size: w^alpha is meant exactly, 8^(8/3) is 256
_WINDOW, _LEFT, _LENGTH = 0, 1, 2  # places in ``clock``


class State(NamedTuple):
    """What RC-BE knows of the window that it is in."""

    alpha: float
    order: np.ndarray  # (K,) arms: played in this sweep, to be played, dropped (sweeps)
    place: np.ndarray  # (K,) where each arm is
    marks: np.ndarray
    pulls: np.ndarray  # (K,) rewards in this window
    total: np.ndarray  # (K,) S, their sum
    clock: np.ndarray  # (3,) w, the number of this window; the rounds that it still has; its rounds in all
    noise: np.ndarray  # heard: the same (noise)
    heard: np.ndarray


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    return sweeps.next_in_order(state.order, state.marks, available)


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    noise.add(state, arm, reward)
    state.pulls[arm] += 1
    state.total[arm] += reward
    state.clock[_LEFT] -= 1
    if state.clock[_LEFT] == 0:
        _next_window(state)
    elif sweeps.note(state.order, state.place, state.marks, arm):
        sweeps.begin(state.marks, _eliminate(state))


@kernel
def window_length(w: int, alpha: float) -> int:
    """ceil(w^alpha)."""
    return math.ceil(math.pow(float(w), alpha) * (1.0 - _CEIL_SLACK))


@kernel
def budget_of(length: int, n_arms: int, sigma: float) -> float:
    """2 (1 + 2 sigma sqrt(D ln(2 K D))) for a window of D rounds."""
    return 2.0 * (1.0 + 2.0 * sigma * math.sqrt(length * math.log(2.0 * n_arms * length)))


@rare_kernel
def _next_window(state: State) -> None:
    """All arms are active again, in their first order, and nothing is known."""
    n_arms = state.pulls.shape[0]
    for arm in range(n_arms):
        state.pulls[arm] = 0
        state.total[arm] = 0.0
        state.order[arm] = arm
        state.place[arm] = arm
    sweeps.begin(state.marks, n_arms)
    state.clock[_WINDOW] += 1
    length = window_length(state.clock[_WINDOW], state.alpha)
    state.clock[_LEFT] = length
    state.clock[_LENGTH] = length


@kernel
def _eliminate(state: State) -> int:
    """Keep the arms whose sum is at most B behind the highest; return their number.

    An arm that could not be played in every sweep is compared with what the leader has on average in as many pulls.
    """
    active = state.marks[sweeps.ACTIVE]
    lead, lead_pulls = -math.inf, 1.0
    for i in range(active):
        arm = state.order[i]
        if state.pulls[arm] > 0 and state.total[arm] * lead_pulls > lead * state.pulls[arm]:
            lead, lead_pulls = state.total[arm], float(state.pulls[arm])
    budget = budget_of(state.clock[_LENGTH], state.pulls.shape[0], noise.level(state))
    kept = 0
    for i in range(active):
        arm = state.order[i]
        if (state.total[arm] + budget) * lead_pulls >= lead * state.pulls[arm]:
            sweeps.exchange(state.order, state.place, i, kept)
            kept += 1
    return kept


@register
class RCBE(noise.NoisePolicy):
    r"""RC-BE(alpha): in windows that grow, pull all arms in turn and drop those that fall behind; then begin anew.

    For restless arms: their means rise with time, pulled or not, ever more slowly. Window w = 1, 2, ... has
    :math:`\Delta_w = \lceil w^\alpha \rceil` rounds. In it all arms are active at first, :math:`S_i` is the sum of the
    rewards of arm i in the window, and after every sweep over the active arms i is dropped when

    .. math:: S_i + B_w < \max_j S_j, \qquad B_w = 2 \Big( 1 + 2 \sigma \sqrt{\Delta_w \ln(2 K \Delta_w)} \Big).

    All of this is from the paper (Migali, Genalti, Mussi and Metelli, 2025), of which no more is known here; its regret
    for alpha = 8/3 is :math:`\tilde O(T^{7/11})`. Our choice: an arm that was not available in every sweep is compared
    with what the leader has on average in as many pulls. It needs no horizon. Rewards are meant to be in [0, 1] up to
    their noise.

    Use it for arms that rise with time (``RisingBandit(..., restless=True)``). With arms that rise when they are pulled
    it is a baseline: what was learnt is forgotten after each window, and the arm that leads now wins. The budget is a
    sum of rewards, so arms that are close are told apart only in long windows.

    Parameters
    ----------
    alpha : float
        Growth of the windows, above 0. Default 8/3, the paper's.
    sigma : float or "auto"
        Sub-Gaussian scale of the noise; "auto" estimates it. By default the problem's in `simulate`, "auto" elsewhere.
        If rewards contradict a number above 0, a warning says so once; the number is kept.

    References
    ----------
    Migali, G. Genalti, M. Mussi, A. M. Metelli. On restless rising bandits with concave means, 2025; known here by its
    algorithm and its bounds alone.
    """

    name = "rc-be"
    summary = "elimination in windows that grow, for arms that rise with time (restless)"
    verified = "derived here"
    kernels = Kernels(select=select, update=update)

    alpha: float = number(8.0 / 3.0, above=0.0, maximum=10.0)
    sigma: float | str | None = noise.setting()

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        return State(
            alpha=float(self.alpha),
            **sweeps.new_fields(n_arms),
            total=np.zeros(n_arms),
            clock=np.ones(3, dtype=np.int64),  # the first window is one round
            **self._noise_fields(n_arms),
        )

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        return {"level": sweeps.means(state.total, state.pulls), "active": sweeps.active(state.place, state.marks)}

    def _why_next(self, at: Moment) -> str:
        return f"{super()._why_next(at)}, window {at.state.clock[_WINDOW]}"
