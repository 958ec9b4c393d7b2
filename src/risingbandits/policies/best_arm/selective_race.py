"""The selective race: drops one arm after another, among as many as it can afford to know."""

from __future__ import annotations

from risingbandits.policies.best_arm import _phases
from risingbandits.policies.registry import register
from risingbandits.policies.settings import number


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
