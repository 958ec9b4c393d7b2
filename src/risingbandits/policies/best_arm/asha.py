"""ASHA: successive halving without waiting, each arm promoted as soon as it is among the best of its rung."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import interpreted, kernel, rare_kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies._kernels import recent_means
from risingbandits.policies._settings import integer, number
from risingbandits.policies.base import Kernels
from risingbandits.policies.explanation import Moment, counted
from risingbandits.policies.registry import register

_NO_LIMIT = 1 << 40
# Places of `marks`: the arm that is next, and the most rungs that an arm has done.
_NEXT, _HIGHEST = 0, 1


class State(NamedTuple):
    """What ASHA knows."""

    eta: int
    share: float
    targets: np.ndarray  # (R,) pulls at which each rung ends
    done: np.ndarray  # (K,) rungs that each arm has done
    value: np.ndarray  # (K, R) recent means of the arms at the end of each rung
    marks: np.ndarray  # (2,)
    pulls: np.ndarray  # (K,), total, pool, places: recent means (recent_means)
    total: np.ndarray
    pool: np.ndarray
    places: np.ndarray


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    if available is None:
        return state.marks[_NEXT]
    return _next_job(state, available)


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    n = recent_means.add(state, arm, reward)
    rung = state.done[arm]
    finished = rung < state.targets.shape[0] and n >= state.targets[rung]
    if finished:
        state.value[arm, rung] = recent_means.mean(state, arm)
        state.done[arm] = rung + 1
        state.marks[_HIGHEST] = max(state.marks[_HIGHEST], rung + 1)
    if finished or arm != state.marks[_NEXT]:
        state.marks[_NEXT] = _next_job(state, None)


@kernel
def _in_progress(state: State, arm: int) -> bool:
    """Whether the arm has started a rung and not finished it."""
    done = state.done[arm]
    begun = 0 if done == 0 else state.targets[done - 1]
    return done < state.targets.shape[0] and state.pulls[arm] > begun


@rare_kernel
def _next_job(state: State, available: Mask) -> int:
    """An arm that has started a rung, otherwise one to promote, a new one, or the best that can go on."""
    for arm in range(state.done.shape[0]):
        if (available is None or available[arm]) and _in_progress(state, arm):
            return arm
    top = min(state.marks[_HIGHEST], state.targets.shape[0] - 1)
    for rung in range(top - 1, -1, -1):
        arm = _best_waiting(state, rung, available)
        if arm >= 0 and _may_rise(state, rung, arm):
            return arm
    for arm in range(state.done.shape[0]):
        if state.pulls[arm] == 0 and (available is None or available[arm]):
            return arm
    for rung in range(top - 1, -1, -1):
        arm = _best_waiting(state, rung, available)
        if arm >= 0:
            return arm
    return recent_means.best(state, available)


@kernel
def _best_waiting(state: State, rung: int, available: Mask) -> int:
    """The best arm that has finished this rung and started no other; -1: none."""
    chosen = -1
    for arm in range(state.done.shape[0]):
        waits = state.done[arm] == rung + 1 and not _in_progress(state, arm) and (available is None or available[arm])
        if waits and (chosen < 0 or state.value[arm, rung] > state.value[chosen, rung]):
            chosen = arm
    return chosen


@kernel
def _may_rise(state: State, rung: int, arm: int) -> bool:
    """Whether the arm is among the best 1 / eta of all that have done the rung."""
    count = 0
    better = 0
    for other in range(state.done.shape[0]):
        if state.done[other] > rung:
            count += 1
            better += state.value[other, rung] > state.value[arm, rung]
    return better < count // state.eta


@register
class ASHA(recent_means.RecentPolicy):
    r"""ASHA, asynchronous successive halving: an arm rises when it is among the best 1/eta of its rung so far.

    Rungs end at :math:`1, \eta, \eta^2, \dots` pulls, the last at ``max_pulls``. Whenever an arm has done a rung, the
    next one is, from the highest rung down, an arm that is among the best :math:`1/\eta` of those that have done its
    rung and has not risen; else a new arm (Li et al., 2020, Algorithm 2). Where there is neither, the best of the
    highest rung that can still rise does. The mean of the last ``share`` of an arm's rewards decides, also on what is
    recommended.

    Use it with many workers that ask at the same time: an arm that is being pulled is not available, and the others
    need not wait for it. It needs no horizon. With one worker, `RSR` loses less.

    Its recommendation is its own: the highest mean of the last share of the rewards, as rungs are judged.

    Parameters
    ----------
    eta : int
        One in ``eta`` arms is promoted; at least 2.
    max_pulls : int or None
        Length of the curves. None means the problem's in `simulate`, and no limit elsewhere.
    share : float
        Share of an arm's rewards in its mean, in (0, 1].

    References
    ----------
    L. Li, K. Jamieson, A. Rostamizadeh, E. Gonina, J. Ben-tzur, M. Hardt, B. Recht, A. Talwalkar. A System for
    Massively Parallel Hyperparameter Tuning. MLSys 2020.

    Examples
    --------
    >>> policy = ASHA(max_pulls=9).reset(n_arms=12)
    >>> for _ in range(40):
    ...     arm = policy.ask()
    ...     policy.tell(arm, 0.5 - arm / 30)
    >>> policy.recommend(), policy.pulls.tolist()
    (0, [9, 9, 9, 5, 1, 1, 1, 1, 1, 1, 1, 1])
    """

    name = "asha"
    summary = "successive halving without waiting, for many workers"
    verified = "derived here"
    kernels = Kernels(select=select, update=update, recommend=recent_means.recommend)
    _scratch = frozenset({"pool", "value", "targets"})
    _in_order = True

    eta: int = integer(3, minimum=2)
    max_pulls: int | None = integer(None)
    share: float = number(0.1, above=0.0, maximum=1.0)

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        longest = min(limit for limit in (self.max_pulls, horizon, _NO_LIMIT) if limit is not None)
        targets = [1]
        while targets[-1] < longest:
            targets.append(min(targets[-1] * int(self.eta), longest))
        return State(
            eta=int(self.eta),
            share=float(self.share),
            targets=np.array(targets, dtype=np.int64),
            done=np.zeros(n_arms, dtype=np.int64),
            value=np.zeros((n_arms, len(targets))),
            marks=np.zeros(2, dtype=np.int64),
            **recent_means.new_fields(n_arms, capacity),
        )

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        return {**recent_means.parts(state), "rung": state.done.astype(np.float64)}

    def _why_next(self, at: Moment) -> str:
        state, done = at.state, int(at.state.done[at.arm])
        if interpreted(_in_progress)(state, at.arm):
            return f"on its way to {counted(state.targets[done])}, where its rung ends"
        if not at.pulls[at.arm]:
            return "new: no arm may rise"
        if 0 < done < len(state.targets):
            rises = interpreted(_may_rise)(state, done - 1, at.arm)
            return (
                f"rises: among the best 1/{state.eta} of its rung" if rises else "best of its rung, where none may rise"
            )
        return super()._why_next(at)
