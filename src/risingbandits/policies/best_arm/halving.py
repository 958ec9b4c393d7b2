"""Policies that continue with the better part of the arms, giving each a multiple of the pulls."""

from __future__ import annotations

import numpy as np

from risingbandits.policies._settings import integer, number
from risingbandits.policies.best_arm import _phases
from risingbandits.policies.registry import register


@register
class SequentialHalving(_phases.PhasePolicy):
    r"""Sequential halving: ceil(log2 K) phases of equal length, after each the better half goes on.

    In a phase with S arms each is pulled :math:`\lfloor T / (S \lceil \log_2 K \rceil) \rfloor` times, and the mean of
    the rewards of this phase decides (Karnin, Koren and Somekh, 2013, Algorithm 3). Rounds that remain go to the arm
    that is left, which is recommended.

    Use it for many arms. Since each phase looks at its own rewards only, it copes with rising arms better than
    successive rejects on all rewards; half the arms, however, are dropped after the first phase.

    Its recommendation is its own: the best of the arms that are left, by the mean of the phase.

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
    verified = "published definition"

    def _schedule(self, n_arms: int, horizon: int) -> _phases.Schedule:
        return _phases.halvings(n_arms, horizon)


@register
class SuccessiveHalving(_phases.PhasePolicy):
    r"""Successive halving: after each rung the best 1/eta of the arms go on, by what they give now.

    The budget that is left is shared evenly among the rungs that are left, and within a rung among its arms; rungs are
    as many as it takes to come from K arms to one. The mean of the last ``share`` of an arm's rewards decides, by
    default little more than the last one, as for validation scores (Jamieson and Talwalkar, 2016). `SequentialHalving`
    is the same with :math:`\eta = 2` for rewards with much noise: it takes all of a rung's rewards.

    Use it as the common yardstick of hyper-parameter tuning.

    Its recommendation is its own: the best of the arms that are left, by the mean of the phase.

    Parameters
    ----------
    eta : int
        One in ``eta`` arms goes on; at least 2.
    max_pulls : int or None
        Length of the curves: no arm needs more pulls, and what this saves goes to the other rungs. None means the
        problem's in `simulate`, and no limit elsewhere.
    share : float
        Share of an arm's rewards in its mean, in (0, 1].

    References
    ----------
    K. Jamieson, A. Talwalkar. Non-stochastic Best Arm Identification and Hyperparameter Optimization. AISTATS 2016.

    Examples
    --------
    >>> policy = SuccessiveHalving().reset(n_arms=9, horizon=90)
    >>> for _ in range(90):
    ...     arm = policy.ask()
    ...     policy.tell(arm, arm / 10)
    >>> policy.recommend(), policy.pulls.tolist()
    (8, [5, 5, 5, 5, 5, 5, 20, 20, 20])
    """

    name = "successive-halving"
    summary = "the best third of the arms goes on, with a multiple of the pulls"
    verified = "derived here"

    eta: int = integer(3, minimum=2)
    max_pulls: int | None = integer(None)
    share: float = number(0.1, above=0.0, maximum=1.0)

    def _schedule(self, n_arms: int, horizon: int) -> _phases.Schedule:
        left = [n_arms]
        while left[-1] > 1:
            left.append(max(1, left[-1] // self.eta))
        rows: list[tuple[int, int, int]] = []
        pulls = end = 0
        for rung, arms in enumerate(left[:-1]):
            new = max(1, (horizon - end) // (arms * (len(left) - 1 - rung)))
            if self.max_pulls is not None:
                new = min(new, self.max_pulls - pulls)
            pulls, end = pulls + new, end + new * arms
            rows.append((pulls, end, left[rung + 1]))
        columns = np.array(rows, dtype=np.int64).reshape(-1, 3)
        reached, ends, kept = (np.ascontiguousarray(columns[:, i]) for i in range(3))
        return _phases.Schedule(reached, ends, kept, _phases.windows_of(reached, float(self.share)))
