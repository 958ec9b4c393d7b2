"""Random round robin with a bar: arms in a random order, each pulled while it keeps above a bar that rises with it.

There is a first stage until the round ``first_stage``, which may be 0, in which a policy looks at the arms. Then every
arm is measured by the pulls that it has had since, s: it stays while its reward is at least m (s / tau)^alpha, and is
given up otherwise. Where all were given up, the one that gave most last goes on.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import interpreted, kernel, rare_kernel
from risingbandits._core.types import Floats, Mask
from risingbandits.policies import _reasons as reasons
from risingbandits.policies._kernels import histories, sweeps
from risingbandits.policies.base import Policy
from risingbandits.policies.explanation import Moment

FIRST, BARRED, COMMITTED = 0, 1, 2  # stages
STAGE, TURN, DRAWN = 0, 1, 2  # places of `marks`
HEIGHT, TAU, LUCK = 0, 1, 2  # places of `bar`
LOWER, UPPER = 0, 1  # columns of `bounds`


class State(NamedTuple):
    """What the policies know."""

    horizon: int  # T
    alpha: float
    m: float  # level of the best arm, NaN: to be guessed
    window: int  # rewards in a level
    first_stage: int  # rounds of the first stage
    order: np.ndarray  # (K,) arms in the order in which they are opened, once it is drawn
    marks: np.ndarray  # (3,) stage; place of the arm whose turn it is, or the arm committed to; drawn or not
    bar: np.ndarray  # (3,) m and tau of the second stage; the number that decides the guess of m
    begun: np.ndarray  # (K,) pulls before the second stage
    given_up: np.ndarray  # (K,) 1: given up
    bounds: np.ndarray  # (K, 2) of what the arm comes to
    value: np.ndarray  # (K,) index of the first stage
    pulls: np.ndarray  # (K,)
    pool: np.ndarray  # rewards of all arms (histories)
    places: np.ndarray


@rare_kernel
def draw(state: State, rng: Any) -> None:
    """The order of the arms, and where in its range m is guessed."""
    sweeps.shuffle(state.order, 0, state.order.shape[0], rng)
    state.bar[LUCK] = rng.random()
    state.marks[DRAWN] = 1
    if state.marks[STAGE] == BARRED:
        state.marks[TURN] = 0
        _pass_over(state)


@kernel
def add(state: State, arm: int, reward: float) -> None:
    """One more reward of the arm."""
    n = state.pulls[arm] + 1
    state.pulls[arm] = n
    histories.append(state.pool, state.places, arm, n, reward)


@kernel
def level(state: State, arm: int, before: int) -> float:
    """The mean of the arm's last window of rewards, with the last ``before`` left out; -inf if there are none.

    Summed anew: a difference of running sums would have slopes where a curve without noise is flat.
    """
    last = state.pulls[arm] - before
    first = max(last - state.window, 0)
    total = 0.0
    for n in range(first + 1, last + 1):
        total += state.pool[state.places[arm, 0] + n]
    return total / (last - first) if last > 0 else -math.inf


@kernel
def end_level(state: State, arm: int, upper: bool) -> float:
    """A bound of the arm's level after T pulls: its level now, or that plus (T - n) times its slope.

    The slope is that between the last two windows, at least 0. A rising concave curve with f(0) >= 0 has a slope of at
    most f(n) / n, which bounds it where there are too few rewards for one, and where noise would have it steeper.
    """
    n = state.pulls[arm]
    now = level(state, arm, 0)
    if not upper or n == 0:
        return now
    slope = max(now, 0.0) / n
    if n >= 2 * state.window:
        slope = min(slope, max((now - level(state, arm, state.window)) / state.window, 0.0))
    return now + max(state.horizon - n, 0) * slope


@rare_kernel
def begin_second_stage(state: State, t: int) -> None:
    """The bar for the rounds that are left: tau = T - t - K, and m tau / T for m."""
    n_arms = state.pulls.shape[0]
    m = _guessed(state) if math.isnan(state.m) else state.m
    tau = max(state.horizon - t - n_arms, 1)
    state.bar[HEIGHT] = m * tau / state.horizon
    state.bar[TAU] = tau
    for arm in range(n_arms):
        state.begun[arm] = state.pulls[arm]
    state.marks[STAGE] = BARRED
    state.marks[TURN] = 0


@kernel
def _guessed(state: State) -> float:
    """The highest lower bound times 2^j, j drawn from 0 to where that reaches the highest upper bound."""
    lower = upper = 0.0
    for arm in range(state.pulls.shape[0]):
        if state.pulls[arm] > 0:
            lower = max(lower, end_level(state, arm, False))
            upper = max(upper, end_level(state, arm, True))
    guess = lower
    if lower > 0.0:
        scales = int(math.log(upper / lower) / math.log(2.0) + 1e-9) + 1
        for _ in range(min(int(state.bar[LUCK] * scales), scales - 1)):
            guess *= 2.0
    return guess


@kernel
def required(state: State, s: float) -> float:
    """What the s-th pull of the second stage must give."""
    return state.bar[HEIGHT] * math.exp(state.alpha * math.log(s / state.bar[TAU]))


@kernel
def judge(state: State, arm: int) -> None:
    """Give the arm up if it is below the bar."""
    if level(state, arm, 0) < required(state, state.pulls[arm] - state.begun[arm]):
        state.given_up[arm] = 1
        _pass_over(state)


@kernel
def _pass_over(state: State) -> None:
    """On to the next arm in the order that was not given up."""
    n_arms = state.order.shape[0]
    while state.marks[TURN] < n_arms and state.given_up[state.order[state.marks[TURN]]] == 1:
        state.marks[TURN] += 1


@kernel
def select_barred(state: State, available: Mask) -> int:
    """The first arm in the order that was not given up; where there is none, the best level."""
    n_arms = state.order.shape[0]
    for i in range(state.marks[TURN], n_arms):
        arm = state.order[i]
        if state.given_up[arm] == 0 and (available is None or available[arm]):
            return arm
    return best_level(state, available)


@rare_kernel
def best_level(state: State, available: Mask) -> int:
    chosen = -1
    highest = -math.inf
    for arm in range(state.pulls.shape[0]):
        if available is None or available[arm]:
            value = level(state, arm, 0)
            if chosen < 0 or value > highest:
                chosen = arm
                highest = value
    return chosen


class RandomRoundRobin(Policy):
    """Base of the policies: the parts of `explain` and the state."""

    randomised = True
    needs_horizon = True
    _scratch = frozenset({"pool"})

    alpha: float
    m: float | None
    window: int

    def _fresh(self, n_arms: int, horizon: int, capacity: int, first_stage: int) -> State:
        """The state before the first round, with a first stage of this many rounds."""
        bar = np.array([0.0, 1.0, 0.0])
        marks = np.zeros(3, dtype=np.int64)
        if not first_stage and self.m is not None:
            bar[:2] = self.m, max(horizon - n_arms, 1)
            marks[STAGE] = BARRED
        return State(
            horizon=horizon,
            alpha=float(self.alpha),
            m=math.nan if self.m is None else float(self.m),
            window=int(self.window),
            first_stage=int(first_stage),
            order=np.arange(n_arms),
            marks=marks,
            bar=bar,
            begun=np.zeros(n_arms, dtype=np.int64),
            given_up=np.zeros(n_arms, dtype=np.int64),
            bounds=np.tile([-np.inf, np.inf], (n_arms, 1)),
            value=np.full(n_arms, np.inf),
            pulls=np.zeros(n_arms, dtype=np.int64),
            pool=np.empty(histories.places_for(n_arms, capacity)),
            places=histories.new_places(n_arms),
        )

    def _make_room(self, state: Any, capacity: int) -> None:
        histories.make_room(state.pool, self.n_arms, capacity)

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        levels = np.full(len(state.pulls), np.nan)
        for arm in np.flatnonzero(state.pulls):
            levels[arm] = interpreted(level)(state, arm, 0)
        bars = np.full(len(state.pulls), np.nan)
        if state.marks[STAGE] == BARRED:
            bars = state.bar[HEIGHT] * ((state.pulls - state.begun + 1) / state.bar[TAU]) ** state.alpha
        return {"level": levels, "bar": bars, "given up": state.given_up.astype(np.float64)}

    def _why_next(self, at: Moment) -> str:
        if at.parts["given up"][at.arm]:
            return f"all arms were given up, and it had the best level {at.level('level')}"
        if at.state.pulls[at.arm] == at.state.begun[at.arm]:
            waiting = int(np.sum(at.parts["given up"] == 0.0))
            return f"drawn from the {waiting} arms that are left" if waiting > 1 else "the only arm that is left"
        return f"level {at.level('level')} was above the bar, which is {at.level('bar')} for the next pull"


def looked_at(at: Moment) -> str:
    """Why an arm is next while every arm is looked at."""
    each = at.state.first_stage // at.pulls.size
    n = int(at.pulls[at.arm])
    return reasons.NEVER_PULLED if n == 0 else f"looked at before m is guessed: pull {n + 1} of {each} of each arm"
