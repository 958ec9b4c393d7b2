"""Opening arms one after another: who is the incumbent, who may challenge it, when a new arm is worth its price.

Arms are compared at equal age: the level of an arm after n pulls, the mean of the last third of them, with the level
that the incumbent had after n pulls. ``order`` lists the arms that were opened, then the others in the order in which
they would be.
"""

from __future__ import annotations

import math
from typing import Any

from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Ints, Mask, Rng
from risingbandits.policies._kernels import arm_order, histories
from risingbandits.policies.commit import _lines

FIRST_ARMS = 2  # opened before anything is decided
FIRST_HOLD = 10  # pulls of the first incumbent before a third arm is opened, where the horizon is not known
_WORTH = 0.05  # share of spread / arms that one more arm is expected to gain in every round left
_LOOK_AHEAD = 2.0  # rounds left for every round played, where the horizon is not known
_HOLD_GROWTH = 1.05  # how much longer the incumbent has been played when a new arm is considered again
_MOST_NOISE = 0.5

# Places of `plan`: the arm to play next (OPEN: one more), the incumbent and the challenger (NOBODY), how many pulls the
# incumbent has when a new arm is considered, how many arms are open, whether `order` was drawn.
NEXT, INCUMBENT, CHALLENGER, HOLD, OPENED, DRAWN = 0, 1, 2, 3, 4, 5
OPEN = NOBODY = -1
# Places of `figures`: how far arms lie behind the incumbent on average, squared noise and how often it was measured,
# the noise of one reward, the level that the best of the others surely has.
SPREAD, SQUARES, MEASURED, NOISE, RIVAL = 0, 1, 2, 3, 4


@kernel
def window(n: int) -> int:
    """How many of n pulls make the level: the last third."""
    return (n + 2) // 3


@kernel
def level(state: Any, arm: int, n: int) -> float:
    """The level of an arm when it had n pulls."""
    start = state.places[arm, 0]
    w = window(n)
    return (_lines.prefix(state.pool, start, n) - _lines.prefix(state.pool, start, n - w)) / w


@kernel
def sure_level(state: Any, arm: int) -> float:
    n = state.counts[arm]
    return level(state, arm, n) - state.figures[NOISE] / math.sqrt(window(n))


@kernel
def ahead(state: Any, arm: int, b: int) -> float:
    """How far the arm is ahead of arm b at equal age, or of b today where b is younger."""
    n = state.counts[arm]
    return level(state, arm, n) - level(state, b, min(n, state.counts[b]))


@kernel
def catching_up(state: Any, b: int, n: int) -> float:
    """What it costs to bring an arm from n pulls to the age of b if it learns like b."""
    older = state.counts[b]
    if n >= older:
        return 0.0
    start = state.places[b, 0]
    earned = _lines.prefix(state.pool, start, older) - _lines.prefix(state.pool, start, n)
    return max(0.0, (older - n) * level(state, b, older) - earned)


@kernel
def remaining(state: Any, t: int) -> float:
    """Rounds left after round t."""
    return max(1.0, state.horizon - t) if state.horizon > 0.0 else _LOOK_AHEAD * t


@kernel
def select(state: Any, available: Mask, rng: Rng) -> int:
    if state.plan[DRAWN] == 0:
        arm_order.shuffle(state.order, state.plan[OPENED], state.order.shape[0], rng)
        state.plan[DRAWN] = 1
    arm = state.plan[NEXT]
    if arm == OPEN:
        arm = state.order[state.plan[OPENED]]
    if available is None or available[arm]:
        return arm
    return _instead(state, available)


@rare_kernel
def _instead(state: Any, available: Mask) -> int:
    """Whom to play where the planned arm is not available: another new one, or the incumbent, else who is most ahead.

    An arm that was never opened counts as one that is behind by what arms are on average.
    """
    b = state.plan[INCUMBENT]
    closed = _first_closed(state, available)
    if closed >= 0 and (state.plan[NEXT] == OPEN or b == NOBODY):
        return closed
    if b != NOBODY and available[b]:  # type: ignore[index]
        return b
    chosen = -1
    best = -math.inf
    for place in range(state.plan[OPENED]):
        arm = state.order[place]
        if available[arm]:  # type: ignore[index]
            value = level(state, arm, state.counts[arm]) if b == NOBODY else ahead(state, arm, b)
            if value > best:
                best = value
                chosen = arm
    return closed if closed >= 0 and best < -state.figures[SPREAD] else chosen


@kernel
def _first_closed(state: Any, available: Mask) -> int:
    """The first available arm that was not opened, -1 if there is none."""
    for place in range(state.plan[OPENED], state.order.shape[0]):
        if available[state.order[place]]:  # type: ignore[index]
            return state.order[place]
    return -1


@kernel
def update(state: Any, t: int, arm: int, reward: float) -> None:
    n = state.counts[arm] + 1
    state.counts[arm] = n
    earned = _lines.prefix(state.pool, state.places[arm, 0], n - 1)
    start = histories.append(state.pool, state.places, arm, n, earned + reward)
    plan = state.plan
    if n == 1:
        _enter(state.order, plan, arm)
    elif n > 2:
        _measure_noise(state, start, n)
    if plan[NEXT] != OPEN and plan[NEXT] != arm:  # not as planned: look at all arms again
        state.figures[RIVAL] = math.inf
    if n == 1 and plan[CHALLENGER] == NOBODY and plan[INCUMBENT] != NOBODY:
        plan[CHALLENGER] = arm
    if plan[CHALLENGER] == arm:
        _judge(state, t, arm, n)
    _make_plan(state, t)


@rare_kernel
def _enter(order: Ints, plan: Ints, arm: int) -> None:
    """The arm is the next one of those that are open."""
    place = plan[OPENED]
    while order[place] != arm:
        place += 1
    order[place] = order[plan[OPENED]]
    order[plan[OPENED]] = arm
    plan[OPENED] += 1


@kernel
def _measure_noise(state: Any, start: int, n: int) -> None:
    """Noise from second differences: those of white noise have six times its variance, those of a line none."""
    p3 = _lines.prefix(state.pool, start, n - 3)
    p2 = state.pool[start + n - 2]
    p1 = state.pool[start + n - 1]
    bend = (state.pool[start + n] - p1) - 2.0 * (p1 - p2) + (p2 - p3)
    state.figures[SQUARES] += bend * bend / 6.0
    state.figures[MEASURED] += 1.0
    state.figures[NOISE] = min(_MOST_NOISE, math.sqrt(state.figures[SQUARES] / state.figures[MEASURED]))


@rare_kernel
def _judge(state: Any, t: int, c: int, n: int) -> None:
    """Whether the challenger goes on, gives up, or is old or good enough to be compared as it is."""
    plan = state.plan
    b = plan[INCUMBENT]
    older = state.counts[b]
    noise = state.figures[NOISE]
    patience = state.patience * state.figures[SPREAD] / math.sqrt(n)
    width = noise * math.sqrt(1.0 / window(n) + 1.0 / window(min(n, older)))
    hope = ahead(state, c, b) + patience + width
    if remaining(state, t) * hope <= catching_up(state, b, n):
        plan[CHALLENGER] = NOBODY
        plan[HOLD] = older
        state.figures[RIVAL] = math.inf
    elif n >= older or sure_level(state, c) > level(state, b, older):
        plan[CHALLENGER] = NOBODY
        plan[HOLD] = 0
        state.figures[RIVAL] = math.inf


@kernel
def _make_plan(state: Any, t: int) -> None:
    plan = state.plan
    if plan[OPENED] < min(FIRST_ARMS, state.order.shape[0]):
        plan[NEXT] = OPEN
        return
    if plan[CHALLENGER] != NOBODY:
        plan[NEXT] = plan[CHALLENGER]
        return
    b = plan[INCUMBENT]
    if b != NOBODY and state.counts[b] < plan[HOLD] and sure_level(state, b) >= state.figures[RIVAL]:
        plan[NEXT] = b
        return
    _crown(state)
    plan[NEXT] = plan[INCUMBENT]
    if state.counts[plan[INCUMBENT]] >= plan[HOLD]:
        _look_for_challengers(state, t)


@rare_kernel
def _crown(state: Any) -> None:
    """The incumbent is the arm with the highest level that is sure; of equals the one that was opened first."""
    b = state.order[0]
    best = sure_level(state, b)
    rival = -math.inf
    for place in range(1, state.plan[OPENED]):
        value = sure_level(state, state.order[place])
        if value > best:
            rival = best
            best = value
            b = state.order[place]
        elif value > rival:
            rival = value
    state.plan[INCUMBENT] = b
    state.figures[RIVAL] = rival


@rare_kernel
def _look_for_challengers(state: Any, t: int) -> None:
    """An open arm that is ahead at equal age, if catching up pays; else a new one, if opening one pays; else nobody."""
    plan = state.plan
    b = plan[INCUMBENT]
    opened = plan[OPENED]
    older = state.counts[b]
    rounds = remaining(state, t)
    today = level(state, b, older)
    lost = max(0.0, today - level(state, b, 1))  # the first pull of an arm like the incumbent, one arm's worth of prior
    behind = state.spread
    best = 0.0
    for place in range(opened):
        arm = state.order[place]
        if arm == b:
            continue
        n = state.counts[arm]
        lost += max(0.0, n * today - _lines.prefix(state.pool, state.places[arm, 0], n))
        lead = ahead(state, arm, b)
        behind += max(0.0, -lead)
        if lead >= 0.0 and n < older:
            surplus = rounds * lead - catching_up(state, b, n)
            if surplus > best:
                best = surplus
                plan[CHALLENGER] = arm
                plan[NEXT] = arm
    state.figures[SPREAD] = behind / opened
    if plan[CHALLENGER] != NOBODY:
        return
    if opened < state.order.shape[0] and rounds * _WORTH * state.figures[SPREAD] / opened > lost / opened:
        plan[NEXT] = OPEN
    else:
        plan[HOLD] = max(older + 1, int(_HOLD_GROWTH * older))


@kernel
def recommend(state: Any) -> int:
    """The open arm with the highest level that is sure."""
    b = state.order[0]
    for place in range(1, state.plan[OPENED]):
        if sure_level(state, state.order[place]) > sure_level(state, b):
            b = state.order[place]
    return b
