"""The best order of pulls by looking at all pull counts: for few arms and rounds, whoever makes whom rise.

What a pull earns depends on the pulls of each arm so far and not on their order. With n_i pulls of arm i, the last one
of arm j, that one was at the trigger count of n, so the most that n can have earned is

    value(n) = max over arms j with n_j >= 1 of value(n - e_j) + mu_j(sum over i of n_i G_ij).
"""

from __future__ import annotations

import math

import numpy as np

from risingbandits._core.entry_points import EntryPoint
from risingbandits._core.types import Floats, Ints

MOST_CELLS = 2_000_000  # 16 MB, a tenth of a second
_WORK = 2e-6  # seconds that one step takes in plain Python


def is_small(n_arms: int, horizon: int) -> bool:
    """Whether `best_sums` is a matter of a moment: (T + 1)^K cells, such as 2 arms and 1,400 rounds or 5 and 17."""
    return n_arms <= 20 and (horizon + 1) ** n_arms <= MOST_CELLS


def fill_values(means: Floats, triggers: Ints, counts: Ints, values: Floats) -> int:
    """Fill in the values of all pull counts; return the cell with the largest one after T rounds.

    A cell is a number with the digits n_1, n_2, ... to the base T + 1. ``counts`` is scratch.
    """
    n_arms, horizon = means.shape
    total = 0
    chosen = 0
    for arm in range(n_arms):
        counts[arm] = 0
    values[0] = 0.0
    for cell in range(1, values.shape[0]):
        digit = 0
        while counts[digit] == horizon:
            total -= horizon
            counts[digit] = 0
            digit += 1
        counts[digit] += 1
        total += 1
        best = -math.inf
        stride = 1
        for arm in range(n_arms):
            if total <= horizon and counts[arm] > 0:
                at = 0
                for other in range(n_arms):
                    at += counts[other] * triggers[other, arm]
                best = max(best, values[cell - stride] + means[arm, at - 1])
            stride *= horizon + 1
        values[cell] = best
        if total == horizon and (chosen == 0 or best > values[chosen]):
            chosen = cell
    return chosen


_fill = EntryPoint(fill_values, share=1.0)


def best_sums(means: Floats, triggers: Ints) -> Floats:
    """Sums of the means that the best order of pulls has got after 0, 1, ... T rounds; ``means`` is (K, T)."""
    n_arms, horizon = means.shape
    values = np.empty((horizon + 1) ** n_arms)
    scratch = np.zeros(n_arms, dtype=np.int64)
    cell = int(_fill.run(_WORK * n_arms * n_arms * values.size, means, triggers, scratch, values))
    strides = (horizon + 1) ** np.arange(n_arms)
    sums = np.zeros(horizon + 1)
    for rounds in range(horizon, 0, -1):  # back along the way that the best value came
        sums[rounds] = values[cell]
        counts = cell // strides % (horizon + 1)
        at = counts @ triggers
        came = [values[cell - strides[arm]] + means[arm, at[arm] - 1] for arm in np.flatnonzero(counts)]
        cell -= int(strides[np.flatnonzero(counts)[int(np.argmax(came))]])
    return sums
