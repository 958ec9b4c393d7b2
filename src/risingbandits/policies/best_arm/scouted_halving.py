"""ScoutedHalving: a few arms, pulled often, show how much early levels say; halving then starts with as many as pay."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import interpreted, kernel, rare_kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies import reasons
from risingbandits.policies._kernels import recent_means, sweeps
from risingbandits.policies.base import Kernels
from risingbandits.policies.best_arm import _scouting
from risingbandits.policies.explanation import Moment, counted
from risingbandits.policies.registry import register
from risingbandits.policies.settings import integer, number, one_of

_NO_LIMIT = 1 << 40
_FIRST_PLAN = 64  # rounds of the first plan if the horizon is not known; each later one is for twice the rounds
_SCOUTING, _HALVING, _OVER = 0, 1, 2  # stages
# Places of `marks`: the stage, arms in the race, place in the race of the first that lacks pulls, the age that all are
# brought to, rewards until the stage ends, rounds of the plan, scouts, their age, the age of the first comparison, the
# best scout, whether the order was drawn.
_STAGE, _ACTIVE, _FIRST, _GOAL, _DUE, _PLAN, _SCOUTS, _DEPTH, _SCREEN, _BEST, _DRAWN = range(11)


class State(NamedTuple):
    """What ScoutedHalving knows."""

    known: bool  # whether the horizon is
    longest: int  # most pulls of an arm
    share: float  # of an arm's rewards in its level, where they have little noise
    order: np.ndarray  # (K,) in which arms are opened
    turn: np.ndarray  # (K,) the place of each arm in it
    race: np.ndarray  # (K,) arms in the race, then the others: those that left it, the last first, and unopened ones
    left: np.ndarray  # (K,) age at which an arm left the race, 0 if it did not
    value: np.ndarray  # (K,) levels when they were last compared
    window: np.ndarray  # (1,) the share that is used
    marks: np.ndarray  # (11,)
    pulls: np.ndarray  # (K,), total, pool, places: recent means (recent_means)
    total: np.ndarray
    pool: np.ndarray
    places: np.ndarray


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    if state.marks[_DRAWN] == 0:
        _draw(state, rng)
    arm = state.race[state.marks[_FIRST]]
    if available is None or available[arm]:
        return arm
    return _instead(state, available)


@rare_kernel
def _draw(state: State, rng: Rng) -> None:
    """The order, drawn at the first ask: only then is there a generator."""
    state.marks[_DRAWN] = 1
    if state.marks[_STAGE] == _SCOUTING and rng is not None:
        sweeps.shuffle(state.order, 0, state.order.shape[0], rng)
        for i in range(state.order.shape[0]):
            state.race[i] = state.order[i]
            state.turn[state.order[i]] = i
        _skip(state)


@rare_kernel
def _instead(state: State, available: Any) -> int:
    """If the next arm is not available: another that lacks pulls, the youngest in the race, or the next outside it."""
    marks = state.marks
    for i in range(marks[_FIRST], marks[_ACTIVE]):
        arm = state.race[i]
        if available[arm] and state.pulls[arm] < marks[_GOAL]:
            return arm
    chosen = -1
    for i in range(marks[_ACTIVE]):
        arm = state.race[i]
        if available[arm] and (chosen < 0 or state.pulls[arm] < state.pulls[chosen]):
            chosen = arm
    if chosen >= 0:
        return chosen
    for i in range(marks[_ACTIVE], state.race.shape[0]):
        if available[state.race[i]]:
            return state.race[i]
    return 0


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    n = recent_means.add(state, arm, reward)
    marks = state.marks
    marks[_DUE] -= 1
    if marks[_DUE] <= 0 or (n >= marks[_GOAL] and arm == state.race[marks[_FIRST]]):
        _move_on(state, t)


@rare_kernel
def _move_on(state: State, t: int) -> None:
    """Find the next arm that lacks pulls; if there is none, or the pulls of the stage are spent, end the stage."""
    marks = state.marks
    while True:
        _skip(state)
        if marks[_DUE] > 0 and state.pulls[state.race[marks[_FIRST]]] < marks[_GOAL]:
            return
        if marks[_STAGE] == _SCOUTING:
            _open(state, t)
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
    while marks[_FIRST] < marks[_ACTIVE] - 1 and state.pulls[state.race[marks[_FIRST]]] >= marks[_GOAL]:
        marks[_FIRST] += 1


@rare_kernel
def _begin(state: State, plan: int) -> None:
    """A plan for ``rounds`` rounds in total, including those played so far: the scouts come first."""
    marks = state.marks
    n_arms = state.order.shape[0]
    marks[_PLAN] = plan
    marks[_SCOUTS] = _scouting.scouts_of(plan, n_arms)
    marks[_DEPTH] = max(1, min(_scouting.depth_of(plan), min(state.longest, plan // marks[_SCOUTS])))
    for i in range(n_arms):
        state.race[i] = state.order[i]
        state.left[i] = 0
    marks[_STAGE] = _SCOUTING
    marks[_ACTIVE] = marks[_SCOUTS]
    _bring_to(state, marks[_DEPTH])


@kernel
def _bring_to(state: State, age: int) -> None:
    """Bring all arms in the race to an age."""
    marks = state.marks
    marks[_FIRST] = 0
    marks[_GOAL] = age
    marks[_DUE] = _scouting.missing(state, marks[_ACTIVE], age)


@rare_kernel
def _open(state: State, t: int) -> None:
    """Once the scouts are known: open as many arms as pay, to an age at which their levels say enough."""
    marks = state.marks
    scouts, depth = marks[_SCOUTS], marks[_DEPTH]
    remaining = max(0, marks[_PLAN] - t)
    state.window[0] = _scouting.share_for(state, scouts, depth, state.share)
    pulls = int(_scouting.OPENING * remaining)
    age = _scouting.screening_age(state, scouts, depth, pulls, state.window[0])
    arms = _scouting.affordable(state, scouts, age, pulls)
    marks[_SCREEN] = age
    marks[_BEST] = _scouting.best_scout(state, scouts, depth, state.window[0])
    marks[_STAGE] = _HALVING
    marks[_ACTIVE] = arms
    pulls = min(pulls, remaining // max(1, _rungs(arms)))  # few arms may be older when they are first compared
    _bring_to(state, _scouting.reach(state, arms, age, state.longest, pulls))


@kernel
def _rungs(arms: int) -> int:
    """How many halvings leave one of ``arms`` arms."""
    count = 0
    while arms > 1:
        arms = (arms + 1) // 2
        count += 1
    return count


@rare_kernel
def _halve(state: State, t: int) -> None:
    """Continue with the better half, by levels at equal age; the best scout too, until all are as old as it was."""
    marks = state.marks
    active, age = marks[_ACTIVE], marks[_GOAL]
    for i in range(active):
        arm = state.race[i]
        state.value[arm] = _scouting.level(state, arm, age, state.window[0])
        if arm == marks[_BEST] and age < marks[_DEPTH]:
            state.value[arm] = math.inf
    _scouting.sort(state, active)
    kept = (active + 1) // 2
    for i in range(kept, active):
        state.left[state.race[i]] = age
    marks[_ACTIVE] = kept
    if kept > 1:
        pulls = max(0, marks[_PLAN] - t) // _rungs(kept)
        _bring_to(state, _scouting.reach(state, kept, age, state.longest, pulls))
    else:
        marks[_STAGE] = _OVER
        marks[_FIRST] = 0
        marks[_GOAL] = _NO_LIMIT
        marks[_DUE] = 0


@kernel
def recommend(state: State, t: int, known: Floats | None) -> int:
    """The highest level among the arms in the race and those outside that are at least as old as all of these."""
    active = state.marks[_ACTIVE]
    oldest = 1
    for i in range(active):
        oldest = max(oldest, state.pulls[state.race[i]])
    chosen = state.race[0]
    highest = -math.inf
    for i in range(state.race.shape[0]):
        arm = state.race[i]
        if state.pulls[arm] >= (1 if i < active else oldest):
            now = _scouting.level(state, arm, state.pulls[arm], state.window[0])
            if now > highest:
                highest = now
                chosen = arm
    return chosen


@register
class ScoutedHalving(recent_means.RecentPolicy):
    r"""A few arms, pulled often, show how much early levels say; halving then starts with as many arms as pay.

    With T pulls in all,

    1. *scouts*, :math:`\max(3, \lfloor \sqrt T / 5 \rfloor)` arms, are pulled :math:`D = \lfloor \sqrt T \rfloor`
       times each;
    2. for every age n up to D the correlation of the scouts' levels at n with their levels at D is measured;
       :math:`r(n)` is the least of these from n on, at least 0; 0 if scouts start level. Up to 60 % of the pulls
       left pay for opening arms to an age n: M(n) of them, scouts included. The n with the highest
       :math:`r(n) \sqrt{\log M(n)}` is taken: if early levels carry, many arms are opened to a young age, otherwise few
       to an old one;
    3. the better half goes on, repeatedly, with an equal share of the remaining pulls for each halving, until one is
       left. Arms are compared at equal age; the best scout stays until all others are as old as it was.

    The level of an arm is the mean of its last ``share`` rewards, or of 30 % of them if the noise (from second
    differences of the scouts' rewards) has more than twice the variance of the scouts' levels.

    Use it to find the arm to keep when each gets better with use and pulls are few: nothing needs to be known about
    noise or curves. No rate is proved. The scouts cannot see what changes beyond sqrt(T) pulls, and three
    scouts may be wrong about the others. If early levels say nearly everything, scouting is a price that
    `SuccessiveHalving` does not pay (docs/best_arm.md).

    Its recommendation is its own: the highest level of the arms in the race and of others with as many pulls.

    Parameters
    ----------
    order : {"random", "given"}
        The order in which arms are opened: "given" if the most promising ones come first.
    max_pulls : int or None
        Length of the curves: no arm needs more pulls. None means the problem's in `simulate`, and no limit elsewhere;
        an arm that is no longer available stays where it is.
    share : float
        Share of an arm's rewards in its level, in (0, 1].

    Notes
    -----
    If the horizon is not known, it plans for 64 rounds, and whenever a plan is over, for twice as many; what is known
    about the arms is kept.

    Examples
    --------
    >>> policy = ScoutedHalving(order="given").reset(n_arms=50, horizon=200)
    >>> for _ in range(200):
    ...     arm = policy.ask()
    ...     n = policy.pulls[arm] + 1
    ...     policy.tell(arm, (arm * 7 % 50) / 50 * n / (n + 5))  # the best at any age is best in the end
    >>> policy.recommend(), int((policy.pulls > 0).sum())
    (7, 50)
    >>> policy = ScoutedHalving(order="given").reset(n_arms=50, horizon=200)
    >>> for _ in range(200):
    ...     arm = policy.ask()
    ...     n = policy.pulls[arm] + 1
    ...     policy.tell(arm, (arm * 7 % 50) / 50 * max(0, n - 9))  # all start level
    >>> policy.recommend(), int((policy.pulls > 0).sum())
    (7, 12)
    """

    name = "scouted-halving"
    summary = "a few arms pulled often show how many to open, then halving"
    verified = "derived here"
    kernels = Kernels(select=select, update=update, recommend=recommend)
    scratch = frozenset({"pool", "value"})
    randomised = True

    order: str = one_of(*sweeps.ORDERS)
    max_pulls: int | None = integer(None)
    share: float = number(0.1, above=0.0, maximum=1.0)

    @property
    def draws(self) -> bool:
        return self.order == "random"

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        state = State(
            known=horizon is not None,
            longest=_NO_LIMIT if self.max_pulls is None else int(self.max_pulls),
            share=float(self.share),
            order=np.arange(n_arms),
            turn=np.arange(n_arms),
            race=np.arange(n_arms),
            left=np.zeros(n_arms, dtype=np.int64),
            value=np.zeros(n_arms),
            window=np.array([float(self.share)]),
            marks=np.zeros(11, dtype=np.int64),
            **recent_means.new_fields(n_arms, capacity),
        )
        interpreted(_begin)(state, _FIRST_PLAN if horizon is None else horizon)
        return state

    def why_next(self, at: Moment) -> str:
        marks, n = at.state.marks, int(at.pulls[at.arm])
        goal, active = int(marks[_GOAL]), int(marks[_ACTIVE])
        if n >= goal:
            return "the arms that are due are not free"
        if marks[_STAGE] == _SCOUTING:
            return f"one of {active} scouts, pulled {goal:,} times each to see how much early levels say"
        if marks[_STAGE] == _OVER or active == 1:
            return "won the race, and plays on"
        if not at.parts["active"][at.arm]:
            return "no arm of the race is free"
        leads = ", which it leads" if n and interpreted(recommend)(at.state, at.t - 1, at.pulls) == at.arm else ""
        opened = "opened for" if n == 0 else "in"
        race = f"{opened} the race of {active} arms{leads}"
        return f"{race}: all are brought to {counted(goal)}, then the better half goes on"

    def why_kept(self, at: Moment) -> str:
        active = int(at.state.marks[_ACTIVE])
        if not at.parts["active"][at.arm]:
            return f"best level {at.level('level')}, at least as old as the {active} in the race"
        if at.state.marks[_STAGE] == _SCOUTING:
            return f"best level {at.level('level')} of the scouts so far"
        return reasons.race_won(at)

    def parts(self, state: Any, t: int) -> dict[str, Floats]:
        """Columns: ``level``; ``ahead`` of the leader at equal age; ``active``, in the race or not; ``left_at``, the
        age at which an arm left it; ``carries``, how well the scouts' levels at the arm's age agree with those at the
        age of scouts (the least from there on); ``spread`` of the scouts' levels.
        """
        marks, share = state.marks, float(state.window[0])
        scouts, depth = int(marks[_SCOUTS]), int(marks[_DEPTH])
        known = marks[_STAGE] != _SCOUTING
        columns = {name: np.full(len(state.pulls), np.nan) for name in ("level", "ahead", "left_at", "carries")}
        leader = int(interpreted(recommend)(state, t - 1, state.pulls))
        level, agreement = interpreted(_scouting.level), interpreted(_scouting.agreement)
        carried = [1.0]  # at the age of scouts, then at younger and younger ages
        for age in range(depth - 1, 0, -1):
            carried.append(max(0.0, min(carried[-1], agreement(state, scouts, age, depth, share))))
        for arm in np.flatnonzero(state.pulls):
            n = int(state.pulls[arm])
            age = min(n, int(state.pulls[leader]))
            columns["level"][arm] = level(state, arm, n, share)
            columns["ahead"][arm] = level(state, arm, age, share) - level(state, leader, age, share)
            if state.left[arm] > 0:
                columns["left_at"][arm] = state.left[arm]
            if known:
                columns["carries"][arm] = carried[depth - min(n, depth)]
        columns["active"] = np.zeros(len(state.pulls))
        columns["active"][state.race[: marks[_ACTIVE]]] = 1.0
        spread = math.sqrt(interpreted(_scouting.spread)(state, scouts, depth, share)) if known else math.nan
        columns["spread"] = np.full(len(state.pulls), spread)
        return columns
