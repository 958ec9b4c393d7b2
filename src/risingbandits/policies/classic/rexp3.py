"""Rexp3: weights that grow exponentially with the rewards of arms, restarted because rewards change."""

from __future__ import annotations

import math
from typing import Any

from risingbandits.policies._settings import number, unit_range
from risingbandits.policies.classic import _exp3
from risingbandits.policies.registry import register


@register
class Rexp3(_exp3.Exp3Policy):
    r"""Rexp3: Exp3 restarted after every batch of rounds, tuned to the total change of the means.

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
        Rewards between these two are mapped to [0, 1]; others are clipped.

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
    verified = "published definition"
    needs_horizon = True

    V: float | None = number(None, above=0.0)
    reward_range: tuple[float, float] = unit_range()

    def _tuned(self, n_arms: int, rounds: int) -> dict[str, Any]:
        variation = float(n_arms if self.V is None else self.V)
        batch = max(1, math.ceil((n_arms * math.log(n_arms)) ** (1 / 3) * (rounds / variation) ** (2 / 3)))
        return {"gamma": _exp3.exploration(n_arms, batch), "batch": batch}
