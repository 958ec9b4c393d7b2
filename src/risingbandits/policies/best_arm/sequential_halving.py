"""Sequential halving: the better half goes on, with twice the pulls each."""

from __future__ import annotations

from risingbandits.policies.best_arm import _phases
from risingbandits.policies.registry import register


@register
class SequentialHalving(_phases.PhasePolicy):
    r"""Sequential halving: :math:`\lceil \log_2 K \rceil` phases of equal length, after each the better half goes on.

    In a phase with S arms each is pulled :math:`\lfloor T / (S \lceil \log_2 K \rceil) \rfloor` times, and the mean of
    the rewards of this phase decides (Karnin, Koren and Somekh, 2013, Algorithm 3). Rounds that remain go to the arm
    that is left, which is recommended.

    Use it for many arms. Since each phase looks at its own rewards only, it copes with rising arms better than
    successive rejects on all rewards; half the arms, however, are dropped after the first phase.

    References
    ----------
    Z. Karnin, T. Koren, O. Somekh. Almost Optimal Exploration in Multi-Armed Bandits. ICML 2013.

    Examples
    --------
    >>> policy = SequentialHalving().reset(n_arms=4, horizon=40)
    >>> for _ in range(40):
    ...     arm = policy.ask()
    ...     policy.tell(arm, [0.2, 0.8, 0.5, 0.3][arm])
    >>> policy.recommend(), policy.pulls.tolist()
    (1, [5, 15, 15, 5])
    """

    name = "sequential-halving"
    summary = "drops the worse half of the arms in each phase"

    def schedule(self, n_arms: int, horizon: int) -> _phases.Schedule:
        return _phases.halvings(n_arms, horizon)
