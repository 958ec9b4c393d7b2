"""The rising bandit for choosing an algorithm and its settings: elimination by extrapolated best results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_finite, shown
from risingbandits._core.jit import kernel, plain
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies._kernels import sweeps
from risingbandits.policies._settings import integer, number, setting
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.explanation import Moment
from risingbandits.policies.registry import register


class State(NamedTuple):
    """What the policy knows."""

    budget: float  # B
    ceiling: float
    costs: np.ndarray  # (K,) c, cost of a pull
    spent: np.ndarray  # (1,)
    order: np.ndarray  # (K,) arms: played in this sweep, to be played, dropped (sweeps)
    place: np.ndarray  # (K,) where each arm is
    marks: np.ndarray
    pulls: np.ndarray  # (K,) pulls n
    best: np.ndarray  # (K,) y(n), the best reward so far
    earlier: np.ndarray  # (K, C) y(n-C), ..., y(n-1), pull n in column n mod C


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    return sweeps.next_in_order(state.order, state.marks, available)


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    window = state.earlier.shape[1]
    if state.pulls[arm] > 0:
        state.earlier[arm, state.pulls[arm] % window] = state.best[arm]
    state.pulls[arm] += 1
    state.best[arm] = max(state.best[arm], reward)
    state.spent[0] += state.costs[arm]
    if sweeps.note(state.order, state.place, state.marks, arm):
        sweeps.begin(state.marks, _eliminate(state))


@kernel
def _upper(state: State, arm: int) -> float:
    """u = min(y + w B' / c, ceiling), with the slope w of the last C pulls; the ceiling before there are C."""
    window = state.earlier.shape[1]
    n = state.pulls[arm]
    if n <= window:
        return max(state.ceiling, state.best[arm])
    slope = (state.best[arm] - state.earlier[arm, n % window]) / window
    left = max(state.budget - state.spent[0], 0.0)
    return min(state.best[arm] + slope * left / state.costs[arm], max(state.ceiling, state.best[arm]))


@kernel
def _eliminate(state: State) -> int:
    """Keep the arm with the best result and all that may still beat it; return their number."""
    best = sweeps.highest(state.order, state.marks, state.best)
    kept = 0
    for i in range(state.marks[sweeps.ACTIVE]):
        arm = state.order[i]
        if arm == best or state.best[best] < _upper(state, arm):
            sweeps.exchange(state.order, state.place, i, kept)
            kept += 1
    return kept


@kernel
def recommend(state: State, t: int, known: Floats | None) -> int:
    return sweeps.highest(state.order, state.marks, state.best)


def _check_costs(name: str, costs: Any) -> None:
    if np.ndim(costs) != 1 or len(costs) == 0:
        raise RisingBanditsError(f"{name} must be one number per arm, got {shown(costs)}.")
    for arm, cost in enumerate(costs):
        check_finite(f"{name}[{arm}]", cost, above=0.0)


@register
class CashElimination(Policy):
    r"""Pull all arms in turn; drop those whose best result, extrapolated, stays below what another has reached.

    An arm's result is the best reward of its n pulls, :math:`y(n)`, as in a search that keeps the best configuration.
    With the slope :math:`w = (y(n) - y(n-C)) / C` its results at the end lie between

    .. math:: l = y(n) \quad\text{and}\quad u = \min(y(n) + w (T - t), 1),

    and after a sweep over the active arms j is dropped when :math:`l_i \ge u_j` for some i (Li et al., 2020). With
    costs :math:`u = \min(y(n) + w B' / c, 1)`, where B' is what is left of the budget and c the cost of a pull.

    Use it for the combined choice of an algorithm and its settings, where the best result counts and not the sum. The
    best of many noisy rewards is not their mean: with much noise all arms look good and one lucky pull decides.

    Parameters
    ----------
    window : int
        C, the pulls between the two results of the slope: more smooth the noise, fewer see a bend sooner. Default 7.
    costs : sequence of float or None
        Mean cost of a pull of each arm, above 0. None: all cost the same, and the budget is in pulls.
    budget : float or None
        B, in the units of the costs. None: the horizon times the mean of the costs.
    ceiling : float
        The best possible result; 1 for rewards in [0, 1].

    References
    ----------
    Y. Li, J. Jiang, J. Gao, Y. Shao, C. Zhang, B. Cui. Efficient Automatic CASH via Rising Bandits. AAAI 2020.
    """

    name = "cash-elimination"
    summary = "drops arms whose best result, extrapolated, stays below another's; knows costs"
    verified = "published definition"
    needs_horizon = ("budget",)
    kernels = Kernels(select=select, update=update, recommend=recommend)
    objective = "best-arm"

    window: int = integer(7)
    costs: Sequence[float] | None = setting(None, _check_costs)
    budget: float | None = number(None, above=0.0)
    ceiling: float = number(1.0)

    def __post_init__(self) -> None:
        if isinstance(self.costs, list):
            self.costs = tuple(self.costs)

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        costs = np.ones(n_arms) if self.costs is None else np.array(self.costs, dtype=np.float64)
        if costs.shape != (n_arms,):
            raise RisingBanditsError(f"costs must be {n_arms} numbers, one per arm, got {len(costs)}.")
        return State(
            budget=float((horizon or 1) * costs.mean() if self.budget is None else self.budget),
            ceiling=float(self.ceiling),
            costs=costs,
            spent=np.zeros(1),
            **sweeps.new_fields(n_arms),
            best=np.full(n_arms, -np.inf),
            earlier=np.zeros((n_arms, int(self.window))),
        )

    def _why_kept(self, at: Moment) -> str:
        return "best result so far"

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        seen = state.pulls > 0
        upper = np.array([plain(_upper)(state, arm) for arm in range(len(seen))])
        return {
            "level": np.where(seen, state.best, np.nan),
            "upper": upper,
            "active": sweeps.active(state.place, state.marks),
        }
