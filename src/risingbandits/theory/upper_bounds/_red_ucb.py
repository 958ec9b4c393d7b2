"""Regret bounds of R-ed-UCB with explicit constants, at the best q, and whether they say anything."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from risingbandits._core.errors import check_finite
from risingbandits.problems import RisingBandit
from risingbandits.theory._envelope import envelope
from risingbandits.theory.complexity._problems import horizon_of, refuse_falling

_GRID = 33  # values of q looked at before the search between them
_PULLS = 400  # pull numbers among which the worst split is looked for


@dataclass(frozen=True)
class Bound:
    """An upper bound on the expected policy regret at the horizon.

    Attributes
    ----------
    value : float
        The bound, the sum of ``terms``.
    q : float or None
        The q in [0, 1] at which it was evaluated, the best one unless given; None if it has none.
    terms : dict of str -> float
        Its parts.
    trivial : float
        The largest regret that any policy can have, see `trivial_bound`.
    broken : tuple of str
        Assumptions of the theorem that the problem or the policy does not meet; the value is then the formula's, not a
        guarantee.
    form : str
        Which theorem it is: "deterministic", "stochastic" (R-ed-UCB), or the form of `commit_bound`.
    z : float or None
        Width of CommitUCB's intervals in standard errors.
    probability : float
        For CommitUCB: a lower bound on the probability that no line fails; the regret is then at most ``value`` minus
        "failure".
    pulls : tuple of int or None
        Upper bounds on the pulls of each arm in that case, if the theorem gives them.
    """

    value: float
    q: float | None
    terms: dict[str, float]
    trivial: float
    broken: tuple[str, ...] = ()
    form: str = ""
    z: float | None = None
    probability: float = 1.0
    pulls: tuple[int, ...] | None = None

    @property
    def vacuous(self) -> bool:
        """Whether the bound says no more than what holds for every policy."""
        return self.value >= self.trivial


def trivial_bound(problem: RisingBandit, horizon: int | None = None) -> float:
    """The largest regret that any sequence of pulls can have: J* minus the sum of means of the worst split.

    With rising arms the worst split stops every arm where its mean reaches one common level (each sum of means is
    convex in the number of pulls). The level is found on a grid; by weak duality any level gives a valid bound.

    Examples
    --------
    >>> from risingbandits import get_problem
    >>> round(trivial_bound(get_problem("paper-2arms")))
    110689
    """
    last = horizon_of(problem, horizon)
    refuse_falling(problem, last)
    grid = np.unique(np.geomspace(1, last, _PULLS).round().astype(np.int64))
    means = problem.means(grid)
    counts = np.concatenate([[0], grid])
    low, high = float(means[:, 0].min()), float(means.max())
    for _ in range(60):
        level = 0.5 * (low + high)
        spent = counts[(means <= level).sum(axis=1)].sum()
        low, high = (level, high) if spent < last else (low, level)
    stops = np.array([_stop(problem, arm, level, last) for arm in range(problem.n_arms)])
    worst = float((problem.mean_sums(stops) - level * stops).sum()) + level * last
    return problem.oracle_value(last) - worst


def deterministic_bound(problem: RisingBandit, horizon: int | None = None, q: float | None = None) -> Bound:
    """2K + K T^q U(ceil(T/K), q), the theorem on R-ed-UCB without noise.

    Parameters
    ----------
    problem : RisingBandit
        The problem; its noise is ignored.
    horizon : int, optional
        T; the problem's own by default.
    q : float, optional
        In [0, 1]; by default the one with the smallest bound.

    Examples
    --------
    >>> from risingbandits import get_problem
    >>> bound = deterministic_bound(get_problem("paper-15arms"))
    >>> round(bound.value), bound.q, bound.vacuous
    (200025, 0.0, True)
    >>> bound.broken
    ("means lie in [0, 1] ('arm 13' has 1.0747 at pull 200,000)",)
    """
    last, arms = horizon_of(problem, horizon), problem.n_arms
    sums = envelope(problem, -(-last // arms)).power_sum
    best, increments = least_over_q(lambda power: arms * float(last) ** power * sums(power), q)
    terms = {"first pulls": 2.0 * arms, "increments": increments}
    broken = broken_assumptions(problem, last)
    return Bound(sum(terms.values()), best, terms, trivial_bound(problem, last), broken, form="deterministic")


def stochastic_bound(
    problem: RisingBandit,
    horizon: int | None = None,
    eps: float = 0.25,
    alpha: float = 3.0,
    sigma: float | None = None,
    q: float | None = None,
) -> Bound:
    """The theorem on R-ed-UCB with sub-Gaussian noise, with the constants of its proof.

    1 + 2K/(alpha - 2) + 5K + K/eps + (3K/eps) (2 sigma T)^(2/3) (10 alpha log T)^(1/3)
    + K T^q c U(M, q), with c = ceil(1/(1 - 2 eps)) and M = ceil((1 - 2 eps) T/K).

    For eps > 1/4 the last step of the proof is off by one, and for eps > 1/3 its sum starts at l = 0, where an
    increment has no meaning. Counting the terms repairs both: arm i adds one term for each j = 3..N_i, whose
    increment has an index above (1 - 2 eps) j; no index comes up more than c times for one arm; hence at most K c
    times the first ceil((T - 2K)/(K c)) increments. That is within the printed bound for c <= 2, and needs
    M = ceil((1 - 2 eps) T/K) + 1 for c > 2, which is used here.

    Parameters
    ----------
    problem : RisingBandit
        The problem.
    horizon : int, optional
        T; the problem's own by default.
    eps, alpha : float
        Settings of R-ed-UCB: 0 < eps < 1/2, alpha > 2.
    sigma : float, optional
        Sub-Gaussian scale; the problem's own by default.
    q : float, optional
        In [0, 1]; by default the one with the smallest bound.

    Examples
    --------
    >>> from risingbandits import get_problem
    >>> bound = stochastic_bound(get_problem("paper-15arms"))
    >>> f"{bound.value:.4g}", bound.vacuous
    ('1.706e+06', True)
    >>> {name: round(value) for name, value in bound.terms.items()}
    {'first pulls': 135, 'confidence': 31, 'noise': 1506185, 'increments': 199980}
    """
    last, arms = horizon_of(problem, horizon), problem.n_arms
    eps = check_finite("eps", eps, above=0, below=0.5)
    alpha = check_finite("alpha", alpha, above=2)
    sigma = problem.sigma if sigma is None else check_finite("sigma", sigma, minimum=0)
    share = 1.0 - 2.0 * eps
    repeats = math.ceil(1.0 / share - 1e-12)
    pulls = math.ceil(share * last / arms - 1e-12) + (repeats > 2)
    sums = envelope(problem, max(1, pulls)).power_sum
    best, increments = least_over_q(lambda power: arms * float(last) ** power * repeats * sums(power), q)
    noise = 3.0 * arms / eps * (2.0 * sigma * last) ** (2 / 3) * (10.0 * alpha * math.log(last)) ** (1 / 3)
    terms = {
        "first pulls": 5.0 * arms + arms / eps,
        "confidence": 1.0 + 2.0 * arms / (alpha - 2.0),
        "noise": noise,
        "increments": increments,
    }
    broken = broken_assumptions(problem, last)
    return Bound(sum(terms.values()), best, terms, trivial_bound(problem, last), broken, form="stochastic")


def least_over_q(bound: Callable[[float], float], q: float | None) -> tuple[float, float]:
    """The best q and the value there. log(T^q U(M, q)) is convex in q, so there is a single valley.

    (It is a sum of exponentials of q; the maximum over arms does not depend on q.) Only q = 0 may stand apart, where
    increments of 0 count 1.
    """
    if q is not None:
        power = check_finite("q", q, minimum=0, maximum=1)
        return power, bound(power)
    grid = np.linspace(0.0, 1.0, _GRID)
    values = [bound(float(power)) for power in grid]
    lowest = int(np.argmin(values))
    low, high = float(grid[max(lowest - 1, 0)]), float(grid[min(lowest + 1, _GRID - 1)])
    best, least = float(grid[lowest]), values[lowest]
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    while high - low > 1e-7:
        left, right = high - golden * (high - low), low + golden * (high - low)
        at_left, at_right = bound(left), bound(right)
        if at_left <= at_right:
            high = right
        else:
            low = left
        if min(at_left, at_right) < least:
            least, best = (at_left, left) if at_left <= at_right else (at_right, right)
    return best, least


def broken_assumptions(problem: RisingBandit, horizon: int, cap: float = 1.0) -> tuple[str, ...]:
    """What the theorems assume of the problem and it does not meet; ``cap`` is the largest mean they allow."""
    broken = [] if problem.rested else ["arms are rested"]
    bent = problem.is_concave(max(horizon, 2))
    if not bent:
        broken.append(f"arms are concave ({bent.arm_name!r} is not after pull {bent.first_violation})")
    ends = problem.means([1, horizon])
    if ends.max() > cap:
        arm = problem.arm_names[int(ends[:, 1].argmax())]
        broken.append(f"means lie in [0, {cap:g}] ({arm!r} has {ends.max():.4f} at pull {horizon:,})")
    elif ends.min() < 0.0:
        broken.append(f"means lie in [0, {cap:g}] ({problem.arm_names[int(ends[:, 0].argmin())]!r} begins below 0)")
    return tuple(broken)


def _stop(problem: RisingBandit, arm: int, level: float, last: int) -> int:
    """The last pull of an arm whose mean is at most ``level``, up to ``last``."""
    done, over = 0, last + 1
    while over - done > 1:
        middle = (done + over) // 2
        if problem.means(middle)[arm] <= level:
            done = middle
        else:
            over = middle
    return done
