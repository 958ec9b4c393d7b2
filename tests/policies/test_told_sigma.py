"""A told sigma that the rewards contradict: where it is noticed, what is said of it, and where it must not be."""

from __future__ import annotations

import pytest

from risingbandits import Policy, RisingBandit, get_problem, simulate
from risingbandits.policies import CommitUCB, FewArms, OpenArms
from risingbandits.problems import Bernoulli, Beta, Exponential, Gaussian, Noise, Tabulated, power_law_problem

RULES = (None, "sunk-cost", "shared")


@pytest.mark.parametrize("rule", RULES)
def test_half_of_the_noise_told_costs_commit_ucb_nothing(rule: str | None) -> None:
    """Before it was noticed, these runs cost 13,700 with "sunk-cost", and one of them 109,000."""
    with pytest.warns(UserWarning, match=r"sigma=0.05 is contradicted by .* \(in 20 of 20 runs\)"):
        half = simulate(CommitUCB(risk=rule, sigma=0.05), "paper-2arms", runs=20, seed=3).final_regret["commit-ucb"]
    free = simulate(CommitUCB(risk=rule, sigma="estimate"), "paper-2arms", runs=20, seed=3).final_regret["commit-ucb"]
    assert half.mean() < 1.1 * free.mean()
    assert half.max() < 1.2 * free.max()


@pytest.mark.parametrize("policy", [OpenArms(sigma=0.02, order="given"), FewArms("commit-ucb", sigma=0.02)], ids=repr)
def test_policies_that_play_commit_ucb_say_it_too(policy: Policy) -> None:
    with pytest.warns(UserWarning, match=rf"{policy.name}: sigma=0.02 is contradicted by .* \(in 2 of 2 runs\)"):
        simulate(policy, "paper-2arms", horizon=2_000, runs=2, seed=3)


def jumps(sigma: float) -> RisingBandit:
    """Arms that rise by 0.3 from one pull to the next, two of them twice."""
    curves = [Tabulated([0.2] * (12 + 3 * arm) + [0.5] * (40 + arm) + [0.5 + 0.3 * (arm < 2)]) for arm in range(5)]
    return RisingBandit(curves, noise=Gaussian(sigma), horizon=5_000)


@pytest.mark.parametrize("noise", [Gaussian(0.1), Gaussian(0.01), Gaussian(0.001), Bernoulli(), Beta()], ids=repr)
def test_what_is_told_rightly_is_not_contradicted(noise: Noise) -> None:
    """Curves that bend, quick ones too; where none bends the chance is e^-20 a run. A remark would be an error."""
    quick = [Exponential(0.2 + 0.07 * arm, 0.02 + 0.02 * arm) for arm in range(10)]
    for problem in (get_problem("paper-15arms"), RisingBandit(quick), power_law_problem(20, 5_000, seed=3)):
        result = simulate(CommitUCB(), problem.with_noise(noise), horizon=5_000, runs=70, seed=12)
        assert (result.pulls["commit-ucb"].sum(axis=1) == 5_000).all()


def test_curves_that_jump_do_not_contradict_sigma() -> None:
    result = simulate(CommitUCB(), jumps(0.05), runs=50, seed=12)
    assert (result.pulls["commit-ucb"].sum(axis=1) == 5_000).all()


@pytest.mark.filterwarnings("ignore:sigma=0.0 is below the problem's noise")
def test_no_noise_told_is_never_contradicted() -> None:
    """sigma = 0 says that there is none: then nothing is asked of the rewards."""
    problem = get_problem("paper-2arms").with_noise(Gaussian(0.15))
    result = simulate(CommitUCB(sigma=0.0), problem, horizon=2_000, runs=5, seed=3)
    assert (result.pulls["commit-ucb"].sum(axis=1) == 2_000).all()
