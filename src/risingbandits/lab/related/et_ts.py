"""ET-TS: pull every arm a number of times, then SW-TS."""

from __future__ import annotations

from typing import Any

from risingbandits.lab.related import _forced
from risingbandits.policies.classic import beta_ts
from risingbandits.policies.registry import register
from risingbandits.policies.settings import integer

State: Any = _forced.extended(beta_ts.WindowState, __name__)


@register
class ETTS(beta_ts.SWTS, _forced.ForcedPulls):
    r"""ET-TS: pull every arm Gamma times in turn, then continue as SW-TS.

    The forced pulls, :math:`\Gamma` of each arm, bring slowly rising arms to where they can be judged (Fiandri et al.,
    2025); afterwards :math:`\theta_i \sim \mathrm{Beta}(1 + S_i, 1 + N_i - S_i)` over the last :math:`\tau` rounds
    decides, see `SWTS`. An arm that is not available catches up on its forced pulls when it is.

    Use it if you know a number of pulls after which the best arms lead. The forced pulls cost K Gamma rounds, whatever
    they show. The settings that are not listed are those of `SWTS`.

    Parameters
    ----------
    forced : int
        Forced pulls of each arm, Gamma. The paper sets it by the problem; the default 100 is ours.

    References
    ----------
    M. Fiandri, A. M. Metelli, F. Trovo. Thompson Sampling-like Algorithms for Stochastic Rising Bandits. 2025.

    Examples
    --------
    >>> policy = ETTS(forced=2, tau=100).reset(n_arms=2, seed=1)
    >>> [(arm := policy.ask(), policy.tell(arm, [0.2, 0.8][arm]))[0] for _ in range(4)]
    [0, 1, 0, 1]
    """

    name = "et-ts"
    summary = "forced pulls of every arm, then SW-TS"
    verified = "published definition"
    kernels = _forced.forced_kernels(beta_ts.SWTS.kernels)

    forced: int = integer(100, minimum=0)

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        return self.with_forced_pulls(super().new_state(n_arms, horizon, capacity), State, n_arms)
