"""The one rule of recommendation: the highest recent level, given the noise."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingbandits import Policy, RisingBandit, get_policy, policy_names, simulate
from risingbandits.policies import CommitUCB, RoundRobin
from risingbandits.policies._kernels import levels
from risingbandits.problems import ConstantCurve, Gaussian

MARKS = [1, 2, 3, 4, 5, 6, 7, *(k * 2**j for j in range(1, 12) for k in (4, 5, 6, 7))]


def slow_level(rewards: list[float], sigma: float) -> float:
    """By the definition, from the whole history."""
    n = len(rewards)
    start = max((mark for mark in MARKS if 4 * mark <= 3 * n), default=0)
    return float(np.mean(rewards[start:])) - sigma / math.sqrt(n - start)


def slow_sigma(arms: list[list[float]]) -> float:
    bends = np.concatenate([np.diff(arm, n=2) for arm in arms if len(arm) >= 3] or [np.zeros(1)])
    return float(np.sqrt(np.mean(bends**2) / 6))


@given(st.lists(st.lists(st.floats(-10, 10), max_size=70), min_size=1, max_size=4))
def test_levels_are_those_of_the_histories(arms: list[list[float]]) -> None:
    known = levels.new_levels(len(arms), 70)
    for arm, rewards in enumerate(arms):
        for reward in rewards:
            levels.add(known, arm, reward)
    sigma = slow_sigma(arms)
    for arm, rewards in enumerate(arms):
        for errors in (0.0, 1.0):
            expected = slow_level(rewards, errors * sigma) if rewards else -math.inf
            assert levels.level(known, arm, errors) == pytest.approx(expected, abs=1e-9)


def told(policy: Policy, rewards: list[list[float]]) -> Policy:
    running = policy.reset(len(rewards), 1_000, seed=1)
    for arm, own in enumerate(rewards):
        for reward in own:
            running.tell(arm, reward)
    return running


def test_commit_ucb_recommends_the_higher_level_of_two_well_known_arms() -> None:
    """Its own lower bounds are far apart where one arm has more pulls; the levels are not."""
    rng = np.random.default_rng(1)
    rewards = [list(0.494 + 0.01 * rng.standard_normal(400)), list(0.524 + 0.01 * rng.standard_normal(60))]
    running = told(CommitUCB(sigma=0.5), rewards)
    assert running._state.arms["low"].argmax() == 0
    assert running.recommend() == 1


def test_a_lucky_pull_is_not_recommended() -> None:
    rng = np.random.default_rng(1)
    assert told(RoundRobin(), [list(rng.normal(0.6, 0.2, 200)), [0.7]]).recommend() == 0


def test_without_noise_the_highest_level_is_recommended_however_few_its_pulls() -> None:
    assert told(RoundRobin(), [[0.6] * 200, [0.61]]).recommend() == 1


def test_a_rising_arm_is_judged_by_its_recent_rewards() -> None:
    slow = [n / 100 for n in range(100)]
    running = told(RoundRobin(), [[0.6] * 100, slow])
    assert running.recommend() == 1
    known = running.explain()
    assert known["estimate"][1] == pytest.approx(np.mean(slow[64:]))
    assert known["estimate"][1] >= known["lcb"][1]


@pytest.mark.parametrize("name", policy_names())
def test_every_policy_recommends_the_arm_that_is_better_throughout(name: str) -> None:
    """All but those whose arm is given; told the same number of rewards of each arm, they have seen enough."""
    if name in ("constant", "oracle"):
        return
    rng = np.random.default_rng(1)
    running = get_policy(name).reset(3, 360, seed=1)
    for _ in range(120):
        for arm, mean in enumerate((0.2, 0.5, 0.9)):
            running.tell(arm, float(np.clip(mean + 0.02 * rng.standard_normal(), 0, 1)))
    assert running.recommend() == 2


def test_the_rule_is_that_of_simulations_copies_and_files(tmp_path: Path) -> None:
    problem = RisingBandit([ConstantCurve(0.5), ConstantCurve(0.52), ConstantCurve(0.51)], Gaussian(0.05), 300)
    result = simulate("round-robin", problem, runs=20, seed=1)
    assert result.error_rate("round-robin").value < 0.3
    running = told(RoundRobin(), [[0.2, 0.3], [0.5, 0.4], [0.1]])
    for copy in (running.clone(), Policy.load(running.save(tmp_path / "run.npz"))):
        running.tell(2, 0.45)
        copy.tell(2, 0.45)
        assert copy.recommend() == running.recommend()
