"""ET-Gaussian-TS: every arm a number of times, then Gaussian Thompson sampling on all rounds."""

from __future__ import annotations

from typing import Any

from risingbandits.lab.related import _forced
from risingbandits.policies.classic import gaussian_ts
from risingbandits.policies.registry import register
from risingbandits.policies.settings import integer

State: Any = _forced.extended(gaussian_ts.State, __name__)


@register
class ETGaussianThompson(gaussian_ts.GaussianThompson, _forced.ForcedPulls):
    r"""ET-Gaussian-TS: pull every arm Gamma times in turn, then continue as Gaussian Thompson sampling.

    After :math:`\Gamma` forced pulls of each arm :math:`\theta_i \sim N(\bar x_i, \sigma^2 / N_i)` decides, where the
    mean is over all pulls of the arm, the forced ones too: see `GaussianThompson`.

    From the paper: the forced pulls, and the form :math:`\gamma`-ET-GTS with :math:`\gamma = 1 / \sigma^2` (Fiandri et
    al., 2025). With rising arms the expected pulls of an arm that is not the best are of the order of
    :math:`\Gamma + \sigma_\mu(T) + \log T / \Delta^2`, where :math:`\sigma_\mu(T)` is the number of pulls after which
    the average of the best arm exceeds what any other has at the end. Choices of ours: ``forced`` and ``sigma``, see
    `ETTS` and `SWGaussianThompson`.

    Use it when a number of pulls is known after which the averages of the arms are in the right order: afterwards
    little is spent on the others. The forced pulls cost K Gamma rounds whatever they show.

    Parameters
    ----------
    forced : int
        Forced pulls of each arm, Gamma. The paper sets it by the problem; the default 100 is ours, as in `ETTS`.
    sigma : float or "auto"
        Standard deviation of the noise, as for `GaussianThompson`.

    References
    ----------
    M. Fiandri, A. M. Metelli, F. Trovo. Thompson Sampling-like Algorithms for Stochastic Rising Bandits. 2025.

    Examples
    --------
    >>> policy = ETGaussianThompson(forced=2, sigma=0.1).reset(n_arms=2, seed=1)
    >>> [(arm := policy.ask(), policy.tell(arm, [0.2, 0.8][arm]))[0] for _ in range(6)]
    [0, 1, 0, 1, 1, 1]
    """

    name = "et-gaussian-ts"
    summary = "forced pulls of every arm, then Gaussian Thompson sampling"
    verified = "published definition"
    kernels = _forced.forced_kernels(gaussian_ts.GaussianThompson.kernels)

    forced: int = integer(100, minimum=0)

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        return self.with_forced_pulls(super().new_state(n_arms, horizon, capacity), State, n_arms)
