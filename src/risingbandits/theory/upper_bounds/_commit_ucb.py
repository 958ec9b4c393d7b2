"""The regret bounds of CommitUCB as numbers: Theorems 1 to 3 of the page "What is proved", and the smallest of them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_choice, check_finite, check_flag
from risingbandits._core.types import Floats, Ints
from risingbandits.policies.commit._commit_value import MAX_ODDS
from risingbandits.problems import RisingBandit
from risingbandits.theory._envelope import envelope
from risingbandits.theory.complexity._problems import horizon_of, refuse_falling
from risingbandits.theory.upper_bounds._commit_arms import CappedCurve, CommitArm
from risingbandits.theory.upper_bounds._commit_lines import GROWTH, commit_failure
from risingbandits.theory.upper_bounds._commit_sums import price_of_commitment, sum_increments
from risingbandits.theory.upper_bounds._red_ucb import Bound, broken_assumptions, least_over_q, trivial_bound

FORMS = ("sum", "count", "mixed", "closed", "least")
_WIDEST = 12.0  # standard errors: beyond them less than 10^-31 fails
_TRIED = 200  # values of z
_LEVELS = np.append(0.0, np.geomspace(1e-9, 1.0, 64))  # at which the increments of all arms are cut


class _Part(NamedTuple):
    """A bound that holds unless a line fails."""

    form: str
    pulls: float  # cost of the pulls of other arms
    extra: float  # price of commitment, and what the end of the best arm's curve may cost
    counts: tuple[int, ...] | None = None  # what the pulls of each arm never exceed
    q: float | None = None


def commit_bound(
    problem: RisingBandit,
    horizon: int | None = None,
    sigma: float | None = None,
    z: float | None = None,
    form: str = "least",
    cap: float = 1.0,
    growth: float = GROWTH,
) -> Bound:
    """An upper bound on the expected regret of ``CommitUCB(risk=None, recheck=0)``.

    Parameters
    ----------
    problem : RisingBandit
        Its arms must not fall; other assumptions that it breaks are listed in ``broken``.
    horizon : int, optional
        T; the problem's own by default.
    sigma : float, optional
        The noise that the policy assumes; the problem's own by default.
    z : float, optional
        Width of the policy's intervals in standard errors; sqrt(2 ln T), the policy's own, by default. See `best_z`.
    form : {"least", "sum", "count", "mixed", "closed"}
        Theorem 1, Theorem 2 (i), Theorem 2 (ii), Corollary 1, or the smallest of all.
    cap : float
        The policy's bound on the means. Means above it count as ``cap``, and ``broken`` says so.
    growth : float
        Growth of the policy's batches; the closed form is proved for 1.05.

    Returns
    -------
    Bound
        Its ``terms`` are "pulls" of other arms, "extra" (the price of commitment) and "failure" (T times the
        probability that a line fails). With ``probability``, the regret is at most ``value`` minus "failure".

    Examples
    --------
    >>> from risingbandits import get_problem
    >>> problem = get_problem("paper-2arms")
    >>> bound = commit_bound(problem)
    >>> round(bound.value), bound.form, bound.pulls, bound.vacuous
    (10928, 'count', (9024, 200000), False)
    >>> round(commit_bound(problem, z=best_z(problem)).value)
    6291
    """
    check_choice("form", form, FORMS)
    plan = _Plan(problem, horizon, sigma, cap, growth)
    z = plan.default_z if z is None else check_finite("z", z, minimum=0)
    return plan.bound(plan.least(z) if form == "least" else plan.part(form, z), z)


def commit_bound_risk(
    problem: RisingBandit,
    horizon: int | None = None,
    sigma: float | None = None,
    z: float | None = None,
    risk: bool = True,
    second_chances: bool = True,
    cap: float = 1.0,
    growth: float = GROWTH,
) -> Bound:
    """An upper bound on the regret of CommitUCB with a risk rule or second chances (Theorem 3): a rate, not a figure.

    Parameters
    ----------
    problem, horizon, sigma, z, cap, growth
        As in `commit_bound`.
    risk : bool
        Whether ``risk`` is "shared" or "sunk-cost"; the sunk part must have its ceiling.
    second_chances : bool
        Whether idle arms get second chances, up to their next grid point.

    Examples
    --------
    >>> from risingbandits import get_problem
    >>> bound = commit_bound_risk(get_problem("paper-2arms"))
    >>> bound.form, bound.vacuous
    ('risk', True)
    """
    plan = _Plan(problem, horizon, sigma, cap, growth)
    z = plan.default_z if z is None else check_finite("z", z, minimum=0)
    chances = check_flag("second_chances", second_chances)
    last, arms = plan.last, problem.n_arms
    base = plan.part("sum", z)
    penalty = 0.0
    if check_flag("risk", risk):
        noisy = (plan.sigma / plan.cap * last) ** (2 / 3) * math.log(last) ** (1 / 3)
        sunk = plan.cap * arms * (noisy + math.log(last))
        penalty = MAX_ODDS * (plan.cap + sum_increments(plan.best, last)) + sunk
    factor, looks = (last ** math.log2(growth), (arms - 1) * plan.cap * math.log2(last)) if chances else (1.0, 0.0)
    extra = factor * (base.extra + (1.0 + math.log(last)) * penalty + looks)
    return plan.bound(_Part("risk", factor * base.pulls, extra), z, every_arm=True)


def best_z(
    problem: RisingBandit,
    horizon: int | None = None,
    sigma: float | None = None,
    cap: float = 1.0,
    growth: float = GROWTH,
) -> float:
    """The width z with the smallest `commit_bound`, for planning; 0 without noise.

    Examples
    --------
    >>> from risingbandits import get_problem
    >>> round(best_z(get_problem("paper-2arms")), 1)
    6.1
    """
    plan = _Plan(problem, horizon, sigma, cap, growth)
    if plan.sigma == 0.0:
        return 0.0

    def fails_not(z: float) -> float:
        part = plan.least(z)
        return part.pulls + part.extra

    # Without failures the bound grows with z, in steps; failures fall. So the best z lies where neither alone is too
    # much, and no method that trusts in one valley finds it.
    best = plan.default_z
    least = fails_not(best) + plan.failure(best)
    low, high = 0.0, _WIDEST
    while plan.failure(high) < least and high - low > 1e-3:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if plan.failure(middle) >= least else (low, middle)
    for z in np.linspace(high, _WIDEST, _TRIED):
        certain = fails_not(float(z))
        if certain >= least:
            break
        if certain + plan.failure(float(z)) < least:
            best, least = float(z), certain + plan.failure(float(z))
    return best


class _Plan:
    """What does not depend on z: the curves, the lines without noise and the price of commitment."""

    def __init__(
        self, problem: RisingBandit, horizon: int | None, sigma: float | None, cap: float, growth: float
    ) -> None:
        self.problem, self.last = problem, horizon_of(problem, horizon)
        refuse_falling(problem, self.last)
        self.sigma = problem.sigma if sigma is None else check_finite("sigma", sigma, minimum=0)
        self.cap, self.growth = check_finite("cap", cap, above=0), check_finite("growth", growth, minimum=1)
        star = problem.oracle_arm(self.last)
        self.star, self.best = star, CappedCurve(problem.curves[star], self.last, self.cap)
        self.others = [curve for arm, curve in enumerate(problem.curves) if arm != star]
        self.arms = [CommitArm(curve, self.last, self.cap, self.growth) for curve in self.others]
        self.top = float(self.best(self.last))
        self.price = price_of_commitment(self.best, self.last)

    @property
    def default_z(self) -> float:
        return math.sqrt(2.0 * math.log(self.last))

    def failure(self, z: float, every_arm: bool = False) -> float:
        """T p(z): what failing lines cost in expectation."""
        if self.sigma == 0.0:
            return 0.0
        return self.last * self.cap * commit_failure(self.problem.n_arms, self.last, z, every_arm, self.growth)

    def bound(self, part: _Part, z: float, every_arm: bool = False) -> Bound:
        failure = self.failure(z, every_arm) if self.arms else 0.0
        terms = {"pulls": part.pulls, "extra": part.extra, "failure": failure}
        counts = None
        if part.counts is not None:
            counts = (*part.counts[: self.star], self.last, *part.counts[self.star :])
        return Bound(
            sum(terms.values()),
            part.q,
            terms,
            trivial_bound(self.problem, self.last),
            broken_assumptions(self.problem, self.last, self.cap),
            form=part.form,
            z=z if self.sigma > 0.0 else 0.0,
            probability=1.0 - failure / (self.last * self.cap),
            pulls=counts,
        )

    def least(self, z: float) -> _Part:
        parts = [self.part(form, z) for form in FORMS[:4] if form != "closed" or self.growth == GROWTH]
        return min(parts, key=lambda part: part.pulls + part.extra)

    def part(self, form: str, z: float) -> _Part:
        if not self.arms:
            return _Part(form, 0.0, 0.0)
        if form == "closed":
            if self.growth != GROWTH:
                raise RisingBanditsError(f"growth must be {GROWTH} for the closed form, got {self.growth}.")
            return self._closed(z)
        ceilings = [arm.ceilings(z * self.sigma) for arm in self.arms]
        return {"sum": self._sum, "count": self._count, "mixed": self._mixed}[form](ceilings)

    def average(self, m: Ints) -> Floats:
        """The mean of the best arm's first m values; of the first one if m is 0."""
        first = np.maximum(m, 1)
        return self.best.prefix_sum(first) / first

    def _sum(self, ceilings: list[Floats]) -> _Part:
        """Theorem 1: the T largest excesses of all arms."""
        pairs = [arm.excesses(own) for arm, own in zip(self.arms, ceilings, strict=True)]
        excess, count = (np.concatenate(column) for column in zip(*pairs, strict=True))
        order = np.argsort(-excess, kind="stable")
        taken = np.diff(np.minimum(np.concatenate([[0], np.cumsum(count[order])]), self.last))
        return _Part("sum", float(excess[order] @ taken), self.price)

    def _count(self, ceilings: list[Floats]) -> _Part:
        """Theorem 2 (i): the smallest E with N_1 + ... <= E, by climbing from 0, since the counts grow with E."""
        wasted = 0
        while True:
            level = self.average(np.array([max(self.last - wasted, 0)]))[0]
            counts = [int(arm.pulls_until(own, level)) for arm, own in zip(self.arms, ceilings, strict=True)]
            if sum(counts) <= wasted or wasted >= self.last:
                break
            wasted = min(sum(counts), self.last)
        pulls = [
            float(arm.curve.sums_below(np.array([self.top]), np.array([0]), np.array([count]))[0])
            for arm, count in zip(self.arms, counts, strict=True)
        ]
        return _Part("count", math.fsum(pulls), 0.0, tuple(counts))

    def _mixed(self, ceilings: list[Floats]) -> _Part:
        """Theorem 2 (ii) at its best m: one of those at which the average passes a ceiling of some arm."""
        levels = np.unique(np.concatenate([np.minimum.accumulate(own) for own in ceilings]))
        candidates = np.unique(np.append(self._first_above(levels), 1))
        means = self.average(candidates)
        cost = np.zeros(candidates.size)
        for arm, own in zip(self.arms, ceilings, strict=True):
            counts = arm.pulls_until(own, means)
            losses = arm.losses(np.minimum(self.top, own), self.top)
            cost += losses[np.searchsorted(np.append(arm.grid, self.last), counts)]
        ends = self.best.prefix_sum(candidates - 1)
        least = int(np.argmin(cost + ends))
        return _Part("mixed", float(cost[least]), float(ends[least]) + self.price)

    def _first_above(self, levels: Floats) -> Ints:
        """The first m with an average above each of ``levels``, T if there is none."""
        low, high = np.zeros(levels.size, dtype=np.int64), np.full(levels.size, self.last)
        while (high - low > 1).any():
            middle = (low + high + 1) // 2
            above = self.average(middle) > levels
            high = np.where(above & (high - low > 1), middle, high)
            low = np.where(~above & (high - low > 1), middle, low)
        return high

    def _closed(self, z: float) -> _Part:
        """Corollary 1: the slopes of the worst split of the pulls, or the paper's sum at its best q."""
        count, cap = len(self.others), self.cap
        sums = envelope(RisingBandit(self.others), math.ceil(0.486 * self.last / count) + 1).power_sum
        # For a cap other than 1 everything is in units of it.
        q, slope = least_over_q(lambda power: 2.06 * count * cap * (0.5 * self.last / cap) ** power * sums(power), None)
        split = 2.06 * self._worst_split()
        noise = 95.0 + 16.1 * (z * self.sigma / cap * self.last) ** (2 / 3) if self.sigma > 0.0 else 0.0
        pulls = count * cap * (8.0 + noise) + min(slope, split)
        return _Part("closed", pulls, self.price, q=q if slope < split else None)

    def _worst_split(self) -> float:
        """The largest sum of min(cap, T gamma / 2) over a T increments of all other arms, a = 0.51/1.05.

        By weak duality, subtracting any level from every increment gives an upper bound.
        """
        share = 0.51 / 1.05 * self.last
        most, half = math.ceil(share), 0.5 * self.last
        levels = self.cap * _LEVELS
        totals = levels * share
        for arm in self.arms:
            full = _steps_of(arm.curve, np.array([self.cap / half]), most)
            kept = np.maximum(_steps_of(arm.curve, levels / half, most), full)
            rise = half * (arm.curve(kept + 1) - arm.curve(full + 1))
            totals = totals + self.cap * full + rise - levels * kept
        return float(totals.min())


def _steps_of(curve: CappedCurve, size: Floats, most: int) -> Ints:
    """How many of the first ``most`` increments are at least ``size``."""
    low, high = np.zeros(size.size, dtype=np.int64), np.full(size.size, most + 1)
    while (high - low > 1).any():
        middle = np.maximum((low + high) // 2, 1)
        large, unsure = curve.increment(middle) >= size, high - low > 1
        low, high = np.where(unsure & large, middle, low), np.where(unsure & ~large, middle, high)
    return low
