"""ET-Beta-TS: every arm a number of times, then Beta Thompson sampling on all rounds."""

from __future__ import annotations

from typing import Any

from risingbandits.lab.related import _forced
from risingbandits.policies.classic import beta_ts
from risingbandits.policies.registry import register
from risingbandits.policies.settings import integer

State: Any = _forced.extended(beta_ts.State, __name__)


@register
class ETBetaThompson(beta_ts.BetaThompson, _forced.ForcedPulls):
    r"""ET-Beta-TS: pull every arm Gamma times in turn, then continue as Beta Thompson sampling on all rounds.

    After :math:`\Gamma` forced pulls of each arm :math:`\theta_i \sim \mathrm{Beta}(1 + S_i, 1 + N_i - S_i)` decides,
    with all N_i pulls of the arm, S_i of which were wins: see `BetaThompson`. `ETTS` is the same in a sliding window.

    From the paper: the forced pulls and this form, for coins (Fiandri et al., 2025). Taken over from `BetaThompson`:
    a reward x in [0, 1] becomes a win with probability x. A choice of ours: ``forced``, see `ETTS`.

    Use it when a number of pulls is known after which the averages of the arms are in the right order, and rewards are
    0 or 1. For rewards with little noise `ETGaussianThompson` knows sooner which arm is ahead.

    Parameters
    ----------
    forced : int
        Forced pulls of each arm, Gamma. The paper sets it by the problem; the default 100 is ours, as in `ETTS`.
    reward_range : (float, float)
        Range that is mapped onto [0, 1]; what lies outside is clipped.

    References
    ----------
    M. Fiandri, A. M. Metelli, F. Trovo. Thompson Sampling-like Algorithms for Stochastic Rising Bandits. 2025.

    Examples
    --------
    >>> policy = ETBetaThompson(forced=2).reset(n_arms=2, seed=1)
    >>> [(arm := policy.ask(), policy.tell(arm, [0.0, 1.0][arm]))[0] for _ in range(4)]
    [0, 1, 0, 1]
    """

    name = "et-beta-ts"
    summary = "forced pulls of every arm, then Thompson sampling with Beta posteriors"
    verified = "published definition"
    kernels = _forced.forced_kernels(beta_ts.BetaThompson.kernels)

    forced: int = integer(100, minimum=0)

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        return self.with_forced_pulls(super().new_state(n_arms, horizon, capacity), State, n_arms)
