"""R-ed-EE: explore every arm, then commit to the one whose line promises most, for rewards that rise linearly."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from risingbandits._core.jit import interpreted, kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.lab.related import _least_squares as least_squares
from risingbandits.policies._settings import integer
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.explanation import Moment
from risingbandits.policies.registry import register

if TYPE_CHECKING:
    from risingbandits.problems import RisingBandit

_TURN, _MISSING, _CHOSEN, _REST = 0, 1, 2, 3  # places in ``marks``
_ANY_NOISE = 0.5  # the scale that is right for any reward in [0, 1]


class State(NamedTuple):
    """What is known from exploring; later rewards change nothing."""

    horizon: int  # T
    m: int  # pulls of each arm
    fit: np.ndarray  # (K, 3) n, S and J of each arm (least_squares)
    marks: np.ndarray  # (4,) arm whose turn it is; arms that still need pulls; then the best arm, and the rounds left


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    exploring = state.marks[_MISSING] > 0
    if available is None:
        return state.marks[_TURN] if exploring else state.marks[_CHOSEN]
    n_arms = state.fit.shape[0]
    if exploring:
        for i in range(n_arms):
            arm = (state.marks[_TURN] + i) % n_arms
            if available[arm] and state.fit[arm, 0] < state.m:
                return arm
        return _best(state, float(max(state.horizon - t + 1, 0)), available)
    return _best(state, float(state.marks[_REST]), available)


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    marks = state.marks
    if marks[_MISSING] == 0:
        return
    n = state.fit[arm, 0] + 1.0
    state.fit[arm, 0] = n
    state.fit[arm, 1] += reward
    state.fit[arm, 2] += n * reward
    marks[_MISSING] -= n == state.m
    if marks[_MISSING] == 0:
        marks[_REST] = max(state.horizon - t, 0)
        marks[_CHOSEN] = _best(state, float(marks[_REST]), None)
        return
    n_arms = state.fit.shape[0]
    turn = (arm + 1) % n_arms
    while state.fit[turn, 0] >= state.m:
        turn = (turn + 1) % n_arms
    marks[_TURN] = turn


@kernel
def recommend(state: State, t: int, known: Floats | None) -> int:
    if state.marks[_MISSING] == 0:
        return state.marks[_CHOSEN]
    return _best(state, float(max(state.horizon - t, 0)), None)


@kernel
def _best(state: State, rest: float, available: Mask) -> int:
    """The (available) arm that would get most in the rest of the rounds by its line; arms without a reward last."""
    best = -math.inf
    chosen = -1
    for arm in range(state.fit.shape[0]):
        if available is not None and not available[arm]:
            continue
        value = _promise(state, arm, rest)
        if chosen < 0 or value > best:
            best = value
            chosen = arm
    return chosen


@kernel
def _promise(state: State, arm: int, rest: float) -> float:
    """The mean of the arm's line over its next ``rest`` pulls, -inf without a reward."""
    n = state.fit[arm, 0]
    if n == 0.0:
        return -math.inf
    return least_squares.value_at(n, state.fit[arm, 1], state.fit[arm, 2], n + (rest + 1.0) / 2.0)


def balanced_pulls(sigma: float, n_arms: int, horizon: int) -> int:
    """(sigma T^2 / K)^(2/5), rounded up, but no more than T / K and no fewer than 2."""
    return max(2, min(math.ceil((sigma * float(horizon) ** 2 / n_arms) ** 0.4), horizon // n_arms))


@register
class LinearEE(Policy):
    r"""R-ed-EE: pull every arm M times in turn, then always the one whose line promises most in the rounds left.

    For rewards that rise linearly with an arm's own pulls, :math:`\mu_i(n) = L_i n + b_i`. From the paper (Amichay and
    Mansour, 2025): explore each arm M times, estimate slope and intercept, commit to the best predicted sum; M of the
    order :math:`T^{4/5} K^{-2/5}` has regret :math:`\tilde O(K^{3/5} T^{4/5})`, which no policy improves on; without a
    known horizon regret is linear. Derived: the line is that of least squares, and the prediction is for the R rounds
    left after exploring, pulls M+1 to M+R, whose sum is R times the line at M + (R+1)/2. Its error is about
    :math:`\sigma \sqrt 3 T^2 M^{-3/2}`, exploring costs at most K M, and both balance where M is of the order
    :math:`(\sigma T^2 / K)^{2/5}`. That it is taken with a factor of 1 is our choice. An arm that is not available
    loses its turn and catches up later.

    Use it where arms rise linearly up to the end. Arms that flatten are judged by a line that shoots far above them:
    there the steepest arm of the first M pulls wins, whatever its end.

    Parameters
    ----------
    m : int or None
        Pulls of each arm while exploring, M, from 2 on; None: (sigma T^2 / K)^(2/5), rounded up, but no more
        than T / K and no fewer than 2, with the problem's noise for sigma in `simulate` and 1/2 elsewhere, valid for
        any reward in [0, 1]. The lines are wrong for arms that bend, so fewer may be better or worse.

    References
    ----------
    O. Amichay, Y. Mansour. Rising Rested MAB with Linear Drift. 2025, arXiv 2501.04403.
    """

    name = "linear-ee"
    summary = "explores, then commits by lines, for rewards that rise linearly (R-ed-EE)"
    verified = "derived here"
    kernels = Kernels(select=select, update=update, recommend=recommend)
    needs_horizon = True

    m: int | None = integer(None, minimum=2)

    def _for_problem(self, problem: RisingBandit, horizon: int) -> Self:
        """With the pulls that the problem's noise asks for, where m is None."""
        return self.replace(m=balanced_pulls(problem.sigma, problem.n_arms, horizon)) if self.m is None else self

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        rounds = horizon or 1
        m = balanced_pulls(_ANY_NOISE, n_arms, rounds) if self.m is None else int(self.m)
        marks = np.array([0, n_arms, 0, 0], dtype=np.int64)
        return State(horizon=rounds, m=m, fit=np.zeros((n_arms, 3)), marks=marks)

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        committed = state.marks[_MISSING] == 0
        rest = float(state.marks[_REST] if committed else max(state.horizon - t + 1, 0))
        promise, value_at = interpreted(_promise), interpreted(least_squares.value_at)
        seen = [(float(n), float(total), float(moment)) for n, total, moment in state.fit]
        level = np.array([value_at(*sums, sums[0]) if sums[0] else np.nan for sums in seen])
        mean = np.array([promise(state, arm, rest) if seen[arm][0] else np.nan for arm in range(len(seen))])
        return {"level": level, "trend": mean - level, "value": mean}

    def _why_next(self, at: Moment) -> str:
        n = int(at.state.fit[at.arm, 0])
        if n < at.state.m:
            return f"exploring: pull {n + 1} of {at.state.m} of each arm"
        return f"best line of exploring, {at.level('value')} on average from there to the end"

    def _why_kept(self, at: Moment) -> str:
        return f"best line, {at.level('value')} on average to the end" if at.state.fit[at.arm, 0] else "no reward yet"
