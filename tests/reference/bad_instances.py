"""A search for problems on which a policy does badly: hill climbing over small problems.

Arms are concave whatever the numbers are that they are made of. They are the lowest of two rising lines and a ceiling,
which has among its forms constants, straight lines, jumps after the first pull and slow starters, or polylines with a
kink every few pulls. A climb starts from the worst of some random problems and keeps every change that makes things
worse for the policy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from risingbandits import Policy, RisingBandit, simulate
from risingbandits.policies import CommitUCB
from risingbandits.problems import Gaussian, NoNoise, Tabulated
from risingbandits.theory.upper_bounds import commit_bound, predicted_regret

PER_ARM = 5  # start, first slope, second level, second slope, ceiling
KINKS = 9  # at most, of an arm
PER_KINKED_ARM = 2 + 2 * KINKS  # start, end; how long each piece is, and how much flatter than the one before
PROVED = CommitUCB(risk=None, recheck=0.0, confidence=1e-6)
Player = Callable[[np.ndarray], float]
"""From means, shape (K, T), to the regret of a policy."""


class Found(NamedTuple):
    """The worst problem of a search."""

    score: float
    means: np.ndarray


def problem_of(means: np.ndarray, sigma: float = 0.0) -> RisingBandit:
    noise = Gaussian(sigma) if sigma > 0.0 else NoNoise()
    return RisingBandit([Tabulated(row) for row in means], noise, means.shape[1])


def two_lines_means_of(numbers: np.ndarray, horizon: int) -> np.ndarray:
    """Means, shape (K, T), of numbers in [0, 1], shape (K, PER_ARM)."""
    n = np.arange(horizon)
    start, first, level, second, top = (numbers[:, [column]] for column in range(PER_ARM))
    # Slopes from 1/(10 T) to 1 a pull; numbers below 0.1 mean a slope of 0.
    slopes = [np.where(x < 0.1, 0.0, (10 * horizon) ** ((x - 1) / 0.9)) for x in (first, second)]
    start = np.where(start < 0.3, 0.0, (start - 0.3) / 0.7)  # arms that start at 0 are common
    lines = np.minimum(start + slopes[0] * n, np.maximum(start, level) + slopes[1] * n)
    return np.asarray(np.minimum(lines, np.maximum(start, top)))


def kinked_means_of(numbers: np.ndarray, horizon: int) -> np.ndarray:
    """Means, shape (K, T), of numbers in [0, 1], shape (K, PER_KINKED_ARM): polylines, then constants."""
    means = []
    for start, top, *pieces in numbers:
        start = max(0.0, 2.0 * start - 1.0)  # half of the arms start at 0
        lengths = 1 + (11 * np.array(pieces[:KINKS])).astype(int)
        slopes = np.repeat(np.cumprod(1.0 - 0.9 * np.array(pieces[KINKS:])), lengths)[: horizon - 1]
        rise = np.concatenate([[0.0], np.cumsum(slopes), np.full(max(0, horizon - 1 - slopes.size), slopes.sum())])
        means.append(start + max(0.0, top - start) * rise / rise[-1])
    return np.array(means)


def product_player(policy: Policy) -> Player:
    """A policy of the package, as `simulate` plays it."""

    def play(means: np.ndarray) -> float:
        return float(simulate({"policy": policy}, problem_of(means), record_at=1, jobs=1).final_regret["policy"][0])

    return play


def relative_to_rivals(player: Player, rivals: list[Player]) -> Callable[[np.ndarray], float]:
    """How much more of J* the policy loses than the better rival."""

    def score(means: np.ndarray) -> float:
        best = float(means.sum(axis=1).max())
        lost = player(means)
        if best <= 0.0 or lost < 0.05 * best:  # not bad, whatever the rivals do; worse is still better to climb from
            return lost / max(best, 1e-12) - 0.1
        return (lost - min(rival(means) for rival in rivals)) / best

    return score


def relative_to_bound(player: Player) -> Callable[[np.ndarray], float]:
    """The regret of CommitUCB(risk=None, recheck=0) as a share of its bound."""

    def score(means: np.ndarray) -> float:
        # A regret is a difference of sums of thousands of means, and a bound may be a thousandth of one.
        return (player(means) - 1e-9) / max(commit_bound(problem_of(means)).value, 1e-9)

    return score


def excess_over_proved(means: np.ndarray, sigma: float, seed: int) -> float:
    """By how much `PROVED`, as it is registered, exceeds its bound in one run; -1 is no regret at all.

    The bound is that of the good event, which fails in one run of a million at most. The regret is summed exactly from
    the pulls: the bound is often attained, and running sums of 100,000 rewards are off by 1e-12 of the sum.
    """
    problem = problem_of(means, sigma)
    bound = predicted_regret(problem, policy=PROVED)
    assert bound.broken == ()
    certain = bound.value - bound.terms["failure"]
    pulls = simulate({"policy": PROVED}, problem, seed=seed, record_at=1, jobs=1).pulls["policy"][0]
    earned = math.fsum(mean for row, n in zip(means.tolist(), pulls.tolist(), strict=True) for mean in row[:n])
    regret = max(map(math.fsum, means.tolist())) - earned
    return (regret - 1e-12 * problem.oracle_value()) / max(certain, 1e-9) - 1.0


def search(
    score: Callable[[np.ndarray], float],
    seed: int,
    horizon: int = 1_000,
    most_arms: int = 6,
    begin: int = 30,
    steps: int = 150,
    kinked: bool = False,
) -> Found:
    """The worst problem that one climb finds."""
    rng = np.random.default_rng(seed)
    means_of, per_arm = (kinked_means_of, PER_KINKED_ARM) if kinked else (two_lines_means_of, PER_ARM)
    starts = [rng.random((int(rng.integers(2, most_arms + 1)), per_arm)) for _ in range(begin)]
    scores = [score(means_of(numbers, horizon)) for numbers in starts]
    worst = int(np.argmax(scores))
    numbers, best = starts[worst], scores[worst]
    size = 0.3
    for _ in range(steps):
        changed = numbers.copy()
        moved = rng.random(numbers.shape) < 0.3
        changed[moved] += size * rng.standard_normal(int(moved.sum()))
        if rng.random() < 0.1:  # one arm as another, or anew
            changed[int(rng.integers(len(changed)))] = (
                changed[int(rng.integers(len(changed)))] if rng.random() < 0.5 else rng.random(per_arm)
            )
        changed = changed.clip(0.0, 1.0)
        value = score(means_of(changed, horizon))
        if value >= best:
            size = min(0.5, size * 1.3) if value > best else size
            numbers, best = changed, value
        else:
            size = max(0.01, size * 0.95)
    return Found(best, means_of(numbers, horizon))
