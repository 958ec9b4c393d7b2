"""Exp3.S: Exp3 that shares a little of the weight, so that it can change its mind."""

from __future__ import annotations

import math
from typing import Any

from risingbandits._core.errors import check_range
from risingbandits._core.types import Floats
from risingbandits.policies._kernels import reward_scale
from risingbandits.policies.base import Policy
from risingbandits.policies.classic import _exp3
from risingbandits.policies.registry import register
from risingbandits.policies.settings import integer, number, setting


@register
class Exp3S(Policy):
    r"""Exp3.S: Exp3 against the best sequence of arms with few switches.

    Draws as in `Exp3`; after a reward, with W the sum of the weights before it,

    .. math:: w_i \leftarrow w_i \exp(\gamma \hat x_i / K) + \frac{e \alpha}{K} W

    for every arm, where :math:`\hat x_I = x / p_I` for the drawn arm and 0 for the others (Auer et al., 2002, Figure 4
    and Corollary 8.2). No weight falls below a fixed share of the sum.

    Use it where the best arm changes a known number of times. On rising arms it has Exp3's weakness: it looks at what
    arms earn now.

    Parameters
    ----------
    gamma : float or None
        Share of uniform draws, in (0, 1]. None: min(1, sqrt(K (S log(K T) + e) / ((e - 1) T))).
    alpha : float or None
        Shared weight, at least 0 (0 is Exp3). None: 1/T.
    switches : int
        S, the number of stretches with one best arm that the regret is measured against; only for gamma = None.
    reward_range : (float, float)
        Rewards between these two are mapped to [0, 1]; what lies outside is clipped.

    References
    ----------
    P. Auer, N. Cesa-Bianchi, Y. Freund, R. Schapire. The Nonstochastic Multiarmed Bandit Problem. SIAM Journal on
    Computing 32(1), 2002.

    Examples
    --------
    >>> policy = Exp3S(gamma=0.2, alpha=0.001).reset(n_arms=2, seed=1)
    >>> for t in range(600):
    ...     arm = policy.ask()
    ...     policy.tell(arm, float(arm == (t < 300)))  # the best arm changes once
    >>> bool(policy.explain()["probability"][0] > 0.8)
    True
    """

    name = "exp3-s"
    summary = "Exp3 against sequences of arms with few switches"
    needs_horizon = True
    from_horizon = ("gamma", "alpha")
    kernels = _exp3.kernels
    randomised = True

    gamma: float | None = number(None, above=0.0, maximum=1.0)
    alpha: float | None = number(None, minimum=0.0)
    switches: int = integer(1)
    reward_range: tuple[float, float] = setting((0.0, 1.0), check_range)

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> _exp3.State:
        rounds = horizon or 1
        alpha = 1.0 / rounds if self.alpha is None else float(self.alpha)
        gamma = self.gamma
        if gamma is None:
            spread = n_arms * (self.switches * math.log(n_arms * rounds) + math.e)
            gamma = min(1.0, math.sqrt(spread / ((math.e - 1.0) * rounds)))
        return _exp3.new_state(
            n_arms, gamma, *reward_scale.low_and_width(self.reward_range), share=math.e * alpha / n_arms
        )

    def parts(self, state: Any, t: int) -> dict[str, Floats]:
        return _exp3.probabilities(state)
