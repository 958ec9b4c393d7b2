"""ET-SW-Gaussian-TS: every arm a number of times, then Gaussian Thompson sampling on the last tau rounds."""

from __future__ import annotations

from typing import Any

from risingbandits.lab.related import _forced, sw_gaussian_ts
from risingbandits.policies.registry import register
from risingbandits.policies.settings import integer

State: Any = _forced.extended(sw_gaussian_ts.State, __name__)


@register
class ETSWGaussianThompson(sw_gaussian_ts.SWGaussianThompson, _forced.ForcedPulls):
    r"""ET-SW-Gaussian-TS: pull every arm Gamma times in turn, then continue as Gaussian Thompson sampling in a window.

    After :math:`\Gamma` forced pulls of each arm :math:`\theta_i \sim N(\bar x_i, \sigma^2 / N_i)` over the last
    :math:`\tau` rounds decides, see `SWGaussianThompson`. The forced pulls come in turn, so that the window holds some
    of every arm when they end if it has K rounds or more.

    From the paper: the forced pulls, and the form :math:`\gamma`-ET-SWGTS with :math:`\gamma = 1 / \sigma^2` (Fiandri
    et al., 2025). Choices of ours: ``forced``, ``tau`` and ``sigma``, see `ETTS` and `SWGaussianThompson`.

    Use it when a number of pulls is known after which the best arms lead, and arms go on rising: the window follows the
    levels that they have now. The settings that are not listed are those of `SWGaussianThompson`.

    Parameters
    ----------
    forced : int
        Forced pulls of each arm, Gamma. The paper sets it by the problem; the default 100 is ours, as in `ETTS`.

    References
    ----------
    M. Fiandri, A. M. Metelli, F. Trovo. Thompson Sampling-like Algorithms for Stochastic Rising Bandits. 2025.

    Examples
    --------
    >>> policy = ETSWGaussianThompson(forced=2, tau=100, sigma=0.1).reset(n_arms=2, seed=1)
    >>> [(arm := policy.ask(), policy.tell(arm, [0.2, 0.8][arm]))[0] for _ in range(6)]
    [0, 1, 0, 1, 1, 1]
    """

    name = "et-sw-gaussian-ts"
    summary = "forced pulls of every arm, then Gaussian Thompson sampling on the last tau rounds"
    verified = "published definition"
    kernels = _forced.forced_kernels(sw_gaussian_ts.SWGaussianThompson.kernels)

    forced: int = integer(100, minimum=0)

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        return self.with_forced_pulls(super().new_state(n_arms, horizon, capacity), State, n_arms)
