"""The room of best-arm identification by phases: successive halving, successive rejects, R-SR.

A schedule says for every phase how many pulls each arm of the phase has at its end (``pulls``), how many rounds have
then been played in all (``ends``), how many arms go on (``kept``) and how many of an arm's last rewards its mean is
taken over (``windows``). At the end of a phase the arms with the smallest means are dropped, of equal ones the highest
number; after the last phase the arm that is left gets all further pulls.

Phases end by the number of rewards, so that the budget always holds: an arm that is unavailable for long cannot hold up
a phase, and a reward for an arm that was not asked for counts towards the phase. Within a phase the arm with the fewest
pulls is next; if only dropped arms are available, the one of them with the fewest.

Means of last rewards are those of `recent_means`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Floats, Ints, Mask, Rng
from risingbandits.policies import _reasons as reasons
from risingbandits.policies._kernels import recent_means
from risingbandits.policies._kernels.sweeps import exchange
from risingbandits.policies.base import Kernels
from risingbandits.policies.explanation import Moment

ACTIVE, PHASE, TURN = 0, 1, 2


class Schedule(NamedTuple):
    """Phases 1, 2, ... as columns of equal length."""

    pulls: Ints
    ends: Ints
    kept: Ints
    windows: Ints


class State(NamedTuple):
    """What a policy with phases knows."""

    ends: np.ndarray  # (P,) rounds played when a phase ends
    kept: np.ndarray  # (P,) arms that go on
    windows: np.ndarray  # (P,) rewards in the mean
    order: np.ndarray  # (K,) active arms by number, then the dropped ones
    place: np.ndarray  # (K,) where each arm is
    marks: np.ndarray  # (3,) active arms; the present phase, from 0; place in the order of the arm whose turn it is
    mean: np.ndarray  # (K,) means of the last rewards when they were last compared
    pulls: np.ndarray  # (K,), total, pool, places: recent means (recent_means)
    total: np.ndarray
    pool: np.ndarray
    places: np.ndarray


@kernel
def select(state: Any, t: int, available: Mask, rng: Rng) -> int:
    if available is None:
        return state.order[state.marks[TURN]]
    chosen = _fewest(state, 0, state.marks[ACTIVE], available)
    if chosen < 0:
        chosen = _fewest(state, state.marks[ACTIVE], state.order.shape[0], available)
    return chosen


@kernel
def _fewest(state: Any, first: int, last: int, available: Mask) -> int:
    """The arm with the fewest pulls at places first..last-1 of the order, the lowest number of equals; -1: none."""
    chosen = -1
    for i in range(first, last):
        arm = state.order[i]
        if (available is None or available[arm]) and (chosen < 0 or state.pulls[arm] < state.pulls[chosen]):
            chosen = arm
    return chosen


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    recent_means.add(state, arm, reward)
    asked = state.place[arm] == state.marks[TURN]
    while phase_is_over(state, t):
        _compare(state)
        end_phase(state)
        asked = False
    pass_turn(state, arm, asked)


@kernel
def phase_is_over(state: Any, t: int) -> bool:
    """Whether a phase ends with round t."""
    return state.marks[PHASE] < state.ends.shape[0] and t >= state.ends[state.marks[PHASE]]


@kernel
def pass_turn(state: Any, arm: int, asked: bool) -> None:
    """The arm of the next round, after a pull of ``arm``, which was ``asked`` for within the phase or not."""
    marks = state.marks
    if asked:  # all went as asked: the next arm in the order has as few pulls as any
        marks[TURN] += 1
        if marks[TURN] < marks[ACTIVE]:
            following = state.order[marks[TURN]]
            if state.pulls[following] < state.pulls[arm]:
                return
    marks[TURN] = state.place[_fewest(state, 0, marks[ACTIVE], None)]


@rare_kernel
def _compare(state: State) -> None:
    """The means that decide at the end of the phase."""
    window = state.windows[state.marks[PHASE]]
    for i in range(state.marks[ACTIVE]):
        arm = state.order[i]
        state.mean[arm] = recent_means.mean_of_last(state, arm, window)


@rare_kernel
def end_phase(state: Any) -> None:
    """Drop the arms with the smallest ``mean``, until as many are left as go on."""
    marks = state.marks
    while marks[ACTIVE] > state.kept[marks[PHASE]]:
        worst = 0
        for i in range(1, marks[ACTIVE]):
            if state.mean[state.order[i]] <= state.mean[state.order[worst]]:
                worst = i
        marks[ACTIVE] -= 1
        for i in range(worst, marks[ACTIVE]):  # the others keep their order
            exchange(state.order, state.place, i, i + 1)
    marks[PHASE] += 1


@kernel
def recommend(state: State, t: int, known: Floats | None) -> int:
    """The active arm with the highest mean over the window of the present phase."""
    if state.marks[ACTIVE] == 1:
        return state.order[0]
    window = state.windows[state.marks[PHASE]]
    best = -math.inf
    chosen = state.order[0]
    for i in range(state.marks[ACTIVE]):
        mean = recent_means.mean_of_last(state, state.order[i], window)
        if mean > best:
            best = mean
            chosen = state.order[i]
    return chosen


class PhasePolicy(recent_means.RecentPolicy):
    """Base of the policies with a schedule: subclasses say what it is."""

    kernels = Kernels(select=select, update=update, recommend=recommend)
    _scratch = frozenset({"pool", "mean"})
    needs_horizon = True

    def _schedule(self, n_arms: int, horizon: int) -> Schedule:
        """The phases for these numbers of arms and rounds."""
        raise TypeError(f"{type(self).__name__} does not define _schedule.")

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        phases = self._schedule(n_arms, horizon or 1)
        return State(
            ends=phases.ends,
            kept=phases.kept,
            windows=phases.windows,
            order=np.arange(n_arms),
            place=np.arange(n_arms),
            marks=np.array([n_arms, 0, 0], dtype=np.int64),
            mean=np.zeros(n_arms),
            **recent_means.new_fields(n_arms, capacity),
        )

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        phase = min(int(state.marks[PHASE]), len(state.windows) - 1)
        window = int(state.windows[phase]) if phase >= 0 else 1
        level = recent_means.levels(state, np.full(len(state.pulls), window))
        return {"level": level, "active": (state.place < state.marks[ACTIVE]).astype(np.float64)}

    def _why_next(self, at: Moment) -> str:
        active = int(at.state.marks[ACTIVE])
        if active == 1 or not at.parts["active"][at.arm]:
            return reasons.why_next(at)
        return f"none of the {active} remaining arms has fewer pulls"

    def _why_kept(self, at: Moment) -> str:
        return reasons.best_remaining(at)


def windows_of(pulls: Ints, share: float) -> Ints:
    """How many rewards the last ``share`` of n rewards are, at least 1."""
    return np.maximum(1, np.floor(share * pulls + 1e-12)).astype(np.int64)


def halvings(n_arms: int, horizon: int) -> Schedule:
    """The better half goes on after each of ceil(log2 K) phases of equal length; means over the pulls of the phase."""
    rows = []
    left, pulls, end = n_arms, 0, 0
    phases = (n_arms - 1).bit_length()
    for _ in range(phases):
        new = max(1, horizon // (left * phases))
        pulls, end = pulls + new, end + new * left
        left = (left + 1) // 2
        rows.append((pulls, end, left, new))
    columns = np.array(rows, dtype=np.int64).reshape(-1, 4)
    return Schedule(*(np.ascontiguousarray(columns[:, i]) for i in range(4)))
