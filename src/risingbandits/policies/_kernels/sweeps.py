"""Sweeps over a shrinking set of arms, for policies that play every active arm once and then drop some.

``order`` holds all arms: first the active ones that this sweep has played, then the active ones it still has to play,
then the dropped ones, the last dropped first. ``place`` says where an arm is. ``marks`` counts the active arms and the
played ones; its third number is 1 when the sweep was found stuck.

Sweeps advance on rewards, never on asks: an ask may stay unanswered, and a reward may come for any arm.
A sweep is stuck when, at an ask, no arm that is still to be played is available, but one that has been played is. That
one is then played again, and its reward ends the sweep without the missing arms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Floats, Ints, Mask, Rng

ACTIVE, PLAYED, STUCK = 0, 1, 2
ORDERS = ("random", "given")  # in which arms are opened


@rare_kernel
def shuffle(order: Ints, first: int, last: int, rng: Rng) -> None:
    """Draw places ``first`` .. ``last`` - 1 at random from all from ``first`` on; nothing without a generator."""
    if rng is not None:
        size = order.shape[0]
        for place in range(first, last):
            other = place + int(rng.random() * (size - place))
            order[place], order[other] = order[other], order[place]


@kernel
def next_in_order(order: Ints, marks: Ints, available: Mask) -> int:
    """The first arm that the sweep still has to play."""
    if available is None:
        return order[marks[PLAYED]]
    return first_available(order, marks, marks[PLAYED], available)


@kernel
def next_at_random(order: Ints, marks: Ints, available: Mask, rng: Any) -> int:
    """Any of the arms that the sweep still has to play, all with the same chance; one draw where there are several."""
    first = marks[PLAYED]
    waiting = marks[ACTIVE] - first
    start = first
    if waiting > 1:
        start += min(int(rng.random() * waiting), waiting - 1)
    if available is None:
        return order[start]
    return first_available(order, marks, start, available)


@rare_kernel
def first_available(order: Ints, marks: Ints, start: int, available: Any) -> int:
    """From place ``start`` on, in a circle: arms still to be played; then those played; then those dropped."""
    active, played = marks[ACTIVE], marks[PLAYED]
    waiting = active - played
    for i in range(waiting):
        arm = order[played + (start - played + i) % waiting]
        if available[arm]:
            return arm
    for i in range(played):
        if available[order[i]]:
            marks[STUCK] = 1
            return order[i]
    for i in range(active, order.shape[0]):
        if available[order[i]]:
            return order[i]
    return 0


@kernel
def note(order: Ints, place: Ints, marks: Ints, arm: int) -> bool:
    """Take in that the arm was played; true when this ends the sweep. The caller drops arms and calls `begin`."""
    at = place[arm]
    if at >= marks[ACTIVE]:
        return False
    if at < marks[PLAYED]:
        return marks[STUCK] == 1
    exchange(order, place, at, marks[PLAYED])
    marks[PLAYED] += 1
    marks[STUCK] = 0
    return marks[PLAYED] == marks[ACTIVE]


@kernel
def begin(marks: Ints, active: int) -> None:
    """A new sweep over the first ``active`` arms of the order."""
    marks[ACTIVE] = active
    marks[PLAYED] = 0
    marks[STUCK] = 0


@kernel
def exchange(order: Ints, place: Ints, i: int, j: int) -> None:
    """Let the arms at two places change places."""
    one, other = order[i], order[j]
    order[i], order[j] = other, one
    place[other], place[one] = i, j


def new_fields(n_arms: int) -> dict[str, Ints]:
    """The fields ``order``, ``place`` and ``marks`` of a state at the start, and the ``pulls`` of each arm."""
    return {
        "order": np.arange(n_arms),
        "place": np.arange(n_arms),
        "marks": np.array([n_arms, 0, 0], dtype=np.int64),
        "pulls": np.zeros(n_arms, dtype=np.int64),
    }


def active(place: Ints, marks: Ints) -> Floats:
    """1 for active arms and 0 for dropped ones, for `explain`."""
    return (place < marks[ACTIVE]).astype(np.float64)


def means(total: Floats, count: Ints) -> Floats:
    """Mean rewards, NaN where there is none, for `explain`."""
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
