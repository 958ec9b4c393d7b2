"""The arm with the highest of K numbers: the lowest arm number, or a random one, if there are ties.

And any arm, each with the same probability.

Without a generator no branch depends on the numbers, because it would be guessed wrong every few rounds. With one
(``ties="random"``) the n-th of n equal candidates replaces the one before with probability 1/n, so that each is kept
with the same probability.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from risingbandits._core.jit import kernel
from risingbandits._core.types import Floats, Mask, Rng


@kernel
def first(available: Mask) -> int:
    """The lowest available arm."""
    return 0 if available is None else np.argmax(available)  # type: ignore[return-value]


@kernel
def any_arm(n_arms: int, available: Mask, rng: Any) -> int:
    """Each available arm with the same probability."""
    if available is None:
        return int(rng.random() * n_arms)
    free = 0
    for arm in range(n_arms):
        free += available[arm]
    before = int(rng.random() * free)
    chosen = first(available)
    for arm in range(n_arms):
        if available[arm]:
            if before == 0:
                chosen = arm
            before -= 1
    return chosen


@kernel
def highest(values: Floats, available: Mask) -> int:
    """The available arm with the highest value, the lowest number among equals."""
    chosen = first(available)
    best = values[chosen]
    for arm in range(values.shape[0]):
        if available is not None and not available[arm]:
            continue
        better = values[arm] > best
        best = values[arm] if better else best
        chosen = arm if better else chosen
    return chosen


@kernel
def among_ties(value: float, best: float, arm: int, chosen: int, ties: int, rng: Rng) -> tuple[float, int, int]:
    """The highest value, its arm and the number of ties, after one more candidate."""
    if value > best:
        return value, arm, 1
    if value == best:
        ties += 1
        if rng.random() * ties < 1.0:  # type: ignore[union-attr]
            return best, arm, ties
    return best, chosen, ties


@kernel
def highest_line(level: Floats, slope: Floats, x: float, available: Mask, rng: Rng) -> int:
    """argmax of level + slope x; an arm whose level is +inf has slope 0."""
    best = -math.inf
    chosen = first(available)
    ties = 0
    for arm in range(level.shape[0]):
        if available is not None and not available[arm]:
            continue
        value = level[arm] + slope[arm] * x
        if rng is None:
            better = value > best
            best = value if better else best
            chosen = arm if better else chosen
        else:
            best, chosen, ties = among_ties(value, best, arm, chosen, ties, rng)
    return chosen
