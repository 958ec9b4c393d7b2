"""Elimination of arms that can no longer win: for improving arms without noise."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies._kernels import sweeps
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.registry import register
from risingbandits.policies.settings import number


class State(NamedTuple):
    """What the policy knows."""

    horizon: int  # T
    ceiling: float
    order: np.ndarray  # (K,) arms: played in this sweep, to be played, dropped (sweeps)
    place: np.ndarray  # (K,) where each arm is
    marks: np.ndarray
    pulls: np.ndarray  # (K,) pulls n
    total: np.ndarray  # (K,) F, sum of the rewards
    last: np.ndarray  # (K,) f(n), the last reward
    lower: np.ndarray  # (K,) L, -inf before the second pull
    upper: np.ndarray  # (K,) U, +inf before the second pull


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    return sweeps.next_in_order(state.order, state.marks, available)


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    state.pulls[arm] += 1
    state.total[arm] += reward
    if state.pulls[arm] >= 2:
        _bound(state, arm, reward, reward - state.last[arm])
    state.last[arm] = reward
    if sweeps.note(state.order, state.place, state.marks, arm):
        sweeps.begin(state.marks, _eliminate(state))


@kernel
def _bound(state: State, arm: int, now: float, slope: float) -> None:
    """What the arm would earn: at least, if it stayed at f(n); at most, if it kept its last slope up to the ceiling.

    U = F + sum over s = 1..T-n of min(ceiling, f(n) + s slope), in closed form.
    """
    left = max(float(state.horizon - state.pulls[arm]), 0.0)
    earned = state.total[arm]
    state.lower[arm] = earned + left * now
    if now >= state.ceiling:
        rising = 0.0
    elif slope * left <= state.ceiling - now:
        rising = left
    else:
        rising = float(math.floor((state.ceiling - now) / slope))
    slope = max(slope, 0.0)
    state.upper[arm] = earned + rising * now + slope * rising * (rising + 1.0) / 2.0 + (left - rising) * state.ceiling


@kernel
def _eliminate(state: State) -> int:
    """Keep the arm with the highest L and all whose U is above it; return their number."""
    best = sweeps.highest(state.order, state.marks, state.lower)
    kept = 0
    for i in range(state.marks[sweeps.ACTIVE]):
        arm = state.order[i]
        if arm == best or state.lower[best] < state.upper[arm]:
            sweeps.exchange(state.order, state.place, i, kept)
            kept += 1
    return kept


@kernel
def recommend(state: State, t: int, known: Floats | None) -> int:
    return sweeps.highest(state.order, state.marks, state.lower)


@register
class ImprovingElimination(Policy):
    r"""Pull all arms in turn and drop those that can no longer earn the most.

    For rewards without noise that rise ever more slowly up to a known ceiling. With F the sum of an arm's n rewards,
    f(n) the last one and :math:`\gamma = f(n) - f(n-1)`, the arm earns in T pulls between

    .. math:: L = F + (T - n) f(n) \quad\text{and}\quad U = F + \sum_{s=1}^{T-n} \min(1, f(n) + s \gamma).

    After each sweep over the active arms j is dropped when :math:`L_i \ge U_j` for some i (Heidari, Kearns and Roth,
    2016). What is left in the end is pulled for the rest of the horizon.

    Use it for deterministic learning curves. With noise the last two rewards say nothing about the slope, and good
    arms are dropped by chance: use `CashElimination` with a window, or an index policy.

    Parameters
    ----------
    ceiling : float
        The most that a pull can earn, which caps U. 1 for rewards in [0, 1].

    References
    ----------
    H. Heidari, M. Kearns, A. Roth. Tight Policy Regret Bounds for Improving and Decaying Bandits. IJCAI 2016.

    Examples
    --------
    >>> policy = ImprovingElimination().reset(n_arms=2, horizon=100)
    >>> for _ in range(100):
    ...     arm = policy.ask()
    ...     n = policy.pulls[arm] + 1
    ...     policy.tell(arm, [0.3 * n / (n + 1), 0.9 * n / (n + 5)][arm])
    >>> policy.recommend(), policy.explain()["active"].tolist()
    (1, [0.0, 1.0])
    """

    name = "improving-elimination"
    summary = "drops arms that cannot win any more (rewards without noise)"
    verified = "published definition"
    keeps = "would earn most if every arm stayed as it is"
    kernels = Kernels(select=select, update=update, recommend=recommend)
    needs_horizon = True

    ceiling: float = number(1.0)

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        return State(
            horizon=horizon or 1,
            ceiling=float(self.ceiling),
            **sweeps.new_fields(n_arms),
            total=np.zeros(n_arms),
            last=np.zeros(n_arms),
            lower=np.full(n_arms, -np.inf),
            upper=np.full(n_arms, np.inf),
        )

    def parts(self, state: Any, t: int) -> dict[str, Floats]:
        return {
            "level": np.where(state.pulls > 0, state.last, np.nan),
            "lower": state.lower.copy(),
            "upper": state.upper.copy(),
            "active": sweeps.active(state.place, state.marks),
        }
