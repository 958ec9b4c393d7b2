"""No run of the repaired CommitUCB, as the page defines it, exceeds what its theorems allow."""

from __future__ import annotations

import math

import numpy as np
import pytest

from concave_problems import random_concave
from repaired_commit import RepairedCommit
from risingbandits import RisingBandit
from risingbandits.problems import NoNoise, Tabulated
from risingbandits.theory.upper_bounds import commit_bound, commit_bound_risk, price_of_commitment, regret_parts

_ROUNDING = 1e-9
_RULES = (("shared", True), ("sunk-cost", True), (None, True), ("shared", False))


def regret(means: np.ndarray, choices: list[int]) -> float:
    counts = [choices.count(arm) for arm in range(len(means))]
    earned = sum(float(row[:n].sum()) for row, n in zip(means, counts, strict=True))
    return float(means.sum(axis=1).max()) - earned


def check(rng: np.random.Generator, horizons: tuple[int, int]) -> dict[str, float]:
    """One random problem: the regret as a share of each bound that holds unless a line fails."""
    horizon = int(math.exp(rng.uniform(*np.log(horizons))))
    sigma = float(rng.choice([0.0, 0.0, 0.001, 0.01, 0.1, 0.5]))
    means, problem = random_concave(rng, int(rng.integers(2, 9)), horizon, sigma)
    star = problem.oracle_arm()
    run = RepairedCommit(means, sigma)
    lost = regret(means, run.play(rng if sigma > 0 else None))
    shares = {}
    for form in ("sum", "count", "mixed", "closed", "least"):
        bound = commit_bound(problem, form=form)
        certain = bound.value - bound.terms["failure"]
        shares[form] = lost / max(certain, _ROUNDING)
        assert lost <= certain * (1 + _ROUNDING) + _ROUNDING, (form, horizon, sigma)
        if bound.pulls is not None:
            assert all(run.pulls[arm] <= most for arm, most in enumerate(bound.pulls) if arm != star)
    rule, chances = _RULES[int(rng.integers(len(_RULES)))]
    other = RepairedCommit(means, sigma, rule, second_chances=chances)
    lost = regret(means, other.play(rng if sigma > 0 else None))
    bound = commit_bound_risk(problem, risk=rule is not None, second_chances=chances)
    certain = bound.value - bound.terms["failure"]
    assert lost <= certain * (1 + _ROUNDING) + _ROUNDING, (rule, horizon, sigma)
    for arm in range(len(means)):  # each one more than doubles the round of the arm's last pull
        assert sum(chance == arm for _, chance in other.chances) <= math.log2(horizon)
    shares["risk"] = lost / certain
    return shares


@pytest.mark.compiled
def test_no_bound_is_exceeded() -> None:
    rng = np.random.default_rng(2024)
    shares = [check(rng, (50, 2_000)) for _ in range(60)]
    assert max(share["least"] for share in shares) > 0.9  # tight enough to see an error of the lines


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_no_bound_is_exceeded_on_two_thousand_problems(seed: int) -> None:
    rng = np.random.default_rng([17, seed])
    shares = [check(rng, (200, 10_000)) for _ in range(100)]
    assert len(shares) == 100


@pytest.mark.parametrize("n_arms", [2, 10, 50])
@pytest.mark.parametrize("late", ["jump", "straight", "one"])
def test_the_extremes_of_the_class(n_arms: int, late: str) -> None:
    """Arms that start at 0 and jump, or rise straight from 0 to the cap, beside constants near a half, 0 and 1."""
    horizon = 1_000
    n = np.arange(horizon)
    arm = {
        "jump": np.minimum(n, 1) * 0.8,
        "straight": np.minimum(1.0, 3 * n / horizon),
        "one": np.ones(horizon),
    }[late]
    means = np.array([np.full(horizon, 0.5 - 0.001 * i) for i in range(n_arms - 1)] + [arm])
    means[0] = 0.0 if n_arms > 2 else 0.5
    problem = RisingBandit([Tabulated(row) for row in means], NoNoise(), horizon)
    for rule, chances in ((None, False), *_RULES):
        lost = regret(means, RepairedCommit(means, rule=rule, second_chances=chances).play())
        if rule is None and not chances:
            bound = commit_bound(problem)
            assert not bound.vacuous
            assert lost <= 0.02 * means.sum(axis=1).max() + 5 * n_arms
        else:
            bound = commit_bound_risk(problem, risk=rule is not None, second_chances=chances)
        assert lost <= bound.value + _ROUNDING


def test_the_terms_of_theorem_1_bound_every_loss() -> None:
    """Pull by pull: a loss is at most the excess of its batch plus D of its round, and all D together at most X."""
    rng = np.random.default_rng(8)
    for _ in range(10):
        means, problem = random_concave(rng, 4, 500)
        star = problem.oracle_arm()
        choices = RepairedCommit(means).play()
        parts = regret_parts(problem, choices)
        best = means[star]
        sums = np.concatenate([[0.0], np.cumsum(best)])
        extra = []
        for e, t in enumerate(parts.rounds.tolist(), start=1):
            before, left = t - e, 500 - t + 1
            assert before + left == 500 - e + 1
            extra.append(best[before + left - 1] - (sums[before + left] - sums[before]) / left)
        assert min(extra, default=0.0) >= -1e-12
        assert sum(extra) <= price_of_commitment(problem.curves[star], 500) + 1e-9


@pytest.mark.parametrize("horizon", [1_000, 10_000, 100_000])
def test_proposition_1(horizon: int) -> None:
    """A straight slow starter beside a constant: the risk rules never leave the constant, risk=None leaves at once."""
    n = np.arange(horizon)
    means = np.array([np.full(horizon, 0.5), np.minimum(1.0, 2 * n / horizon)])
    for rule in ("shared", "sunk-cost"):
        run = RepairedCommit(means, rule=rule, second_chances=True)
        lost = regret(means, run.play())
        assert run.pulls[1] <= 2 + math.log2(horizon)
        assert lost == pytest.approx(horizon / 4, abs=2 * math.log2(horizon))
    free = RepairedCommit(means)
    assert regret(means, free.play()) <= 2
    assert free.pulls[0] <= 3
    # If the slow starter stops at a half, it is risk=None that loses, and the rules that do not.
    stops = np.array([np.full(horizon, 0.5), np.minimum(0.5, 2 * n / horizon)])
    assert regret(stops, RepairedCommit(stops).play()) == pytest.approx(horizon / 16, rel=0.05)
    assert regret(stops, RepairedCommit(stops, rule="shared", second_chances=True).play()) <= 2 * math.log2(horizon)
    # Up to pull T/4 the two look alike. Looking costs `climb` if it stops, not looking costs `missed` if it goes on;
    # the best mixture of the two loses T/20, and no policy less on both.
    climb = float(np.maximum(0.5 - stops[1], 0.0).sum())
    missed = float(means[1].sum() - means[0].sum())
    assert 1 / (1 / climb + 1 / missed) == pytest.approx(horizon / 20, rel=0.01)


def test_corollary_2_without_noise() -> None:
    rng = np.random.default_rng(12)
    share = 0.51 / 1.05
    for _ in range(30):
        means, problem = random_concave(rng, int(rng.integers(2, 6)), int(rng.integers(20, 1_500)))
        horizon, star = means.shape[1], problem.oracle_arm()
        run = RepairedCommit(means)
        lost = regret(means, run.play())
        total = 8.0 * (len(means) - 1) + price_of_commitment(problem.curves[star], horizon)
        for arm, row in enumerate(means):
            if arm != star:
                steps = np.maximum(np.diff(row), 0.0)[: math.ceil(share * run.pulls[arm])]
                total += 2.06 * float(np.minimum(1.0, horizon / 2 * steps).sum())
        assert lost <= total + _ROUNDING


def test_corollary_3_the_pulls_do_not_grow_with_the_horizon() -> None:
    """A best arm that reaches the cap: rivals flat at 1 - Delta are left after a number of pulls without T in it."""
    counts = []
    for horizon in (5_000, 50_000):
        n = np.arange(horizon)
        means = np.array([np.full(horizon, 0.6), np.minimum(1.0, 0.2 + n / 100)])
        problem = RisingBandit([Tabulated(row) for row in means], NoNoise(), horizon)
        bound = commit_bound(problem, sigma=0.05, z=4.0, form="count")
        assert bound.pulls is not None
        counts.append(bound.pulls[0])
    assert counts[0] == counts[1] < 400
