"""Opening arms one after another: which is the incumbent, which may challenge it, when a new arm is worth its price.

Arms are compared at equal age: the level of an arm after n pulls, the mean of the last third of them, with the level
that the incumbent had after n pulls. ``order`` lists the arms that were opened, then the others in the order in which
they would be.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Ints, Mask, Records, Rng
from risingbandits.policies._kernels import histories, records, sweeps
from risingbandits.policies.commit import _differences, _lines

FIRST_ARMS = 2  # opened before anything is decided
FIRST_HOLD = 10  # pulls of the first incumbent before a third arm is opened, if the horizon is not known
_WORTH = 0.05  # share of spread / arms that one more arm is expected to gain in every round left
_LOOK_AHEAD = 2.0  # rounds left for every round played, if the horizon is not known
_HOLD_GROWTH = 1.05  # how much longer the incumbent has been played when a new arm is considered again
_MOST_NOISE = 0.5

OPEN = NOBODY = -1
# The arm to play next (OPEN: one more), the incumbent and the challenger (NOBODY), how many pulls the incumbent has
# when a new arm is considered, how many arms are open, whether `order` was drawn;
# how far arms lie behind the incumbent on average, squared noise and how often it was measured, the noise of one
# reward, the level that the best of the others surely has.
PLAN = records.record_type(
    (np.int64, "next incumbent challenger hold opened drawn"), (np.float64, "spread squares measured noise rival")
)


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
    return level(state, arm, n) - state.plan["noise"][0] / math.sqrt(window(n))


@kernel
def ahead(state: Any, arm: int, b: int) -> float:
    """How far the arm is ahead of arm b at equal age, or of b today if b is younger."""
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
def planned(state: Any, rng: Rng) -> int:
    """The planned arm, or the next one of the order, which is drawn at the first ask."""
    if state.plan["drawn"][0] == 0:
        sweeps.shuffle(state.order, state.plan["opened"][0], state.order.shape[0], rng)
        state.plan["drawn"][0] = 1
    arm = state.plan["next"][0]
    return state.order[state.plan["opened"][0]] if arm == OPEN else arm


@kernel
def select(state: Any, available: Mask, rng: Rng) -> int:
    arm = planned(state, rng)
    if available is None or available[arm]:
        return arm
    return _instead(state, available)


@rare_kernel
def _instead(state: Any, available: Mask) -> int:
    """The arm to play if the planned one is unavailable: another new one, the incumbent, or the one furthest ahead.

    An unopened arm counts as behind by the average distance.
    """
    b = state.plan["incumbent"][0]
    closed = first_closed(state, available)
    if closed >= 0 and (state.plan["next"][0] == OPEN or b == NOBODY):
        return closed
    if b != NOBODY and available[b]:  # type: ignore[index]
        return b
    chosen = -1
    best = -math.inf
    for place in range(state.plan["opened"][0]):
        arm = state.order[place]
        if available[arm]:  # type: ignore[index]
            value = level(state, arm, state.counts[arm]) if b == NOBODY else ahead(state, arm, b)
            if value > best:
                best = value
                chosen = arm
    return closed if closed >= 0 and best < -state.plan["spread"][0] else chosen


@kernel
def first_closed(state: Any, available: Mask) -> int:
    """The first available unopened arm, -1 if there is none."""
    for place in range(state.plan["opened"][0], state.order.shape[0]):
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
        enter(state.order, plan, arm)
    elif n > 2:
        _measure_noise(state, start, n)
    if plan["next"][0] != OPEN and plan["next"][0] != arm:  # not as planned: look at all arms again
        state.plan["rival"][0] = math.inf
    if n == 1 and plan["challenger"][0] == NOBODY and plan["incumbent"][0] != NOBODY:
        plan["challenger"][0] = arm
    if plan["challenger"][0] == arm:
        _judge(state, t, arm, n)
    _make_plan(state, t)


@rare_kernel
def enter(order: Ints, plan: Records, arm: int) -> None:
    """The arm is the next one of those that are open."""
    place = plan["opened"][0]
    while order[place] != arm:
        place += 1
    order[place] = order[plan["opened"][0]]
    order[plan["opened"][0]] = arm
    plan["opened"][0] += 1


@kernel
def _measure_noise(state: Any, start: int, n: int) -> None:
    """The noise by all second differences so far."""
    _differences.measure_noise(state, start, n)
    state.plan["noise"][0] = min(_MOST_NOISE, math.sqrt(state.plan["squares"][0] / state.plan["measured"][0]))


@rare_kernel
def _judge(state: Any, t: int, c: int, n: int) -> None:
    """Whether the challenger goes on, gives up, or is old or good enough to be compared as it is."""
    plan = state.plan
    b = plan["incumbent"][0]
    older = state.counts[b]
    noise = state.plan["noise"][0]
    patience = state.patience * state.plan["spread"][0] / math.sqrt(n)
    width = noise * math.sqrt(1.0 / window(n) + 1.0 / window(min(n, older)))
    hope = ahead(state, c, b) + patience + width
    if remaining(state, t) * hope <= catching_up(state, b, n):
        plan["challenger"][0] = NOBODY
        plan["hold"][0] = older
        state.plan["rival"][0] = math.inf
    elif n >= older or sure_level(state, c) > level(state, b, older):
        plan["challenger"][0] = NOBODY
        plan["hold"][0] = 0
        state.plan["rival"][0] = math.inf


@kernel
def _make_plan(state: Any, t: int) -> None:
    plan = state.plan
    if plan["opened"][0] < min(FIRST_ARMS, state.order.shape[0]):
        plan["next"][0] = OPEN
        return
    if plan["challenger"][0] != NOBODY:
        plan["next"][0] = plan["challenger"][0]
        return
    b = plan["incumbent"][0]
    if b != NOBODY and state.counts[b] < plan["hold"][0] and sure_level(state, b) >= state.plan["rival"][0]:
        plan["next"][0] = b
        return
    _crown(state)
    plan["next"][0] = plan["incumbent"][0]
    if state.counts[plan["incumbent"][0]] >= plan["hold"][0]:
        _look_for_challengers(state, t)


@rare_kernel
def _crown(state: Any) -> None:
    """The incumbent is the arm with the highest sure level, the first opened among equals."""
    b = state.order[0]
    best = sure_level(state, b)
    rival = -math.inf
    for place in range(1, state.plan["opened"][0]):
        value = sure_level(state, state.order[place])
        if value > best:
            rival = best
            best = value
            b = state.order[place]
        elif value > rival:
            rival = value
    state.plan["incumbent"][0] = b
    state.plan["rival"][0] = rival


@rare_kernel
def _look_for_challengers(state: Any, t: int) -> None:
    """An open arm that is ahead at equal age, if catching up pays; else a new one, if opening one pays; else none."""
    plan = state.plan
    b = plan["incumbent"][0]
    opened = plan["opened"][0]
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
                plan["challenger"][0] = arm
                plan["next"][0] = arm
    state.plan["spread"][0] = behind / opened
    if plan["challenger"][0] != NOBODY:
        return
    if opened < state.order.shape[0] and rounds * _WORTH * state.plan["spread"][0] / opened > lost / opened:
        plan["next"][0] = OPEN
    else:
        plan["hold"][0] = max(older + 1, int(_HOLD_GROWTH * older))
