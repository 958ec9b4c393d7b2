"""Explore-then-commit and REST-SURE: arms whose losses fall like a known power of the pulls."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies._kernels import recent_means, sweeps
from risingbandits.policies._settings import number
from risingbandits.policies.base import Kernels
from risingbandits.policies.explanation import Moment
from risingbandits.policies.registry import register

LIMIT, RISE, NOW, END = 0, 1, 2, 3  # columns of `curve`
_ALL, _HALF = 0, 1  # columns of `powers`


class State(NamedTuple):
    """What both policies know."""

    horizon: int  # T
    rho: float
    width: float  # what CB multiplies L/n + sqrt(L/n) by
    log_odds: float  # log(K T / delta)
    order: np.ndarray  # (K,) arms: played in this sweep, to be played, dropped (sweeps)
    place: np.ndarray  # (K,) where each arm is
    marks: np.ndarray
    pulls: np.ndarray  # (K,) pulls n; total, pool, places: recent means (recent_means)
    total: np.ndarray
    pool: np.ndarray
    places: np.ndarray
    powers: np.ndarray  # (K, 2) sums of s^-rho over the arm's pulls, and over the first half of them
    curve: np.ndarray  # (K, 4) the fit: limit - rise n^-rho; what it says of now, and of the end if all else goes to it


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    return sweeps.next_in_order(state.order, state.marks, available)


@kernel
def update_etc(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    _fit(state, arm, recent_means.add(state, arm, reward))
    if state.marks[sweeps.ACTIVE] > 1 and sweeps.note(state.order, state.place, state.marks, arm):
        _look_ahead(state, t)
        if not _commit_to_leader(state):
            sweeps.begin(state.marks, state.marks[sweeps.ACTIVE])


@kernel
def update_rest_sure(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    _fit(state, arm, recent_means.add(state, arm, reward))
    if state.marks[sweeps.ACTIVE] > 1 and sweeps.note(state.order, state.place, state.marks, arm):
        _look_ahead(state, t)
        if not (_commit_to_leader(state) or _commit_as_learning_costs_more(state, t)):
            sweeps.begin(state.marks, _eliminate(state))


@kernel
def _power(state: State, n: float) -> float:
    return math.exp(-state.rho * math.log(n))


@kernel
def _fit(state: State, arm: int, n: int) -> None:
    """The curve through the means of both halves of the n rewards; of an odd number the middle one is left out."""
    state.powers[arm, _ALL] += _power(state, n)
    if n == 1:
        state.curve[arm, LIMIT] = state.total[arm]
        return
    half = n // 2
    if n == 2 * half:
        state.powers[arm, _HALF] += _power(state, half)
    start = state.places[arm, 0]
    begin = n - half  # the second half are the pulls after this one
    first = state.pool[start + half] / half
    second = (state.total[arm] - state.pool[start + begin]) / half
    until = state.powers[arm, _HALF] + (_power(state, begin) if begin > half else 0.0)
    first_power = state.powers[arm, _HALF] / half
    second_power = (state.powers[arm, _ALL] - until) / half
    rise = (second - first) / (first_power - second_power)
    state.curve[arm, RISE] = rise
    state.curve[arm, LIMIT] = first + rise * first_power


@kernel
def _at(state: State, arm: int, n: float) -> float:
    return state.curve[arm, LIMIT] - state.curve[arm, RISE] * _power(state, max(n, 1.0))


@kernel
def _left(state: State, t: int) -> int:
    return max(state.horizon - t, 0)


@rare_kernel
def _look_ahead(state: State, t: int) -> None:
    """What every arm is worth now, and after all pulls that are left."""
    for arm in range(state.pulls.shape[0]):
        state.curve[arm, NOW] = _at(state, arm, state.pulls[arm])
        state.curve[arm, END] = _at(state, arm, state.pulls[arm] + _left(state, t))


@kernel
def _two_bounds(state: State) -> float:
    """2 CB(n) at the fewest pulls of an active arm that has a fit; +inf where none has."""
    fewest = 0
    for i in range(state.marks[sweeps.ACTIVE]):
        n = state.pulls[state.order[i]]
        if n >= 2 and (fewest == 0 or n < fewest):
            fewest = n
    return 2.0 * _bound(state, fewest) if fewest > 0 else math.inf


@kernel
def _bound(state: State, n: float) -> float:
    share = (math.log(n) + state.log_odds) / n
    return state.width * (share + math.sqrt(share))


@kernel
def _commit(state: State, arm: int) -> None:
    sweeps.exchange(state.order, state.place, state.place[arm], 0)
    sweeps.begin(state.marks, 1)


@rare_kernel
def _commit_to_leader(state: State) -> bool:
    """Whether one arm ends above all others by more than 2 CB; it is then the only one left."""
    leader = -1
    second = -math.inf
    for i in range(state.marks[sweeps.ACTIVE]):
        arm = state.order[i]
        if state.pulls[arm] < 2:
            return False  # anything may be expected of it
        value = state.curve[arm, END]
        if leader < 0 or value > state.curve[leader, END]:
            second = state.curve[leader, END] if leader >= 0 else second
            leader = arm
        elif value > second:
            second = value
    if state.curve[leader, END] - second > _two_bounds(state):
        _commit(state, leader)
        return True
    return False


@rare_kernel
def _commit_as_learning_costs_more(state: State, t: int) -> bool:
    """Whether one more sweep lowers the best end by more than 2 CB; the arm that is best as it is then is left."""
    active = state.marks[sweeps.ACTIVE]
    leader = -1
    later = -math.inf
    for i in range(active):
        arm = state.order[i]
        if state.pulls[arm] < 2:
            return False
        if leader < 0 or state.curve[arm, END] > state.curve[leader, END]:
            leader = arm
        later = max(later, _at(state, arm, state.pulls[arm] + _left(state, t) - (active - 1)))
    if state.curve[leader, END] - later > _two_bounds(state):
        _commit(state, leader)
        return True
    return False


@rare_kernel
def _eliminate(state: State) -> int:
    """Keep the arms that no other beats by more than 2 CB now and at the end, and those without a fit; their number.

    The difference of two curves with the same power rises or falls all the way: what holds at both ends holds between.
    """
    bounds = _two_bounds(state)
    active = state.marks[sweeps.ACTIVE]
    kept = 0
    for i in range(active):
        arm = state.order[i]
        beaten = False
        for j in range(active):
            other = state.order[j]
            if state.pulls[arm] >= 2 and state.pulls[other] >= 2:
                now = state.curve[other, NOW] - state.curve[arm, NOW]
                end = state.curve[other, END] - state.curve[arm, END]
                beaten = beaten or (now > bounds and end > bounds)
        if not beaten:
            sweeps.exchange(state.order, state.place, i, kept)
            kept += 1
    return kept


@kernel
def recommend(state: State, t: int, known: Floats | None) -> int:
    """The active arm that ends highest, as far as it was pulled."""
    best = -math.inf
    chosen = state.order[0]
    for i in range(state.marks[sweeps.ACTIVE]):
        arm = state.order[i]
        if state.pulls[arm] > 0:
            value = _at(state, arm, state.pulls[arm] + _left(state, t))
            if value > best or (value == best and arm < chosen):
                best = value
                chosen = arm
    return chosen


@register
class CellaETC(recent_means.RecentPolicy):
    r"""Explore, then commit, for losses that fall like a known power of the pulls.

    The loss of an arm at its n-th pull is :math:`\alpha n^{-\rho} + \beta` with a known :math:`\rho` and
    :math:`\alpha \le U` (Cella, Pontil and Gentile, 2021); here rewards are maximised, so that an arm rises towards a
    limit. With :math:`\hat X` and :math:`\tilde X` the means of the first and the second half of n rewards, and
    :math:`S_1` and :math:`S_2` the sums of :math:`s^{-\rho}` over their pulls,

    .. math:: \hat\alpha = \frac{n}{2} \, \frac{\tilde X - \hat X}{S_1 - S_2}, \qquad
              \hat\mu(m) = \hat X + \hat\alpha \Big( \frac{2 S_1}{n} - m^{-\rho} \Big), \qquad
              CB(n) = \frac{10 (\sqrt U + 1)^2}{\rho (1 - \rho)} \Big( \frac{L}{n} + \sqrt{\frac{L}{n}} \Big),

    with :math:`L = \log(n K T / \delta)`. All arms are pulled in turn, until after :math:`\tau` sweeps one arm's
    :math:`\hat\mu(T - \tau (K - 1))`, its level at the end if it gets all pulls that are left, is more than
    :math:`2 CB(\tau)` above every other's: it gets them.

    From the paper: the model, the estimates, CB, :math:`\delta = 1/T` and the rule. Ours: of an odd number of rewards
    the middle one is left out; arms whose pulls differ (some were not available) are compared at what each would end
    with, CB at the fewest of their pulls; an arm with fewer than two pulls is not judged, and holds a commitment up;
    without one, the arm with the best :math:`\hat\mu` is recommended. And ``scale``: the printed factor, at least 160
    for U = 1, is made for a proof. Two arms whose ends are 1 apart, the most there can be, are told apart after 5.5
    million pulls each (T = 100 million), so that in runs of any usual length this is round robin with a recommendation.

    Use it where the power is known, with a small scale. Curves of another form mislead it however much it sees.

    Parameters
    ----------
    rho : float
        The power, in (0, 1). The default 1/2, where the printed factor is smallest, is ours.
    U : float
        The most that an arm rises, the bound of alpha. 1 for rewards in [0, 1].
    delta : float or None
        Risk, in (0, 1). None: 1 / T.
    scale : float
        What the printed CB is multiplied by. 1: as printed.

    References
    ----------
    L. Cella, M. Pontil, C. Gentile. Best Model Identification: A Rested Bandit Formulation. ICML 2021.
    """

    name = "cella-etc"
    summary = "every arm in turn until one surely ends highest (losses fall like a known power)"
    verified = "published definition"
    needs_horizon = True
    _scratch = frozenset({"pool"})
    kernels = Kernels(select=select, update=update_etc, recommend=recommend)

    rho: float = number(0.5, above=0.0, below=1.0)
    U: float = number(1.0, minimum=0.0)
    delta: float | None = number(None, above=0.0, below=1.0)
    scale: float = number(1.0, above=0.0)

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        rounds = horizon or 1
        delta = 1.0 / rounds if self.delta is None else float(self.delta)
        printed = 10.0 * (math.sqrt(self.U) + 1.0) ** 2 / (self.rho * (1.0 - self.rho))
        return State(
            horizon=rounds,
            rho=float(self.rho),
            width=float(self.scale) * printed,
            log_odds=math.log(n_arms * rounds / delta),
            **{**sweeps.new_fields(n_arms), **recent_means.new_fields(n_arms, capacity)},
            powers=np.zeros((n_arms, 2)),
            curve=np.zeros((n_arms, 4)),
        )

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        n = np.maximum(state.pulls, 1).astype(np.float64)
        end = n + max(state.horizon - (t - 1), 0)
        limit, rise = state.curve[:, LIMIT], state.curve[:, RISE]
        share = (np.log(n) + state.log_odds) / n
        columns = {
            "level": limit - rise * n**-state.rho,
            "final": limit - rise * end**-state.rho,
            "width": state.width * (share + np.sqrt(share)),
        }
        known = {name: np.where(state.pulls > 0, values, np.nan) for name, values in columns.items()}
        return {**known, "active": sweeps.active(state.place, state.marks)}

    def _why_kept(self, at: Moment) -> str:
        left = int(at.state.marks[sweeps.ACTIVE])
        place = f"the best of the {left} remaining arms" if left > 1 else "the only remaining arm"
        return f"predicted end {at.level('final')}, {place}"


@register
class RestSure(CellaETC):
    r"""REST-SURE: as `CellaETC`, but arms that another beats all the way are dropped, and it stops when learning costs.

    The estimates and CB are those of `CellaETC` (Cella, Pontil and Gentile, 2021). After :math:`\tau` sweeps over the
    arms A that are left, t rounds in all, with :math:`m = T + \tau - t`, the pulls that an arm could still come to,

    - an arm whose :math:`\hat\mu(m)` is more than :math:`2 CB(\tau)` above every other's gets all pulls that are left;
    - so does the best one when :math:`\max \hat\mu(m) - \max \hat\mu(m - |A| + 1) > 2 CB(\tau)`: one more sweep, which
      costs it :math:`|A| - 1` pulls, would cost more than it can teach;
    - i is dropped when some j has :math:`\hat\mu_j(m') - \hat\mu_i(m') > 2 CB(\tau)` for all m' from :math:`\tau` to m.

    From the paper: the three rules. Derived: the difference of two such curves rises or falls all the way, so that the
    third needs the two ends only. Ours: the second takes the best arm, where the program that Mussi et al. (2024)
    compared with draws one; and what `CellaETC` says, above all of ``scale``.

    Use it instead of `CellaETC`, above all where there are many arms, since bad ones go early. The parameters are those
    of `CellaETC`.

    References
    ----------
    L. Cella, M. Pontil, C. Gentile. Best Model Identification: A Rested Bandit Formulation. ICML 2021.

    M. Mussi, A. Montenegro, F. Trovo, M. Restelli, A. M. Metelli. Best Arm Identification for Stochastic Rising
    Bandits. ICML 2024.
    """

    name = "rest-sure"
    summary = "drops arms that surely end lower, stops when learning costs more (losses fall like a known power)"
    verified = "published definition"
    kernels = Kernels(select=select, update=update_rest_sure, recommend=recommend)
