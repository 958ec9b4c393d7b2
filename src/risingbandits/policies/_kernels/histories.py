"""Histories of all arms in one shared pool: one number per pull, every pull of an arm found by one addition.

An arm owns a stretch of the pool. When it is full, the arm moves to a new stretch of twice the length; stretches are
handed out one after another and never given back. An arm with n pulls has owned at most 4 n places in all, so T
pulls of K arms take at most 4 T + 8 K places of 8 bytes, however the pulls are spread.

``places`` has a row per arm: the place of the arm's pull 0 (its pull n lies n further) and the length of its stretch;
the first number of one more row counts the places handed out.
"""

from __future__ import annotations

import numpy as np

from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Floats, Ints

_FIRST_LENGTH = 8


def places_for(n_arms: int, pulls: int) -> int:
    """The size of a pool that holds ``pulls`` pulls, however they are spread."""
    return 4 * pulls + _FIRST_LENGTH * n_arms


def new_places(n_arms: int) -> Ints:
    """Every arm owns a first short stretch."""
    places = np.zeros((n_arms + 1, 2), dtype=np.int64)
    places[:n_arms, 0] = _FIRST_LENGTH * np.arange(n_arms) - 1
    places[:n_arms, 1] = _FIRST_LENGTH
    places[n_arms, 0] = _FIRST_LENGTH * n_arms
    return places


def make_room(pool: Floats, n_arms: int, pulls: int) -> None:
    """Grow the pool in place (the caller holds no view of it)."""
    pool.resize(places_for(n_arms, pulls), refcheck=False)


@kernel
def append(pool: Floats, places: Ints, arm: int, n: int, value: float) -> int:
    """Keep ``value`` as the arm's n-th; return the place of its 0-th."""
    start = places[arm, 0]
    if n > places[arm, 1]:
        start = _move(pool, places, arm, n)
    pool[start + n] = value
    return start


@rare_kernel
def _move(pool: Floats, places: Ints, arm: int, n: int) -> int:
    old = places[arm, 0]
    counter = places.shape[0] - 1
    new = places[counter, 0] - 1
    places[arm, 0] = new
    places[arm, 1] *= 2
    places[counter, 0] += places[arm, 1]
    for i in range(1, n):
        pool[new + i] = pool[old + i]
    return new
