"""Rexp3: Exp3 that forgets everything at regular intervals."""

from __future__ import annotations

import math
from typing import Any

from risingbandits._core.errors import check_range
from risingbandits._core.types import Floats
from risingbandits.policies._kernels import reward_scale
from risingbandits.policies.base import Policy
from risingbandits.policies.classic import _exp3
from risingbandits.policies.registry import register
from risingbandits.policies.settings import number, setting


@register
class Rexp3(Policy):
    r"""Rexp3: Exp3 restarted after every batch of rounds, tuned to how much the means move in all.

    .. math:: \Delta = \Big\lceil (K \log K)^{1/3} (T / V)^{2/3} \Big\rceil, \qquad
              \gamma = \min\Big(1, \sqrt{\frac{K \log K}{(e - 1) \Delta}}\Big)

    (Besbes, Gur and Zeevi, 2014, Theorem 2). V bounds the total change of the means over the horizon: with rewards in
    [0, 1] rising arms change by at most 1 each, so V = K is safe.

    One of the paper's six baselines. It assumes that means move with time, so it explores for ever and never gives a
    slow arm the many pulls in a row that it needs to rise.

    Parameters
    ----------
    V : float or None
        Variation budget, above 0; None: K. The published program of the rising-bandits paper uses 0.001 T.
    reward_range : (float, float)
        Rewards between these two are mapped to [0, 1]; what lies outside is clipped.

    References
    ----------
    O. Besbes, Y. Gur, A. Zeevi. Stochastic Multi-Armed-Bandit Problem with Non-stationary Rewards. NeurIPS 2014.

    Examples
    --------
    >>> policy = Rexp3().reset(n_arms=3, horizon=10_000, seed=1)
    >>> policy.ask() in (0, 1, 2)
    True
    >>> policy.explain()["probability"].round(3).tolist()
    [0.333, 0.333, 0.333]
    """

    name = "rexp3"
    summary = "Exp3 with restarts, tuned to the total change of the means"
    kernels = _exp3.kernels
    randomised = True
    needs_horizon = True

    V: float | None = number(None, above=0.0)
    reward_range: tuple[float, float] = setting((0.0, 1.0), check_range)

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> _exp3.State:
        rounds = horizon or 1
        variation = float(n_arms if self.V is None else self.V)
        batch = max(1, math.ceil((n_arms * math.log(n_arms)) ** (1 / 3) * (rounds / variation) ** (2 / 3)))
        gamma = _exp3.exploration(n_arms, batch)
        return _exp3.new_state(n_arms, gamma, *reward_scale.low_and_width(self.reward_range), batch=batch)

    def parts(self, state: Any, t: int) -> dict[str, Floats]:
        return _exp3.probabilities(state)
