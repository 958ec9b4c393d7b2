"""The Gaussian process of `ConfigModel`: covariances, scales learnt from the arms that were started, predictions.

The value of an arm at a resource, as a normal score, is the sum of a slope times its prior, a function of its config, a
part of its own and a trend with the resource that all arms share. NumPy only; matrices have some hundred rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.stats import mid_ranks, normal_quantiles
from risingbandits._core.types import Floats, Ints

SLOPE, SLOPE_DEVIATION = 0.5, 0.6  # of the prior, learnt by the process itself
STEPS = 15  # of the search for scales
NOISE = 0.02
_FADE = 8.0  # an e-th of the covariance is left when the resource has grown by e^8
_TREND = 0.1
_LENGTH = (0.0, 0.75)  # the priors: mean and deviation of the logarithms of length scales,
_SIGNAL = (math.log(0.6), 1.0)  # of the variance that configs explain,
_OWN = (math.log(0.4), 1.0)  # and of that which they do not
_BOUND = 4.0  # of all three, in deviations from the mean
_FIT = 200  # scores of earlier tasks from which scales are learnt
_BLOCK = 48  # rows of a triangular matrix that are inverted at once


class Scales(NamedTuple):
    """What is learnt: the variance that configs explain, the arms' own, and a length scale for each hyperparameter."""

    signal: float
    own: float
    lengths: Floats


class Points(NamedTuple):
    """What the process knows about some arms at some resources, one row for each; ``arms`` are their numbers."""

    arms: Ints
    resources: Floats
    configs: Floats  # (rows, coordinates)
    prior: Floats

    def take(self, rows: Any) -> Points:
        """Some of the rows."""
        return Points(*(column[rows] for column in self))

    def beside(self, other: Points) -> Points:
        """These rows, then the others."""
        return Points(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


def normal_scores(values: Floats) -> Floats:
    """Normal scores of numbers by their ranks; ties share the mean rank.

    >>> normal_scores(np.array([3.0, 1.0, 3.0])).round(3).tolist()
    [0.431, -0.967, 0.431]
    """
    return normal_quantiles((mid_ranks(values) + 0.5) / max(1, len(values)))


def scores_at_equal_resource(curves: Sequence[Floats], share: float = 1 / 3) -> Floats:
    """Normal scores of how many others each curve beats, see `wins`.

    >>> scores_at_equal_resource([np.array([0.1, 0.2, 0.9]), np.array([0.3, 0.4]), np.array([0.0])]).round(2).tolist()
    [0.0, 0.97, -0.97]
    """
    return normal_scores(wins(curves, share))


def wins(curves: Sequence[Floats], share: float) -> Floats:
    """How many others each curve beats, every pair compared at the resource of the younger one; a tie counts half.

    What is compared is the mean of the last ``share`` of the values until then, of at least one value. A curve whose
    last mean is not finite has failed and is below all that have not.
    """
    resources = np.array([len(curve) for curve in curves], int)
    won = np.zeros(len(curves))
    failed = np.zeros(len(curves), np.bool_)
    for resource in np.unique(resources)[::-1].tolist():
        first = resource - max(1, math.ceil(share * resource))
        older = np.flatnonzero(resources >= resource)
        own = resources[older] == resource
        with np.errstate(invalid="ignore"):  # inf - inf
            levels = np.stack([curves[i][first:resource] for i in older.tolist()]).mean(axis=1)
        failed[older[own]] = ~np.isfinite(levels[own])
        levels[failed[older] | ~np.isfinite(levels)] = -math.inf
        everyone, equals = np.sort(levels), np.sort(levels[own])
        for rows, others in ((own, everyone), (~own, equals)):
            won[older[rows]] += sum(np.searchsorted(others, levels[rows], side) for side in ("left", "right")) / 2.0
        won[older[own]] -= 0.5  # the comparison with itself
    return won


def matern(squares: Floats) -> tuple[Floats, Floats]:
    """Matern's covariance (5/2) of squared distances, and -2 times its slope."""
    roots = np.sqrt(5.0 * squares)
    fall = np.exp(-roots)
    return (1.0 + roots + roots * roots / 3.0) * fall, 5.0 / 3.0 * (1.0 + roots) * fall


def triangular_inverse(matrix: Any) -> Floats:
    """The inverse of a lower triangular matrix."""
    rows = len(matrix)
    if rows <= _BLOCK:
        return np.tril(np.linalg.inv(matrix)) if rows else matrix
    half = rows // 2
    inverse = np.zeros_like(matrix)
    inverse[:half, :half] = upper = triangular_inverse(matrix[:half, :half])
    inverse[half:, half:] = lower = triangular_inverse(matrix[half:, half:])
    inverse[half:, :half] = -lower @ (matrix[half:, :half] @ upper)
    return inverse


def minimum(function: Callable[[Floats], tuple[float, Floats]], start: Floats, bound: float, steps: int) -> Floats:
    """Where a function with gradient is least between -bound and bound: steps of BFGS, cut to the bounds.

    >>> minimum(lambda x: (float((x - 3.0) @ (x - 3.0)), 2.0 * (x - 3.0)), np.zeros(2), bound=2.0, steps=9).tolist()
    [2.0, 2.0]
    """
    at, (value, slope) = start, function(start)
    curvature = np.eye(len(start))  # its inverse
    for _ in range(steps):
        free = (np.abs(at) < bound) | (at * slope > 0.0)  # others would leave the bounds
        move = np.where(free, -curvature @ np.where(free, slope, 0.0), 0.0)
        if move @ slope >= 0.0:  # not downhill any more: forget what was learnt about the curvature
            curvature, move = np.eye(len(start)), np.where(free, -slope, 0.0)
        move *= min(1.0, 2.0 / max(1e-12, float(np.linalg.norm(move))))
        for _ in range(8):
            new = np.clip(at + move, -bound, bound)
            new_value, new_slope = function(new)
            if new_value <= value + 1e-4 * slope @ (new - at):
                break
            move *= 0.4
        else:
            return at
        step, change = new - at, new_slope - slope
        along = float(step @ change)
        if along > 1e-10:
            left = np.eye(len(start)) - np.outer(step, change) / along
            curvature = left @ curvature @ left.T + np.outer(step, step) / along
        at, value, slope = new, new_value, new_slope
    return at


def most_probable(configs: Floats, groups: Ints, prior: Floats, scores: Floats, steps: int = STEPS) -> Scales:
    """The scales that explain ``scores`` of arms best, given what is known about scales beforehand.

    ``groups`` has the number of its hyperparameter for each coordinate of the configs.
    """
    many, count = (int(groups.max()) + 1 if len(groups) else 0), len(scores)
    squares = np.zeros((many, count * count))
    for coordinate, group in enumerate(groups.tolist()):
        squares[group] += (np.subtract.outer(configs[:, coordinate], configs[:, coordinate]) ** 2).ravel()
    mean = np.array([_LENGTH[0]] * many + [_SIGNAL[0], _OWN[0]])
    deviation = np.array([_LENGTH[1]] * many + [_SIGNAL[1], _OWN[1]])
    residual = scores - SLOPE * prior
    fixed = SLOPE_DEVIATION**2 * np.outer(prior, prior) + NOISE * np.eye(count)

    def surprise(standard: Floats) -> tuple[float, Floats]:
        logs = mean + deviation * standard
        weights, variance, own = np.exp(-2.0 * logs[:many]), math.exp(logs[-2]), math.exp(logs[-1])
        near, fall = matern((weights @ squares).reshape(count, count))
        factor = np.linalg.cholesky(fixed + variance * near + own * np.eye(count))
        inverse = triangular_inverse(factor)
        inverse = inverse.T @ inverse
        solved = inverse @ residual
        excess = inverse - np.outer(solved, solved)
        slopes = np.empty(many + 2)
        slopes[:many] = 0.5 * variance * weights * (squares @ (excess * fall).ravel())
        slopes[-2] = 0.5 * variance * float((excess * near).sum())
        slopes[-1] = 0.5 * own * float(np.trace(excess))
        value = 0.5 * residual @ solved + np.log(np.diag(factor)).sum() + 0.5 * standard @ standard
        return float(value), slopes * deviation + standard

    logs = mean + deviation * minimum(surprise, np.zeros(many + 2), _BOUND, steps)
    return Scales(math.exp(logs[-2]), math.exp(logs[-1]), np.exp(logs[:many]))


def covariance(scales: Scales, groups: Ints, one: Points, other: Points) -> Floats:
    """The covariance of each of some rows with each of others."""
    fade = np.abs(np.subtract.outer(np.log(one.resources), np.log(other.resources)))
    near = scales.own * (one.arms[:, None] == other.arms)
    if scales.signal > 0.0 and len(groups):
        near = near + scales.signal * _alike(scales.lengths[groups], one, other)
    shared = _TREND * (1.0 + np.minimum.outer(np.log(one.resources), np.log(other.resources)) / 4.0)
    result: Floats = near * np.exp(-fade / _FADE) + shared
    return result + SLOPE_DEVIATION**2 * np.outer(one.prior, other.prior)


def _alike(lengths: Floats, one: Points, other: Points) -> Floats:
    """How alike the configs are, computed once for each arm."""
    (_, first, of_one), (_, second, of_other) = (
        np.unique(p.arms, return_index=True, return_inverse=True) for p in (one, other)
    )
    return _near(one.configs[first] / lengths, other.configs[second] / lengths)[of_one][:, of_other]


def variance(scales: Scales, at: Points) -> Floats:
    """The variance of each row before anything was seen."""
    trend = _TREND * (1.0 + np.log(at.resources) / 4.0)
    return scales.signal + scales.own + trend + SLOPE_DEVIATION**2 * at.prior**2


class Process:
    """What rows with scores say about other rows. ``pending`` rows have no score yet, but it is on its way."""

    def __init__(self, scales: Scales, groups: Ints, seen: Points, scores: Floats, pending: Points) -> None:
        self.scales, self.groups = scales, groups
        self.rows = seen.beside(pending)
        matrix = covariance(scales, groups, self.rows, self.rows)
        matrix[np.diag_indices(len(matrix))] += NOISE
        self._inverse = triangular_inverse(np.linalg.cholesky(matrix))
        # A score that equals its mean changes no mean, so those on their way count for the variances alone.
        corner = self._inverse[: len(scores), : len(scores)]
        self._solved = corner.T @ (corner @ (scores - SLOPE * seen.prior))

    def predict(self, at: Points) -> tuple[Floats, Floats]:
        """Mean and variance of the score of each row."""
        mean, var, _ = self._predict(at)
        return mean, var

    def predict_after(self, at: Points, own: Points, scores: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of each row if, next to what was seen, its arm's ``own`` row had been seen."""
        mean, var, share = self._predict(at)
        own_mean, own_var, own_share = self._predict(own)
        fade = np.exp(-np.abs(np.log(at.resources) - np.log(own.resources)) / _FADE)
        both = (self.scales.signal + self.scales.own) * fade + SLOPE_DEVIATION**2 * at.prior * own.prior
        both += _TREND * (1.0 + np.log(np.minimum(at.resources, own.resources)) / 4.0)
        both -= np.einsum("ij,ij->i", share, own_share)
        gain = both / (own_var + NOISE)
        return mean + gain * (scores - own_mean), np.maximum(var - gain * both, 1e-9)

    def _predict(self, at: Points) -> tuple[Floats, Floats, Floats]:
        cross = covariance(self.scales, self.groups, at, self.rows)
        share = cross @ self._inverse.T
        mean = cross[:, : len(self._solved)] @ self._solved + SLOPE * at.prior
        return mean, np.maximum(variance(self.scales, at) - np.einsum("ij,ij->i", share, share), 1e-9), share


class Expected(NamedTuple):
    """What earlier tasks lead us to expect of the configs of some arms."""

    means: Floats
    variances: Floats  # of what configs explain
    scales: Scales


def scores_from_earlier(
    configs: Floats, groups: Ints, scores: Floats, now: Floats, weights: Floats | float = 1.0
) -> Expected:
    """What the final scores of arms of earlier tasks lead us to expect of the configs of today's arms.

    ``weights`` say how far each score is to be trusted, from 0 to 1.
    """
    fit = slice(0, _FIT)
    few = np.zeros(len(scores[fit]))
    scales = most_probable(configs[fit], groups, few, scores[fit], steps=2 * STEPS)
    left, right = configs / scales.lengths[groups], now / scales.lengths[groups]
    matrix = scales.signal * _near(left, left)
    matrix[np.diag_indices(len(scores))] += (scales.own + NOISE) / np.maximum(weights, 1e-6)
    inverse = triangular_inverse(np.linalg.cholesky(matrix))
    share = scales.signal * _near(right, left) @ inverse.T
    return Expected(share @ (inverse @ scores), np.maximum(scales.signal - (share * share).sum(axis=1), 0.0), scales)


def _near(left: Floats, right: Floats) -> Floats:
    """How alike points are, in units of the length scales."""
    squares = (left * left).sum(axis=1)[:, None] + (right * right).sum(axis=1) - 2.0 * left @ right.T
    return matern(np.maximum(squares, 0.0))[0]
