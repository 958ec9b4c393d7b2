"""Playing in batches: whose turn it is, when an arm's line is due, second chances and the pretended horizon.

Shared by the policies that commit. Their states have these fields: ``kind``, ``cap``, ``growth``, ``recheck`` and
``lookahead`` (settings), ``pulled``, ``lines``, ``arms``, ``batch``, ``clock``, ``pool``, ``pairs`` and ``places``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from risingbandits._core.jit import kernel
from risingbandits._core.types import Mask
from risingbandits.policies._kernels import histories
from risingbandits.policies.commit import _lines, _risk, _tables

# Columns of `pulled`, whole numbers per arm: pulls N, N when the line was drawn, N when it is due again, and the round
# of the last pull.
PULLS, AT, DUE, LAST = 0, 1, 2, 3
# Places of `batch`: the arm being played (-1: none) and whether the last batch was a second chance.
ARM, SECOND_CHANCE = 0, 1
# Places of `clock`: the horizon, z, and whether the horizon is pretended.
HORIZON, Z, PRETENDED = 0, 1, 2

_FIRST_HORIZON = 200  # pretended where none is known: at least this and 10 K rounds
_HORIZON_GROWTH = 1.3


def new_run(n_arms: int, horizon: int | None, capacity: int) -> dict[str, np.ndarray]:
    """The shared fields of a state before the first round."""
    first = float(max(_FIRST_HORIZON, 10 * n_arms)) if horizon is None else float(horizon)
    pulled = np.zeros((n_arms, 4), dtype=np.int64)
    pulled[:, DUE] = 1
    lines = np.zeros((n_arms, 3))
    lines[:, 0] = np.inf
    lines[:, 2] = -np.inf
    return {
        "pulled": pulled,
        "lines": lines,
        "arms": np.zeros((n_arms, _risk.COLUMNS)),
        "batch": np.array([-1, 0], dtype=np.int64),
        "clock": np.array([first, math.sqrt(2.0 * math.log(first)), 1.0 if horizon is None else 0.0]),
        "pool": np.empty(histories.places_for(n_arms, capacity)),
        "places": histories.new_places(n_arms),
    }


@kernel
def remaining_rounds(state: Any, t: int) -> float:
    return max(1.0, state.clock[HORIZON] - t + 1.0)


@kernel
def first_unseen(state: Any, available: Mask) -> int:
    """The first available arm without a pull, or -1; unseen arms that are not available are left out of decisions."""
    for arm in range(state.pulled.shape[0]):
        if state.pulled[arm, PULLS] == 0 and (available is None or available[arm]):
            return arm
    for arm in range(state.pulled.shape[0]):
        if state.pulled[arm, PULLS] == 0:
            state.arms[arm, _risk.N] = 1.0
    return -1


@kernel
def fill(state: Any, remaining: float) -> None:
    """The lines as they are now, each carried to the present number of pulls, and their commit values."""
    for arm in range(state.pulled.shape[0]):
        n = state.pulled[arm, PULLS]
        start = state.places[arm, 0]
        u = state.lines[arm, 0] + state.lines[arm, 1] * (n - state.pulled[arm, AT])
        s = state.lines[arm, 1]
        state.arms[arm, _risk.N] = max(1.0, float(n))
        state.arms[arm, _risk.EARNED] = _lines.prefix(state.pool, start, n)
        state.arms[arm, _risk.U] = u
        state.arms[arm, _risk.S] = s
        state.arms[arm, _risk.LO] = state.lines[arm, 2]
        state.arms[arm, _risk.V] = _tables.value(u, s, state.cap, remaining)


@kernel
def begin(state: Any, t: int, remaining: float, arm: int, incumbent: int) -> int:
    """Begin the batch of ``arm``; if that is the incumbent, an idle arm may get a second chance first."""
    if arm == incumbent and state.batch[SECOND_CHANCE] == 0:
        idle = second_chance(state, t, remaining)
        if idle >= 0:
            state.batch[ARM] = idle
            state.batch[SECOND_CHANCE] = 1
            return idle
    state.batch[SECOND_CHANCE] = 0
    state.batch[ARM] = arm
    return arm


@kernel
def second_chance(state: Any, t: int, remaining: float) -> int:
    """The longest idle arm, if it deserves another look now; sets how many pulls it gets. -1: none."""
    horizon = state.clock[HORIZON]
    if state.recheck <= 0.0 or remaining <= 0.25 * horizon:
        return -1
    idle = -1
    since = 0.5 * t
    for arm in range(state.pulled.shape[0]):
        if state.pulled[arm, LAST] < since:
            since = float(state.pulled[arm, LAST])
            idle = arm
    if idle < 0:
        return -1
    n = state.pulled[idle, PULLS]
    pulls = int(state.recheck * n)
    if state.pulled.shape[0] <= horizon / 1000.0:
        pulls = max(1, pulls)
    if pulls == 0:
        return -1
    state.pulled[idle, DUE] = n + pulls
    return idle


@kernel
def end(state: Any, arm: int) -> None:
    """The batch of ``arm`` is over, if it was being played."""
    if state.batch[ARM] == arm:
        state.batch[ARM] = -1


@kernel
def stretch_horizon(state: Any, t: int) -> bool:
    """Whether a pretended horizon has come too near; then it is longer from now on, and all lines are out of date."""
    if state.clock[PRETENDED] > 0.0 and t * state.lookahead >= state.clock[HORIZON]:
        state.clock[HORIZON] = _HORIZON_GROWTH * max(state.clock[HORIZON], state.lookahead * t)
        state.clock[Z] = math.sqrt(2.0 * math.log(state.clock[HORIZON]))
        return True
    return False


@kernel
def draw_line(state: Any, t: int, arm: int, sigma: float) -> None:
    """The arm's line and pessimistic level from what is known now; due again after one more batch."""
    n = state.pulled[arm, PULLS]
    u, s, lo = _lines.best_line(
        state.pool,
        state.pairs,
        state.places[arm, 0],
        n,
        state.kind,
        state.clock[Z],
        sigma,
        state.cap,
        remaining_rounds(state, t + 1),
    )
    state.lines[arm, 0] = u
    state.lines[arm, 1] = s
    state.lines[arm, 2] = lo
    state.pulled[arm, AT] = n
    state.pulled[arm, DUE] = max(n + 1, int(state.growth * n))


@kernel
def safest(state: Any) -> int:
    """The arm with the highest pessimistic level."""
    best = 0
    for arm in range(1, state.lines.shape[0]):
        if state.lines[arm, 2] > state.lines[best, 2]:
            best = arm
    return best
