"""A forecast of arms from their rewards alone: the curve model of `CommitEnsemble`, for any policy.

It explains a run to people; no decision uses it. Batches, noise, shapes and prior are those of
`CommitEnsemble`, told nothing. It is trusted less: with `CommitEnsemble`'s own drift and misfit the bands of 90 % held
the end of 70 % of the real curves that these were chosen on, with these 87 %, and 78 % of others (docs/allocator.md).

Which arm will be the best is another question. On real curves, arms that are ahead at equal age mostly stay ahead, and
what the shape of a curve seems to promise beyond that says nothing. So the chance is computed from levels at equal age.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from risingbandits._core.jit import interpreted
from risingbandits._core.types import Floats
from risingbandits.policies._kernels import noise_model
from risingbandits.policies.commit import _curve_shapes, _differences, _prediction, grid

BAND = _prediction.BAND
_GROWTH = 1.05  # of a batch to the next
_DRIFT = 0.015  # how far real curves stray from the shapes
_MISFIT = 0.3  # how wrong shapes may be about the way to the end
_UNSETTLED = 1.5  # spreads of the arms that one may still move on the way from its first pull to the end
_DRAWS = 1_000


class Forecast(NamedTuple):
    """What the rewards of each arm say; NaN for arms without rewards."""

    level: Floats  #: the mean of the last quarter of the rewards
    error: Floats  #: the standard error of that, by the noise
    final: Floats  #: the level that is expected at the age that was asked for, not below the present one
    low: Floats  #: it lies above this
    high: Floats  #: and below this, with probability 0.9
    chance: Floats  #: that no other arm with rewards is better then, by levels at equal age


def forecast(curves: Sequence[ArrayLike], ages: ArrayLike, limits: tuple[float, float] = (-np.inf, np.inf)) -> Forecast:
    """What to expect from arms with these rewards, each at an age: a number of pulls.

    Rewards are shares of the range, so most lie in [0, 1]; levels lie between the ``limits``.

    Examples
    --------
    >>> pulls = np.arange(1, 31)
    >>> found = forecast([0.5 * pulls / (pulls + 1), 0.9 * pulls / (pulls + 20), []], [200, 200, 200])
    >>> found.level.round(2).tolist(), found.final.round(1).tolist()
    ([0.48, 0.51, nan], [0.5, 0.8, nan])
    >>> bool(0.7 < found.chance[1] < 0.9)
    True
    """
    rewards = [np.asarray(curve, dtype=np.float64) for curve in curves]
    columns = np.full((len(Forecast._fields), len(rewards)), np.nan)
    known = np.array([arm for arm, told in enumerate(rewards) if told.size], dtype=np.int64)
    if known.size:
        told = [rewards[arm] for arm in known]
        asked = np.maximum(np.asarray(ages, dtype=np.float64)[known], [curve.size for curve in told])
        windows = np.array([(curve.size + 3) // 4 for curve in told])
        level = np.array([curve[-window:].mean() for curve, window in zip(told, windows, strict=True)])
        variance = _variances(told)
        taus = _curve_shapes.paces(int(asked.max()))
        components = 2 * _curve_shapes.FAMILIES * taus.size
        mixture = _prediction.posterior(_sums(told, variance, taus), taus, np.zeros(components), 1.0, asked)
        found = _prediction.ends(mixture, level, limits, _MISFIT)
        # The model may fit the way to here badly, or expect less of all arms; a curve that rises does not go back.
        final = np.maximum(found.final, level)
        high = np.maximum(found.high, final)
        error = np.sqrt(variance / windows)
        progress = np.array([curve.size for curve in told]) / asked
        columns[:, known] = level, error, final, found.low, high, chances(told, progress, error)
    return Forecast(*columns)


def at_equal_age(curves: Sequence[Floats]) -> Floats:
    """The level of each arm at the age of the oldest: a younger one is assumed to rise as the older ones did.

    >>> at_equal_age([np.array([0.1, 0.2, 0.6]), np.array([0.2])]).round(2).tolist()
    [0.6, 0.7]
    """
    sizes = np.array([curve.size for curve in curves])
    ages = np.unique(sizes)
    rises = dict.fromkeys(ages.tolist(), 0.0)
    for younger, older in reversed(list(zip(ages[:-1].tolist(), ages[1:].tolist(), strict=True))):
        gone_on = [_level(curve, older) - _level(curve, younger) for curve in curves if curve.size >= older]
        rises[younger] = rises[older] + float(np.mean(gone_on))
    return np.array([_level(curve, curve.size) + rises[curve.size] for curve in curves])


def _level(curve: Floats, age: int) -> float:
    """The mean of the last quarter of the rewards until an age."""
    return float(curve[age - (age + 3) // 4 : age].mean())


def chances(curves: Sequence[Floats], progress: Floats, error: Floats, moves: float = _UNSETTLED) -> Floats:
    """The chance of each arm to be the best, at a share ``progress`` of its way to the age that was asked for.

    Arms may still move by a number of spreads of all arms, less the further they have come. Draws come from a separate
    generator, so that asking twice gives the same answer.
    """
    levels = at_equal_age(curves)
    spread = float(levels.std(ddof=1)) if levels.size > 1 else 0.0
    deviation = np.hypot(moves * spread * (1.0 - progress), error)
    drawn = levels + deviation * np.random.default_rng(0).standard_normal((_DRAWS, levels.size))
    return np.bincount(drawn.argmax(axis=1), minlength=levels.size) / _DRAWS


def _variances(curves: Sequence[Floats]) -> Floats:
    """The variance of the noise of each arm, by the model of all policies (`noise_model`)."""
    noise = noise_model.new_noise()
    own = np.zeros((len(curves), 4))
    for arm, rewards in enumerate(curves):
        if not noise["mixed"][0]:
            noise["mixed"][0] = np.any(
                (np.abs(rewards) > noise_model.NO_STEP) & (np.abs(rewards - 1.0) > noise_model.NO_STEP)
            )
        steps = np.diff(rewards[_differences.STEEP :])
        sizes = np.abs(steps)
        noise["step"][0] = sizes[sizes > noise_model.NO_STEP].min(initial=noise["step"][0])
        bends = np.diff(steps)
        pairs = steps[::2]
        own[arm] = 0.5 * (pairs @ pairs), pairs.size, bends @ bends / 12.0, 0.5 * bends.size
    for name, total in zip(("squares", "pairs", "bends", "triples"), own.sum(axis=0), strict=True):
        noise[name][0] = total
    pooled = interpreted(noise_model.pooled)(noise)
    squares, counts = own[:, 2:].T if interpreted(noise_model.by_bends)(noise) else own[:, :2].T
    believed = interpreted(noise_model.believed)
    return np.clip([believed(*sums, pooled) for sums in zip(squares, counts, strict=True)], 1e-12, 0.25)


def _sums(curves: Sequence[Floats], variance: Floats, taus: Floats) -> tuple[Floats, Floats, Floats]:
    """Weight, weighted and moments of each arm (`_ensemble_members`), its batches taken on the common grid.

    All arms share the grid, so shapes are evaluated once for all; only the last, unfinished batch of each is its own.
    """
    sizes = np.array([curve.size for curve in curves])
    points = np.array([0, *grid.commit_grid(int(sizes.max()), _GROWTH)])
    lengths, centres = np.diff(points), points[:-1] + 0.5 * (np.diff(points) + 1.0)
    weights, means = np.zeros((2, sizes.size, lengths.size))
    last = np.zeros((3, sizes.size))  # of the unfinished batch: weight, mean, centre
    for arm, rewards in enumerate(curves):
        whole = int(np.searchsorted(points, sizes[arm], side="right")) - 1
        prefix = np.concatenate(([0.0], np.cumsum(rewards)))
        means[arm, :whole] = np.diff(prefix[points[: whole + 1]]) / lengths[:whole]
        weights[arm, :whole] = lengths[:whole] / (variance[arm] + _DRIFT**2 * centres[:whole])
        left = sizes[arm] - points[whole]
        if left:
            centre = points[whole] + 0.5 * (left + 1.0)
            mean = (prefix[-1] - prefix[points[whole]]) / left
            last[:, arm] = left / (variance[arm] + _DRIFT**2 * centre), mean, centre
    weighted = weights * means
    shapes, own = _prediction.rises(centres[:, None] / taus), _prediction.rises(last[2][:, None] / taus)
    last_weight, last_weighted = last[0][:, None], (last[0] * last[1])[:, None]
    moments = np.stack(
        (
            weights @ shapes + last_weight * own,
            weights @ shapes**2 + last_weight * own**2,
            weighted @ shapes + last_weighted * own,
        ),
        axis=2,
    )
    return weights.sum(axis=1) + last[0], weighted.sum(axis=1) + last[0] * last[1], moments
