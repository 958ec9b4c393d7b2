"""CommitUCB of the package is the policy that the theorems are about: decision for decision, and within the bounds."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from concave_problems import random_concave
from repaired_commit import RepairedCommit
from risingbandits import RisingBandit, get_problem, simulate
from risingbandits.policies import CommitUCB
from risingbandits.problems import ConstantCurve, Gaussian, NoNoise, PowerLaw, Tabulated
from risingbandits.theory.upper_bounds import commit_bound, commit_confidence, predicted_regret, regret_parts

FREE = CommitUCB(risk=None, recheck=0.0)
REPLACEABLE = "sigma is kept (it is replaced if rewards contradict it, except with risk=None, recheck=0)"


def choices_of(policy: CommitUCB, rewards: np.ndarray) -> list[int]:
    """The arms that the policy asks for, if the n-th pull of an arm gives its n-th reward."""
    n_arms, horizon = rewards.shape
    policy = policy.replace().reset(n_arms, horizon)
    counts, choices = [0] * n_arms, []
    for _ in range(horizon):
        arm = policy.ask()
        policy.tell(arm, float(rewards[arm, counts[arm]]))
        counts[arm] += 1
        choices.append(arm)
    return choices


@pytest.mark.parametrize("sigma", [0.01, 0.1])
@pytest.mark.parametrize(
    ("rule", "chances"), [(None, False), (None, True), ("shared", True), ("sunk-cost", True), ("shared", False)]
)
def test_decisions_are_those_of_the_page(rule: str | None, chances: bool, sigma: float) -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        means, _ = random_concave(rng, 2 + seed, 400, sigma)
        page = RepairedCommit(means, sigma, rule, second_chances=chances)
        expected = page.play(rng)
        policy = CommitUCB(risk=rule, sigma=sigma, widths="gaussian", recheck=0.03 if chances else 0.0)
        assert choices_of(policy, page.rewards) == expected


def test_confidence_is_that_of_corollary_0() -> None:
    rng = np.random.default_rng(1)
    means, _ = random_concave(rng, 3, 300, 0.1)
    page = RepairedCommit(means, 0.1, z=commit_confidence(3, 300, 0.05))
    expected = page.play(rng)
    policy = CommitUCB(risk=None, recheck=0.0, sigma=0.1, widths="gaussian", confidence=0.05)
    assert choices_of(policy, page.rewards) == expected


@pytest.mark.compiled
def test_where_nothing_is_broken_the_promise_is_kept() -> None:
    problems = [
        RisingBandit([PowerLaw(0.8, 0.8, 2), ConstantCurve(0.5)], NoNoise(), 20_000),
        RisingBandit([PowerLaw(0.8, 0.8, 2), *(ConstantCurve(0.5 - i / 1000) for i in range(9))], NoNoise(), 5_000),
        get_problem("paper-2arms"),
        RisingBandit([PowerLaw(0.9, 0.9, 0.5), ConstantCurve(0.6)], Gaussian(0.05), 50_000),
    ]
    for problem in problems:
        policies = {"free": FREE, "default": CommitUCB(), "chances": CommitUCB(risk=None)}
        result = simulate(policies, problem, runs=20, seed=5)
        for label, policy in policies.items():
            bound = predicted_regret(problem, policy=policy)
            replaceable = problem.sigma > 0 and label != "free"
            assert bound.broken == ((REPLACEABLE,) if replaceable else ()), label
            assert result.final_regret[label].max() <= bound.value + 1e-9, label


def test_kinks_do_not_replace_a_right_sigma() -> None:
    """A concave curve that bends every six pulls: with an estimate in place of sigma the regret was 172.8."""
    rise = np.concatenate([[0.0], np.cumsum(np.repeat(np.arange(7.0, 0.0, -1.0), 6)[:41])])
    curves = [Tabulated(0.9 * rise / rise[-1]), *[ConstantCurve(0.5)] * 9]
    problem = RisingBandit(curves, Gaussian(1e-6), 100_000)
    policy = FREE.replace(confidence=1e-6)
    bound = predicted_regret(problem, policy=policy)
    assert (bound.broken, round(bound.value, 1)) == ((), 10.8)
    with pytest.warns(UserWarning, match="or a curve bends within five pulls: kept, because the bound on the regret"):
        result = simulate({"free": policy}, problem, runs=3, seed=1)
    assert result.final_regret["free"].max() <= bound.value
    with pytest.warns(UserWarning, match="it is estimated from now on"):  # where no bound is promised
        simulate({"chances": policy.replace(recheck=0.03)}, problem)


@pytest.mark.parametrize("seed", range(10))
def test_the_bound_holds_without_noise(seed: int) -> None:
    rng = np.random.default_rng([3, seed])
    means, problem = random_concave(rng, int(rng.integers(2, 9)), int(rng.integers(300, 5_000)))
    result = simulate({"free": FREE}, problem)
    bound = commit_bound(problem)
    assert result.final_regret["free"][0] <= bound.value * (1 + 1e-9) + 1e-9
    count = dataclasses.asdict(commit_bound(problem, form="count"))["pulls"]
    others = [arm for arm in range(len(means)) if arm != problem.oracle_arm()]
    assert all(result.pulls["free"][0][arm] <= count[arm] for arm in others)
    choices = choices_of(FREE.replace(sigma=0.0), means)
    assert regret_parts(problem, choices).regret == pytest.approx(result.final_regret["free"][0], abs=1e-9)
