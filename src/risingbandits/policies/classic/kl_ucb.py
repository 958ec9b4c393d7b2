"""KL-UCB: optimism measured by the Kullback-Leibler divergence of coins."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import interpreted, kernel
from risingbandits._core.types import Mask, Rng
from risingbandits.policies._kernels import reward_scale
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.classic import _kl
from risingbandits.policies.registry import register
from risingbandits.policies.settings import number, tie_rule, unit_range


class State(NamedTuple):
    """What KL-UCB knows."""

    c: float
    low: float
    width: float
    arms: np.ndarray  # (K, 5), level: (3,): the bounds (_kl)
    level: np.ndarray
    thresholds: np.ndarray  # f of the first rounds


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    return _kl.best_arm(state.arms, state.level, _threshold(state, t), available, rng)


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    x = reward_scale.unit(reward, state.low, state.width)
    n = state.arms[arm, 0] + 1.0
    s = state.arms[arm, 1] + x
    _kl.set_arm(state.arms, state.level, arm, n, s, _threshold(state, t))


@kernel
def _threshold(state: State, t: int) -> float:
    return _kl.tabulated_threshold(state.thresholds, t, state.c)


@register
class KLUCB(Policy):
    r"""KL-UCB: the upper confidence bound that is tight for coins.

    With N_i pulls of mean m_i, the index of arm i at round t is

    .. math:: \max\{q \in [m_i, 1] : N_i\, \mathrm{kl}(m_i, q) \le \log t + c \log \log t\},

    where kl is the divergence of two Bernoulli distributions (Garivier and Cappe, 2011, Algorithm 1); every arm is
    pulled once before. The index of no arm is computed: the winner is the arm that passes a level which all others
    fail.

    Use it for rewards in [0, 1] whose means do not change. On rising arms it averages over the whole past and stays
    with what was good early.

    Parameters
    ----------
    c : float
        Factor of log log t (with log t below e counted as e). 3 in the theorem, the default; the authors recommend 0 in
        practice.
    reward_range : (float, float)
        Range that is mapped onto [0, 1]; what lies outside is clipped. With the default, noise N(mu, 0.1^2) is clipped
        to a mean of 0.040 where mu = 0 and of 0.960 where mu = 1.
    ties : {"lowest", "random"}
        Which of several arms with the same index, also of those at infinity. "random" solves for every index and is
        several times slower.

    References
    ----------
    A. Garivier, O. Cappe. The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond. COLT 2011.

    Examples
    --------
    >>> policy = KLUCB().reset(n_arms=2)
    >>> for _ in range(300):
    ...     arm = policy.ask()
    ...     policy.tell(arm, [0.2, 0.8][arm])
    >>> policy.recommend()
    1
    """

    name = "kl-ucb"
    summary = "upper confidence bound by Bernoulli divergence"
    kernels = Kernels(select=select, update=update)
    scratch = frozenset({"thresholds"})

    c: float = number(3.0, minimum=0.0)
    reward_range: tuple[float, float] = unit_range()
    ties: str = tie_rule()

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        low, width = reward_scale.low_and_width(self.reward_range)
        return State(
            c=float(self.c),
            low=low,
            width=width,
            arms=_kl.new_arms(n_arms),
            level=_kl.new_level(),
            thresholds=_kl.new_thresholds(capacity + 1, float(self.c)),
        )

    def parts(self, state: Any, t: int) -> dict[str, np.ndarray]:
        return _kl.parts(state.arms, interpreted(_threshold)(state, t))
