"""Sliding windows over the last tau rounds: what each arm earned in them, in O(1) a round.

``ring`` has a row per round of the window: the arm that was pulled (-1: none yet) and the amount that it earned, a
whole number. ``held`` has a row per arm, its rounds in the window and the sum of its amounts, and one more row whose
first number is the place of the next round. The amount that leaves is taken from the arm that earned it.

Sums of whole numbers stay exact however long a run is; sums of floats that come and go would drift. A reward in [0, 1]
is therefore kept as a multiple of 1 / `units_per_reward`: 2^-52, or so much more that a whole window fits into 62 bits,
which changes a reward by less than 2e-13 for windows of up to a million rounds.
"""

from __future__ import annotations

import math

import numpy as np

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.jit import kernel
from risingbandits._core.types import Ints

_ROUNDING_SLACK = 1e-9  # a window of 100.00000000000001 rounds is meant to be 100


def whole_rounds(length: float) -> int:
    """A length that a formula gives, as rounds: rounded up, at least 1.

    >>> whole_rounds(0.001 ** (-4 / 5))
    252
    """
    return max(1, math.ceil(length - _ROUNDING_SLACK))


def tau_or(tau: int | None, horizon: int | None, formula: float, policy: str) -> int:
    """``tau`` if given, else what the formula gives for the horizon."""
    if tau is not None:
        return int(tau)
    if horizon is None:
        raise RisingBanditsError(f"{policy} needs horizon, the number of rounds, or tau, got neither.")
    return whole_rounds(formula)


def new_ring(tau: int) -> Ints:
    ring = np.zeros((tau, 2), dtype=np.int64)
    ring[:, 0] = -1
    return ring


def new_held(n_arms: int) -> Ints:
    return np.zeros((n_arms + 1, 2), dtype=np.int64)


def units_per_reward(tau: int) -> float:
    """A power of two such that tau rewards of 1 fit into 62 bits."""
    return 2.0 ** min(52, 62 - int(tau).bit_length())


@kernel
def in_units(x: float, units: float) -> int:
    """A reward in [0, 1] as a whole number of units."""
    return int(x * units + 0.5)


@kernel
def push(ring: Ints, held: Ints, arm: int, amount: int) -> int:
    """Let a round enter and, once the window is full, the oldest leave; return the arm of that one, or -1."""
    counter = held.shape[0] - 1
    place = held[counter, 0]
    leaving = ring[place, 0]
    if leaving >= 0:
        held[leaving, 0] -= 1
        held[leaving, 1] -= ring[place, 1]
    ring[place, 0] = arm
    ring[place, 1] = amount
    held[arm, 0] += 1
    held[arm, 1] += amount
    place += 1
    held[counter, 0] = 0 if place == ring.shape[0] else place
    return leaving
