"""What a posterior over curve shapes says about the end: the level that each arm would reach, and which may be best.

It is a model, not a bound: it is right if curves look like its shapes. The kernels of `_ensemble_members` weigh one arm
at a time, for decisions; here the same posterior is computed for all arms at once, for explanations.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.types import Floats, Ints
from risingbandits.policies.commit import _ensemble_bounds
from risingbandits.policies.commit import _ensemble_members as members

_BAND = 0.9  # probability that the level at the end lies in the band
_MOST_DRAWS, _LEAST_DRAWS, _ALL_DRAWS = 1_000, 200, 40_000  # of one arm, and of all: more would keep people waiting
_MISFIT = 0.1  # how wrong shapes may be: a deviation, as a share of the way from today's level to the end


class Mixture(NamedTuple):
    """Of each of K arms and each of C components: its weight in the posterior, and mean and deviation of the level."""

    share: Floats  # (K, C), sums 1
    mean: Floats
    spread: Floats


class Ends(NamedTuple):
    """Of each arm: the level that is expected at the end, its band, and the chance that the arm is the best one."""

    final: Floats
    low: Floats
    high: Floats
    chance: Floats


def rises(x: Floats) -> Floats:
    """`_curve_shapes.rise` of all families at once: (..., taus) becomes (..., families * taus)."""
    root = np.sqrt(1.0 + x)
    shapes = (-np.expm1(-x), x / (1.0 + x), 1.0 - 1.0 / root, 1.0 - 1.0 / np.sqrt(root), np.minimum(x, 1.0))
    return np.concatenate(shapes, axis=-1)


def posterior(
    sums: tuple[Floats, Floats, Floats], taus: Floats, log_prior: Floats, scale: float, ages: Floats
) -> Mixture:
    """The posterior of the level of each arm at its age, from its sums: weight, weighted and moments.

    It is that of `_ensemble_members.posterior`, where the formulas are explained.
    """
    from scipy.special import ndtr

    weight, weighted = sums[0][:, None], sums[1][:, None]
    s_g, s_gg, s_gy = (sums[2][:, :, i] for i in range(3))
    g = rises(ages[:, None] / taus)
    p0, b0 = 1.0 / (members.RISE_SPREAD * scale) ** 2, members.RISE * scale
    p1, a1 = 1.0 / (members.PART_SPREAD * scale) ** 2, members.PART * scale
    with np.errstate(divide="ignore", invalid="ignore"):
        p = p0 + s_gg  # from nothing
        b, sd = (b0 * p0 + s_gy) / p, 1.0 / np.sqrt(p)
        positive = ndtr(b / sd)
        from_nothing = 0.5 * (np.log(p0 / p) + p * b * b - p0 * b0 * b0) + np.log(positive)
        from_nothing = np.where(b > members.IMPOSSIBLE * sd, from_nothing, -np.inf)
        shift, shrink = _cut(b / sd, positive)
        first = (b + shift * sd) * g, sd * np.sqrt(shrink) * g
        det = (p1 + weight) * (p1 + s_gg) - s_g * s_g  # with a start
        var_a, var_b, cov = (p1 + s_gg) / det, (p1 + weight) / det, -s_g / det
        r_a, r_b = a1 * p1 + weighted, a1 * p1 + s_gy
        a, b = var_a * r_a + cov * r_b, cov * r_a + var_b * r_b
        sd_a, sd = np.sqrt(var_a), np.sqrt(var_b)
        positive = ndtr(b / sd)
        with_start = 0.5 * (np.log(p1 * p1 / det) + a * r_a + b * r_b) + np.log(positive) + np.log(ndtr(a / sd_a))
        possible = (b > members.IMPOSSIBLE * sd) & (a > members.IMPOSSIBLE * sd_a)
        with_start = np.where(possible, with_start - p1 * a1 * a1, -np.inf)
        shift, shrink = _cut(b / sd, positive)
        slope = cov / var_b
        b, a = b + shift * sd, a + slope * shift * sd
        var_a, cov, var_b = var_a - slope * cov * (1.0 - shrink), cov * shrink, var_b * shrink
        second = a + b * g, np.sqrt(np.maximum(0.0, var_a + g * (2.0 * cov + g * var_b)))
    logs = log_prior + np.concatenate((from_nothing, with_start), axis=1)
    share = np.exp(logs - logs.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    share[share <= members.LEAST_SHARE] = 0.0
    share /= share.sum(axis=1, keepdims=True)
    mean, spread = (np.concatenate(parts, axis=1) for parts in zip(first, second, strict=True))
    return Mixture(share, np.where(share > 0.0, mean, 0.0), np.where(share > 0.0, np.maximum(spread, 1e-9), 1e-9))


def _cut(x: Floats, positive: Floats) -> tuple[Floats, Floats]:
    """`_ensemble_members.cut`."""
    hazard = np.where(x >= members.CLEAR, 0.0, np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi) / positive)
    return hazard, np.where(x >= members.CLEAR, 1.0, np.maximum(1e-3, 1.0 - hazard * (hazard + x)))


def ends(mixture: Mixture, levels: Floats, limits: tuple[float, float]) -> Ends:
    """The level of each arm at the end, between the ``limits``, and its chance; ``levels`` are those of today.

    Draws come from a separate generator, so that asking twice gives the same answer and does not affect the run.
    """
    n_arms = levels.size
    draws = max(_LEAST_DRAWS, min(_MOST_DRAWS, _ALL_DRAWS // n_arms))
    rng = np.random.default_rng(0)
    uniform, normal = rng.random((n_arms, draws)), rng.standard_normal((n_arms, draws))
    drawn = np.empty((n_arms, draws))
    for arm in range(n_arms):
        total = mixture.share[arm].cumsum()
        component = np.searchsorted(total[:-1], uniform[arm] * total[-1], side="right")
        mean = mixture.mean[arm, component]
        drawn[arm] = mean + np.hypot(mixture.spread[arm, component], _MISFIT * (mean - levels[arm])) * normal[arm]
    chance = np.bincount(drawn.argmax(axis=0), minlength=n_arms) / draws
    low, high = np.quantile(drawn, [0.5 - _BAND / 2, 0.5 + _BAND / 2], axis=1).clip(*limits)
    return Ends((mixture.share * mixture.mean).sum(axis=1).clip(low, high), low, high, chance)


def level_at_the_end(state: Any, levels: Floats) -> dict[str, Floats]:
    """Columns: ``final`` level of each arm, had it been played to the end of the horizon, with a band of 90 %, and
    ``chance``, the probability that it is the best one; from a state of CommitEnsemble and today's ``levels``.
    """
    pulls: Ints = state.arms["pulls"]
    known = np.flatnonzero(pulls > 0)
    columns = {name: np.full(pulls.size, np.nan) for name in ("final", "final low", "final high", "chance")}
    if known.size:
        sums = state.arms["weight"][known], state.arms["weighted"][known], state.moments[known]
        log_prior = _ensemble_bounds.log_priors(state)[known]
        ages = np.maximum(float(state.run["horizon"][0]), pulls[known].astype(np.float64))
        found = ends(posterior(sums, state.taus, log_prior, state.cap, ages), levels[known], (0.0, state.cap))
        for name, values in zip(columns, found, strict=True):
            columns[name][known] = values
    return columns
