"""Stochastic CORRAL: CORRAL over learners that are judged by a random one of their rewards so far."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import kernel
from risingbandits._core.types import Floats, Mask
from risingbandits.lab.related import corral
from risingbandits.policies._kernels import argmax, histories, recent_means, reward_scale
from risingbandits.policies.base import Kernels
from risingbandits.policies.registry import register

_NONE = -1  # no draw is half played


class State(NamedTuple):
    """What stochastic CORRAL knows."""

    gamma: float  # share of uniform draws
    growth: float  # beta, by which a rate grows
    low: float  # rewards x become (x - low) / width, clipped to [0, 1]
    width: float
    weights: np.ndarray  # (K,) p; this and the next five as in CORRAL
    chances: np.ndarray
    asked: np.ndarray
    rates: np.ndarray
    rho: np.ndarray
    restarts: np.ndarray
    pulls: np.ndarray  # (K,), total, pool, places: running sums of each arm's rewards (recent_means)
    total: np.ndarray
    pool: np.ndarray
    places: np.ndarray
    drawn: np.ndarray  # (1,) the arm whose second pull is due
    chance: np.ndarray  # (1,) the chance with which it was drawn


@kernel
def select(state: State, t: int, available: Mask, rng: Any) -> int:
    arm = state.drawn[0]
    if arm >= 0 and (available is None or available[arm]):
        return arm
    return argmax.drawn(state.chances, 1.0, state.asked, available, rng)


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Any) -> None:
    n = recent_means.add(state, arm, reward_scale.unit(reward, state.low, state.width))
    if state.drawn[0] != arm:  # the first pull
        chance = state.asked[arm]
        state.drawn[0] = arm
        state.chance[0] = chance if chance > 0.0 else state.chances[arm]
        state.asked[arm] = 0.0
        return
    state.drawn[0] = _NONE
    start = state.places[arm, 0]
    pull = 1 + int(rng.random() * n)
    before = state.pool[start + pull - 1] if pull > 1 else 0.0
    loss = min(max(1.0 - (state.pool[start + pull] - before), 0.0), 1.0)
    corral.learn(state, arm, 2.0 * loss / state.chance[0])


@register
class StochasticCorral(corral.Corral):
    r"""Stochastic CORRAL: every draw is two pulls, and a learner is judged by a random one of its rewards so far.

    The base learners are the arms. As in `Corral`, base i is drawn with probability :math:`\bar p_i` and the weights
    move by mirror descent with a log barrier. A drawn base makes two steps: a new one, and one of a policy drawn
    uniformly from those that it has had. The loss l of the second step counts :math:`2 l / \bar p_i`, for both. So the
    loss of a base changes slowly, and no base has to be stable or restarted.

    From the paper (Pacchiano et al., 2020), read from its abstract and from a public program: two steps, the factor of
    2, :math:`\gamma`, :math:`\beta` and :math:`\rho` of CORRAL, unchanged feedback to the base, no restarts. Derived
    here: a rested arm cannot be put back, so its second pull is one more pull, and in place of a policy played again
    one of its rewards so far, drawn uniformly, gives the loss. The rate is that of `Corral`.

    Use it to compare. An arm that rises is judged by its past, so it must earn more than it did before it is drawn more
    often; CORRAL itself, which counts the last reward, notices a rise sooner.

    Parameters
    ----------
    eta, gamma, growth, reward_range
        As for `Corral`.

    References
    ----------
    A. Pacchiano, M. Phan, Y. Abbasi-Yadkori, A. Rao, J. Zimmert, T. Lattimore, C. Szepesvari. Model Selection in
    Contextual Stochastic Bandit Problems. NeurIPS 2020.
    """

    name = "stochastic-corral"
    summary = "CORRAL by a random one of each learner's rewards so far"
    verified = "derived here"
    kernels = Kernels(select=select, update=update)
    draws_on_tell = True
    scratch = frozenset({"pool"})

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        fields: dict[str, Any] = super().new_state(n_arms, horizon, capacity)._asdict()
        fields |= recent_means.new_fields(n_arms, capacity)
        return State(**fields, drawn=np.full(1, _NONE, dtype=np.int64), chance=np.zeros(1))

    def make_room(self, state: Any, capacity: int) -> None:
        histories.make_room(state.pool, self.n_arms, capacity)

    def parts(self, state: Any, t: int) -> dict[str, Floats]:
        """As for CORRAL."""
        known = super().parts(state, t)
        if state.drawn[0] >= 0:
            known["probability"] = np.eye(len(state.pulls))[state.drawn[0]]
        return known
