"""Halving after a pilot: three arms, pulled often, show how far early levels carry, and so how many arms to start.

With T pulls in all,

1. the *pilots*, three arms, are pulled sqrt(T) times each;
2. for every number n of pulls up to that, the correlation of the pilots' levels after n pulls with their last levels is
   measured; r(n) is the least of these from n on, at least 0 (what is lost later was luck), and 0 if the levels are all
   the same. Up to 60 % of the pulls left pay for starting arms and pulling them n times: M(n) of them, pilots included.
   The best of M arms stands out by about sqrt(2 log M) spreads, so the n with the highest r(n) sqrt(log M(n)) is taken;
3. the better half goes on, repeatedly, with an equal share of the remaining pulls for each halving, until one is left.
   Arms are compared at equal resource; the best pilot stays until all others have had as many pulls.

The level of an arm is the mean of the last tenth of its rewards, or of the last three tenths if the noise, from second
differences of the pilots' rewards, hides how far apart the pilots are. If the horizon is not known, the first plan is
for 64 rounds and each later one for twice as many; rewards are kept.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import interpreted, kernel, rare_kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies import _reasons as reasons
from risingbandits.policies._kernels import recent_means, sweeps
from risingbandits.policies.base import Kernels
from risingbandits.policies.explanation import Moment, counted

_PILOTS = 3
_STARTING = 0.6  # most of the pulls that are left after the pilot, for starting arms
_TENTHS, _NOISY_TENTHS = 1, 3  # of an arm's rewards in its level, without and with much noise
_NOISY = 2.0  # noise is much if its variance is that many times that of the pilots' means
_FIRST_PLAN = 64  # rounds of the first plan if the horizon is not known
_ROUNDING = 1e-24  # squared deviations, relative to the squared level, below which levels are all the same
_NO_LIMIT = 1 << 40

_PILOTING, _HALVING, _OVER = 0, 1, 2  # stages
# Places of `marks`: the stage, arms in the race, place in the race of the first that lacks pulls, pulls that all are
# brought to, rewards until the stage ends, rounds of the plan, pulls of a pilot, the best pilot, whether the order was
# drawn.
_STAGE, _ACTIVE, _FIRST, _GOAL, _DUE, _PLAN, _DEPTH, _BEST, _DRAWN = range(9)


class State(NamedTuple):
    """What is known in a run."""

    known: bool  # whether the horizon is
    order: np.ndarray  # (K,) the arms as they are started, the pilots first
    race: np.ndarray  # (K,) places in the order: the arms in the race, then those that left it, then the others
    value: np.ndarray  # (K,) levels by place when they were last compared
    tenths: np.ndarray  # (1,) of an arm's rewards in its level
    marks: np.ndarray
    pulls: np.ndarray  # (K,), total, pool, places: recent means (recent_means)
    total: np.ndarray
    pool: np.ndarray
    places: np.ndarray


@kernel
def _racing(state: State, i: int) -> int:
    """The arm at a place of the race."""
    return state.order[state.race[i]]


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    if state.marks[_DRAWN] == 0:
        state.marks[_DRAWN] = 1
        if state.marks[_STAGE] == _PILOTING:
            sweeps.shuffle(state.order, 0, state.order.shape[0], rng)
            _skip(state)
    arm = _racing(state, state.marks[_FIRST])
    if available is None or available[arm]:
        return arm
    return _instead(state, available)


@rare_kernel
def _instead(state: State, available: Any) -> int:
    """If the next arm is not free: another that lacks pulls, the one in the race with the fewest, or one outside."""
    marks = state.marks
    chosen = -1
    for i in range(marks[_ACTIVE]):
        arm = _racing(state, i)
        if available[arm]:
            if i >= marks[_FIRST] and state.pulls[arm] < marks[_GOAL]:
                return arm
            if chosen < 0 or state.pulls[arm] < state.pulls[chosen]:
                chosen = arm
    for i in range(marks[_ACTIVE], state.race.shape[0]):
        if chosen < 0 and available[_racing(state, i)]:
            chosen = _racing(state, i)
    return chosen


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    n = recent_means.add(state, arm, reward)
    marks = state.marks
    marks[_DUE] -= 1
    if marks[_DUE] <= 0 or (n >= marks[_GOAL] and arm == _racing(state, marks[_FIRST])):
        _move_on(state, t)


@rare_kernel
def _move_on(state: State, t: int) -> None:
    """Find the next arm that lacks pulls; if there is none, or the pulls of the stage are spent, end the stage."""
    marks = state.marks
    while True:
        _skip(state)
        if marks[_DUE] > 0 and state.pulls[_racing(state, marks[_FIRST])] < marks[_GOAL]:
            return
        if marks[_STAGE] == _PILOTING:
            _start(state, t)
        elif marks[_STAGE] == _HALVING:
            _halve(state, t)
        elif state.known or t < marks[_PLAN]:
            marks[_DUE] = _NO_LIMIT if state.known else marks[_PLAN] - t
        else:
            _begin(state, 2 * marks[_PLAN])


@kernel
def _skip(state: State) -> None:
    """Skip the arms that lack no pulls, except the last."""
    marks = state.marks
    while marks[_FIRST] < marks[_ACTIVE] - 1 and state.pulls[_racing(state, marks[_FIRST])] >= marks[_GOAL]:
        marks[_FIRST] += 1


@rare_kernel
def _begin(state: State, plan: int) -> None:
    """A plan for that many rounds in total, including those played so far: the pilots come first."""
    marks, n_arms = state.marks, state.order.shape[0]
    pilots = min(n_arms, _PILOTS)
    marks[_PLAN] = plan
    marks[_DEPTH] = max(1, min(int(math.sqrt(plan)), plan // pilots))
    for i in range(n_arms):
        state.race[i] = i
    _bring(state, _PILOTING, pilots, marks[_DEPTH])


@kernel
def _bring(state: State, stage: int, active: int, goal: int) -> None:
    """Bring the first ``active`` arms of the race to a number of pulls."""
    marks = state.marks
    marks[_STAGE] = stage
    marks[_ACTIVE] = active
    marks[_FIRST] = 0
    marks[_GOAL] = goal
    marks[_DUE] = _missing(state, active, goal)


@rare_kernel
def _missing(state: State, active: int, goal: int) -> int:
    """How many pulls the first arms of the race lack."""
    pulls = 0
    for i in range(active):
        pulls += max(0, goal - state.pulls[_racing(state, i)])
    return pulls


@rare_kernel
def _start(state: State, t: int) -> None:
    """After the pilot: start as many arms as pay, and pull them until their levels say enough."""
    marks = state.marks
    state.tenths[0] = _NOISY_TENTHS if _is_noisy(state) else _TENTHS
    marks[_BEST] = 0
    for i in range(1, min(_PILOTS, state.order.shape[0])):
        if level(state, state.order[i], marks[_DEPTH]) > level(state, state.order[marks[_BEST]], marks[_DEPTH]):
            marks[_BEST] = i
    pulls = int(_STARTING * max(0, marks[_PLAN] - t))
    goal = _first_comparison(state, pulls)
    _race(state, t, _affordable(state, goal, pulls), goal)


@rare_kernel
def _halve(state: State, t: int) -> None:
    """Continue with the better half by levels at equal resource; the best pilot stays until all have its pulls."""
    marks = state.marks
    active, goal = marks[_ACTIVE], marks[_GOAL]
    for i in range(active):
        place = state.race[i]
        protected = place == marks[_BEST] and goal < marks[_DEPTH]
        state.value[place] = math.inf if protected else level(state, state.order[place], goal)
    _sort(state, active)
    kept = (active + 1) // 2
    if kept > 1:
        _race(state, t, kept, goal)
    else:
        _bring(state, _OVER, 1, _NO_LIMIT)
        marks[_DUE] = 0


@rare_kernel
def _sort(state: State, active: int) -> None:
    """Sort the race by ``value``, the highest first; of equals the first that was started (Shell's sort)."""
    race, value, gap = state.race, state.value, active // 2
    while gap > 0:
        for i in range(gap, active):
            place, j = race[i], i
            while j >= gap and (
                value[race[j - gap]] < value[place] or (value[race[j - gap]] == value[place] and race[j - gap] > place)
            ):
                race[j] = race[j - gap]
                j -= gap
            race[j] = place
        gap //= 2


@rare_kernel
def _race(state: State, t: int, active: int, goal: int) -> None:
    """Bring ``active`` arms to as many pulls as an equal share for each halving pays for, at least ``goal``."""
    halvings = 1
    while 1 << halvings < active:
        halvings += 1
    pulls = max(0, state.marks[_PLAN] - t) // halvings
    low, high = goal, _NO_LIMIT
    while low < high:
        middle = high - (high - low) // 2
        if _missing(state, active, middle) <= pulls:
            low = middle
        else:
            high = middle - 1
    _bring(state, _HALVING, active, low)


# -- what the pilots say ---------------------------------------------------------------------------------------


@kernel
def _sum(state: State, arm: int, n: int) -> float:
    """The sum of the arm's first n rewards."""
    return state.pool[state.places[arm, 0] + n] if n > 0 else 0.0


@kernel
def level(state: State, arm: int, n: int) -> float:
    """The level of the arm when it had n pulls, or has now if these are fewer; -inf if it has none."""
    n = min(n, state.pulls[arm])
    if n == 0:
        return -math.inf
    window = (state.tenths[0] * n + 9) // 10
    return (_sum(state, arm, n) - _sum(state, arm, n - window)) / window


@rare_kernel
def _is_noisy(state: State) -> bool:
    """Whether noise hides how far apart the pilots are; not if one has no rewards."""
    pilots = min(_PILOTS, state.order.shape[0])
    mean = spread = squares = 0.0
    bends = 0
    for i in range(pilots):
        arm = state.order[i]
        count = min(state.pulls[arm], state.marks[_DEPTH])
        if count == 0:
            return False
        mean += _sum(state, arm, count) / count / pilots
        for n in range(3, count + 1):
            bend = _sum(state, arm, n) - 3 * _sum(state, arm, n - 1) + 3 * _sum(state, arm, n - 2)
            squares += (bend - _sum(state, arm, n - 3)) ** 2 / 6.0
            bends += 1
    for i in range(pilots):
        arm = state.order[i]
        count = min(state.pulls[arm], state.marks[_DEPTH])
        spread += (_sum(state, arm, count) / count - mean) ** 2
    if spread <= _ROUNDING * pilots * mean * mean:
        spread = 0.0
    return squares / max(1, bends) > _NOISY * spread / max(1, pilots - 1)


@rare_kernel
def _agreement(state: State, n: int) -> float:
    """The correlation of the pilots' levels after n pulls with their last; 0 if either are all the same, or missing."""
    pilots, depth = min(_PILOTS, state.order.shape[0]), state.marks[_DEPTH]
    early = late = early_squares = late_squares = products = 0.0
    for i in range(pilots):
        if state.pulls[state.order[i]] == 0:
            return 0.0
        early += level(state, state.order[i], n) / pilots
        late += level(state, state.order[i], depth) / pilots
    for i in range(pilots):
        x = level(state, state.order[i], n) - early
        y = level(state, state.order[i], depth) - late
        early_squares += x * x
        late_squares += y * y
        products += x * y
    if early_squares <= _ROUNDING * pilots * early * early or late_squares <= _ROUNDING * pilots * late * late:
        return 0.0
    return products / math.sqrt(early_squares * late_squares)


@rare_kernel
def _affordable(state: State, goal: int, pulls: int) -> int:
    """How many arms can have ``goal`` pulls, if ``pulls`` are left for those that are no pilots."""
    return min(state.order.shape[0], _PILOTS + pulls // goal)


@rare_kernel
def _first_comparison(state: State, pulls: int) -> int:
    """After how many pulls new arms are first compared: how far levels carry times how far the best stands out."""
    depth = state.marks[_DEPTH]
    carried = 1.0
    highest = -1.0
    chosen = depth
    for n in range(depth, 0, -1):
        if n < depth:
            carried = max(0.0, min(carried, _agreement(state, n)))
        value = carried * math.sqrt(math.log(_affordable(state, n, pulls)))
        if value > highest:
            highest = value
            chosen = n
    return chosen


@kernel
def recommend(state: State, t: int, known: Floats | None) -> int:
    """The highest level among the arms in the race and others that have as many pulls as any of these."""
    active = state.marks[_ACTIVE]
    most = 1
    for i in range(active):
        most = max(most, state.pulls[_racing(state, i)])
    chosen = _racing(state, 0)
    highest = -math.inf
    for i in range(state.race.shape[0]):
        arm = _racing(state, i)
        if state.pulls[arm] >= (1 if i < active else most):
            now = level(state, arm, state.pulls[arm])
            if now > highest:
                highest = now
                chosen = arm
    return chosen


class PilotHalving(recent_means.RecentPolicy):
    """The policy that plays `Auto` for best-arm identification."""

    name = "auto"
    kernels = Kernels(select=select, update=update, recommend=recommend)
    _scratch = frozenset({"pool", "value"})

    def __init__(self, order: str = "random") -> None:
        self.order = order

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        state = State(
            known=horizon is not None,
            order=np.arange(n_arms),
            race=np.arange(n_arms),
            value=np.zeros(n_arms),
            tenths=np.array([_TENTHS]),
            marks=np.zeros(9, dtype=np.int64),
            **recent_means.new_fields(n_arms, capacity),
        )
        interpreted(_begin)(state, _FIRST_PLAN if horizon is None else horizon)
        return state

    def _why_next(self, at: Moment) -> str:
        marks, n = at.state.marks, int(at.pulls[at.arm])
        goal, active = int(marks[_GOAL]), int(marks[_ACTIVE])
        if n >= goal:
            return "the arms that are due are not free"
        if marks[_STAGE] == _PILOTING:
            return f"one of {active} pilots, pulled {goal:,} times each to see how far early levels carry"
        if marks[_STAGE] == _OVER or active == 1:
            return "the only remaining arm"
        if not at.parts["active"][at.arm]:
            return "no remaining arm is free"
        leads = ", which it leads" if n and interpreted(recommend)(at.state, at.t - 1, at.pulls) == at.arm else ""
        return f"one of {active} remaining arms{leads}: all get {counted(goal)}, then the better half goes on"

    def _why_kept(self, at: Moment) -> str:
        if not at.parts["active"][at.arm]:
            return f"best level {at.level('level')}, with at least as many pulls as any remaining arm"
        if at.state.marks[_STAGE] == _PILOTING:
            return f"best level {at.level('level')} of the pilots so far"
        return reasons.best_remaining(at)

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        """Columns: ``level``, and ``active``, whether the arm is in the race."""
        pulled, own = np.flatnonzero(state.pulls), interpreted(level)
        columns = {"level": np.full(len(state.pulls), np.nan), "active": np.zeros(len(state.pulls))}
        columns["level"][pulled] = [own(state, arm, state.pulls[arm]) for arm in pulled]
        columns["active"][state.order[state.race[: state.marks[_ACTIVE]]]] = 1.0
        return columns
