"""Comparison: arms at equal resource. What one more trial of an arm is worth, and what it costs.

The level of an arm after n pulls is compared with the level that the incumbent had after n pulls. What is believed of
an arm is a normal distribution of how far it will end ahead of the incumbent. A trial narrows it, and pays if what the
arm may turn out to be ahead, over the rounds left, exceeds what is lost on the way. Nothing here depends on the scale
of rewards. ``plan`` is that of the state or, for an ask that cannot have the planned arm, the one aside.
"""

from __future__ import annotations

import math
from typing import Any

from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Mask, Records
from risingbandits.policies.default import _seen as seen

_FIRST_HOLD = 10.0  # pulls of the first incumbent before a third arm is opened, if the horizon is not known


@rare_kernel
def look(state: Any, t: int) -> None:
    """Find the incumbent and how far arms lie apart, as of round t.

    The spread is the root mean square of how far open arms are from the incumbent at equal resource, less what noise
    explains; what is believed before any arm is seen counts as one more arm.
    """
    plan = state.plan
    crown(state, plan, highest(state, None))
    squares = (state.numbers["apart"][0] * plan["length"][0]) ** 2
    for place in range(plan["opened"][0]):
        arm = state.order[place]
        if arm != plan["incumbent"][0]:
            squares += max(0.0, ahead(state, plan, arm) ** 2 - noise_of(state, plan, state.counts[arm]))
    plan["spread"][0] = math.sqrt(squares / plan["opened"][0])
    plan["rounds"][0] = (state.horizon - t if state.horizon > 0.0 else t) / max(1.0, plan["workers"][0])
    if plan["believes"][0] > 0.0 and plan["spread"][0] > 0.0:
        _learn_slope(state, plan)
        _bring_forward(state, plan)


@kernel
def crown(state: Any, plan: Records, b: int) -> None:
    """Make an arm the incumbent, believed to rise by as much as since half its age."""
    age = state.counts[b]
    today = seen.level(state, b, age)
    plan["incumbent"][0], plan["age"][0], plan["level"][0] = b, age, today
    plan["ceiling"][0] = today + max(0.0, today - seen.level(state, b, max(1, age // 2)))


@kernel
def highest(state: Any, available: Mask) -> int:
    """The available open arm with the highest level, the first opened among equals; NOBODY if there is none."""
    b = seen.NOBODY
    best = -math.inf
    for place in range(state.plan["opened"][0]):
        arm = state.order[place]
        if available is None or available[arm]:
            value = seen.level(state, arm, state.counts[arm])
            if b == seen.NOBODY or value > best:
                best = value
                b = arm
    return b


@kernel
def ahead(state: Any, plan: Records, arm: int) -> float:
    """How far the arm is ahead of the incumbent at equal resource, or of the incumbent today if that is younger."""
    n = state.counts[arm]
    return seen.level(state, arm, n) - seen.level(state, plan["incumbent"][0], min(n, plan["age"][0]))


@kernel
def noise_of(state: Any, plan: Records, n: int) -> float:
    """The variance of the noise in that, after n pulls."""
    return seen.error(state, n) + seen.error(state, min(n, plan["age"][0]))


# -- what is believed --------------------------------------------------------------------------------------------------


@kernel
def unit(state: Any, plan: Records) -> float:
    """A normal score of 1, in rewards: the deviation of an arm without pulls and beliefs."""
    return math.sqrt(1.0 - state.numbers["behind"][0] ** 2) * plan["spread"][0]


@kernel
def before(state: Any, plan: Records, arm: int) -> tuple[float, float]:
    """(mean, variance) of how far the arm was believed to end ahead before it was opened; NOBODY: the next to open."""
    if plan["believes"][0] == 0.0:
        return plan["behind"][0] - state.numbers["behind"][0] * plan["spread"][0], unit(state, plan) ** 2
    mean, square = belief(state, plan, state.order[plan["opened"][0]] if arm == seen.NOBODY else arm)
    return plan["behind"][0] + unit(state, plan) * mean, unit(state, plan) ** 2 * square


@kernel
def after(state: Any, plan: Records, prior: float, n: int) -> tuple[float, float]:
    """(trust, variance): how much counts what the arm shows after n pulls, and how uncertain its end still is.

    With beliefs from earlier runs, what it shows while it may still move counts for less.
    """
    if n == 0:
        return 0.0, prior
    blur = _blur(state, plan, n)
    trust = prior / (prior + blur) if prior > 0.0 else 0.0
    return trust, trust * blur + (0.0 if plan["believes"][0] > 0.0 else _drift(state, plan, n))


@kernel
def _drift(state: Any, plan: Records, n: int) -> float:
    """The variance of what an arm may still move after n pulls."""
    return (state.numbers["drift"][0] * plan["spread"][0] / n) ** 2


@kernel
def _blur(state: Any, plan: Records, n: int) -> float:
    """The variance of the error of a lead after n pulls; with beliefs, what the arm may still move counts as one."""
    moves = 4.0 * _drift(state, plan, n) if plan["believes"][0] > 0.0 else 0.0
    return noise_of(state, plan, n) + moves


@kernel
def expected(state: Any, plan: Records, arm: int) -> float:
    """How far the arm is believed to end ahead of the incumbent."""
    mean, prior = before(state, plan, arm)
    trust, _ = after(state, plan, prior, state.counts[arm])
    return mean + (ahead(state, plan, arm) - mean) * trust


@kernel
def positive_part(mean: float, deviation: float) -> float:
    """The mean of max(0, X) where X is normal."""
    if deviation <= 0.0:
        return max(0.0, mean)
    z = mean / deviation
    above = 0.5 * math.erfc(-z * math.sqrt(0.5))
    return mean * above + deviation * math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)


@kernel
def lost_by_copy(state: Any, plan: Records, first: int, last: int) -> float:
    """What an arm that learns like the incumbent loses in pulls first + 1 .. last.

    In the rounds that others take, the incumbent would have had the level that it rises to.
    """
    if last > plan["age"][0]:
        return (last - first) * (plan["ceiling"][0] - plan["level"][0])
    b = plan["incumbent"][0]
    return (last - first) * plan["ceiling"][0] - (seen.total(state, b, last) - seen.total(state, b, first))


@rare_kernel
def gain(state: Any, plan: Records, arm: int) -> float:
    """What the best trial of the arm (NOBODY: an unopened one) gains: its value less its price.

    The value is what the arm may be ahead after k more pulls, over the rounds that are left then, less the rest of
    catching up; the price is what these pulls lose. k is doubled until the arm is as old as the incumbent.
    """
    n, chance = 0, state.numbers["chance"][0] / plan["opened"][0]
    mean, prior = before(state, plan, arm)
    if arm != seen.NOBODY:
        n, chance = state.counts[arm], 1.0
        mean = expected(state, plan, arm)
    _, now = after(state, plan, prior, n)
    age, rounds = plan["age"][0], plan["rounds"][0]
    best = 0.0
    k = 1
    while k < rounds:
        if n < age:
            k = min(k, age - n)
        left = rounds - k
        _, then = after(state, plan, prior, n + k)
        catching_up = max(0.0, lost_by_copy(state, plan, n + k, age)) if n + k < age else 0.0
        value = chance * positive_part(left * mean - catching_up, left * math.sqrt(max(0.0, now - then)))
        on_the_way = k * state.numbers["on_the_way"][0] * min(mean, 0.0)
        best = max(best, value - max(0.0, lost_by_copy(state, plan, n, n + k) - on_the_way))
        if n + k == age or (n >= age and k >= n):
            break
        k = 2 * k
    return best


# -- what is decided ---------------------------------------------------------------------------------------------------


@kernel
def hold(state: Any) -> float:
    """Pulls of the first incumbent before a third arm is opened, to see how an arm learns here.

    With beliefs about arms, these are needed before a second one is opened.
    """
    if state.horizon <= 0.0:
        return _FIRST_HOLD
    return max(2.0, state.numbers["hold"][0] * state.horizon ** (1.0 / 3.0))


@kernel
def waits(state: Any, plan: Records) -> bool:
    """Whether the incumbent continues because too little is known about how arms learn."""
    return plan["opened"][0] <= max(2.0, plan["workers"][0]) and plan["age"][0] < hold(state)


@rare_kernel
def choose(state: Any, plan: Records, available: Mask) -> int:
    """The arm whose best trial gains most, OPEN for an unopened one, or the incumbent if none gains."""
    chosen = plan["incumbent"][0]
    if waits(state, plan):
        return chosen
    most = 0.0
    for place in range(plan["opened"][0]):
        arm = state.order[place]
        if arm != plan["incumbent"][0] and (available is None or available[arm]):
            value = gain(state, plan, arm)
            if value > most:
                most = value
                chosen = arm
    if seen.first_closed(state, available) != seen.NOBODY and gain(state, plan, seen.NOBODY) > most:
        return seen.OPEN
    return chosen


# -- beliefs about arms from configs and earlier runs -----------------------------------------------------------------


@kernel
def belief(state: Any, plan: Records, arm: int) -> tuple[float, float]:
    """(mean, variance) of the arm's lead over the incumbent, in normal scores, by what was believed before its pulls.

    Where the slope turns out flat, nothing is known of the arm; and slope and standing are uncertain themselves.
    """
    score, slope = state.beliefs[arm, 0], plan["slope"][0]
    own = 1.0 - min(1.0, slope * slope) * (1.0 - state.beliefs[arm, 1] ** 2)
    shared = plan["standing_variance"][0] + score * (score * plan["slope_variance"][0] - 2.0 * plan["covariance"][0])
    return slope * score - plan["standing"][0], own + shared


@rare_kernel
def _learn_slope(state: Any, plan: Records) -> None:
    """The slope of open arms' leads over what was believed of them, and the incumbent's standing, its normal score.

    Leads are the slope times the beliefs, less the standing. The slope is believed to be 1, with a deviation of 1, so
    that a few arms can show that beliefs say nothing here, or the opposite. The best of several may owe its place to
    noise: then the standing counts a standard error more, so that noise alone starts no further arms.
    """
    square = unit(state, plan) ** 2
    weights = weighted = lead_sum = 0.0
    squares = products = 1.0
    for place in range(plan["opened"][0]):
        arm = state.order[place]
        score = state.beliefs[arm, 0]
        weight = 1.0 / (state.beliefs[arm, 1] ** 2 + _blur(state, plan, state.counts[arm]) / square)
        lead = 0.0 if arm == plan["incumbent"][0] else ahead(state, plan, arm) / math.sqrt(square)
        weights += weight
        weighted += weight * score
        lead_sum += weight * lead
        squares += weight * score * score
        products += weight * score * lead
    determinant = weights * squares - weighted * weighted
    plan["slope"][0] = (weights * products - weighted * lead_sum) / determinant
    plan["standing"][0] = (weighted * products - squares * lead_sum) / determinant
    if plan["opened"][0] > 1:
        plan["standing"][0] += 1.0 / math.sqrt(weights)
    plan["slope_variance"][0] = weights / determinant
    plan["standing_variance"][0] = squares / determinant
    plan["covariance"][0] = weighted / determinant


@rare_kernel
def _bring_forward(state: Any, plan: Records) -> None:
    """Make the arm without pulls that may end furthest ahead the next one: not always the one with the highest mean.

    After the favourite, one of which little good is believed may teach more about the slope than the second favourite.
    """
    opened = plan["opened"][0]
    most = 0.0
    chosen = opened
    for place in range(opened, state.order.shape[0]):
        mean, square = belief(state, plan, state.order[place])
        value = positive_part(mean, math.sqrt(square))
        if value > most:
            most = value
            chosen = place
    if opened == state.order.shape[0]:
        return
    arm = state.order[chosen]
    for place in range(chosen, opened, -1):
        state.order[place] = state.order[place - 1]
    state.order[opened] = arm
