"""What CommitEnsemble earns: a quick comparison with CommitUCB, and the figures of its page (slow)."""

from __future__ import annotations

import numpy as np
import pytest

from risingbandits import RisingBandit, get_problem, simulate
from risingbandits.lab.paper.pairs import problem_pair
from risingbandits.policies import CommitEnsemble, CommitUCB
from risingbandits.problems import Bernoulli, Beta, Exponential, Gaussian, Noise, power_law_problem

pytestmark = pytest.mark.compiled  # long runs; plain Python plays shorter ones beside the definition

LINES_ONLY = CommitUCB(risk="sunk-cost", recheck=0.0)


def test_two_arms_cost_less_than_with_lines_alone() -> None:
    """The same noise for both: the ensemble drops the arm that bends, the lines alone cannot yet."""
    policies = {"ensemble": CommitEnsemble(), "lines": LINES_ONLY}
    result = simulate(policies, "paper-2arms", horizon=50_000, runs=6, seed=3)
    assert (result.final_regret["ensemble"] < result.final_regret["lines"]).all()


def test_half_of_the_noise_told_costs_little() -> None:
    """Before it was noticed, half of the truth cost 50,000 here."""
    with pytest.warns(UserWarning, match=r"sigma=0.05 is contradicted by .* \(in 6 of 6 runs\)"):
        result = simulate(CommitEnsemble(sigma=0.05), "paper-2arms", horizon=200_000, runs=6, seed=3)
    assert result.final_regret["commit-ensemble"].max() < 3_000


@pytest.mark.slow
@pytest.mark.parametrize("noise", [Gaussian(0.1), Gaussian(0.01), Gaussian(0.001), Bernoulli(), Beta()], ids=repr)
def test_what_is_told_rightly_is_not_contradicted(noise: Noise) -> None:
    """Curves that bend, quick ones too; where none bends the chance is e^-20 a run. A remark would be an error."""
    quick = [Exponential(0.2 + 0.07 * arm, 0.02 + 0.02 * arm) for arm in range(10)]
    for problem in (get_problem("paper-15arms"), RisingBandit(quick), power_law_problem(20, 5_000, seed=3)):
        result = simulate(CommitEnsemble(), problem.with_noise(noise), horizon=5_000, runs=100, seed=12)
        assert (result.pulls["commit-ensemble"].sum(axis=1) == 5_000).all()


def test_nothing_told_costs_little() -> None:
    result = simulate(CommitEnsemble(sigma="auto"), "paper-2arms", runs=6, seed=3)
    assert result.final_regret["commit-ensemble"].mean() < 900


def test_a_straight_late_bloomer_is_not_dropped() -> None:
    """Side B of the lower-bound pair: locking on the constant arm costs 11,500, finding the line about 2,000."""
    pair = problem_pair("beta", 50_000, beta=0.7, noise=Gaussian(0.1))
    regrets = simulate(CommitEnsemble(), pair.b, runs=12, seed=4).final_regret["commit-ensemble"]
    assert regrets.max() < 4_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "bernoulli", "runs", "mean", "worst"),
    [
        ("paper-15arms", False, 100, 1_400, 5_000),
        ("paper-2arms", False, 50, 850, 1_300),
        ("paper-2arms", True, 50, 1_600, 3_500),
    ],
)
@pytest.mark.parametrize("sigma", [None, "auto"])
def test_regret_of_the_papers_problems(
    name: str, bernoulli: bool, runs: int, mean: float, worst: float, sigma: str | None
) -> None:
    """One run in a hundred may lock on the second-best arm (docs/commit-ensemble.md)."""
    problem = get_problem(name).with_noise(Bernoulli()) if bernoulli else get_problem(name)
    policy = CommitEnsemble(sigma=sigma)
    regrets = np.sort(simulate(policy, problem, runs=runs, seed=77).final_regret["commit-ensemble"])
    kept = regrets[: runs - runs // 100]
    assert np.mean(kept) <= mean
    assert np.max(kept) <= worst


@pytest.mark.slow
def test_regret_of_the_lower_bound_pair() -> None:
    pair = problem_pair("beta", 50_000, beta=0.7, noise=Gaussian(0.1))
    for side in pair.sides:
        regrets = simulate(CommitEnsemble(), side, runs=50, seed=77).final_regret["commit-ensemble"]
        assert np.mean(regrets) <= 2_600
        assert np.max(regrets) <= 4_000
