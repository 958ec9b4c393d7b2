"""Exact pruning for many arms: in a block of B rounds only a few arms can have the best index.

At most B - 1 arms have been pulled before the last round of the block, so one of the B arms with the highest lower
values is still untouched, and no arm whose upper value stays below the B-th highest lower value can win. Where both
are equal the lower arm number wins, as in a full scan. Bounding all K indexes once per block and looking at the
candidates each round costs K / B + B, about sqrt(K) a round, with unchanged decisions.

``block`` is one row of integers: the last round of the block, how many arms may still change, the number of
candidates, then the candidates, then for each of the K arms its place among them, from 1 on (0: none).
``bounds`` holds for each arm a lower value, an upper value and working space; the policy may use further rows.
"""

from __future__ import annotations

import math

import numpy as np

from risingbandits._core.jit import kernel
from risingbandits._core.types import Floats, Ints

PRUNING_FROM = 128  # arms; below, a full scan is faster
_LAST_ROUND, _CHANGES_LEFT, _COUNT, _FIRST = 0, 1, 2, 3


def new_block(n_arms: int, more_rows: int) -> tuple[Ints, Floats]:
    """Empty tables: the block and the bounds, of no size below `PRUNING_FROM` arms."""
    size = n_arms if n_arms >= PRUNING_FROM else 0
    return np.zeros(_FIRST + 2 * size, dtype=np.int64), np.zeros((3 + more_rows, size))


@kernel
def block_length(n_arms: int) -> int:
    return int(3.0 * math.sqrt(n_arms))


@kernel
def is_current(block: Ints, t: int) -> bool:
    return t <= block[_LAST_ROUND] and block[_CHANGES_LEFT] > 0


@kernel
def number_of_candidates(block: Ints) -> int:
    return block[_COUNT]


@kernel
def candidate(block: Ints, place: int) -> int:
    return block[_FIRST + place]


@kernel
def note_change(block: Ints, arm: int) -> int:
    """An arm's index has changed: return its place among the candidates, or -1, which ends the block."""
    n_arms = (block.shape[0] - _FIRST) // 2
    place = block[_FIRST + n_arms + arm] - 1
    block[_CHANGES_LEFT] -= 1
    if place < 0:
        block[_CHANGES_LEFT] = 0
    return place


@kernel
def start_block(block: Ints, bounds: Floats, t: int) -> None:
    """Choose the candidates for the block that begins at t from the lower and upper values in ``bounds``."""
    n_arms = bounds.shape[1]
    length = block_length(n_arms)
    for arm in range(n_arms):
        bounds[2, arm] = bounds[0, arm]
    threshold = nth_largest(bounds[2], length)
    above = 0
    for arm in range(n_arms):
        above += bounds[0, arm] > threshold
    wanted = length - above  # arms at the threshold that belong to the best B, the lowest numbers first
    last_tied = n_arms
    for arm in range(n_arms):
        if bounds[0, arm] == threshold and wanted > 0:
            wanted -= 1
            last_tied = arm
    count = 0
    for arm in range(n_arms):
        high = bounds[1, arm]
        chosen = high > threshold or (high == threshold and arm <= last_tied)
        block[_FIRST + count] = arm
        block[_FIRST + n_arms + arm] = count + 1 if chosen else 0
        count += chosen
    block[_LAST_ROUND] = t + length - 1
    block[_CHANGES_LEFT] = length
    block[_COUNT] = count


@kernel
def nth_largest(values: Floats, n: int) -> float:
    """The n-th largest of ``values``, which are reordered (Hoare's selection)."""
    low = 0
    high = values.shape[0] - 1
    place = n - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i = low
        j = high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if place <= j:
            high = j
        elif place >= i:
            low = i
        else:
            return values[place]
    return values[place]
