"""Yardsticks that learn nothing: one arm for ever, either a given one or the best one, and round robin."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.jit import kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies import _reasons as reasons
from risingbandits.policies._settings import integer
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.explanation import Moment
from risingbandits.policies.registry import register

if TYPE_CHECKING:
    from risingbandits.problems import RisingBandit


class State(NamedTuple):
    """The arm."""

    arm: int
    n_arms: int


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    return _first_from(state.arm, state.n_arms, available)


@kernel
def _first_from(arm: int, n_arms: int, available: Mask) -> int:
    if available is not None:
        while not available[arm]:
            arm = (arm + 1) % n_arms
    return arm


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    pass


@kernel
def recommend(state: State, t: int, known: Floats | None) -> int:
    return state.arm


@register
class Constant(Policy):
    """Always the same arm; while it is not available, the next one that is.

    Parameters
    ----------
    arm : int
        The arm, counted from 0.

    Examples
    --------
    >>> Constant(arm=2).reset(n_arms=3).ask()
    2
    """

    name = "constant"
    summary = "always the arm given"
    verified = "derived here"
    kernels = Kernels(select=select, update=update, recommend=recommend)

    arm: int = integer(0, minimum=0)

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        if self.arm >= n_arms:
            raise RisingBanditsError(f"arm must be 0 to {n_arms - 1}, got {self.arm}.")
        return State(arm=int(self.arm), n_arms=n_arms)

    def _why_next(self, at: Moment) -> str:
        return self._why_kept(at) if at.pulls[at.arm] else reasons.NEVER_PULLED

    def _why_kept(self, at: Moment) -> str:
        return "the arm that it was given"


@register
class OracleConstant(Constant):
    """The arm with the largest sum of means over the horizon, always: the optimal policy (Heidari et al., 2016).

    It has to be told the truth: `simulate` fills in ``arm`` from the problem; elsewhere, pass it.

    Parameters
    ----------
    arm : int or None
        The best arm; None: to be taken from the simulated problem.

    References
    ----------
    H. Heidari, M. Kearns, A. Roth. Tight Policy Regret Bounds for Improving and Decaying Bandits. IJCAI 2016.

    Examples
    --------
    >>> from risingbandits import get_problem
    >>> OracleConstant()._for_problem(get_problem("paper-2arms"), horizon=200_000)
    OracleConstant(arm=1)
    """

    name = "oracle"
    summary = "the constant arm with the largest sum of means (knows the truth)"
    verified = "published definition"

    arm: int | None = integer(None, minimum=0)  # type: ignore[assignment]

    def _validate(self) -> None:
        if self.arm is None:
            raise RisingBanditsError("arm must be given to the oracle outside simulate, got None.")
        super()._validate()

    def _for_problem(self, problem: RisingBandit, horizon: int) -> Self:
        return self if self.arm is not None else self.replace(arm=problem.oracle_arm(horizon))


class TurnState(NamedTuple):
    """The arm whose turn it is."""

    turn: np.ndarray  # (1,) int64
    n_arms: int


@kernel
def select_turn(state: TurnState, t: int, available: Mask, rng: Rng) -> int:
    return _first_from(state.turn[0], state.n_arms, available)


@kernel
def update_turn(state: TurnState, t: int, arm: int, reward: float, rng: Rng) -> None:
    state.turn[0] = (arm + 1) % state.n_arms


@register
class RoundRobin(Policy):
    """Pull the arms in turn: 0, 1, ..., K - 1, 0, ...

    An arm that is not available loses its turn. A yardstick: a policy that does not beat it has learned nothing.

    Examples
    --------
    >>> policy = RoundRobin().reset(n_arms=3)
    >>> [(arm := policy.ask(), policy.tell(arm, 0.0))[0] for _ in range(5)]
    [0, 1, 2, 0, 1]
    """

    name = "round-robin"
    summary = "every arm in turn"
    verified = "derived here"
    kernels = Kernels(select=select_turn, update=update_turn)

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> TurnState:
        return TurnState(turn=np.zeros(1, dtype=np.int64), n_arms=n_arms)

    def _why_next(self, at: Moment) -> str:
        return "its turn (round robin)" if at.pulls[at.arm] else reasons.NEVER_PULLED
