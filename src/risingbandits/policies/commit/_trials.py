"""What one more trial of an arm is worth, and what it costs: which arm is tried next if pulls are few.

Arms are compared at equal age, as in `_opening`: the level of an arm after n pulls with the level that the incumbent
had then. What is believed of an arm is a normal distribution of how far it will end ahead of the incumbent. A trial
narrows it, and pays if what the arm may turn out to be ahead, over the rounds left, exceeds what is lost on the way.
``order`` lists the arms that were opened, then the others in the order in which they would be.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Mask, Rng
from risingbandits.policies._kernels import histories, records
from risingbandits.policies.commit import _lines, _opening, _trials_noise

FIRST_ARMS = 2  # opened before anything is decided
FIRST_HOLD = 10.0  # pulls of the first incumbent before a third arm is tried, if the horizon is not known
HOLD = 2.0  # times the cube root of the horizon, if it is
_BEHIND = 0.6  # how far an unopened arm is believed to end behind the incumbent, in spreads
_DRIFT = 0.5  # how far an arm may still move after its first pull, in spreads; after n pulls an n-th of it
_CHANCE = 1.0 / 3.0  # with m open arms, what an unopened one may bring counts _CHANCE / m
_ON_THE_WAY = 0.5  # share of the distance at the end that an arm is behind during a trial
_HOPELESS = 2.0  # deviations below 0 from which on an arm is not tried
_CAUTION = 0.75  # standard errors by which levels are lowered where the incumbent is chosen
_WINDOW_NOISE = 4.0  # times (noise / spread)^2: the pulls that a level is taken over, if the arm has them
_UNSEEN_RISE = 0.25  # spreads that the incumbent is believed to rise at least; less has not moved
_FIRST_TRUST = 1.0  # weight, in squared normal scores, of the trust in earlier runs that is there from the start
_FAVOUR = 0.4  # spreads that a normal score of 1 counts in the choice of the incumbent after one pull; an n-th after n
_LEAST_SPREAD = 0.05  # of the spread believed at first
_LONGER = 1.7  # from one length of a trial to the next that is considered
_BATCH = 1.05  # pulls grow by this factor until the next decision

OPEN = NOBODY = -1
# The arm to play next (OPEN: one more) and up to how many pulls, the incumbent (NOBODY) and its pulls, how many pulls
# make a level at least, how many arms are open, whether `order` was drawn;
# how far arms lie apart, the variance of the noise, the sum of its measurements and their number, the incumbent's
# level, the level that it is believed to rise to, the farthest that any arm has moved or is apart, rounds left;
# whether there are beliefs from earlier runs, the normal score of the incumbent by them, how far they are trusted;
# the evidence against a told sigma, and whether it is enough;
# pulls that are made at a time, and how far the incumbent of a further worker is behind that of the first (_beside).
PLAN = records.record_type(
    (np.int64, "next until incumbent age needed opened drawn"),
    (np.float64, "spread noise squares measured level ceiling moved rounds"),
    (np.float64, "believes standing trust"),
    (np.float64, "evidence contradicted"),
    (np.float64, "workers behind"),
)


# -- what is measured --------------------------------------------------------------------------------------------------


@kernel
def window(state: Any, n: int) -> int:
    """How many of n pulls make the level: the last quarter, or more if the noise requires it."""
    return min(n, max((n + 3) // 4, state.plan["needed"][0]))


@kernel
def level(state: Any, arm: int, n: int) -> float:
    """The level of an arm when it had n pulls."""
    start = state.places[arm, 0]
    w = window(state, n)
    return (_lines.prefix(state.pool, start, n) - _lines.prefix(state.pool, start, n - w)) / w


@kernel
def sure_level(state: Any, arm: int) -> float:
    """The level of an arm, lowered for its noise; a young one is favoured according to the belief about it."""
    n = state.counts[arm]
    favour = 0.0
    if state.plan["believes"][0] > 0.0:
        favour = _FAVOUR * state.plan["spread"][0] * belief(state, arm)[0] / n
    return level(state, arm, n) + favour - _CAUTION * math.sqrt(state.plan["noise"][0] / window(state, n))


@kernel
def ahead(state: Any, arm: int) -> float:
    """How far the arm is ahead of the incumbent at equal age, or of the incumbent today if that is younger."""
    n = state.counts[arm]
    return level(state, arm, n) - level(state, state.plan["incumbent"][0], min(n, state.plan["age"][0]))


@kernel
def noise_of(state: Any, n: int) -> float:
    """The variance of the noise in that, after n pulls."""
    return state.plan["noise"][0] * (1.0 / window(state, n) + 1.0 / window(state, min(n, state.plan["age"][0])))


# -- what is believed --------------------------------------------------------------------------------------------------


@kernel
def unit(state: Any) -> float:
    """A normal score of 1, in rewards: the deviation of an unopened arm without beliefs."""
    return math.sqrt(1.0 - _BEHIND * _BEHIND) * state.plan["spread"][0]


@kernel
def before(state: Any, arm: int) -> tuple[float, float]:
    """(mean, variance) of how far the arm was believed to end ahead before it was opened; NOBODY: the next to open."""
    plan = state.plan
    spread = plan["spread"][0]
    variance = (1.0 - _BEHIND * _BEHIND) * spread * spread
    if plan["believes"][0] == 0.0:
        return plan["behind"][0] - _BEHIND * spread, variance
    which = state.order[plan["opened"][0]] if arm == NOBODY else arm
    mean, square = belief(state, which)
    return plan["behind"][0] + unit(state) * (mean - plan["standing"][0]), variance * square


@kernel
def belief(state: Any, arm: int) -> tuple[float, float]:
    """(mean, variance) of the arm's normal score from earlier runs, weighted by the trust in these."""
    trust = state.plan["trust"][0]
    deviation = state.beliefs[arm, 1]
    return trust * state.beliefs[arm, 0], 1.0 - trust * trust * (1.0 - deviation * deviation)


@kernel
def variance(state: Any, arm: int, n: int) -> float:
    """How uncertain it is how far the arm, with n pulls, will end ahead: noise so far, and how far it may still move.

    With beliefs about the arm from earlier runs, what it shows while it may still move counts for less.
    """
    _, prior = before(state, arm)
    if n == 0:
        return prior
    noise = noise_of(state, n)
    drift = _DRIFT * state.plan["spread"][0] / n
    if state.plan["believes"][0] > 0.0:
        noise += 4.0 * drift * drift
        return prior * noise / (prior + noise)
    return prior * noise / (prior + noise) + drift * drift


@kernel
def expected(state: Any, arm: int) -> float:
    """How far the arm is believed to end ahead of the incumbent; NOBODY: an unopened arm."""
    mean, prior = before(state, arm)
    if arm == NOBODY:
        return mean
    n = state.counts[arm]
    noise = noise_of(state, n)
    if state.plan["believes"][0] > 0.0:
        drift = _DRIFT * state.plan["spread"][0] / n
        noise += 4.0 * drift * drift
    trust = prior / (prior + noise)
    return mean + (ahead(state, arm) - mean) * trust


@kernel
def chance_above(mean: float, deviation: float) -> float:
    """The probability that a normal number is above 0; exact to the last digits even if it is tiny."""
    return 0.5 * math.erfc(-mean / deviation * math.sqrt(0.5))


@kernel
def positive_part(mean: float, deviation: float) -> float:
    """The mean of max(0, X) where X is normal."""
    if deviation <= 0.0:
        return max(0.0, mean)
    z = mean / deviation
    return mean * chance_above(mean, deviation) + deviation * math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)


@kernel
def lost_by_copy(state: Any, first: int, last: int) -> float:
    """What an arm that learns like the incumbent loses in pulls first + 1 .. last.

    In the rounds that others take, the incumbent would have had the level that it rises to.
    """
    plan = state.plan
    if last > plan["age"][0]:
        return (last - first) * (plan["ceiling"][0] - plan["level"][0])
    start = state.places[plan["incumbent"][0], 0]
    earned = _lines.prefix(state.pool, start, last) - _lines.prefix(state.pool, start, first)
    return (last - first) * plan["ceiling"][0] - earned


@rare_kernel
def best_trial(state: Any, arm: int) -> tuple[int, float, float]:
    """(k, value, price): the trial of an arm (NOBODY: an unopened one) whose value exceeds its price by most.

    k = 0 if the arm is not worth considering. The value is what the arm may be ahead after the trial, over the
    rounds that are left then, minus the rest of catching up; the price is what the trial itself loses.
    """
    plan = state.plan
    n = 0 if arm == NOBODY else state.counts[arm]
    age, rounds = plan["age"][0], plan["rounds"][0]
    mean = expected(state, arm)
    now = variance(state, arm, n)
    chance = _CHANCE / plan["opened"][0] if arm == NOBODY else 1.0
    best_k, best_value, best_price = 0, 0.0, 0.0
    if arm != NOBODY and mean + _HOPELESS * math.sqrt(now) < 0.0:
        return best_k, best_value, best_price
    k = 1
    while k < rounds:
        if n < age:
            k = min(k, age - n)
        left = rounds - k
        narrowed = math.sqrt(max(0.0, now - variance(state, arm, n + k)))
        catching_up = max(0.0, lost_by_copy(state, n + k, age)) if n + k < age else 0.0
        value = chance * positive_part(left * mean - catching_up, left * narrowed)
        price = max(0.0, lost_by_copy(state, n, n + k) - k * _ON_THE_WAY * min(mean, 0.0))
        if best_k == 0 or value - price > best_value - best_price:
            best_k, best_value, best_price = k, value, price
        if n + k == age or (n >= age and k >= n):
            break
        k = max(k + 1, int(_LONGER * k))
    return best_k, best_value, best_price


# -- what is decided ---------------------------------------------------------------------------------------------------


@kernel
def select(state: Any, available: Mask, rng: Rng) -> int:
    arm = _opening.planned(state, rng)
    if available is None or available[arm]:
        return arm
    return _instead(state, available)


@rare_kernel
def _instead(state: Any, available: Mask) -> int:
    """The arm to play if the planned one is unavailable: a new one, the incumbent, or the one that may end best."""
    b = state.plan["incumbent"][0]
    closed = _opening.first_closed(state, available)
    if closed >= 0 and (state.plan["next"][0] == OPEN or b == NOBODY):
        return closed
    if b != NOBODY and available[b]:  # type: ignore[index]
        return b
    chosen = -1
    best = -math.inf
    for place in range(state.plan["opened"][0]):
        arm = state.order[place]
        if available[arm]:  # type: ignore[index]
            value = level(state, arm, state.counts[arm]) if b == NOBODY else expected(state, arm)
            if value > best:
                best = value
                chosen = arm
    return closed if closed >= 0 and best < expected(state, NOBODY) else chosen


@kernel
def update(state: Any, t: int, arm: int, reward: float) -> None:
    plan = state.plan
    n = state.counts[arm] + 1
    state.counts[arm] = n
    earned = _lines.prefix(state.pool, state.places[arm, 0], n - 1)
    start = histories.append(state.pool, state.places, arm, n, earned + reward)
    if n == 1:
        _opening.enter(state.order, plan, arm)
    elif n > 2:
        _trials_noise.measure(state, start, n)
    if plan["next"][0] != arm or n >= plan["until"][0]:
        _decide(state, t)


@rare_kernel
def _decide(state: Any, t: int) -> None:
    """Plan the next pulls: the arm whose best trial gains most, or the incumbent if none gains."""
    plan = state.plan
    opened = plan["opened"][0]
    newest = state.order[opened - 1]
    if state.counts[newest] == 1 and begins_at_nothing(state, newest):
        plan["next"][0], plan["until"][0] = newest, 2  # many scores start at 0, then jump
        return
    if opened < min(FIRST_ARMS, state.order.shape[0]):
        plan["next"][0] = OPEN
        return
    _look(state, t)
    b = plan["incumbent"][0]
    chosen = b
    if not waits(state):
        most = 0.0
        for place in range(opened):
            arm = state.order[place]
            if arm != b:
                _, value, price = best_trial(state, arm)
                if value - price > most:
                    most = value - price
                    chosen = arm
        if opened < state.order.shape[0]:
            _, value, price = best_trial(state, NOBODY)
            if value - price > most:
                chosen = OPEN
    plan["next"][0] = chosen
    if chosen != OPEN:
        plan["until"][0] = max(state.counts[chosen] + 1, int(_BATCH * state.counts[chosen]))


@kernel
def begins_at_nothing(state: Any, arm: int) -> bool:
    """Whether the first reward of the arm is close to 0."""
    return level(state, arm, 1) < _UNSEEN_RISE * state.spread


@kernel
def waits(state: Any) -> bool:
    """Whether the incumbent continues because too little is known about how arms learn.

    With two arms open, or, for twice as long, while no arm has moved: arms that start flat look alike, and an arm that
    looks as good as the incumbent costs nothing only as long as neither has risen.
    """
    plan = state.plan
    if plan["moved"][0] < _UNSEEN_RISE * state.spread and plan["age"][0] < 2.0 * state.hold:
        return True
    return plan["opened"][0] <= max(FIRST_ARMS, plan["workers"][0]) and plan["age"][0] < state.hold


@kernel
def _look(state: Any, t: int) -> None:
    """Noise, incumbent, spread and everything else that a decision needs, as of round t."""
    plan = state.plan
    plan["noise"][0] = _trials_noise.believed(state)
    needed = math.ceil(_WINDOW_NOISE * plan["noise"][0] / (plan["spread"][0] * plan["spread"][0]))
    plan["needed"][0] = int(min(needed, float(t)))
    b = surest(state)
    age = state.counts[b]
    today = level(state, b, age)
    plan["incumbent"][0], plan["age"][0], plan["level"][0] = b, age, today
    squares = state.spread * state.spread
    moved = abs(today - level(state, b, 1))
    for place in range(plan["opened"][0]):
        arm = state.order[place]
        if arm != b:
            lead = ahead(state, arm)
            squares += max(0.0, lead * lead - noise_of(state, state.counts[arm]))
            moved = max(moved, abs(lead))
    plan["spread"][0] = max(_LEAST_SPREAD * state.spread, math.sqrt(squares / plan["opened"][0]))
    plan["moved"][0] = moved
    if plan["believes"][0] > 0.0:
        _compare_with_earlier_runs(state)
    plan["ceiling"][0] = rises_to(state, b)
    plan["rounds"][0] = (state.horizon - t if state.horizon > 0.0 else t) / max(1.0, plan["workers"][0])


@kernel
def rises_to(state: Any, b: int) -> float:
    """The level that an incumbent is believed to rise to.

    Rounds given to others are missing at the end of the run, when it will have risen: by as much as since half its age,
    or by a little if no arm has moved yet.
    """
    age = state.counts[b]
    today = level(state, b, age)
    rise = max(0.0, today - level(state, b, max(1, age // 2)))
    return today + rise + max(0.0, _UNSEEN_RISE * state.spread - state.plan["moved"][0])


@kernel
def _lead(state: Any, arm: int) -> float:
    """How far the arm is ahead of the incumbent, in normal scores."""
    return 0.0 if arm == state.plan["incumbent"][0] else ahead(state, arm) / unit(state)


@kernel
def _compare_with_earlier_runs(state: Any) -> None:
    """How far open arms confirm the beliefs about them, and the normal score of the incumbent.

    Trust is the slope of a straight line through the leads of open arms over their beliefs. Each open arm then says
    what the incumbent is: what is believed of the arm, less its lead; the mean of these counts a standard error more.
    """
    opened = state.plan["opened"][0]
    mean_belief = 0.0
    mean_lead = 0.0
    for place in range(opened):
        arm = state.order[place]
        mean_belief += state.beliefs[arm, 0] / opened
        mean_lead += _lead(state, arm) / opened
    shown = _FIRST_TRUST
    most = _FIRST_TRUST
    for place in range(opened):
        arm = state.order[place]
        own = state.beliefs[arm, 0] - mean_belief
        shown += (_lead(state, arm) - mean_lead) * own
        most += own * own
    state.plan["trust"][0] = min(1.0, max(0.0, shown / most))
    total = 0.0
    weights = 0.0
    for place in range(opened):
        arm = state.order[place]
        mean, square = belief(state, arm)
        total += (mean - _lead(state, arm)) / square
        weights += 1.0 / square
    state.plan["standing"][0] = total / weights + 1.0 / math.sqrt(weights)


@kernel
def surest(state: Any) -> int:
    """The open arm with the highest sure level, the first opened among equals."""
    b = state.order[0]
    best = sure_level(state, b)
    for place in range(1, state.plan["opened"][0]):
        value = sure_level(state, state.order[place])
        if value > best:
            best = value
            b = state.order[place]
    return b
