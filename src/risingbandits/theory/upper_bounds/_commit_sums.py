"""What a run's regret is made of, and what it can cost to judge the best arm by an average of its future."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import RisingBanditsError, check_counts, check_positive_int
from risingbandits._core.types import Floats, Ints
from risingbandits.problems import RisingBandit
from risingbandits.problems._curve import Curve
from risingbandits.theory.complexity._problems import refuse_falling
from risingbandits.theory.upper_bounds._commit_arms import CappedCurve

_ONE_BY_ONE = 2**16
_BLOCKS = 2**16


@dataclass(frozen=True)
class RegretParts:
    """The regret of one run, pull by pull of the arms that are not the best one (Lemma 7).

    Attributes
    ----------
    best : int
        The best arm, whose pulls are free.
    rounds, arms, pulls : arrays of int
        For each pull of another arm: the round, the arm, and the number of that pull of the arm.
    losses : array of float
        For the e-th such pull: mu_best(T - e + 1) - mu_arm(pull). Along the pulls of one arm they do not increase.
    per_arm : array of float
        Sums of the losses.
    """

    best: int
    rounds: Ints
    arms: Ints
    pulls: Ints
    losses: Floats
    per_arm: Floats

    @property
    def regret(self) -> float:
        """The sum of the losses: the regret of the run."""
        return float(self.losses.sum())


def regret_parts(problem: RisingBandit, choices: npt.ArrayLike) -> RegretParts:
    """Decompose the regret of a run: what each pull of an arm other than the best one has cost (Lemma 7).

    The e-th such pull replaces the best arm's pull T - e + 1, in whichever round it was made. So regret is exactly the
    sum of the losses, and no policy loses by pulling the best arm too early or too late.

    Parameters
    ----------
    problem : RisingBandit
        Rested, its arms never fall.
    choices : array of int
        The arm pulled in each of the T rounds, from 0.

    Examples
    --------
    >>> from risingbandits.problems import Tabulated
    >>> problem = RisingBandit([Tabulated([0.5, 0.5, 0.5]), Tabulated([0.0, 0.6, 1.0])])
    >>> parts = regret_parts(problem, [0, 1, 1])  # the first pull stands where 1.0 could have been earned
    >>> parts.best, parts.losses.tolist(), round(parts.regret, 9)
    (1, [0.5], 0.5)
    """
    chosen = check_counts("choices", choices)
    if chosen.ndim != 1 or chosen.size == 0 or chosen.max() >= problem.n_arms:
        raise RisingBanditsError(
            f"choices must be one arm for each round, from 0 to {problem.n_arms - 1}, got shape {chosen.shape}."
        )
    horizon = chosen.size
    refuse_falling(problem, horizon)
    best = problem.oracle_arm(horizon)
    numbers = np.empty(horizon, dtype=np.int64)
    for arm in np.unique(chosen):
        own = chosen == arm
        numbers[own] = np.arange(1, np.count_nonzero(own) + 1)
    others = np.flatnonzero(chosen != best)
    arms, pulls = chosen[others], numbers[others]
    instead = problem.means(np.arange(horizon, horizon - others.size, -1))[best] if others.size else np.zeros(0)
    earned = np.zeros(others.size)
    for arm in np.unique(arms):
        own = arms == arm
        earned[own] = problem.means(pulls[own])[arm]
    losses = np.asarray(instead - earned)
    per_arm = np.bincount(arms, weights=losses, minlength=problem.n_arms).astype(np.float64)
    return RegretParts(best, others + 1, arms, pulls, losses, per_arm)


def sum_increments(curve: Curve | CappedCurve, horizon: int) -> float:
    """Sum over l = 1..T - 1 of l gamma(l) = T mu(T) - (mu(1) + ... + mu(T)): what the arm lacks to its last mean.

    Examples
    --------
    >>> from risingbandits.problems import Tabulated
    >>> round(sum_increments(Tabulated([0.0, 0.6, 1.0]), 3), 9)
    1.4
    """
    last = check_positive_int("horizon", horizon)
    return max(0.0, float(last * curve(last) - curve.prefix_sum(last)))


def price_of_commitment(curve: Curve | CappedCurve, horizon: int) -> float:
    """X, the sum over l = 1..T - 1 of l gamma(l) ln(T/l), for the curve of the best arm (Lemma 8).

    What all pulls of other arms together can cost because the best arm is judged by the average of its future, not by
    its last mean. The first 65,536 terms are summed one by one; beyond that, blocks of pulls use the logarithm at their
    start, so the answer is never too small, and too large by less than 0.03 % of `sum_increments`.

    Examples
    --------
    >>> from risingbandits.problems import LinearCapped
    >>> round(price_of_commitment(LinearCapped(1 / 25_000, 1), 200_000))
    32242
    """
    last = check_positive_int("horizon", horizon)
    head = min(last, _ONE_BY_ONE)
    pulls = np.arange(1, head, dtype=np.int64)
    total = float(np.sum(pulls * np.maximum(curve.increment(pulls), 0.0) * np.log(last / pulls))) if head > 1 else 0.0
    if last > head:
        edges = np.unique(np.geomspace(head, last, _BLOCKS).round().astype(np.int64))
        sums = edges * curve(edges) - curve.prefix_sum(edges)  # of l gamma(l) over l below each edge
        total += float(np.sum(np.maximum(np.diff(sums), 0.0) * np.log(last / edges[:-1])))
    return total
