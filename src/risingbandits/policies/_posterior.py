"""What each arm will be worth at a later resource, how certain that is, and which arm may be best: one model for all.

An arm is a Markov chain over rungs, the resources 1, 2, 3, 4, 6, 8, 12, 16, ...: its level at the next rung is its
level now, plus what arms rise there, plus a slope times its lead over the other arms, plus a normal step. Rise, slope
and the variance of the step are learnt at each rung from the arms that went on, so it does no harm that better arms go
on. Where nobody has been the rise fades and becomes uncertain. It is a model, not a bound.

Everything is in units of how far levels are apart, so rewards may have any scale. Draws come from a generator of their
own: the same rewards give the same answer, and no run is affected.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from risingbandits._core.types import Floats, Ints
from risingbandits.policies._kernels import levels as marks

# Chosen on real curves of the tuning half, for coverage, log loss and error; benchmarks/posterior.py has the result.
_SHARE = 0.1  # of an arm's rewards that are averaged, at least, in a level
_NOISE = 0.2  # of the variance between arms and rungs that noise may make up; otherwise more rewards are averaged
_TAIL = 2.0  # how far below the median a level counts, in units of how far the best one is above it
_WEIGHT = 2.0  # of the belief about the next rung, in arms
_SLOPE, _SLOPE_DEVIATION = -0.1, 0.3  # of a step on the lead, before it is seen
_STEP = 0.1  # variance of the first step, before it is seen
_FADE = 0.4  # share of a rise that is expected at the next rung
_GROWTH = 1.8  # of the variance of steps, from rung to rung where nobody has been
_WIDTH = 2.5  # of all variances: what makes 90 % of the finals fall into intervals of 90 %

COVERAGE = 0.9  # of the interval
_QUANTILE = 1.6449  # of the normal distribution
_POSSIBLE = 3.1  # deviations: an arm that is farther behind is the best with less than one in a thousand
_MOST_DRAWS, _LEAST_DRAWS, _ALL_DRAWS = 4_000, 500, 1_000_000  # of one arm, and of all


class Posterior(NamedTuple):
    """What is known of each arm at the resource ``end``; NaN where an arm has no reward.

    ``low`` and ``high`` are the ends of the 90 % interval, NaN as long as all levels are the same; ``p_best`` is the
    probability that no other arm that has a reward is better.
    """

    end: float
    predicted: Floats
    low: Floats
    high: Floats
    p_best: Floats


class _Curves(NamedTuple):
    """The arms that have rewards, in units of the ``spread`` of all levels around ``centre``."""

    arms: Ints
    pulls: Floats
    least: Floats  # the last reward if no arm has ever fallen, which it will not do then; otherwise -inf; as rewards
    at_rungs: Floats  # (arms, rungs) levels, NaN where an arm has not been
    reached: Ints  # how many rungs an arm has reached
    now: Floats  # today's level
    error: Floats  # its variance
    centre: float
    spread: float


class _Steps(NamedTuple):
    """From rung to rung: the rise, the slope on the lead over ``mean``, and the variances of these and of the step."""

    rise: Floats
    slope: Floats
    mean: Floats
    variance: Floats
    rise_variance: Floats
    slope_variance: Floats


class _Finals(NamedTuple):
    """Normal: means, variances of each arm's own, and what it shares with others, as weights of common draws."""

    mean: Floats
    own: Floats
    shared: Floats


def stated_end(oldest: float, left: int | None, longest: float) -> tuple[float, str]:
    """The resource at which arms are compared, and what that is in words.

    ``oldest`` is the resource of the oldest arm, ``left`` the number of rounds left (None: unknown), and ``longest``
    the most pulls that an arm may have (infinity: unknown).

    >>> stated_end(30, 70, np.inf)
    (100.0, 'what the budget still buys the oldest arm')
    """
    if longest < math.inf:
        return float(max(longest, 1.0)), "the most pulls that an arm may have"
    if left:
        return float(oldest + left), "what the budget still buys the oldest arm"
    return float(max(oldest, 1.0)), "what the oldest arm has had" + (
        ", as the horizon is unknown" if left is None else ""
    )


def predicted(levels: Floats, end: float, lengths: Floats | None = None) -> Floats:
    """The value of each arm that is expected at the resource ``end``; NaN for arms without a reward.

    ``levels`` are those that `_kernels.levels` keeps, ``lengths`` the most pulls of each arm, where they are known.
    """
    return _predicted(levels, end, lengths)[0]


def shown(levels: Floats, end: float, lengths: Floats | None = None) -> Floats:
    """What each arm counts when one is recommended: the predicted value, if it was trained as far as the others.

    An arm that has not come to the last rung of the oldest one, although it could have, counts with at most what it has
    shown, the lower bound of its recent level, or what it surely reaches, the lower end of its interval: nobody has
    seen it rise where others did. So the recommended arm never lies wholly below another. Arguments are as above.
    """
    values, low = _predicted(levels, end, lengths)
    pulls = levels[:-1, marks.PULLS]
    if pulls.any():
        rungs = _rungs(pulls.max())
        could = np.minimum(pulls.max(), np.inf if lengths is None else lengths)
        behind = np.searchsorted(rungs, pulls, side="right") < np.searchsorted(rungs, could, side="right")
        sure = np.fmax(marks.columns(levels)["lcb"], low)
        values[behind] = np.minimum(values, sure)[behind]
    return values


def _predicted(levels: Floats, end: float, lengths: Floats | None) -> tuple[Floats, Floats]:
    """Predicted values and the lower ends of their intervals."""
    means, low = np.full((2, len(levels) - 1), np.nan)
    if levels[:-1, marks.PULLS].any():
        curves, finals = _curves_and_finals(levels, end, lengths)
        means[curves.arms] = values = _values(curves, finals)
        low[curves.arms] = np.maximum(values - _half_width(curves, finals), curves.least)
    return means, low


def _curves_and_finals(levels: Floats, end: float, lengths: Floats | None) -> tuple[_Curves, _Finals]:
    rungs = _rungs(max(end, levels[:-1, marks.PULLS].max()))
    curves = _curves(levels, rungs)
    return curves, _finals(curves, _steps(curves.at_rungs), rungs, _ends(curves, end, lengths))


def _half_width(curves: _Curves, finals: _Finals) -> Floats:
    """Half the width of each interval, as rewards."""
    return _QUANTILE * curves.spread * np.sqrt(finals.own + (finals.shared**2).sum(axis=1))


def best(levels: Floats, end: float, lengths: Floats | None = None) -> int:
    """The arm with the highest value that is `shown`, of equals the one with most pulls; 0 before the first reward."""
    values = shown(levels, end, lengths)
    if np.isnan(values).all():
        return 0
    equals = np.flatnonzero(values == np.nanmax(values))
    return int(equals[levels[equals, marks.PULLS].argmax()])


def posterior(
    levels: Floats, end: float, lengths: Floats | None = None, limits: tuple[float, float] | None = None
) -> Posterior:
    """Predicted values, their intervals and the probabilities to be the best at the resource ``end``.

    Arguments are those of `predicted`; ``limits`` is the range of the rewards, if it is known.
    """
    found = Posterior(end, *np.full((4, len(levels) - 1), np.nan))
    if not levels[:-1, marks.PULLS].any():
        return found
    curves, finals = _curves_and_finals(levels, end, lengths)
    arms = curves.arms
    if not np.isfinite(finals.mean + finals.own).all():  # rewards near the largest number that there is
        return found
    means, least = _values(curves, finals), curves.least
    found.predicted[arms] = means
    if curves.spread == 0.0:
        found.p_best[arms] = 1.0 / arms.size
        return found
    width = _half_width(curves, finals)
    found.p_best[arms] = chances = _chances(finals, (least - curves.centre) / curves.spread)
    low, high = np.maximum(means - width, least), means + width
    favourite = int(chances.argmax())
    high[favourite] = max(high[favourite], low.max())  # it may be the best by a chance of less than 5 %
    found.low[arms], found.high[arms] = low, high
    if limits is not None:
        for values in (found.predicted, found.low, found.high):
            np.clip(values, *limits, out=values)
    return found


def _rungs(end: float) -> Ints:
    """The rungs up to the first that is not below ``end``.

    >>> _rungs(20).tolist()
    [1, 2, 3, 4, 6, 8, 12, 16, 24]
    """
    found = [1]
    while found[-1] < end:
        found.append(marks.mark(_place(len(found))))
    return np.array(found)


def _place(rung: int) -> int:
    """The number of a rung among the marks; the first rung is 0."""
    return rung + 1 if rung < 3 else 2 * (rung - 1)


def _ends(curves: _Curves, end: float, lengths: Floats | None) -> Floats:
    """The resource at which each arm counts: ``end``, or its last pull if that is before."""
    ends = np.full(curves.arms.size, float(end))
    return np.maximum(curves.pulls, ends if lengths is None else np.minimum(ends, lengths[curves.arms]))


def _curves(levels: Floats, rungs: Ints) -> _Curves:
    arms = np.flatnonzero(levels[:-1, marks.PULLS])
    rows, noise = levels[arms], marks.noise(levels)
    pulls, last, sums = rows[:, marks.PULLS], rows[:, marks.LAST], rows[:, marks.SUMS :]
    places = np.array([marks.mark(place) for place in range(sums.shape[1])])
    reached = np.searchsorted(rungs, pulls, side="right")

    def first(ends: Floats | Ints, width: float) -> Ints:
        """The place of the mark after which the rewards of a level at the given pulls begin."""
        counted = np.minimum(ends, np.maximum(width, np.ceil(_SHARE * ends - 1e-9)))
        return np.searchsorted(places, ends - counted, side="right") - 1

    def averaged(width: float) -> tuple[Floats, Floats, Floats, float]:
        """Levels at the rungs and now, over at least so many rewards; the noise in those now, and in all on average."""
        table, starts = np.full((arms.size, rungs.size), np.nan), first(rungs, width)
        errors = np.full_like(table, np.nan)
        for rung in range(int(reached.max())):
            on, start = reached > rung, starts[rung]
            table[on, rung] = (sums[on, _place(rung)] - sums[on, start]) / (rungs[rung] - places[start])
            errors[on, rung] = noise / (rungs[rung] - places[start])
        starts = first(pulls, width)
        counts = pulls - places[starts]
        now = (rows[:, marks.TOTAL] - sums[np.arange(arms.size), starts]) / counts
        return table, now, noise / counts, float(np.nanmean(errors))

    table, now, error, errors = averaged(1.0)
    most = _NOISE * max(0.0, _scale(table, now)[2] ** 2 - errors)
    if noise > most:
        table, now, error, _ = averaged(min(noise / most, pulls.max()) if most > 0.0 else pulls.max())
    rising = not ((np.diff(table, axis=1) < 0.0).any() or ((last < rows[:, marks.BEFORE]) & (pulls > 1.0)).any())
    lowest, centre, spread = _scale(table, now)
    unit = spread if spread > 0.0 else 1.0
    table, now = ((np.maximum(values, lowest) - centre) / unit for values in (table, now))
    return _Curves(
        arms,
        pulls,
        last if rising else np.full(arms.size, -np.inf),
        table,
        reached,
        now,
        np.minimum(error / unit**2, 1.0),
        centre,
        spread,
    )


def _scale(table: Floats, now: Floats) -> tuple[float, float, float]:
    """The level below which all count the same, the mean of all levels, and how far they are apart."""
    known = np.append(table[~np.isnan(table)], now)
    middle, highest = float(np.median(known)), float(known.max())
    lowest = middle - _TAIL * (highest - middle)
    known = np.maximum(known, lowest)
    return lowest, float(known.mean()), float(known.std()) if highest > known.min() else 0.0


def _steps(table: Floats) -> _Steps:
    """A regression at each rung of the step to the next on the lead, with the rung before as its prior."""
    here, there = table[:, :-1], table[:, 1:]
    on = ~np.isnan(there)
    counts = on.sum(axis=0)
    several = np.maximum(counts, 1)
    leads, steps = np.where(on, here, 0.0), np.where(on, there - here, 0.0)
    means, rises = leads.sum(axis=0) / several, steps.sum(axis=0) / several
    leads, steps = np.where(on, leads - means, 0.0), np.where(on, steps - rises, 0.0)
    xx, xy, yy = (leads**2).sum(axis=0), (leads * steps).sum(axis=0), (steps**2).sum(axis=0)
    found = _Steps(*np.zeros((6, counts.size)))
    variance, rise, mean = _STEP, 0.0, 0.0
    for rung, count in enumerate(counts):
        belief = variance / _SLOPE_DEVIATION**2
        precision = max(xx[rung] + belief, 1e-300)
        slope = (xy[rung] + belief * _SLOPE) / precision
        left = max(0.0, yy[rung] - 2.0 * slope * xy[rung] + slope**2 * xx[rung])
        variance = (left + _WEIGHT * variance) / (count + _WEIGHT) if count else _GROWTH * variance
        weight = _WEIGHT / (count + _WEIGHT)
        mean = means[rung] if count else mean + (found.rise[rung - 1] if rung else 0.0)
        found.rise[rung] = (1.0 - weight) * rises[rung] + weight * rise
        found.slope[rung], found.mean[rung], found.variance[rung] = slope, mean, variance
        found.rise_variance[rung] = variance / (count + _WEIGHT) + (weight * rise) ** 2
        found.slope_variance[rung] = variance / precision
        rise = _FADE * found.rise[rung]
    return found


def _finals(curves: _Curves, steps: _Steps, rungs: Ints, ends: Floats) -> _Finals:
    """Each arm from its level now to its end; between two rungs a step is shared by the logarithm of the pulls."""
    mean, own = curves.now.copy(), curves.error.copy()
    shared = np.zeros((curves.arms.size, 2 * steps.rise.size))
    for rung in range(int(curves.reached.min()) - 1, steps.rise.size):
        here, there = rungs[rung], rungs[rung + 1]
        whole, pulls = math.log(there / here), np.maximum(curves.pulls, here)
        part = np.maximum(0.0, np.log(np.minimum(ends, there) / pulls)) / whole
        if not part.any():
            continue
        gone = np.minimum(1.0, np.log(pulls / here) / whole)
        lead = mean - steps.mean[rung] - gone * steps.rise[rung]
        kept = 1.0 + part * steps.slope[rung]
        own = kept**2 * own + part * steps.variance[rung]
        shared *= kept[:, None]
        shared[:, 2 * rung] = part * math.sqrt(steps.rise_variance[rung])
        shared[:, 2 * rung + 1] = part * lead * math.sqrt(steps.slope_variance[rung])
        mean += part * (steps.rise[rung] + steps.slope[rung] * lead)
    return _Finals(mean, _WIDTH * own, math.sqrt(_WIDTH) * shared)


def _values(curves: _Curves, finals: _Finals) -> Floats:
    """The predicted values as rewards."""
    return np.maximum(curves.centre + (curves.spread or 1.0) * finals.mean, curves.least)


def _chances(finals: _Finals, least: Floats) -> Floats:
    """The probability of each arm to be the best one, from joint draws of those that may be; equals share it."""
    deviations = np.sqrt(finals.own + (finals.shared**2).sum(axis=1))
    means = np.maximum(finals.mean, least)
    leader = int(means.argmax())
    possible = np.flatnonzero(means[leader] - means <= _POSSIBLE * (deviations + deviations[leader]))
    draws = max(_LEAST_DRAWS, min(_MOST_DRAWS, _ALL_DRAWS // possible.size))
    rng = np.random.default_rng(0)
    drawn = rng.standard_normal((draws, finals.shared.shape[1])) @ finals.shared[possible].T
    drawn += rng.standard_normal(drawn.shape) * np.sqrt(finals.own[possible]) + finals.mean[possible]
    np.maximum(drawn, least[possible], out=drawn)
    first = drawn == drawn.max(axis=1, keepdims=True)
    chances = np.zeros(finals.mean.size)
    chances[possible] = (first / first.sum(axis=1, keepdims=True)).mean(axis=0)
    return chances
