"""What several policies of the published program share."""

from __future__ import annotations

import math
from typing import Any

from risingbandits._core.jit import kernel
from risingbandits._core.types import Floats, Mask
from risingbandits.policies._kernels import argmax


@kernel
def in_turn(t: int, n_arms: int, available: Mask) -> int:
    """Arms by their numbers, one in each round; the lowest available one where it is not this one's."""
    arm = (t - 1) % n_arms
    if available is None or available[arm]:
        return arm
    return argmax.first(available)


@kernel
def highest_at_random(values: Floats, available: Mask, rng: Any) -> int:
    """The available arm with the highest value, a random one among equals."""
    best = -math.inf
    chosen = argmax.first(available)
    ties = 0
    for arm in range(values.shape[0]):
        if available is None or available[arm]:
            best, chosen, ties = argmax.among_ties(values[arm], best, arm, chosen, ties, rng)
    return chosen
