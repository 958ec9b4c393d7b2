"""The bounds of CommitUCB: numbers, agreement with sums written out, and what they say about policy and problem."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from concave_problems import random_concave
from reference_bound import ReferenceBound, commit_ceiling, price
from risingbandits import RisingBandit, get_problem
from risingbandits.policies import CommitUCB, REdUCB
from risingbandits.policies.commit._grid import commit_grid, commit_windows
from risingbandits.problems import (
    Bernoulli,
    ConstantCurve,
    Exponential,
    Gaussian,
    LinearCapped,
    NoNoise,
    Polynomial,
    PowerLaw,
    Tabulated,
)
from risingbandits.theory.upper_bounds import (
    best_z,
    commit_bound,
    commit_bound_risk,
    commit_confidence,
    commit_counts,
    commit_failure,
    predicted_regret,
    price_of_commitment,
    stochastic_bound,
    sum_increments,
)

# -- numbers ---------------------------------------------------------------------------------------------------


def test_counts_and_confidence() -> None:
    assert commit_counts(200_000) == (219, 1441, 1413)
    assert commit_counts(1) == (1, 0, 0)
    for horizon in (2, 30, 1_000):
        grid = commit_grid(horizon)
        lines = [w for n in grid[1:] for w in commit_windows(n)]
        assert commit_counts(horizon) == (len(grid), len(lines), sum(w >= 3 for w in lines))
        assert all(1 <= len(commit_windows(n)) <= 7 for n in grid)
    printed = {1_000: (4.75, 5.16), 20_000: (4.86, 5.25), 200_000: (4.91, 5.30), 10**8: (5.01, 5.39)}
    for horizon, widths in printed.items():
        assert tuple(commit_confidence(arms, horizon, 0.05) for arms in (2, 15)) == pytest.approx(widths, abs=0.006), (
            horizon
        )
    z = commit_confidence(15, 200_000, 0.05)
    assert commit_failure(15, 200_000, z) <= 0.05
    with_levels = commit_confidence(15, 200_000, 0.05, levels=True)
    assert z < with_levels < z + 0.1
    assert commit_failure(2, 100, 0.0) == 1.0
    assert commit_failure(2, 1_000, 6.0, every_arm=True) > commit_failure(2, 1_000, 6.0)


@pytest.mark.parametrize(
    ("name", "horizon", "sigma", "value", "rel"),
    [
        ("paper-2arms", 200_000, None, 10_928, 1e-4),
        ("paper-2arms", 10**6, None, 11_720, 1e-4),
        ("paper-2arms", 10**8, None, 14_255, 1e-4),
        ("paper-2arms", 10**8, 0.0, 2_350, 1e-3),
        ("paper-15arms", 200_000, None, 101_104, 1e-4),
        ("paper-15arms", 10**8, None, 886_744, 1e-4),
        ("paper-15arms", 200_000, 0.0, 8_297, 1e-3),
    ],
)
def test_bounds_of_the_papers_problems(name: str, horizon: int, sigma: float | None, value: float, rel: float) -> None:
    bound = commit_bound(get_problem(name), horizon, sigma)
    assert bound.value == pytest.approx(value, rel=rel)
    assert not bound.vacuous
    assert bound.value == pytest.approx(sum(bound.terms.values()))
    assert bound.value < 0.6 * horizon


def test_the_bound_hardly_grows_where_the_papers_is_above_the_horizon() -> None:
    problem = get_problem("paper-2arms")
    values = [commit_bound(problem, last, z=best_z(problem, last)).value for last in (200_000, 10**8)]
    assert values == pytest.approx([6_291, 6_639], rel=1e-3)
    assert stochastic_bound(problem, eps=0.4, alpha=2.1).value > 200_000
    assert best_z(problem, sigma=0.0) == 0.0


def test_a_hundred_million_rounds_take_seconds() -> None:
    """The work is counted, not timed: curves are asked for as few values as there are grid points and windows."""
    asked = 0

    class Counting(Polynomial):
        def prefix_sum(self, n: Any) -> Any:
            nonlocal asked
            asked += np.size(n)
            return super().prefix_sum(n)

    commit_bound(RisingBandit([Counting(0.8, 500, 1.0), ConstantCurve(0.9)]), 10**8)
    assert 0 < asked < 10**6


def test_the_closed_form_is_corollary_1() -> None:
    problem = RisingBandit([ConstantCurve(0.5), ConstantCurve(0.9)], Gaussian(0.1), 100_000)
    z = math.sqrt(2 * math.log(100_000))
    bound = commit_bound(problem, form="closed")
    assert bound.terms["pulls"] == pytest.approx(8 + 95 + 16.1 * (z * 0.1 * 100_000) ** (2 / 3))
    assert bound.terms["extra"] == 0.0
    assert bound.terms["failure"] == pytest.approx(1e5 * commit_failure(2, 100_000, z))
    line = RisingBandit([LinearCapped(1e-4, 0.5), ConstantCurve(0.9)], NoNoise(), 100_000)
    # 5,000 - 1 increments of 1e-4, of which T/2 each is 5: every one counts 1.
    assert commit_bound(line, form="closed").value == pytest.approx(8 + 2.06 * 4_999, rel=1e-6)


# -- fast against slow -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_bounds_are_the_sums_written_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    horizon = int(rng.integers(2, 120))
    means, problem = random_concave(rng, int(rng.integers(2, 5)), horizon, float(rng.choice([0.0, 0.01, 0.2])))
    z = float(rng.uniform(0.5, 4))
    slow = ReferenceBound(means, z * problem.sigma)
    bounds = {form: commit_bound(problem, z=z, form=form) for form in ("sum", "count", "mixed", "least")}
    certain = {form: bound.value - bound.terms["failure"] for form, bound in bounds.items()}
    count, counts = slow.count_form()
    star = problem.oracle_arm()
    assert certain["sum"] == pytest.approx(slow.sum_form(), rel=1e-9, abs=1e-9)
    assert certain["count"] == pytest.approx(count, rel=1e-9, abs=1e-9)
    assert bounds["count"].pulls == (*counts[:star], horizon, *counts[star:])
    assert certain["mixed"] == pytest.approx(slow.mixed_form(), rel=1e-9, abs=1e-9)
    closed = commit_bound(problem, z=z, form="closed")
    assert certain["least"] == min(*certain.values(), closed.value - closed.terms["failure"])


@pytest.mark.parametrize(
    "curve",
    [
        Exponential(0.7, 0.01),
        Polynomial(0.9, 50, 0.8),
        PowerLaw(0.8, 0.8, 2),
        LinearCapped(0.004, 0.6),
        PowerLaw(1.3, 1.3, 0.5),
    ],
)
def test_closed_forms_and_tables_have_the_same_bound(curve: Any) -> None:
    horizon = 3_000
    pulls = np.arange(1, horizon + 1)
    best = Polynomial(0.99, 30, 1.0)
    one = RisingBandit([curve, best], Gaussian(0.02), horizon)
    same = RisingBandit([Tabulated(np.minimum(1.0, arm(pulls))) for arm in (curve, best)], Gaussian(0.02), horizon)
    for form in ("sum", "count", "mixed"):
        assert commit_bound(one, form=form).value == pytest.approx(commit_bound(same, form=form).value, rel=1e-7)


def test_the_price_of_commitment() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        means, problem = random_concave(rng, 1, 500)
        assert price_of_commitment(problem.curves[0], 500) == pytest.approx(price(means[0]), abs=1e-10)
        assert sum_increments(problem.curves[0], 500) == pytest.approx((means[0, -1] - means[0]).sum(), abs=1e-10)
    long = Polynomial(0.9, 500, 0.7)
    pulls = np.arange(1, 1_000_000)
    exact = float(np.sum(pulls * long.increment(pulls) * np.log(1_000_000 / pulls)))
    assert exact <= price_of_commitment(long, 1_000_000) <= exact + 3e-4 * sum_increments(long, 1_000_000)
    assert price_of_commitment(long, 1) == 0.0


def test_ceilings_at_once_and_one_by_one() -> None:
    rng = np.random.default_rng(3)
    means, problem = random_concave(rng, 3, 400, 0.1)
    bound = commit_bound(problem, form="count")
    level = np.cumsum(means[problem.oracle_arm()])[-1] / 400
    assert bound.pulls is not None
    for arm, pulls in enumerate(bound.pulls):
        if arm != problem.oracle_arm() and pulls < 400:
            assert commit_ceiling(problem.curves[arm], pulls, 400, bound.z or 0.0, 0.1) < level


def test_one_arm_or_one_round() -> None:
    alone = RisingBandit([PowerLaw(0.8, 0.8, 2)], Gaussian(0.1), 1_000)
    assert commit_bound(alone).value == 0.0
    two = RisingBandit([ConstantCurve(0.2), ConstantCurve(0.4)], NoNoise(), 10)
    for horizon in (1, 2, 3):
        assert commit_bound(two, horizon).value >= 0.2 - 1e-12
    assert commit_bound(two, form="count").pulls == (3, 10)


def test_the_page_has_the_widths_and_where_they_prove_something() -> None:
    page = (Path(__file__).parents[2] / "docs" / "what-is-proved.md").read_text()
    for horizon in (1_000, 20_000, 200_000, 100_000_000):
        cells = [f"T = {horizon:,}", f"{math.sqrt(2 * math.log(horizon)):.2f}"]
        for delta in (0.05, 1 / horizon):
            cells.append(" / ".join(f"{commit_confidence(arms, horizon, delta):.2f}" for arms in (2, 15)))
        assert f"| {' | '.join(cells)} |" in page

    def lost(arms: int, horizon: int) -> float:  # T p(z) at the default z: a number of lines
        return round(horizon * commit_failure(arms, horizon, math.sqrt(2 * math.log(horizon))), 6)

    for arms, first in ((2, 2_837), (15, 9_560), (50, 29_909)):
        assert lost(arms, first) < first
        assert lost(arms, first - 1) >= first - 1
    assert "$Tp(z)<T$ only from $T$ = 2,837 (K = 2), 9,560 (15) or 29,909 (50) on" in page


# -- promises --------------------------------------------------------------------------------------------------

FREE = CommitUCB(risk=None, recheck=0.0)


def test_promises_of_commit_ucb() -> None:
    problem = get_problem("paper-2arms")
    assert predicted_regret(problem, policy=FREE) == commit_bound(problem)
    default = predicted_regret(problem, policy="commit-ucb")
    assert replace(default, broken=()) == commit_bound_risk(problem)
    assert default.form == "risk"
    chances = predicted_regret(problem, policy=CommitUCB(risk=None))
    assert chances.value == commit_bound_risk(problem, risk=False).value < default.value


def _broken(problem: RisingBandit, policy: Any) -> str:
    bound = predicted_regret(problem, policy=policy)
    assert bound.broken, policy
    return "; ".join(bound.broken)


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (REdUCB(sigma=0.0), "sigma is at least the noise (0 < 0.1)"),
        (REdUCB(sigma=0.05), "sigma is at least the noise (0.05 < 0.1)"),
        (REdUCB(sigma="auto"), "sigma is known"),
        (FREE.replace(sigma=0.05), "sigma is at least the noise (0.05 < 0.1)"),
        (FREE.replace(sigma="auto"), "sigma is known"),
        (FREE.replace(widths="kl"), "widths are Gaussian (kl)"),
        (FREE.replace(cap=0.5), "means lie in [0, 0.5] ('arm 2' has 1.0000 at pull 200,000)"),
        (CommitUCB(), "sigma is kept (it is replaced if rewards contradict it, except with risk=None, recheck=0)"),
        (FREE.replace().reset(2), "the horizon is known"),
    ],
)
def test_what_the_policy_breaks_is_named(policy: Any, said: str) -> None:
    assert said in _broken(get_problem("paper-2arms"), policy)


@pytest.mark.parametrize("policy", ["red-ucb", FREE, "commit-ucb"])
def test_what_the_problem_breaks_is_named(policy: Any) -> None:
    assert "'arm 13' has 1.0747 at pull 200,000" in _broken(get_problem("paper-15arms"), policy)
    assert "arms are concave" in _broken(get_problem("lower-bound-non-concave-a"), policy)
    falling = RisingBandit([Tabulated([0.5, 0.4, 0.6]), ConstantCurve(0.1)], NoNoise(), horizon=100)
    assert _broken(falling, policy) == "arms never fall ('arm 1' falls after pull 1)"
    assert predicted_regret(falling, policy=policy).vacuous
    restless = RisingBandit([ConstantCurve(0.5), ConstantCurve(0.1)], NoNoise(), 100, restless=True)
    assert "arms are rested" in _broken(restless, policy)


def test_bernoulli_rewards_have_other_widths_unless_told() -> None:
    problem = RisingBandit([ConstantCurve(0.5), ConstantCurve(0.9)], Bernoulli(), 10_000)
    assert "widths are Gaussian (kl)" in _broken(problem, FREE)
    assert predicted_regret(problem, policy=FREE.replace(widths="gaussian")).broken == ()


def test_a_width_that_proves_nothing_is_named() -> None:
    problem = RisingBandit([ConstantCurve(0.5), ConstantCurve(0.9)], Gaussian(0.1), 300)
    assert "lines hold with a stated probability (z = 3.38 gives 0)" in _broken(problem, FREE)
    assert commit_bound(problem).vacuous


@pytest.mark.parametrize("cap", [1.0, 2.0])
def test_the_probability_of_a_bound_is_that_of_its_lines(cap: float) -> None:
    """Whatever the cap; where lines fail, all that can be lost is: the cap, in every round."""
    bound = commit_bound(get_problem("paper-2arms"), 10_000, z=4.5, cap=cap)
    failure = commit_failure(2, 10_000, 4.5)
    assert 0.1 < failure < 0.2
    assert bound.probability == pytest.approx(1.0 - failure, rel=1e-12)
    assert bound.terms["failure"] == pytest.approx(10_000 * cap * failure, rel=1e-12)


@pytest.mark.compiled
def test_where_nothing_is_broken_the_promise_is_kept() -> None:
    from risingbandits import simulate

    problems = {
        "easy": RisingBandit([PowerLaw(0.8, 0.8, 2), ConstantCurve(0.5)], NoNoise(), 20_000),
        "paper-2arms": get_problem("paper-2arms").with_horizon(20_000),
    }
    policies = {"red-ucb": REdUCB(), "smaller noise": REdUCB(sigma=0.2)}
    for problem in problems.values():
        result = simulate(policies, problem, runs=20, seed=5)
        for label, policy in policies.items():
            bound = predicted_regret(problem, policy=policy)
            assert bound.broken == ()
            assert result.final_regret[label].max() <= bound.value
