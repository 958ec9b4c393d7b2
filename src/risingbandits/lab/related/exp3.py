"""Exp3 and Exp3.S: weights that grow exponentially with the rewards of arms."""

from __future__ import annotations

import math
from typing import Any

from risingbandits.policies._settings import integer, number, unit_range
from risingbandits.policies.classic import _exp3
from risingbandits.policies.registry import register


@register
class Exp3(_exp3.Exp3Policy):
    r"""Exp3: draw an arm with a probability that grows exponentially with its rewards.

    With weights :math:`w_i = 1` at the start, arm i is drawn with probability

    .. math:: p_i = (1 - \gamma) \frac{w_i}{\sum_j w_j} + \frac{\gamma}{K}

    and the reward x in [0, 1] of the drawn arm I does :math:`w_I \leftarrow w_I \exp(\gamma x / (p_I K))`
    (Auer et al., 2002, Figure 1).

    It competes with the best fixed arm on the rewards that were offered, whatever they are, not on what an arm would
    have become. Use it as the adversarial yardstick; among rising arms it stays with those that start well.

    Parameters
    ----------
    gamma : float or None
        Share of uniform draws, in (0, 1]. None: min(1, sqrt(K log K / ((e - 1) T))), Corollary 3.2 of the paper with
        T for the bound on the best gain; this needs the horizon.
    reward_range : (float, float)
        Rewards between these two are mapped to [0, 1]; others are clipped.

    References
    ----------
    P. Auer, N. Cesa-Bianchi, Y. Freund, R. Schapire. The Nonstochastic Multiarmed Bandit Problem. SIAM Journal on
    Computing 32(1), 2002.
    """

    name = "exp3"
    summary = "exponential weights against arbitrary rewards"
    verified = "published definition"
    needs_horizon = ("gamma",)

    gamma: float | None = number(None, above=0.0, maximum=1.0)
    reward_range: tuple[float, float] = unit_range()

    def _tuned(self, n_arms: int, rounds: int) -> dict[str, Any]:
        return {"gamma": _exp3.exploration(n_arms, rounds) if self.gamma is None else self.gamma}


@register
class Exp3S(_exp3.Exp3Policy):
    r"""Exp3.S: Exp3 against the best sequence of arms with few switches.

    Draws as in `Exp3`; after a reward, with W the sum of the weights before it,

    .. math:: w_i \leftarrow w_i \exp(\gamma \hat x_i / K) + \frac{e \alpha}{K} W

    for every arm, where :math:`\hat x_I = x / p_I` for the drawn arm and 0 for the others (Auer et al., 2002, Figure 4
    and Corollary 8.2). No weight falls below a fixed share of the sum.

    Use it if the best arm changes a known number of times. On rising arms it has Exp3's weakness: it looks at what
    arms give now.

    Parameters
    ----------
    gamma : float or None
        Share of uniform draws, in (0, 1]. None: min(1, sqrt(K (S log(K T) + e) / ((e - 1) T))).
    alpha : float or None
        Shared weight, at least 0 (0 is Exp3). None: 1/T.
    switches : int
        S, the number of stretches with one best arm that the regret is measured against; only for gamma = None.
    reward_range : (float, float)
        Rewards between these two are mapped to [0, 1]; others are clipped.

    References
    ----------
    P. Auer, N. Cesa-Bianchi, Y. Freund, R. Schapire. The Nonstochastic Multiarmed Bandit Problem. SIAM Journal on
    Computing 32(1), 2002.
    """

    name = "exp3-s"
    summary = "Exp3 against sequences of arms with few switches"
    verified = "published definition"
    needs_horizon = ("gamma", "alpha")

    gamma: float | None = number(None, above=0.0, maximum=1.0)
    alpha: float | None = number(None, minimum=0.0)
    switches: int = integer(1)
    reward_range: tuple[float, float] = unit_range()

    def _tuned(self, n_arms: int, rounds: int) -> dict[str, Any]:
        alpha = 1.0 / rounds if self.alpha is None else float(self.alpha)
        gamma = self.gamma
        if gamma is None:
            spread = n_arms * (self.switches * math.log(n_arms * rounds) + math.e)
            gamma = min(1.0, math.sqrt(spread / ((math.e - 1.0) * rounds)))
        return {"gamma": gamma, "share": math.e * alpha / n_arms}
