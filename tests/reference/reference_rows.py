"""A small sparse data set that a linear rule decides."""

from __future__ import annotations

import numpy as np

from risingbandits.lab.paper.imdb import Rows


def random_rows(n: int = 300, features: int = 40, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    matrix = rng.poisson(0.4, (n, features)).astype(np.float64)
    labels = (matrix @ rng.normal(size=features) > 0).astype(np.float64)
    row, column = np.nonzero(matrix)
    indptr = np.searchsorted(row, np.arange(n + 1)).astype(np.int64)
    return Rows("random", features, indptr, column.astype(np.int32), matrix[row, column], labels)
