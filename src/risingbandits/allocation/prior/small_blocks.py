"""Products of matrices and inverses of covariances in small blocks, on one thread.

Linear-algebra libraries split larger products among threads. On busy cores, as when several runs share a machine, these
threads wait for each other: a fit of some hundred arms then takes 20 s instead of 1 s. Small products are never split.
"""

from __future__ import annotations

import math

import numpy as np

from risingbandits._core.types import Floats

_SIDE = 64  # of a block: OpenBLAS computes products of up to 64^3 terms in one thread
_PIVOTS = 60  # rows that are eliminated at once: OpenBLAS factors matrices of fewer than 64 rows in one thread


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
