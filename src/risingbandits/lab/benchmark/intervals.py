"""Intervals that resample tasks and the runs of each task, above all orders of the arms.

An interval over tasks alone ignores that few orders were played; differences of 0.03 are then noise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from risingbandits._core.types import Floats

_DRAWS = 1_000
_LEVEL = 0.95


def resampled_means(tasks: Sequence[Floats], key: Sequence[int], draws: int = _DRAWS) -> Floats:
    """Means over resampled tasks: tasks are drawn with replacement, and within each task runs with replacement.

    ``key`` seeds the draws, so that equal values have equal intervals. With only one task, only its runs are drawn.

    >>> draws = resampled_means([np.array([1.0, 3.0]), np.array([5.0, 7.0])], [0])
    >>> sorted({value.item() for value in draws})[:3]
    [1.0, 1.5, 2.0]
    """
    rng = np.random.default_rng([*key])
    number = len(tasks)
    chosen = rng.integers(number, size=(draws, number))
    most = max(map(len, tasks))
    lengths = np.array([len(task) for task in tasks])
    values = np.zeros((number, most))
    for row, own in zip(values, tasks, strict=True):
        row[: len(own)] = own
    total = np.zeros(draws)
    for place in range(number):  # task by task keeps the arrays small
        task = chosen[:, place]
        length = lengths[task]
        inside = (rng.random((draws, most)) * length[:, None]).astype(np.int64)
        counted = np.arange(most) < length[:, None]
        total += np.where(counted, values[task[:, None], inside], 0.0).sum(axis=1) / length
    return total / number


def interval(means: Floats) -> tuple[float, float]:
    """The middle 95 % of resampled means."""
    low, high = np.quantile(means, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return float(low), float(high)
