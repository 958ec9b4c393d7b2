"""Successive rejects: drop the worst arm again and again, in phases that spend a budget well."""

from __future__ import annotations

from risingbandits.policies.best_arm import _phases
from risingbandits.policies.registry import register


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

    References
    ----------
    J.-Y. Audibert, S. Bubeck, R. Munos. Best Arm Identification in Multi-Armed Bandits. COLT 2010.

    Examples
    --------
    >>> policy = SuccessiveRejects().reset(n_arms=3, horizon=30)
    >>> for _ in range(30):
    ...     arm = policy.ask()
    ...     policy.tell(arm, [0.2, 0.8, 0.5][arm])
    >>> policy.recommend(), policy.pulls.tolist()
    (1, [7, 12, 11])
    """

    name = "successive-rejects"
    summary = "drops the arm with the smallest mean, one per phase"

    def schedule(self, n_arms: int, horizon: int) -> _phases.Schedule:
        return _phases.rejects(n_arms, horizon, share=1.0)
