"""Hyperband: successive halving several times, from many short trials to few long ones."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies._kernels import recent_means
from risingbandits.policies._settings import integer, number
from risingbandits.policies.base import Kernels
from risingbandits.policies.explanation import Moment, counted
from risingbandits.policies.registry import register

# Columns of `rungs`: arms that enter here (0: the best of the last rung go on), arms in the rung, pulls of each.
_ENTERING, _ARMS, _TARGET = 0, 1, 2
# Places of `marks`: arms in the rung, the next rung, rewards until this one ends, the arm that enters next, whose turn.
_ACTIVE, _NEXT_RUNG, _DUE, _NEXT_ARM, _TURN = 0, 1, 2, 3, 4


class State(NamedTuple):
    """What Hyperband knows."""

    share: float
    rungs: np.ndarray  # (R, 3) the schedule
    active: np.ndarray  # (K,) the arms of the present rung first
    value: np.ndarray  # (K,) their recent means when they were last compared
    marks: np.ndarray  # (5,)
    pulls: np.ndarray  # (K,), total, pool, places: recent means (recent_means)
    total: np.ndarray
    pool: np.ndarray
    places: np.ndarray


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    if available is None:
        return state.marks[_TURN]
    return _among(state, available)


@rare_kernel
def _among(state: State, available: Any) -> int:
    """An available arm that the rung needs, or one of the rung, or the one with the fewest pulls."""
    target = state.rungs[state.marks[_NEXT_RUNG] - 1, _TARGET]
    fallback = -1
    for i in range(state.marks[_ACTIVE]):
        arm = state.active[i]
        if available[arm]:
            if state.pulls[arm] < target:
                return arm
            if fallback < 0:
                fallback = arm
    if fallback >= 0:
        return fallback
    for arm in range(state.pulls.shape[0]):
        if available[arm] and (fallback < 0 or state.pulls[arm] < state.pulls[fallback]):
            fallback = arm
    return fallback


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    n = recent_means.add(state, arm, reward)
    marks = state.marks
    marks[_DUE] -= 1
    if marks[_DUE] <= 0 or arm != marks[_TURN] or n >= state.rungs[marks[_NEXT_RUNG] - 1, _TARGET]:
        _move_on(state)


@rare_kernel
def _move_on(state: State) -> None:
    """End the rungs that are over, and find the next arm."""
    marks = state.marks
    while marks[_DUE] <= 0 and marks[_NEXT_RUNG] < state.rungs.shape[0]:
        _begin_rung(state)
    target = state.rungs[marks[_NEXT_RUNG] - 1, _TARGET]
    for i in range(marks[_ACTIVE]):
        if state.pulls[state.active[i]] < target and marks[_DUE] > 0:
            marks[_TURN] = state.active[i]
            return
    marks[_TURN] = recent_means.best(state, None)  # others than asked were pulled, or all is done


@rare_kernel
def _begin_rung(state: State) -> None:
    marks = state.marks
    rung = marks[_NEXT_RUNG]
    marks[_NEXT_RUNG] += 1
    wanted = state.rungs[rung, _ARMS]
    if state.rungs[rung, _ENTERING] > 0:
        for i in range(wanted):
            state.active[i] = marks[_NEXT_ARM]
            marks[_NEXT_ARM] = (marks[_NEXT_ARM] + 1) % state.pulls.shape[0]
    else:
        _keep_best(state, wanted)
    marks[_ACTIVE] = wanted
    due = 0
    for i in range(wanted):
        due += max(0, state.rungs[rung, _TARGET] - state.pulls[state.active[i]])
    marks[_DUE] = due


@rare_kernel
def _keep_best(state: State, wanted: int) -> None:
    """The best arms of the rung come first, in the order in which they were; of equals the first."""
    count = state.marks[_ACTIVE]
    for i in range(count):
        state.value[i] = recent_means.mean(state, state.active[i])
    while count > wanted:
        worst = 0
        for i in range(1, count):
            if state.value[i] <= state.value[worst]:
                worst = i
        count -= 1
        for i in range(worst, count):
            state.active[i] = state.active[i + 1]
            state.value[i] = state.value[i + 1]


@register
class Hyperband(recent_means.RecentPolicy):
    r"""Hyperband: brackets of successive halving that begin with many arms and few pulls, or few arms and many.

    With R the most pulls of an arm and :math:`s_{\max} = \lfloor \log_\eta R \rfloor`, bracket
    :math:`s = s_{\max}, \dots, 0` takes the next :math:`\lceil \frac{s_{\max} + 1}{s + 1} \eta^s \rceil` arms, at most
    K, to :math:`R \eta^{-s}` pulls each, and then again and again the best :math:`1/\eta` of them to :math:`\eta` times
    the pulls (Li et al., 2018, Algorithm 1). Arms are taken in a circle and continue where they are, so that an arm of
    an earlier bracket costs less. The mean of the last ``share`` of an arm's rewards decides, also on what is
    recommended.

    The budget is respected: R is ``max_pulls`` or, if one pass through the brackets would then cost more than T pulls,
    the largest power of eta that fits; passes are repeated while they fit. Pulls that remain go to the best arm.

    Use it as a yardstick: it hedges between opening many arms and knowing a few well.

    Its recommendation is its own: the highest mean of the last share of the rewards, as rungs are judged.

    Parameters
    ----------
    eta : int
        One in ``eta`` arms goes on; at least 2.
    max_pulls : int or None
        Length of the curves, R. None means the problem's in `simulate`, and no limit elsewhere.
    share : float
        Share of an arm's rewards in its mean, in (0, 1].

    References
    ----------
    L. Li, K. Jamieson, G. DeSalvo, A. Rostamizadeh, A. Talwalkar. Hyperband: A Novel Bandit-Based Approach to
    Hyperparameter Optimization. JMLR 18(185), 2018.

    Examples
    --------
    >>> policy = Hyperband(max_pulls=9).reset(n_arms=12, horizon=100)
    >>> for _ in range(100):
    ...     arm = policy.ask()
    ...     policy.tell(arm, arm / 20)
    >>> policy.recommend()
    11
    """

    name = "hyperband"
    summary = "successive halving from many short trials to few long ones"
    verified = "derived here"
    kernels = Kernels(select=select, update=update, recommend=recent_means.recommend)
    _scratch = frozenset({"pool", "value", "rungs"})
    needs_horizon = True
    _in_order = True

    eta: int = integer(3, minimum=2)
    max_pulls: int | None = integer(None)
    share: float = number(0.1, above=0.0, maximum=1.0)

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        rungs = np.array(brackets(n_arms, horizon or 1, int(self.eta), self.max_pulls), dtype=np.int64)
        arms = int(rungs[0, _ARMS])  # of the first rung, which has begun
        return State(
            share=float(self.share),
            rungs=rungs,
            active=np.arange(n_arms),
            value=np.zeros(n_arms),
            marks=np.array([arms, 1, arms * rungs[0, _TARGET], arms % n_arms, 0], dtype=np.int64),
            **recent_means.new_fields(n_arms, capacity),
        )

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        active = np.zeros(len(state.pulls))
        active[state.active[: state.marks[_ACTIVE]]] = 1.0
        return {**recent_means.parts(state), "active": active}

    def _why_next(self, at: Moment) -> str:
        rung, active = int(at.state.marks[_NEXT_RUNG]), int(at.state.marks[_ACTIVE])
        target = int(at.state.rungs[rung - 1, _TARGET])
        if at.pulls[at.arm] >= target:
            return f"no rung needs it: best level {at.level('level')}" if at.leads("level") else super()._why_next(at)
        arms = f"{active} arms go" if active > 1 else "one arm goes"
        return f"rung {rung} of {len(at.state.rungs)}: {arms} on to {counted(target)}"


def brackets(n_arms: int, horizon: int, eta: int, max_pulls: int | None) -> list[tuple[int, int, int]]:
    """The rungs of all brackets of all passes that the budget pays for: entering arms, arms, pulls of each."""
    longest = horizon if max_pulls is None else min(max_pulls, horizon)
    once = _one_pass(n_arms, longest, eta)
    if _cost(once) > horizon:
        longest = eta ** _whole_log(longest, eta)
        while longest > 1 and _cost(_one_pass(n_arms, longest, eta)) > horizon:
            longest //= eta
        once = _one_pass(n_arms, longest, eta)
    return once * max(1, horizon // _cost(once))


def _one_pass(n_arms: int, longest: int, eta: int) -> list[tuple[int, int, int]]:
    rungs = []
    most = _whole_log(longest, eta)
    for s in range(most, -1, -1):
        entering = math.ceil((most + 1) * eta**s / (s + 1))
        for i in range(s + 1):
            arms = max(1, min(n_arms, entering // eta**i))
            rungs.append((arms if i == 0 else 0, arms, max(1, longest // eta ** (s - i))))
    return rungs


def _cost(rungs: list[tuple[int, int, int]]) -> int:
    """Pulls of a pass in which no arm has been pulled before."""
    total = before = 0
    for entering, arms, target in rungs:
        total += arms * (target - (0 if entering else before))
        before = target
    return total


def _whole_log(value: int, base: int) -> int:
    """The largest s with base^s <= value."""
    power = 0
    while base ** (power + 1) <= value:
        power += 1
    return power
