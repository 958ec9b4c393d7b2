"""What scikit-learn's learners need to be arms: batches that depend only on their number, and scores in [0, 1]."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from risingbandits._core.types import Floats, Ints


class BatchOrder:
    """Rows of batch 0, 1, 2, ...: passes over the data, each in its own order, which depends only on the seed.

    Batches continue across the end of a pass, so that all have the same size and no row is left out.

    >>> order = BatchOrder(n_rows=5, batch=2, seed=0)
    >>> sorted(np.concatenate([order.rows(number) for number in range(5)]).tolist())
    [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    """

    def __init__(self, n_rows: int, batch: int, seed: int) -> None:
        self.n_rows, self.batch, self.seed = n_rows, min(batch, n_rows), seed
        self._passes: dict[int, Ints] = {}

    def rows(self, number: int) -> Ints:
        """The rows of one batch."""
        first, last = number * self.batch, (number + 1) * self.batch
        parts = []
        for number_of_pass in range(first // self.n_rows, (last - 1) // self.n_rows + 1):
            start = number_of_pass * self.n_rows
            parts.append(self._order(number_of_pass)[max(first - start, 0) : last - start])
        return np.concatenate(parts)

    def _order(self, number_of_pass: int) -> Ints:
        if number_of_pass not in self._passes:
            while len(self._passes) > 1:  # neighbouring passes are enough
                self._passes.pop(next(iter(self._passes)))
            rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(number_of_pass,)))
            self._passes[number_of_pass] = rng.permutation(self.n_rows)
        return self._passes[number_of_pass]


class RunningVariance:
    """Mean squared distance from the mean of all numbers so far (Welford's method, batch by batch).

    >>> variance = RunningVariance()
    >>> variance.add(np.array([1.0, 2.0])); variance.add(np.array([6.0]))
    >>> round(variance.value, 6)
    4.666667
    """

    def __init__(self) -> None:
        self.n, self.mean, self.squares = 0, 0.0, 0.0

    def add(self, values: Floats) -> None:
        """Take in a batch."""
        n, mean = len(values), float(np.mean(values))
        gap = mean - self.mean
        self.squares += float(np.sum((values - mean) ** 2)) + gap * gap * self.n * n / (self.n + n)
        self.mean += gap * n / (self.n + n)
        self.n += n

    @property
    def value(self) -> float:
        return self.squares / self.n if self.n else 0.0


def batch_score(y: Any, y_pred: Any, variance: float | None) -> float:
    """The share of correct labels if ``variance`` is None, otherwise 1 / (1 + mean squared error / variance).

    So predicting the mean of the targets scores 1/2, and no score is below 0.

    >>> batch_score(np.array([1, 1]), np.array([1, 0]), None), batch_score(np.array([1.0]), np.array([3.0]), 4.0)
    (0.5, 0.5)
    """
    if variance is None:
        return float(np.mean(y == y_pred))
    with np.errstate(over="ignore", invalid="ignore"):  # a learner that has blown up gets 0
        error = float(np.mean((np.asarray(y, dtype=float) - np.asarray(y_pred, dtype=float)) ** 2))
    if math.isnan(error):
        return 0.0
    if error == 0.0:
        return 1.0
    return 1.0 / (1.0 + error / variance) if variance > 0.0 else 0.0


def score_of(estimator: Any, X: Any, y: Any, score: Any, variance: float | None) -> float:
    """A learner's score on a batch: by ``score(estimator, X, y)``, as scikit-learn's scorers, or by `batch_score`."""
    if score is not None:
        return float(score(estimator, X, y))
    return batch_score(y, estimator.predict(X), variance)
