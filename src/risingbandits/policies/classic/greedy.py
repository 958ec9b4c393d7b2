"""Greedy policies: the best mean of all pulls so far, or of a first stretch that explores."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies._kernels import argmax, running_means, sweeps
from risingbandits.policies._settings import integer, number, tie_rule
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.explanation import Moment
from risingbandits.policies.registry import register


class State(NamedTuple):
    """What epsilon-greedy knows."""

    epsilon: float
    decay: float  # 0: epsilon stays
    random_ties: bool
    counts: np.ndarray  # (K,), total, mean, root: the same (running_means)
    total: np.ndarray
    mean: np.ndarray
    root: np.ndarray


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    n_arms = state.mean.shape[0]
    epsilon = state.epsilon
    if state.decay > 0.0:
        epsilon = min(1.0, state.decay * n_arms / t)
    if rng.random() < epsilon:  # type: ignore[union-attr]
        return argmax.any_arm(n_arms, available, rng)
    if state.random_ties:
        return argmax.highest_line(state.mean, state.root, 0.0, available, rng)
    return argmax.highest_line(state.mean, state.root, 0.0, available, None)


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    running_means.add(state, arm, reward)


@register
class EpsilonGreedy(Policy):
    r"""Epsilon-greedy: with probability epsilon any arm, otherwise the one with the best mean so far.

    Arms without a pull count as best. It sees the raw reward. With ``decay`` epsilon is
    :math:`\min(1, d K / t)` at round t (Auer, Cesa-Bianchi and Fischer, 2002, Figure 3, with
    their c / d^2 as one number).

    An honest baseline: simple, and on rising arms it keeps feeding all of them.

    Parameters
    ----------
    epsilon : float
        Probability of a random arm, in [0, 1]. Default 0.1, the customary value.
    decay : float or None
        d of the decaying epsilon, which then replaces ``epsilon``.
    ties : {"lowest", "random"}
        Which of several arms with the same mean, including unopened ones.

    References
    ----------
    P. Auer, N. Cesa-Bianchi, P. Fischer. Finite-time Analysis of the Multiarmed Bandit Problem. Machine Learning 47,
    2002.
    """

    name = "epsilon-greedy"
    summary = "the best mean so far, sometimes any arm"
    verified = "public implementation (its greedy part)"
    randomised = True
    kernels = Kernels(select=select, update=update)

    epsilon: float = number(0.1, minimum=0.0, maximum=1.0)
    decay: float | None = number(None, above=0.0)
    ties: str = tie_rule()

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        return State(
            epsilon=float(self.epsilon),
            decay=0.0 if self.decay is None else float(self.decay),
            random_ties=self.ties == "random",
            **running_means.new_fields(n_arms),
        )

    def _parts(self, state: Any, t: int) -> dict[str, np.ndarray]:
        return {"level": running_means.parts(state, 0.0)["level"]}

    def _why_next(self, at: Moment) -> str:
        return super()._why_next(at) if not at.pulls[at.arm] or at.leads("level") else "drawn at random (epsilon)"


class ExploringState(NamedTuple):
    """What is known from exploring; later rewards change nothing."""

    m: int  # pulls of each arm
    pulls: np.ndarray  # (K,) pulls of each arm, at most m
    total: np.ndarray  # (K,) sum of the rewards of these
    turn: np.ndarray  # (3,) arm whose turn it is; arms that still need pulls; the best arm once there are none


@kernel
def select_exploring(state: ExploringState, t: int, available: Mask, rng: Rng) -> int:
    if available is None:
        return state.turn[0] if state.turn[1] > 0 else state.turn[2]
    n_arms = state.pulls.shape[0]
    for i in range(n_arms):
        arm = (state.turn[0] + i) % n_arms
        if available[arm] and state.pulls[arm] < state.m:
            return arm
    return _best(state, available)


@kernel
def update_exploring(state: ExploringState, t: int, arm: int, reward: float, rng: Rng) -> None:
    if state.pulls[arm] == state.m:
        return
    state.pulls[arm] += 1
    state.total[arm] += reward
    state.turn[1] -= state.pulls[arm] == state.m
    if state.turn[1] == 0:
        state.turn[2] = _best(state, None)
    else:
        n_arms = state.pulls.shape[0]
        turn = (arm + 1) % n_arms
        while state.pulls[turn] == state.m:
            turn = (turn + 1) % n_arms
        state.turn[0] = turn


@kernel
def recommend_exploring(state: ExploringState, t: int, known: Floats | None) -> int:
    return _best(state, None)


@kernel
def _best(state: ExploringState, available: Mask) -> int:
    """The best mean among the (available) arms; arms without a reward come last."""
    best = -math.inf
    chosen = -1
    for arm in range(state.pulls.shape[0]):
        if available is not None and not available[arm]:
            continue
        mean = state.total[arm] / state.pulls[arm] if state.pulls[arm] > 0 else -math.inf
        if chosen < 0 or mean > best:
            best = mean
            chosen = arm
    return chosen


@register
class ExploreThenCommit(Policy):
    """Pull every arm m times in turn, then always the arm with the best mean.

    Explore-then-commit, or "explore-first" (the textbook of Lattimore and Szepesvari, Algorithm 1). An arm that is not
    available loses its turn and catches up later; the mean that decides is over its first m pulls.

    Use it as the simplest way to spend a budget, and if switching between arms is expensive. On rising arms the mean of
    early pulls favours arms that start well; a larger m is the only remedy.

    Its recommendation is its own: the arm that it commits to, with the best mean of all rewards.

    Parameters
    ----------
    m : int or None
        Pulls of each arm while exploring. None: ceil(T^(2/3) / K), so that exploring takes about T^(2/3) of the T
        rounds, the order that balances exploring and a wrong commitment when the gaps are unknown. A choice of this
        package, not of a paper.

    References
    ----------
    T. Lattimore, C. Szepesvari. Bandit Algorithms, chapter 6. Cambridge University Press, 2020.

    Examples
    --------
    >>> policy = ExploreThenCommit(m=2).reset(n_arms=2)
    >>> [(arm := policy.ask(), policy.tell(arm, [0.2, 0.8][arm]))[0] for _ in range(7)]
    [0, 1, 0, 1, 1, 1, 1]
    """

    name = "explore-then-commit"
    summary = "m pulls of each arm, then the best mean for ever"
    verified = "published definition"
    needs_horizon = ("m",)
    kernels = Kernels(select=select_exploring, update=update_exploring, recommend=recommend_exploring)

    m: int | None = integer(None)

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> ExploringState:
        m = math.ceil((horizon or 1) ** (2 / 3) / n_arms) if self.m is None else int(self.m)
        return ExploringState(
            m=m,
            pulls=np.zeros(n_arms, dtype=np.int64),
            total=np.zeros(n_arms),
            turn=np.array([0, n_arms, 0], dtype=np.int64),
        )

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        return {"level": sweeps.means(state.total, state.pulls)}

    def _why_next(self, at: Moment) -> str:
        n = int(at.state.pulls[at.arm])
        if n < at.state.m:
            return f"exploring: pull {n + 1} of {at.state.m} of each arm"
        return f"best mean of exploring, {at.level('level')}"
