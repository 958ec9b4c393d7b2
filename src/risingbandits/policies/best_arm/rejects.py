"""Policies that drop one arm after another: successive rejects, R-SR for arms that rise, and the selective race."""

from __future__ import annotations

from risingbandits.policies.best_arm import _phases
from risingbandits.policies.registry import register
from risingbandits.policies.settings import number


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
    verified = "published definition"

    def schedule(self, n_arms: int, horizon: int) -> _phases.Schedule:
        return _phases.rejects(n_arms, horizon, share=1.0)


@register
class RSR(_phases.PhasePolicy):
    r"""R-SR: successive rejects on the mean of an arm's last rewards.

    The phases are those of `SuccessiveRejects`. With N pulls of an arm the mean that decides is over its last
    :math:`h = \lfloor \epsilon N \rfloor` rewards (at least 1): what the arm gives now rather than what it gave on the
    way (Mussi et al., 2024, Algorithm 2).

    Use it to find the arm with the highest mean after T pulls, argmax mu_i(T), with a fixed budget of T pulls in all;
    it needs no knowledge of the noise. It does not extrapolate: an arm that overtakes the others only beyond about
    T / K pulls is dropped.

    Parameters
    ----------
    eps : float
        Window as a share of the pulls, in (0, 1]. The paper's epsilon; its experiments use 1/4. 1 is
        `SuccessiveRejects`.

    References
    ----------
    M. Mussi, A. Montenegro, F. Trovo, M. Restelli, A. M. Metelli. Best Arm Identification for Stochastic Rising
    Bandits. ICML 2024.

    Examples
    --------
    >>> policy = RSR().reset(n_arms=2, horizon=100)
    >>> for _ in range(100):
    ...     arm = policy.ask()
    ...     n = policy.pulls[arm] + 1
    ...     policy.tell(arm, [0.5, n / (n + 20)][arm])  # overtakes at 20 pulls
    >>> policy.recommend()
    1
    """

    name = "r-sr"
    summary = "successive rejects on the mean of the last rewards"
    verified = "published definition"

    eps: float = number(0.25, above=0.0, maximum=1.0)

    def schedule(self, n_arms: int, horizon: int) -> _phases.Schedule:
        return _phases.rejects(n_arms, horizon, share=float(self.eps))


@register
class SelectiveRace(_phases.PhasePolicy):
    r"""Successive rejects on recent means, among no more arms than can be pulled ``depth`` times each on average.

    Of K arms the first :math:`M = \min(K, \lfloor T / \text{depth} \rfloor)` take part (at least one). They are dropped
    one by one, always the one with the smallest mean of its last :math:`\lfloor \epsilon N \rfloor` rewards; in phase j
    every arm left is pulled until it has

    .. math:: N_j = \Big\lceil \frac{T - M}{\bar l\,(M + 1 - j)^{\beta}} \Big\rceil, \qquad
              \bar l = 2^{-\beta} + \sum_{i=2}^{M} i^{-\beta}

    pulls (the schedule of Shahrampour, Noshad and Tarokh, 2017; :math:`\beta = 1` is that of `RSR`). A smaller
    :math:`\beta` gives young arms more time and those that lead less.

    Use it to find the arm to keep when each gets better with use, above all with few pulls per arm. Early values of
    real training curves say little, and sometimes mislead: a good arm out of a dozen that are known well is worth more
    than the best of fifty that are not. Arms are opened in the order of their numbers, so put the promising ones first,
    or shuffle them, as an allocator does. Like `RSR` it needs no noise level and does not extrapolate.

    Parameters
    ----------
    depth : float
        Pulls per opened arm, on average, that the budget must allow; 1 opens all arms, or as many as there are pulls.
    power : float
        The exponent beta, at least 0.
    eps : float
        Window as a share of the pulls, in (0, 1].

    References
    ----------
    S. Shahrampour, M. Noshad, V. Tarokh. On Sequential Elimination Algorithms for Best-Arm Identification in
    Multi-Armed Bandits. IEEE Transactions on Signal Processing 65(16), 2017.

    M. Mussi, A. Montenegro, F. Trovo, M. Restelli, A. M. Metelli. Best Arm Identification for Stochastic Rising
    Bandits. ICML 2024.

    Examples
    --------
    >>> policy = SelectiveRace().reset(n_arms=50, horizon=100)
    >>> for _ in range(100):
    ...     arm = policy.ask()
    ...     n = policy.pulls[arm] + 1
    ...     policy.tell(arm, (arm % 7) / 10 * n / (n + 5))
    >>> policy.recommend(), int((policy.pulls > 0).sum())
    (6, 10)
    """

    name = "selective-race"
    summary = "opens the arms that it can afford to know, drops one by one"
    verified = "derived here"
    in_order = True

    depth: float = number(10.0, minimum=1.0)
    power: float = number(0.5, minimum=0.0)
    eps: float = number(0.2, above=0.0, maximum=1.0)

    def opened(self, n_arms: int, horizon: int) -> int:
        return max(1, min(n_arms, int(horizon / float(self.depth) + 1e-12)))

    def schedule(self, n_arms: int, horizon: int) -> _phases.Schedule:
        return _phases.rejects(n_arms, horizon, float(self.eps), float(self.power))
