"""PTRR: arms in a random order, each pulled while it keeps up with a power of its pulls."""

from __future__ import annotations

from risingbandits._core.jit import kernel
from risingbandits._core.types import Mask, Rng
from risingbandits.lab.related import _random_round_robin as rr
from risingbandits.lab.related._random_round_robin import State
from risingbandits.policies._settings import integer, number
from risingbandits.policies.base import Kernels
from risingbandits.policies.explanation import Moment
from risingbandits.policies.registry import register


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    if state.marks[rr.DRAWN] == 0:
        rr.draw(state, rng)
    if state.marks[rr.STAGE] == rr.FIRST:
        return _fewest(state, available)
    return rr.select_barred(state, available)


@kernel
def _fewest(state: State, available: Mask) -> int:
    """The arm with the fewest pulls, the lowest number of equals."""
    chosen = -1
    for arm in range(state.pulls.shape[0]):
        if (available is None or available[arm]) and (chosen < 0 or state.pulls[arm] < state.pulls[chosen]):
            chosen = arm
    return chosen


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    rr.add(state, arm, reward)
    if state.marks[rr.STAGE] == rr.BARRED:
        rr.judge(state, arm)
    elif t >= state.first_stage:
        rr.begin_second_stage(state, t)


@register
class PTRR(rr.RandomRoundRobin):
    r"""PTRR: draw an arm, pull it while it keeps above a bar that rises like a power of its pulls, then draw the next.

    Arms come in a random order. One with n pulls goes on while its reward is at least

    .. math:: m \left( \frac{n}{\tau} \right)^\alpha, \qquad \tau = T - K,

    with m the level of the best arm after :math:`\tau` pulls; it is given up otherwise and never comes back. For rising
    concave arms without noise and :math:`\alpha \ge 1` the best arm is not given up for these pulls, and :math:`\alpha
    = 1` has at least :math:`1/O(\sqrt K)` of what the best arm would have, which no algorithm can better in the worst
    case (Blum and Ravichandran, 2025); a smaller :math:`\alpha` has :math:`1/O(K^{\alpha/(1+\alpha)})` where curves
    keep above :math:`f(T) (n/T)^\alpha` (Blum et al., 2025).

    From the papers: the rule; that for an unknown m every arm is looked at for T / (2K) pulls, after which the end of
    the best lies between :math:`f(n)` and :math:`f(n) + (T - n) (f(n) - f(n-1))`, at most 2K times as much, and m is
    guessed at a random scale. Derived: the guess is :math:`2^j \max f(n)` with j uniform from 0 to the last that is
    within the upper bound; the second half then goes on as that of `HybridPTRR`, with pulls counted from there,
    :math:`\tau' = T - t - K` and :math:`m \tau' / T` for m. Ours: if all arms were given up (m was too high), the one
    with the best last reward gets the rest; and ``window``, since the papers' rewards have no noise. The doubling for
    an unknown T is left out.

    Use it against the worst case, many arms that all look alike for long. It stays with the first arm that is good
    enough, so its regret is large where arms are benign.

    Parameters
    ----------
    alpha : float
        Power of the bar, above 0. 1: random round robin.
    m : float or None
        Level of the best arm after T - K pulls; one that is too high drops it. None: guessed.
    window : int
        An arm is judged by the mean of this many of its last rewards. 1, the papers' choice: by the last one.

    References
    ----------
    A. Blum, K. Ravichandran. Nearly-tight Approximation Guarantees for the Improving Multi-Armed Bandits Problem. 2025.

    A. Blum, M. Garicano, K. Ravichandran, D. Sharma. Algorithm Design and Stronger Guarantees for the Improving
    Multi-Armed Bandits Problem. 2025.
    """

    name = "ptrr"
    summary = "arms in random order, each while it keeps above a rising bar (worst case, no noise)"
    verified = "published definition (guess of m: derived here)"
    kernels = Kernels(select=select, update=update)

    alpha: float = number(1.0, above=0.0)
    m: float | None = number(None, minimum=0.0)
    window: int = integer(1)

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        rounds = horizon or 1
        looks = n_arms * max(rounds // (2 * n_arms), 1) if self.m is None else 0
        return self._fresh(n_arms, rounds, capacity, looks)

    def _why_next(self, at: Moment) -> str:
        return rr.looked_at(at) if at.state.marks[rr.STAGE] == rr.FIRST else super()._why_next(at)
