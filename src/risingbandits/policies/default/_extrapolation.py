r"""Extrapolation: each arm judged by its own shape. What committing the remaining rounds to it may bring.

Every shape g of `rise` is tried with every pace :math:`\tau`, as :math:`\mu(n) = b\,g(n / \tau)`, which starts at the
lower end of the range, and as :math:`\mu(n) = a + b\,g(n / \tau)`. Given the shape, the model is linear, so normal
priors give normal posteriors and the evidence of each component in closed form; b > 0 is imposed softly. An arm's
sufficient statistics are few sums, added to once per batch: with w the weight of a batch (its pulls divided by the
variance of one), y its mean and g the shape at its centre, the sums of w, w y and, for every shape, w g, w g^2, w g y.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Floats, Mask, Records
from risingbandits.policies.default import _seen as seen

_FAMILIES = 6
_LATE = 5  # the shape that begins late; only from nothing, as otherwise it fits any flat start
_LONG = 1_000_000  # if the horizon is not known, the paces are those of this one
_AHEAD = 3.0  # rounds left for every round played, if the horizon is not known
SHARE, MEAN, DEVIATION = 0, 1, 2  # rows of `work`, which has a column for each component
_IMPOSSIBLE = -8.0  # standard deviations of b below 0 from which on a component is out
_CLEAR = 3.0  # above, cutting b at 0 changes nothing
_LEAST_SHARE = 1e-5
_BISECTIONS = 36
_FRESH = 0.97  # a bound holds until the rounds left have changed by this factor
_CHANGED = 1.3  # the batches of an arm are weighed anew when the variance of a reward has changed by this factor
_GROWTH = 1.05  # pulls grow by this factor until the next batch


def paces(horizon: int | None) -> Floats:
    """The paces, from half a pull to four horizons, each the square root of 2 times the one before."""
    count = 1 + int(2.0 * math.log2(8.0 * (_LONG if horizon is None else horizon)) + 1e-9)
    return np.asarray(0.5 * math.sqrt(2.0) ** np.arange(count))


def components(horizon: int | None) -> int:
    """How many there are: shapes, each in two ways."""
    return 2 * shapes(horizon)


def shapes(horizon: int | None) -> int:
    """How many there are: families, each with all paces."""
    return _FAMILIES * paces(horizon).size


@kernel
def rise(family: int, x: float) -> float:
    """The curve after x paces: exponential, three power laws, a line with a sharp end, a logistic one."""
    if family == 0:
        return -math.expm1(-x)
    if family == 1:
        return x / (1.0 + x)
    if family == 2:
        return 1.0 - 1.0 / math.sqrt(1.0 + x)
    if family == 3:
        return 1.0 - 1.0 / math.sqrt(math.sqrt(1.0 + x))
    if family == 4:
        return min(x, 1.0)
    return 1.0 / (1.0 + math.exp(-min(50.0, 4.0 * (x - 1.0))))


@kernel
def area(family: int, x: float) -> float:
    """The integral of ``rise`` from 0 to x; for the last family from minus infinity."""
    if family == 0:
        return x + math.expm1(-x)
    if family == 1:
        return x - math.log1p(x)
    if family == 2:
        return x - 2.0 * (math.sqrt(1.0 + x) - 1.0)
    if family == 3:
        root = math.sqrt(math.sqrt(1.0 + x))
        return x - (root * root * root - 1.0) / 0.75
    if family == 4:
        return 0.5 * x * x if x < 1.0 else x - 0.5
    z = 4.0 * (x - 1.0)
    return 0.25 * (z if z > 30.0 else math.log1p(math.exp(z)))


@kernel
def normal_cdf(x: float) -> float:
    """Phi(x); 0 and 1 beyond 8 standard deviations."""
    if x > 8.0:
        return 1.0
    return 0.0 if x < -8.0 else 0.5 * math.erfc(-x * math.sqrt(0.5))


@kernel
def next_point(n: int) -> int:
    """The number of pulls at which the batch that starts at n ends."""
    return max(n + 1, int(_GROWTH * n))


# -- the posterior of one arm ------------------------------------------------------------------------------------------


@kernel
def _stray(state: Any) -> float:
    """How far the first reward of a curve strays from the shapes."""
    return state.numbers["stray"][0] * state.plan["length"][0]


@kernel
def variance(state: Any) -> float:
    """The variance of a first reward around the shapes: noise, and how far curves stray."""
    return state.plan["noise"][0] + _stray(state) ** 2


@kernel
def _varies_otherwise(state: Any, arm: int) -> bool:
    """Whether rewards are believed to vary otherwise than when the batches of the arm were weighed."""
    known, now = state.arms["variance"][arm], variance(state)
    return not now / _CHANGED <= known <= now * _CHANGED


@rare_kernel
def learn(state: Any, arm: int) -> None:
    """Take in the batches that are over; all of them anew if rewards are believed to vary otherwise than before."""
    arms = state.arms
    if _varies_otherwise(state, arm):
        arms["variance"][arm] = variance(state)
        arms["drawn"][arm] = 0
    known = arms["drawn"][arm]
    n = next_point(known)
    while n <= state.counts[arm]:
        _add_batch(state, arm, known, n)
        known = n
        n = next_point(n)
    arms["drawn"][arm] = known


@rare_kernel
def _add_batch(state: Any, arm: int, known: int, n: int) -> None:
    """Pulls known + 1 .. n. The first one counts as long as it is the only one."""
    stray = _stray(state)
    pulls = float(n - known)
    x = known + 0.5 * (pulls + 1.0)
    y = (seen.total(state, arm, n) - seen.total(state, arm, known)) / pulls - state.plan["low"][0]
    w = pulls / (state.plan["noise"][0] + stray * stray * x)
    kept = 1.0 if known > 1 else 0.0  # of the sums: many curves jump after the first pull, which then says nothing
    state.arms["weight"][arm] = kept * state.arms["weight"][arm] + w
    state.arms["weighted"][arm] = kept * state.arms["weighted"][arm] + w * y
    size = state.paces.shape[0]
    for family in range(_FAMILIES):
        for i in range(size):
            g = rise(family, x / state.paces[i])
            sums = state.moments[arm, family * size + i]
            sums[0] = kept * sums[0] + w * g
            sums[1] = kept * sums[1] + w * g * g
            sums[2] = kept * sums[2] + w * g * y


@rare_kernel
def weigh(state: Any, arm: int, n: float, rounds: float, final: bool) -> int:
    """Fill ``work`` with the likely components; return their number.

    The quantity is the mean over so many rounds after n pulls or, if ``final``, the level after the last of them.
    """
    work, size = state.work, state.paces.shape[0]
    every, length = _FAMILIES * size, state.plan["length"][0]
    weight, weighted = state.arms["weight"][arm], state.arms["weighted"][arm]
    b0 = state.numbers["rise"][0] * length
    p0 = 1.0 / (b0 * b0)
    a1 = state.numbers["start"][0] * length
    p1 = 1.0 / (a1 * a1)
    top = -math.inf
    for k in range(every):
        family, pace = k // size, state.paces[k % size]
        s_g, s_gg, s_gy = state.moments[arm, k, 0], state.moments[arm, k, 1], state.moments[arm, k, 2]
        if final:
            g = rise(family, (n + rounds) / pace)
        else:
            first = (n + 0.5) / pace
            g = (area(family, first + rounds / pace) - area(family, first)) * (pace / rounds)
        # From nothing.
        p = p0 + s_gg
        b = (b0 * p0 + s_gy) / p
        deviation = 1.0 / math.sqrt(p)
        log_share = -math.inf
        if b > _IMPOSSIBLE * deviation:
            positive = normal_cdf(b / deviation)
            log_share = 0.5 * (math.log(p0 / p) + p * b * b - p0 * b0 * b0) + math.log(positive)
            shift, shrink = cut(b / deviation, positive)
            b += shift * deviation
            deviation *= math.sqrt(shrink)
        work[SHARE, k] = log_share
        work[MEAN, k] = b * g
        work[DEVIATION, k] = deviation * g
        top = max(top, log_share)
        # With a start.
        log_share = -math.inf
        if family != _LATE:
            det = (p1 + weight) * (p1 + s_gg) - s_g * s_g
            var_a, var_b, cov = (p1 + s_gg) / det, (p1 + weight) / det, -s_g / det
            r_a, r_b = a1 * p1 + weighted, a1 * p1 + s_gy
            a, b = var_a * r_a + cov * r_b, cov * r_a + var_b * r_b
            deviation = math.sqrt(var_b)
            if b > _IMPOSSIBLE * deviation:
                positive = normal_cdf(b / deviation)
                log_share = 0.5 * (math.log(p1 * p1 / det) + a * r_a + b * r_b) - p1 * a1 * a1 + math.log(positive)
                shift, shrink = cut(b / deviation, positive)
                slope = cov / var_b  # of a on b
                b += shift * deviation
                a += slope * shift * deviation
                var_a -= slope * cov * (1.0 - shrink)
                cov *= shrink
                var_b *= shrink
            work[MEAN, every + k] = a + b * g
            work[DEVIATION, every + k] = math.sqrt(max(0.0, var_a + g * (2.0 * cov + g * var_b)))
        work[SHARE, every + k] = log_share
        top = max(top, log_share)
    return _shares(work, top, state.plan["low"][0], 1e-9 * length)


@rare_kernel
def _shares(work: Floats, top: float, low: float, least: float) -> int:
    """Make weights of the logarithms in the first row, and move the components that count to the front."""
    everything = 0.0
    for c in range(work.shape[1]):
        work[SHARE, c] = math.exp(work[SHARE, c] - top)
        everything += work[SHARE, c]
    count = 0
    for c in range(work.shape[1]):
        share = work[SHARE, c] / everything
        if share > _LEAST_SHARE:
            work[SHARE, count] = share
            work[MEAN, count] = work[MEAN, c] + low
            work[DEVIATION, count] = max(work[DEVIATION, c], least)
            count += 1
    return count


@kernel
def cut(x: float, positive: float) -> tuple[float, float]:
    """A normal variable x standard deviations above 0, cut at 0: the shift of its mean and the factor of its variance.

    ``positive`` is Phi(x), the probability that is left.
    """
    if x >= _CLEAR:
        return 0.0, 1.0
    hazard = math.exp(-0.5 * x * x) / (math.sqrt(2.0 * math.pi) * positive)
    return hazard, max(1e-3, 1.0 - hazard * (hazard + x))


@kernel
def expectation(work: Floats, count: int) -> float:
    """The posterior mean of the quantity."""
    mean = 0.0
    shares = 0.0
    for c in range(count):
        mean += work[SHARE, c] * work[MEAN, c]
        shares += work[SHARE, c]
    return mean / shares


@rare_kernel
def upper_quantile(work: Floats, count: int, tail: float) -> float:
    """The value that the quantity exceeds with probability ``tail``, by bisection."""
    low = math.inf
    high = -math.inf
    for c in range(count):
        low = min(low, work[MEAN, c] - 8.0 * work[DEVIATION, c])
        high = max(high, work[MEAN, c] + 8.0 * work[DEVIATION, c])
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        above = 0.0
        for c in range(count):
            above += work[SHARE, c] * normal_cdf((work[MEAN, c] - middle) / work[DEVIATION, c])
        if above > tail:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@rare_kernel
def forecast(state: Any, arm: int, n: int) -> float:
    """The level that the arm's own shape leads to when its pulls have doubled: in the middle of the last quarter.

    n = 0: what is believed of an arm before its first pull.
    """
    if n > 0:
        learn(state, arm)
    return expectation(state.work, weigh(state, arm, float(n), max(1.0, 0.875 * n), True))


# -- what is decided ---------------------------------------------------------------------------------------------------


@kernel
def remaining(state: Any, t: int) -> float:
    """Rounds left after round t."""
    return max(1.0, state.horizon - t) if state.horizon > 0.0 else _AHEAD * t


@rare_kernel
def take_bound(state: Any, arm: int, rounds: float) -> None:
    """What the arm may bring in the rounds left, by its posterior and by a line.

    The bound is exceeded with a chance that pays for playing the arm as long again.
    """
    learn(state, arm)
    _draw_line(state, arm, rounds)
    arms, work, n = state.arms, state.work, float(state.counts[arm])
    count = weigh(state, arm, n, rounds, False)
    arms["bound"][arm] = upper_quantile(work, count, min(state.numbers["tail"][0], n / rounds))
    arms["left"][arm] = rounds
    arms["expected"][arm] = expectation(work, count)


@rare_kernel
def _draw_line(state: Any, arm: int, rounds: float) -> None:
    """The line above the arm's future that promises least, and the level that it surely has.

    For a concave curve, a line through the means of two blocks of its past lies above everything after the second, and
    so does the line from the lower end at the first pull through one block. Both are raised for the noise.
    """
    arms, low, n = state.arms, state.plan["low"][0], state.counts[arm]
    errors = math.sqrt(2.0 * math.log(max(2.0, state.horizon if state.horizon > 0.0 else (1.0 + _AHEAD) * rounds)))
    noise = errors * math.sqrt(state.plan["noise"][0])
    arms["line"][arm], arms["slope"][arm] = low + state.plan["length"][0], 0.0
    arms["sure"][arm] = -math.inf
    arms["at"][arm] = n
    least = math.inf
    w = n
    while w >= 1 and w >= 0.1 * n:
        mean = (seen.total(state, arm, n) - seen.total(state, arm, n - w)) / w
        width = noise / math.sqrt(w)
        arms["sure"][arm] = max(arms["sure"][arm], mean - width)
        if n > 1:
            slope = max(0.0, mean + width - low) / (n - 0.5 * (w - 1) - 1.0)
            least = _take_line(state, arm, low + slope * (n - 1), slope, rounds, least)
        q = w // 3
        if q >= 1:
            old = (seen.total(state, arm, n - w + q) - seen.total(state, arm, n - w)) / q
            new = (seen.total(state, arm, n) - seen.total(state, arm, n - q)) / q
            distance = float(w - q)
            width = noise / math.sqrt(q)
            slope = (new - old) / distance
            half = 0.5 * (q - 1)
            line = new + slope * half + width * math.sqrt((1.0 + half / distance) ** 2 + (half / distance) ** 2)
            slope += width * math.sqrt(2.0) / distance
            if slope >= 0.0:  # a negative upper bound on a slope means that the noise was larger
                least = _take_line(state, arm, line, slope, rounds, least)
        w = min(w - 1, int(0.7 * w))


@kernel
def _take_line(state: Any, arm: int, line: float, slope: float, rounds: float, least: float) -> float:
    """Keep the line if it promises less than the least so far; return the least."""
    value = line_value(state.plan, line, slope, rounds)
    if value < least:
        state.arms["line"][arm], state.arms["slope"][arm] = line, slope
        return value
    return least


@kernel
def line_value(plan: Records, line: float, slope: float, rounds: float) -> float:
    """The mean over the rounds left of a line that ends at the upper end of the range."""
    top = plan["low"][0] + plan["length"][0]
    room = top - line
    if room <= 0.0:
        return top
    if room >= slope * rounds:
        return line + 0.5 * slope * rounds
    return top - 0.5 * room * room / (slope * rounds)


@kernel
def line_now(state: Any, arm: int) -> float:
    """The level of the arm's line at its present number of pulls."""
    return state.arms["line"][arm] + state.arms["slope"][arm] * (state.counts[arm] - state.arms["at"][arm])


@rare_kernel
def choose(state: Any, t: int) -> int:
    """The started arm that may bring most, after all bounds that are out of date were taken again.

    Bounds fall as the rounds run out, so one that is a little old is too high at worst: only that of the chosen arm has
    to be fresh. That holds only while rewards are believed to vary as they did: a line drawn with too little noise may
    rule out an arm for good.
    """
    rounds = remaining(state, t)
    arms = state.arms
    for place in range(state.plan["opened"][0]):
        arm = state.order[place]
        grown = state.counts[arm] >= next_point(arms["drawn"][arm])
        if grown or arms["left"][arm] < rounds or _varies_otherwise(state, arm):
            take_bound(state, arm, rounds)
    arm = pick(state, state.plan, rounds, None)
    while rounds <= _FRESH * arms["left"][arm]:
        take_bound(state, arm, rounds)
        arm = pick(state, state.plan, rounds, None)
    return arm


@rare_kernel
def pick(state: Any, plan: Records, rounds: float, available: Mask) -> int:
    """The available started arm that may bring most, the incumbent among equals.

    Rivals pay for what climbing to the incumbent may lose and, several times, for what exploring has cost.
    """
    arms, b = state.arms, plan["incumbent"][0]
    today = max(plan["low"][0], arms["sure"][b])
    spent = 0.0
    for place in range(plan["opened"][0]):
        arm = state.order[place]
        if arm != b:
            spent += max(0.0, state.counts[arm] * today - seen.total(state, arm, state.counts[arm]))
    spent *= state.numbers["sunk"][0]
    chosen = b
    most = promise(state, plan, b, rounds)
    for place in range(plan["opened"][0]):
        arm = state.order[place]
        if arm != b and (available is None or available[arm]):
            value = promise(state, plan, arm, rounds) - (_risk(state, arm, today, rounds) + spent) / rounds
            if value > most:
                most = value
                chosen = arm
    return chosen


@kernel
def promise(state: Any, plan: Records, arm: int, rounds: float) -> float:
    """What a round with the arm may bring: the lower of bound and line."""
    line = line_value(plan, line_now(state, arm), state.arms["slope"][arm], rounds)
    return min(state.arms["bound"][arm], line)


@kernel
def _risk(state: Any, arm: int, today: float, rounds: float) -> float:
    """What climbing to a level may lose: what the arm's line loses, times the odds that it breaks on the way."""
    line, slope = line_now(state, arm), state.arms["slope"][arm]
    if line >= today:
        return 0.0
    k = min(rounds, (today - line) / slope) if slope > 0.0 else rounds
    return k / state.counts[arm] * ((today - line) * k - 0.5 * slope * k * k)
