"""Successive rejects and R-SR: phases that each drop one arm."""

from __future__ import annotations

import math

import numpy as np

from risingbandits.policies._settings import number
from risingbandits.policies.best_arm import _phases
from risingbandits.policies.registry import register


def rejects(n_arms: int, horizon: int, share: float) -> _phases.Schedule:
    """One arm fewer after each of K - 1 phases; means over the last ``share`` of an arm's pulls.

    Phase j ends when every arm left has N_j = ceil((T - K) / (lbar (K + 1 - j))) pulls, at least 1, with
    lbar = 1/2 + 1/2 + 1/3 + ... + 1/K. In all that is at most T rounds if T >= K.
    """
    lbar = 0.5 + sum(1.0 / i for i in range(2, n_arms + 1))
    pulls = np.array(
        [max(1, math.ceil((horizon - n_arms) / (lbar * (n_arms + 1 - j)))) for j in range(1, n_arms)],
        dtype=np.int64,
    )
    left = np.arange(n_arms, 1, -1)  # arms in phase j
    ends = np.cumsum(left * np.diff(pulls, prepend=0)).astype(np.int64)
    return _phases.Schedule(pulls, ends, (left - 1).astype(np.int64), _phases.windows_of(pulls, share))


@register
class SuccessiveRejects(_phases.PhasePolicy):
    r"""Successive rejects: K - 1 phases, after each of which the arm with the smallest mean is dropped.

    In phase j every arm left is pulled until it has

    .. math:: N_j = \Big\lceil \frac{T - K}{\bar l\,(K + 1 - j)} \Big\rceil, \qquad
              \bar l = \frac12 + \sum_{i=2}^{K} \frac1i,

    pulls (Audibert, Bubeck and Munos, 2010, Figure 3). The arm that is left is recommended; rounds that remain go to
    it.

    For arms that do not change. The mean of all rewards of a rising arm lies below what it gives now, most for those
    that rise late: `RSR` takes the mean of the last ones.

    Its recommendation is its own: the best of the arms that are left, by the mean of the phase.

    References
    ----------
    J.-Y. Audibert, S. Bubeck, R. Munos. Best Arm Identification in Multi-Armed Bandits. COLT 2010.
    """

    name = "successive-rejects"
    summary = "drops the arm with the smallest mean, one per phase"
    verified = "published definition"

    def _schedule(self, n_arms: int, horizon: int) -> _phases.Schedule:
        return rejects(n_arms, horizon, share=1.0)


@register
class RSR(_phases.PhasePolicy):
    r"""R-SR: successive rejects on the mean of an arm's last rewards.

    The phases are those of `SuccessiveRejects`. With N pulls of an arm the mean that decides is over its last
    :math:`h = \lfloor \epsilon N \rfloor` rewards (at least 1): what the arm gives now rather than what it gave on the
    way (Mussi et al., 2024, Algorithm 2).

    Use it to find the arm with the highest mean after T pulls, argmax mu_i(T), with a fixed budget of T pulls in all;
    it needs no knowledge of the noise. It does not extrapolate: an arm that overtakes the others only beyond about
    T / K pulls is dropped.

    Its recommendation is its own: the best of the arms that are left, by the mean of the phase.

    Parameters
    ----------
    eps : float
        Window as a share of the pulls, in (0, 1]. The paper's epsilon; its experiments use 1/4. 1 is
        `SuccessiveRejects`.

    References
    ----------
    M. Mussi, A. Montenegro, F. Trovo, M. Restelli, A. M. Metelli. Best Arm Identification for Stochastic Rising
    Bandits. ICML 2024.
    """

    name = "r-sr"
    summary = "successive rejects on the mean of the last rewards"
    verified = "published definition"

    eps: float = number(0.25, above=0.0, maximum=1.0)

    def _schedule(self, n_arms: int, horizon: int) -> _phases.Schedule:
        return rejects(n_arms, horizon, share=float(self.eps))
