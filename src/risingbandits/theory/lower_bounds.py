"""Lower bounds on the regret of every learning policy, each with its pair of problems.

A policy that does not know which side of a pair it plays has, on one of them, at least the regret stated here. Each
bound comes as three numbers. ``printed`` is the paper's. ``value`` is what its proof gives once slips are corrected;
``reason`` says what they are. ``sharp`` uses the same pair better: it is the exact value of the game between policy and
pair without noise, which noise can only raise; with noise also the proof's inequality, at the best stopping time and
with the pair's own gap, if that is more.

The exact game. The order of pulls does not matter to rested arms, only their numbers. While arm 2 has had at most m
pulls, m = ``pair.alike``, the sides look the same, and each such pull costs the same on both sides. So a policy either
never pulls arm 2, or finds out with pull m + 1 and then does what is best. The best mixture of the two makes the
regrets of the sides equal: 1/(1/E + 1/D), where E is what finding out costs on the side where arm 1 is best, and D
what never pulling arm 2 costs on the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from risingbandits._core.errors import RisingBanditsError, check_finite
from risingbandits.problems import Noise, RisingBandit
from risingbandits.theory.complexity._problems import cumulative_increment, gaps

__all__ = [
    "LowerBound",
    "ProblemPair",
    "beta_lower_bound",
    "bretagnolle_huber",
    "concave_lower_bound",
    "game_value",
    "increment_lower_bound",
    "lower_bound",
    "non_concave_lower_bound",
    "stochastic_lower_bound",
]

_LEAST_GAP = 1 / 16  # of all pairs of lines that are alike for at most T/2 pulls


@dataclass(frozen=True)
class ProblemPair:
    """Two problems for the same horizon whose arm 2 is the same for the first ``alike`` pulls.

    Attributes
    ----------
    kind : str
        Which theorem: "concave", "beta", "stochastic", "increment" or "non-concave".
    a, b : RisingBandit
        The two sides, as in the paper: A has the capped line and B the full one; for "non-concave" A has the step
        and B nothing.
    alike : int
        Pulls of arm 2 during which the sides differ only in the noise.
    parameter : float
        beta, the cap b or gmax, whichever the kind has; 1/2 for "concave".
    """

    kind: str
    a: RisingBandit
    b: RisingBandit
    alike: int
    parameter: float

    @property
    def horizon(self) -> int:
        """T, for which the pair is made: with another horizon, other arms may be best."""
        assert self.a.horizon is not None
        return self.a.horizon

    @property
    def sides(self) -> tuple[RisingBandit, RisingBandit]:
        """Both problems."""
        return self.a, self.b

    def with_noise(self, noise: Noise) -> ProblemPair:
        """The same pair with another noise: it stays a lower bound, because noise only hides the difference."""
        return ProblemPair(self.kind, self.a.with_noise(noise), self.b.with_noise(noise), self.alike, self.parameter)


@dataclass(frozen=True)
class LowerBound:
    """A lower bound on the worse of a pair's two (weighted) regrets, for every learning policy.

    Attributes
    ----------
    value : float
        Proved.
    printed : float
        As in the paper.
    sharp : float
        The largest bound known for this pair; never below ``value``.
    reason : str
        Why ``value`` differs from ``printed``, or what the proof is.
    weights : tuple of float
        Weights of the regrets on sides A and B: (1, 1), for the cumulative-increment bound 1/U of each side.
    """

    value: float
    printed: float
    sharp: float
    reason: str
    weights: tuple[float, float] = (1.0, 1.0)


def lower_bound(pair: ProblemPair, q: float = 0.5) -> LowerBound:
    """The bound that belongs to ``pair``; ``q`` is that of the cumulative-increment bound.

    Examples
    --------
    >>> from risingbandits.lab.paper.pairs import problem_pair
    >>> bound = lower_bound(problem_pair("concave", 50_000))
    >>> bound.printed, bound.value, round(bound.sharp, 1)
    (781.0, 781.25, 1562.6)
    """
    if pair.kind == "non-concave":
        return non_concave_lower_bound(pair)
    if pair.kind == "increment":
        return increment_lower_bound(pair, q)
    if pair.kind == "stochastic":
        return stochastic_lower_bound(pair)
    return beta_lower_bound(pair) if pair.kind == "beta" else concave_lower_bound(pair)


def non_concave_lower_bound(pair: ProblemPair) -> LowerBound:
    """Arms that rise but are not concave cannot be learned: floor(gmax T/12) (the paper's first lower bound).

    With n_1 pulls of arm 1 among the first floor(T/3), the regret is at least gmax n_1/2 on side A and
    gmax (floor(T/3) - n_1)/2 on side B, hence gmax floor(T/3)/4 on one of them.

    Examples
    --------
    >>> from risingbandits.lab.paper.pairs import problem_pair
    >>> bound = non_concave_lower_bound(problem_pair("non-concave", 1_000, gmax=0.5))
    >>> bound.printed, bound.value
    (41.0, 41.625)
    """
    horizon, gmax = pair.horizon, pair.parameter
    return LowerBound(
        value=gmax * (horizon // 3) / 4,
        printed=float(math.floor(gmax * horizon / 12)),
        sharp=game_value(pair),
        reason=(
            "The proof writes J_B <= n_1/2 + floor(T/3), where (n_1 + ceil(2T/3))/2 is meant; then it yields "
            "gmax floor(T/3)/4, which for gmax < 1 can lie below the printed floor(gmax T/12) (T = 20, gmax = 0.6) "
            "and else lies above it."
        ),
    )


def concave_lower_bound(pair: ProblemPair) -> LowerBound:
    """Rising concave arms cannot be learned in general: floor(T/64).

    The gap of both sides is at least 1/16, and side A's pulls of arm 2 and side B's of arm 1 among the first
    floor(T/2) sum to floor(T/2).

    Examples
    --------
    >>> from risingbandits.lab.paper.pairs import problem_pair
    >>> bound = concave_lower_bound(problem_pair("concave", 1_000))
    >>> bound.printed, bound.value, round(bound.sharp, 2)  # sharp: T/32
    (15.0, 15.625, 31.31)
    """
    return LowerBound(
        value=_LEAST_GAP * pair.alike / 2,
        printed=float(math.floor(pair.horizon / 64)),
        sharp=game_value(pair),
        reason=(
            "The printed bound holds. Its proof takes the regret to grow with the horizon while gap and best arm are "
            "those of T; what is needed is only that pull counts grow. Exactly T/32 on this pair."
        ),
    )


def beta_lower_bound(pair: ProblemPair) -> LowerBound:
    """Concave arms that are alike for floor(T^beta) pulls: floor(T^beta/32) (the paper's corollary).

    Examples
    --------
    >>> from risingbandits.lab.paper.pairs import problem_pair
    >>> bound = beta_lower_bound(problem_pair("beta", 50_000, beta=0.8))
    >>> bound.printed, round(bound.value, 2), round(bound.sharp, 2)
    (179.0, 179.47, 1237.87)
    """
    return LowerBound(
        value=_LEAST_GAP * pair.alike / 2,
        printed=float(math.floor(pair.horizon**pair.parameter / 32 + 1e-12)),
        sharp=game_value(pair),
        reason=(
            "The printed bound holds. The gap tends to 1/4, not 1/16, where T^beta is small against T; with the exact "
            "game the bound is about T^beta/4."
        ),
    )


def stochastic_lower_bound(pair: ProblemPair) -> LowerBound:
    """With noise: floor(T^beta + T^(2/3)) / (64 sqrt e) as printed, / (128 sqrt e) as proved.

    For Gaussian noise of any sigma; the paper has unit variance.

    Examples
    --------
    >>> from risingbandits.lab.paper.pairs import problem_pair
    >>> bound = stochastic_lower_bound(problem_pair("stochastic", 50_000))
    >>> round(bound.printed, 2), round(bound.value, 2), round(bound.sharp, 2)
    (14.97, 7.49, 55.74)
    """
    horizon, beta, sigma = pair.horizon, pair.parameter, pair.a.sigma
    stop = math.floor(horizon**beta + horizon ** (2 / 3) + 1e-9)
    if stop > horizon:
        raise RisingBanditsError(
            f"horizon and beta must have T^beta + T^(2/3) <= T, got T = {horizon} and beta = {beta:g}."
        )
    if sigma == 0.0:
        raise RisingBanditsError("pair must have noise for the stochastic lower bound, got none.")
    gap = float(gaps(pair.b)[0])
    return LowerBound(
        value=_LEAST_GAP * stop / 8 * math.exp(-0.5 / sigma**2),
        printed=stop / (64 * math.sqrt(math.e)),
        sharp=max(_best_stop(pair, gap, sigma), game_value(pair)),
        reason=(
            "The proof uses P(A) + Q(not A) >= exp(-D), but its own lemma (Bretagnolle-Huber) has "
            "exp(-D)/2; with that factor the constant is 128 sqrt e instead of 64 sqrt e."
        ),
    )


def increment_lower_bound(pair: ProblemPair, q: float = 0.5) -> LowerBound:
    """Regret over cumulative increment: T^q/8 as printed, T^q/32 on the pairs used.

    Parameters
    ----------
    pair : ProblemPair
        Of kind "increment".
    q : float
        In [0, 1]. At q = 0 the cumulative increment is T - 1 on both sides (0^0 = 1), where the paper's proof counts
        the increments above 0; so for small caps the bound is less than 1/32.

    Examples
    --------
    >>> from risingbandits.lab.paper.pairs import problem_pair
    >>> bound = increment_lower_bound(problem_pair("increment", 10_000, cap=0.5), q=0.5)
    >>> bound.printed, bound.value, round(bound.sharp, 3)  # sharp: T^q/24
    (12.5, 3.125, 4.168)
    """
    q = check_finite("q", q, minimum=0, maximum=1)
    weights = pair_weights(pair, q)
    scale = float(pair.horizon) ** q
    sharp = game_value(pair, weights)
    return LowerBound(
        value=min(scale / 32, sharp) if q == 0.0 else scale / 32,
        printed=scale / 8,
        sharp=sharp,
        weights=weights,
        reason=(
            "The proof lets the gap be at least 1/(8T) and then counts with 1/4 (it is (1 - b)^2/4: 1/16 at b = 1/2), "
            "and it divides the larger regret by the smaller U, which does not bound the larger ratio from below. "
            "The exact game on the same pair is worth T^q/(4/(1 - b^2) + 4/(1 - b)^2) up to b = 0.41 and T^q/24 at "
            "b = 1/2: T^q/32 holds for every b <= 1/2, T^q/8 only as b tends to 0. At q = 0 it counts 0^0 as 0; with "
            "0^0 = 1 the game is worth 1/(4/(b (1 - b^2)) + 4/(1 - b)^2), at most 1/22.4."
        ),
    )


def pair_weights(pair: ProblemPair, q: float) -> tuple[float, float]:
    """1/U(T, q) of sides A and B."""
    a, b = (cumulative_increment(side, pair.horizon, q) for side in pair.sides)
    if min(a, b) <= 0.0:
        raise RisingBanditsError(f"pair must rise on both sides, but is flat with a cap of {pair.parameter:g}.")
    return 1.0 / a, 1.0 / b


def game_value(pair: ProblemPair, weights: tuple[float, float] = (1.0, 1.0)) -> float:
    """The exact value, without noise, of: policy chooses, then the side with the larger weighted regret counts.

    Examples
    --------
    >>> from risingbandits.lab.paper.pairs import problem_pair
    >>> game_value(problem_pair("non-concave", 12_000))  # T/12 and a little, from the pull that finds out
    1000.124...
    """
    arm_1_best = 0 if pair.a.oracle_arm() == 0 else 1
    explored = pair.sides[arm_1_best]
    # On the side where arm 1 is best: stop after finding out, or, where arm 2 is the better one by then, stay with it.
    found_out = min(_regret(explored, pair.alike + 1), _regret(explored, pair.horizon))
    never = _regret(pair.sides[1 - arm_1_best], 0)
    return 1.0 / (1.0 / (weights[arm_1_best] * found_out) + 1.0 / (weights[1 - arm_1_best] * never))


def bretagnolle_huber(divergence: float) -> float:
    """A lower bound on P(A) + Q(not A) for every event A: exp(-D(P, Q))/2 (the paper's Bretagnolle-Huber lemma).

    Examples
    --------
    >>> bretagnolle_huber(0.0)
    0.5
    """
    return 0.5 * math.exp(-check_finite("divergence", divergence, minimum=0))


def _regret(side: RisingBandit, pulls_of_arm_2: int) -> float:
    assert side.horizon is not None
    split = [side.horizon - pulls_of_arm_2, pulls_of_arm_2]
    return side.oracle_value() - float(side.mean_sums(split).sum())


def _divergence(pair: ProblemPair, stop: int, sigma: float) -> float:
    """Largest relative entropy of the two sides after ``stop`` rounds: all of them pulls of arm 2."""
    beyond = stop - pair.alike
    return beyond * (beyond + 1) * (2 * beyond + 1) / (12.0 * (sigma * pair.horizon) ** 2)


def _best_stop(pair: ProblemPair, gap: float, sigma: float) -> float:
    """The proof's bound, gap stop exp(-D)/8, at the best round to stop: its logarithm is concave in that round."""

    def bound(stop: int) -> float:
        return gap * stop / 4 * bretagnolle_huber(_divergence(pair, stop, sigma))

    low, high = pair.alike, pair.horizon
    while low < high:
        middle = (low + high) // 2
        if bound(middle) < bound(middle + 1):
            low = middle + 1
        else:
            high = middle
    return bound(low)
