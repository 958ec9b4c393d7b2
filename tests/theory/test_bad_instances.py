"""The search for bad problems: what it finds of the recommended policies, and what explains it.

The bars: CommitUCB(risk=None, recheck=0) never exceeds its bound, with or without noise. No other recommended policy
loses 25 % of J* more than the better of R-ed-UCB and KL-UCB, unless its odds do it: Proposition 1 says that they must,
and a definition without odds undoes it.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from bad_instances import (
    PER_KINKED_ARM,
    Player,
    excess_over_proved,
    kinked_means_of,
    problem_of,
    product_player,
    relative_to_bound,
    relative_to_rivals,
    search,
    two_lines_means_of,
)
from concave_problems import random_concave
from repaired_commit import RepairedCommit
from risingbandits import get_policy, simulate
from risingbandits.policies import Auto, CommitUCB, REdUCB

BAR = 0.25
RECOMMENDED = ("shared", "sunk-cost")  # rules; what Auto may lose is another test


SIGMAS = (1e-8, 1e-7, 1e-6, 1e-4, 1e-3, 1e-2, 0.1)


def rivals() -> list[Player]:
    return [product_player(REdUCB(sigma=0.0)), product_player(get_policy("kl-ucb"))]


def by_the_page(rule: str | None, second_chances: bool = True, **settings: float) -> Player:
    """The policy as the page defines it."""

    def play(means: np.ndarray) -> float:
        run = RepairedCommit(means, rule=rule, second_chances=second_chances, **settings)  # type: ignore[arg-type]
        run.play()
        earned = sum(float(row[:n].sum()) for row, n in zip(means, run.pulls, strict=True))
        return float(means.sum(axis=1).max()) - earned

    return play


def test_every_problem_of_the_search_has_the_papers_assumptions() -> None:
    rng = np.random.default_rng(0)
    jumps = 0
    for _ in range(200):
        means = two_lines_means_of(rng.random((3, 5)), 50)
        problem = problem_of(means)
        assert problem.is_non_decreasing()
        assert problem.is_concave()
        assert means.min() >= 0.0
        assert means.max() <= 1.0
        jumps += not problem.is_concave(from_zero=True)
    assert jumps > 20


def test_a_short_search_by_the_page() -> None:
    worst = search(relative_to_bound(by_the_page(None, second_chances=False)), 0, horizon=200, begin=15, steps=40)
    assert 0.9 < worst.score <= 1 + 1e-9


def test_the_search_finds_proposition_1_and_the_odds_explain_it() -> None:
    score = relative_to_rivals(by_the_page("shared"), rivals())
    worst = max((search(score, seed, horizon=600, begin=20, steps=60) for seed in (13, 17)), key=lambda f: f.score)
    assert worst.score > 0.1
    assert relative_to_rivals(by_the_page("shared", max_odds=0.0), rivals())(worst.means) < 0.05


def test_a_straight_late_arm_that_the_search_has_found() -> None:
    """Auto took the jump after the first pull for the shape of the arm, and lost 78 %; others had a quarter each."""
    n = np.arange(700)
    late = np.where(n == 0, 0.0, np.minimum(1.0, 0.192 + 0.0053 * (n - 1)))
    problem = problem_of(np.vstack([np.full(700, 0.21), late, np.zeros((2, 700))]))
    lost = [
        simulate([policy], problem, horizon=700, runs=runs).summary()[0]["percent"]
        for policy, runs in ((CommitUCB(), 1), (Auto("cumulative"), 20))
    ]
    assert lost[0] < 4.0
    assert lost[1] < 10.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("rule", RECOMMENDED)
def test_no_recommended_policy_loses_far_more_than_its_rivals(rule: str, seed: int) -> None:
    horizon = (700, 1_000, 2_000)[seed % 3]
    worst = search(
        relative_to_rivals(product_player(CommitUCB(risk=rule)), rivals()), seed, horizon, begin=40, steps=200
    )
    if worst.score > BAR:
        explained = relative_to_rivals(by_the_page(rule, max_odds=0.0), rivals())(worst.means)
        assert explained <= BAR, f"{rule} loses {worst.score:.1%} more than its rivals, without odds {explained:.1%}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "horizon", "most"), [(0, 700, 0.1), (3, 700, 0.5), (2, 2_000, 0.45), (5, 2_000, 0.45)]
)
def test_what_the_default_may_lose_commit_ucb_does_not(seed: int, horizon: int, most: float) -> None:
    """Auto gives up slow climbers, early where pulls are few: the page "Which policy" says so."""
    worst = search(relative_to_rivals(product_player(Auto("cumulative")), rivals()), seed, horizon, begin=40, steps=120)
    assert worst.score < most
    assert relative_to_rivals(product_player(CommitUCB()), rivals())(worst.means) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_commit_ucb_never_exceeds_its_bound(seed: int) -> None:
    player = product_player(CommitUCB(risk=None, recheck=0.0))
    worst = search(relative_to_bound(player), seed, (50, 200, 700, 2_000)[seed % 4], begin=30, steps=150)
    assert worst.score <= 1 + 1e-9


def random_excesses(instances: range) -> list[float]:
    """What `excess_over_proved` finds on random problems: every other one has kinks every few pulls."""
    found = []
    for instance in instances:
        rng = np.random.default_rng([7, instance])
        horizon, n_arms = int(10 ** rng.uniform(2.3, 5)), int(rng.integers(2, 13))
        if instance % 2:
            means, _ = random_concave(rng, n_arms, horizon // 10)
        else:
            means = kinked_means_of(rng.random((n_arms, PER_KINKED_ARM)), horizon)
        found.append(excess_over_proved(means, SIGMAS[instance % len(SIGMAS)], instance))
    return found


def climbed_excess(instance: int, steps: int = 25) -> float:
    """The same on the worst problem that a climb finds."""
    sigma, horizon = SIGMAS[instance % len(SIGMAS)], (300, 1_000, 5_000)[instance % 3]
    score = partial(excess_over_proved, sigma=sigma, seed=instance)
    return search(score, instance, horizon, most_arms=10, begin=5, steps=steps, kinked=True).score


# Kinks may look like noise to the check of sigma, whose warning is none of the policy's decisions.
bends_warn = pytest.mark.filterwarnings("ignore:.*or a curve bends within five pulls")


@bends_warn
@pytest.mark.compiled
def test_the_bound_holds_in_every_run_with_noise() -> None:
    """With a sigma that kinks replaced by an estimate, a third of the problems with kinks were above it."""
    assert max(random_excesses(range(40))) <= 1e-9
    climbed = [climbed_excess(instance) for instance in range(3)]
    assert -0.01 < max(climbed) <= 1e-9


@bends_warn
@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_the_bound_holds_in_every_run_of_many(part: int) -> None:
    """2,000 random and 200 climbed problems in all."""
    found = random_excesses(range(200 * part, 200 * part + 200))
    climbed = [climbed_excess(instance) for instance in range(20 * part, 20 * part + 20)]
    print(f"{len(found)} random, largest excess {max(found):.3g}; {len(climbed)} climbed, largest {max(climbed):.3g}")
    assert max(found + climbed) <= 1e-9
