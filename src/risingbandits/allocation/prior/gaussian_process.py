"""A Gaussian process with a length scale for each setting, and its most probable hyper-parameters.

The covariance of two points is s exp(-1/2 sum_g w_g d_g^2), with d_g their distance in the coordinates of setting g;
observations have the noise variance v. Hyper-parameters are log w_1, ..., log w_G, log s and log v, with normal priors.

Linear algebra is done in small blocks on one thread. Libraries split larger products among threads, which wait for each
other on busy cores, as when several runs share a machine: a fit of some hundred arms then takes 20 s instead of 1 s.
"""

from __future__ import annotations

import math

import numpy as np

from risingbandits._core.types import Floats, Ints

_SIDE = 64  # of a block: OpenBLAS computes products of up to 64^3 terms in one thread
_PIVOTS = 60  # rows that are eliminated at once: OpenBLAS factors matrices of fewer than 64 rows in one thread
# The priors: mean and deviation of log w, log s and log v. Scores have variance 1, coordinates run from 0 to 1.
_WEIGHT = (0.0, 1.5)
_SIGNAL = (math.log(0.6), 1.0)
_NOISE = (math.log(0.4), 1.0)
_JITTER = 1e-8
_BOUND = 6.0  # of hyper-parameters, in deviations from their mean
_STEPS = 40


def product(left: Floats, right: Floats) -> Floats:
    """The matrix product.

    >>> product(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])).tolist()
    [[11.0]]
    """
    (rows, inner), columns = left.shape, right.shape[1]
    result = np.zeros((rows, columns))
    for i in range(0, rows, _SIDE):
        for j in range(0, columns, _SIDE):
            for k in range(0, inner, _SIDE):
                part = left[i : i + _SIDE, k : k + _SIDE] @ right[k : k + _SIDE, j : j + _SIDE]
                result[i : i + _SIDE, j : j + _SIDE] += part
    return result


def inverse_factor(matrix: Floats) -> tuple[Floats, float]:
    """The triangular Y with Y' Y the inverse of a covariance matrix, and the logarithm of the matrix's determinant.

    ``numpy.linalg.LinAlgError`` where the matrix is not positive definite.

    >>> factor, log_determinant = inverse_factor(np.array([[4.0, 0.0], [0.0, 16.0]]))
    >>> factor.tolist(), round(log_determinant, 3)
    ([[0.5, 0.0], [0.0, 0.25]], 4.159)
    """
    left, found = matrix.copy(), np.eye(len(matrix))
    log_determinant = 0.0
    for first in range(0, len(matrix), _PIVOTS):
        last = min(first + _PIVOTS, len(matrix))
        block, after, until = slice(first, last), slice(last, None), slice(0, last)
        corner = np.linalg.cholesky(left[block, block])
        log_determinant += 2.0 * math.fsum(np.log(np.diag(corner)).tolist())
        own: Floats = np.tril(np.linalg.inv(corner)).astype(np.float64)
        below = product(left[after, block], own.T)  # of the Cholesky factor, which is inverted on the way
        left[after, after] -= product(below, below.T)
        found[block, until] = product(own, found[block, until])
        found[after, until] -= product(below, found[block, until])
    return found, log_determinant


class GaussianProcess:
    """Beliefs about values at new points.

    Parameters
    ----------
    points : array (n, coordinates)
        Where values were seen.
    values : array (n,)
        The values, with mean about 0.
    groups : array (coordinates,)
        The setting that each coordinate belongs to.
    hyper : array (settings + 2,)
        The hyper-parameters, see `most_probable`.

    Examples
    --------
    >>> points, values = np.array([[0.0], [0.5], [1.0]]), np.array([-1.0, 0.0, 1.0])
    >>> process = GaussianProcess(points, values, np.array([0]), np.log([4.0, 1.0, 0.01]))
    >>> mean, deviation = process.predict(np.array([[0.9]]))
    >>> round(float(mean[0]), 2), round(float(deviation[0]), 2)
    (0.89, 0.16)
    """

    def __init__(self, points: Floats, values: Floats, groups: Ints, hyper: Floats) -> None:
        self._scale = np.exp(hyper[:-2] / 2.0)[groups]
        self._signal, self._noise = float(np.exp(hyper[-2])), float(np.exp(hyper[-1]))
        self._points = points * self._scale
        covariance = self._covariance(self._points)
        covariance[np.diag_indices(len(points))] += self._noise + _JITTER
        self._factor, _ = inverse_factor(covariance)
        self._weights = times(self._factor.T, times(self._factor, values))

    def predict(self, points: Floats) -> tuple[Floats, Floats]:
        """Mean and deviation of values at new points, including noise."""
        cross = self._covariance(points * self._scale)
        known = product(cross, self._factor.T)
        variance = self._signal + self._noise - np.einsum("ij,ij->i", known, known)
        return times(cross, self._weights), np.sqrt(np.maximum(variance, self._noise))

    def _covariance(self, points: Floats) -> Floats:
        own = np.einsum("ij,ij->i", self._points, self._points)
        distances = np.einsum("ij,ij->i", points, points)[:, None] + own - 2.0 * product(points, self._points.T)
        covariance: Floats = self._signal * np.exp(-0.5 * np.maximum(distances, 0.0))
        return covariance


def most_probable(points: Floats, values: Floats, groups: Ints) -> Floats:
    """The hyper-parameters with the highest posterior density near the mean of the prior."""
    from risingbandits.policies._config_process import minimum

    squares = squared_distances(points, groups)
    centre, spread = prior_of(len(squares))

    def standard(away: Floats) -> tuple[float, Floats]:
        value, slope = surprise(centre + spread * away, squares, values)
        return value, slope * spread

    return centre + spread * minimum(standard, np.zeros(len(centre)), _BOUND, _STEPS)


def squared_distances(points: Floats, groups: Ints) -> Floats:
    """Between all points, by settings: (settings, n, n)."""
    settings = int(groups.max()) + 1 if len(groups) else 0
    squares = np.zeros((settings, len(points), len(points)))
    for column, group in zip(points.T, groups, strict=True):
        squares[group] += (column[:, None] - column) ** 2
    return squares


def prior_of(settings: int) -> tuple[Floats, Floats]:
    """Means and deviations of the hyper-parameters."""
    centre, spread = np.array([_WEIGHT] * settings + [_SIGNAL, _NOISE]).T
    return centre, spread


def surprise(hyper: Floats, squares: Floats, values: Floats) -> tuple[float, Floats]:
    """Minus the log posterior density, up to a constant, and its gradient."""
    n = len(values)
    signal, noise = np.exp(hyper[-2]), np.exp(hyper[-1])
    smooth = signal * np.exp(-0.5 * np.einsum("g,gij->ij", np.exp(hyper[:-2]), squares))
    covariance = smooth + (noise + _JITTER) * np.eye(n)
    try:
        factor, log_determinant = inverse_factor(covariance)
    except np.linalg.LinAlgError:  # far from anything probable
        return math.inf, np.zeros(len(hyper))
    weights = times(factor.T, times(factor, values))
    centre, spread = prior_of(len(squares))
    away = (hyper - centre) / spread
    value = 0.5 * values @ weights + 0.5 * log_determinant + 0.5 * away @ away
    # d/dh of the first two terms is 1/2 trace(slope dK/dh).
    slope = product(factor.T, factor) - np.outer(weights, weights)
    pull = slope * smooth
    by_weight = -0.25 * np.exp(hyper[:-2]) * np.einsum("gij,ij->g", squares, pull)
    gradient = np.array([*by_weight, 0.5 * pull.sum(), 0.5 * noise * np.trace(slope)])
    return float(value), gradient + away / spread


def times(matrix: Floats, vector: Floats) -> Floats:
    """The matrix times the vector, on one thread."""
    found: Floats = np.einsum("ij,j->i", matrix, vector)
    return found
