"""Playing in batches: which arm plays, when its line is due, second chances and the assumed horizon.

Shared by the policies that commit. Their states have these fields: ``kind``, ``sigma``, ``cap``, ``growth``,
``recheck`` and ``confidence`` (settings), ``arms`` and ``run`` (records, below), ``pool`` and ``places`` (histories).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from risingbandits._core.jit import interpreted, kernel
from risingbandits._core.types import Mask, record_type
from risingbandits.policies._kernels import histories
from risingbandits.policies.commit import _commit_value, _lines
from risingbandits.policies.commit import _grid as grid

# What is known of each arm.
# pulls N, N when its line was drawn, N when the line is due again, and the round of the last pull;
# the line when it was drawn: level and slope above the future, and the pessimistic level;
# what a decision looks at (_commit_value).
ARM: tuple[tuple[type, str], ...] = (
    (np.int64, "pulls drawn due last"),
    (np.float64, "line slope low"),
    (np.float64, "n earned u s lo value risk cost"),
)
ARMS = record_type(*ARM)
# The arm being played (-1: none) and whether the last batch was a second chance; the horizon, the width z of intervals
# in standard errors, and whether the horizon is assumed.
RUN = record_type((np.int64, "arm second_chance"), (np.float64, "horizon z pretended"))

_FIRST_HORIZON = 200  # assumed if none is known: at least this and 10 K rounds
_HORIZON_GROWTH = 1.3
_LOOKAHEAD = 4.0  # times the rounds so far: an assumed horizon is never nearer


def new_run(
    n_arms: int, horizon: int | None, capacity: int, growth: float, confidence: float, arm_type: np.dtype[Any] = ARMS
) -> dict[str, np.ndarray]:
    """The shared fields of a state before the first round."""
    first = float(max(_FIRST_HORIZON, 10 * n_arms)) if horizon is None else float(horizon)
    arms = np.zeros(n_arms, arm_type)
    arms["due"] = 1
    arms["line"] = np.inf
    arms["low"] = -np.inf
    run = np.zeros(1, RUN)
    run["arm"] = -1
    run["horizon"] = first
    run["z"] = interpreted(errors)(n_arms, first, growth, confidence)
    run["pretended"] = 1.0 if horizon is None else 0.0
    return {
        "arms": arms,
        "run": run,
        "pool": np.empty(histories.places_for(n_arms, capacity)),
        "places": histories.new_places(n_arms),
    }


@kernel
def remaining_rounds(state: Any, t: int) -> float:
    """How many, including round t; an integer, which an assumed horizon need not be."""
    return max(1.0, math.floor(state.run["horizon"][0]) - t + 1.0)


@kernel
def errors(n_arms: int, horizon: float, growth: float, confidence: float) -> float:
    """z: how many standard errors lines are raised.

    sqrt(2 ln T); or, with a ``confidence`` delta above 0, enough for all lines of all arms to hold with
    probability 1 - delta: two-block lines can fail by their level and by their slope.
    """
    if confidence <= 0.0:
        return math.sqrt(2.0 * math.log(horizon))
    _, lines, two_block = grid.count_lines(int(horizon), growth)
    return math.sqrt(2.0 * math.log(max(1, n_arms * (lines + 2 * two_block)) / confidence))


@kernel
def most_sunk(state: Any, sigma: float) -> float:
    """The most that past exploration may count for."""
    return _commit_value.most_sunk(state.arms.shape[0], sigma, state.cap, state.run["horizon"][0])


@kernel
def first_unseen(state: Any, available: Mask) -> int:
    """The first available arm without a pull, or -1; such arms that are not available are left out of decisions."""
    pulls = state.arms["pulls"]
    for arm in range(pulls.shape[0]):
        if pulls[arm] == 0 and (available is None or available[arm]):
            return arm
    return -1


@kernel
def fill(state: Any, remaining: float) -> None:
    """The lines as they are now, each carried to the present number of pulls, and their commit values."""
    arms = state.arms
    for arm in range(arms.shape[0]):
        n = arms["pulls"][arm]
        s = arms["slope"][arm]
        u = arms["line"][arm] + s * (n - arms["drawn"][arm])
        arms["n"][arm] = max(1.0, float(n))
        arms["earned"][arm] = _lines.prefix(state.pool, state.places[arm, 0], n)
        arms["u"][arm] = u
        arms["s"][arm] = s
        arms["lo"][arm] = arms["low"][arm]
        arms["value"][arm] = _commit_value.value(u, s, state.cap, remaining)


@kernel
def begin(state: Any, t: int, remaining: float, arm: int, incumbent: int, promised: float) -> int:
    """Start the batch of ``arm``; if that is the incumbent, an idle arm may get a second chance first."""
    run = state.run
    if arm == incumbent and run["second_chance"][0] == 0:
        idle = second_chance(state, t, remaining, promised)
        if idle >= 0:
            run["arm"][0] = idle
            run["second_chance"][0] = 1
            return idle
    run["second_chance"][0] = 0
    run["arm"][0] = arm
    return arm


@kernel
def second_chance(state: Any, t: int, remaining: float, promised: float) -> int:
    """The longest idle arm that could bring more than is ``promised``, if it deserves another look now; -1: none.

    Its batch ends at the next grid point, like any other: lines are drawn only there.
    """
    if state.recheck <= 0.0 or remaining <= 0.25 * state.run["horizon"][0]:
        return -1
    last = state.arms["last"]
    idle = -1
    since = 0.5 * t
    for arm in range(last.shape[0]):
        if last[arm] < since and state.arms["value"][arm] > promised:
            since = float(last[arm])
            idle = arm
    return idle


@kernel
def take_in(state: Any, t: int, arm: int) -> int:
    """One more pull of the arm, in round t; its number."""
    n = state.arms["pulls"][arm] + 1
    state.arms["pulls"][arm] = n
    state.arms["last"][arm] = t
    return n


@kernel
def end(state: Any, arm: int) -> None:
    """The batch of ``arm`` is over, if it was being played."""
    if state.run["arm"][0] == arm:
        state.run["arm"][0] = -1


@kernel
def stretch_horizon(state: Any, t: int) -> bool:
    """Whether an assumed horizon has come too near; if so, it is extended, and all lines are out of date."""
    run = state.run
    horizon = run["horizon"][0]
    if run["pretended"][0] > 0.0 and t * _LOOKAHEAD >= horizon:
        horizon = _HORIZON_GROWTH * max(horizon, _LOOKAHEAD * t)
        run["horizon"][0] = horizon
        run["z"][0] = errors(state.arms.shape[0], horizon, state.growth, state.confidence)
        return True
    return False


@kernel
def draw_line(state: Any, t: int, arm: int, sigma: float) -> None:
    """The arm's line and pessimistic level, now that its pulls are a grid point; due again at the next one."""
    n = state.arms["pulls"][arm]
    state.arms["drawn"][arm] = n
    state.arms["due"][arm] = grid.next_point(n, state.growth)
    redraw_line(state, t, arm, sigma)


@kernel
def redraw_line(state: Any, t: int, arm: int, sigma: float) -> None:
    """The same line again, with another width or horizon: from the rewards up to the last grid point alone."""
    arms = state.arms
    u, s, lo = _lines.best_line(
        state.pool,
        state.places[arm, 0],
        arms["drawn"][arm],
        state.kind,
        state.run["z"][0],
        sigma,
        state.cap,
        remaining_rounds(state, t + 1),
    )
    arms["line"][arm] = u
    arms["slope"][arm] = s
    arms["low"][arm] = lo
