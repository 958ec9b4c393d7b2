"""Exp3: exponential weights against rewards that may be anything."""

from __future__ import annotations

from typing import Any

from risingbandits._core.errors import check_range
from risingbandits._core.types import Floats
from risingbandits.policies._kernels import reward_scale
from risingbandits.policies.base import Policy
from risingbandits.policies.classic import _exp3
from risingbandits.policies.registry import register
from risingbandits.policies.settings import number, setting


@register
class Exp3(Policy):
    r"""Exp3: draw an arm with a probability that grows exponentially with what it has earned.

    With weights :math:`w_i = 1` at the start, arm i is drawn with probability

    .. math:: p_i = (1 - \gamma) \frac{w_i}{\sum_j w_j} + \frac{\gamma}{K}

    and the reward x in [0, 1] of the drawn arm I does :math:`w_I \leftarrow w_I \exp(\gamma x / (p_I K))`
    (Auer et al., 2002, Figure 1).

    It competes with the best fixed arm on the rewards that were offered, whatever these are, not with what an arm
    would have become. Use it as the adversarial yardstick; among rising arms it stays with those that start well.

    Parameters
    ----------
    gamma : float or None
        Share of uniform draws, in (0, 1]. None: min(1, sqrt(K log K / ((e - 1) T))), Corollary 3.2 of the paper with
        T for the bound on the best gain; this needs the horizon.
    reward_range : (float, float)
        Rewards between these two are mapped to [0, 1]; what lies outside is clipped. Gaussian noise of 0.1 around a
        mean of 0 is seen as 0.040, around 1 as 0.960.

    References
    ----------
    P. Auer, N. Cesa-Bianchi, Y. Freund, R. Schapire. The Nonstochastic Multiarmed Bandit Problem. SIAM Journal on
    Computing 32(1), 2002.

    Examples
    --------
    >>> policy = Exp3(gamma=0.2).reset(n_arms=2, seed=1)
    >>> for _ in range(300):
    ...     arm = policy.ask()
    ...     policy.tell(arm, [0.2, 0.8][arm])
    >>> policy.recommend(), bool(policy.pulls[1] > 200)
    (1, True)
    """

    name = "exp3"
    summary = "exponential weights against arbitrary rewards"
    needs_horizon = True
    from_horizon = ("gamma",)
    kernels = _exp3.kernels
    randomised = True

    gamma: float | None = number(None, above=0.0, maximum=1.0)
    reward_range: tuple[float, float] = setting((0.0, 1.0), check_range)

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> _exp3.State:
        gamma = _exp3.exploration(n_arms, horizon or 1) if self.gamma is None else self.gamma
        return _exp3.new_state(n_arms, gamma, *reward_scale.low_and_width(self.reward_range))

    def parts(self, state: Any, t: int) -> dict[str, Floats]:
        return _exp3.probabilities(state)
