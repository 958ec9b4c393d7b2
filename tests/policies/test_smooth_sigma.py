"""sigma="smooth": the noise level from second differences, in every policy that has one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_noise import Median, noise_levels
from risingbandits import Policy, RisingBandit, RisingBanditsError, get_policy, policy_names
from risingbandits._core.jit import interpreted
from risingbandits.policies import RUCBE, GaussianThompson, GaussianUCB, REdUCB, RLessUCB
from risingbandits.policies._kernels import noise_estimate
from risingbandits.problems import Polynomial, random_problem
from risingbandits.testing import check_policy, check_same_in_all_modes

ESTIMATES_ITSELF = "commit-ensemble"  # arm by arm, whatever it is told
WITH_SIGMA = [name for name in policy_names() if "sigma" in get_policy(name).get_params() and name != ESTIMATES_ITSELF]


@settings(max_examples=60, deadline=None)
@given(pulls=st.lists(st.tuples(st.integers(0, 4), st.floats(-1, 2)), max_size=80))
def test_levels_are_those_of_the_definition(pulls: list[tuple[int, float]]) -> None:
    smooth = noise_estimate.new_smooth(5, own=1)
    add = interpreted(noise_estimate.add)
    rewards: list[list[float]] = [[] for _ in range(5)]
    median = Median()
    for arm, reward in pulls:
        rewards[arm].append(reward)
        assert add(smooth, arm, reward) == median.look(rewards)
        np.testing.assert_allclose(
            smooth[:5, noise_estimate.SIGMA], noise_levels(rewards, median.value), rtol=1e-9, atol=1e-12
        )


def test_noise_of_a_smooth_curve_is_found() -> None:
    rng = np.random.default_rng(1)
    smooth = noise_estimate.new_smooth(3)
    add = interpreted(noise_estimate.add)
    for n in range(1, 2_001):
        for arm in range(3):
            add(smooth, arm, n / (n + 100.0 * (arm + 1)) + 0.03 * rng.standard_normal())
    assert smooth[:3, noise_estimate.SIGMA] == pytest.approx(0.03, rel=0.1)


def test_every_policy_with_sigma_is_meant() -> None:
    assert {"gaussian-ucb", "gaussian-ts", "red-ucb", "r-less-ucb", "r-ucbe"} <= set(WITH_SIGMA)


@pytest.mark.parametrize("name", WITH_SIGMA)
def test_the_contract_is_kept(name: str) -> None:
    check_policy(get_policy(name, sigma="smooth"))


@pytest.mark.parametrize("name", WITH_SIGMA)
def test_other_words_are_refused(name: str) -> None:
    with pytest.raises(RisingBanditsError, match=r"sigma must be .*smooth"):
        get_policy(name, sigma="rough").reset(2, 10)
    with pytest.raises(RisingBanditsError, match="sigma"):
        get_policy(name, sigma=-1.0).reset(2, 10)


@pytest.mark.parametrize("policy", [GaussianUCB(sigma="smooth"), REdUCB(sigma="smooth")], ids=repr)
def test_many_arms_are_the_same_in_all_modes(policy: Policy) -> None:
    check_same_in_all_modes(policy, random_problem(150, horizon=1_500, seed=2), 1_500, seed=1)


def _told(policy: Policy, n_arms: int, rounds: int) -> tuple[Policy, list[list[float]], Median]:
    """A run in which the rewards of all arms and the reference's median are kept."""
    problem = RisingBandit([Polynomial(0.3 + 0.1 * arm, 10.0, 1.0) for arm in range(n_arms)])
    running = policy.reset(n_arms, rounds, seed=1)
    noise, median = np.random.default_rng(2), Median()
    rewards: list[list[float]] = [[] for _ in range(n_arms)]
    for _ in range(rounds):
        arm = running.ask()
        n = len(rewards[arm]) + 1
        reward = float(problem.means(n)[arm] + 0.02 * noise.standard_normal())
        running.tell(arm, reward)
        rewards[arm].append(reward)
        median.look(rewards)
    return running, rewards, median


@pytest.mark.parametrize("rounds", [7, 40, 300])
def test_widths_follow_the_levels(rounds: int) -> None:
    """The width of every index is that of the same policy with the arm's own noise level given."""
    running, rewards, median = _told(GaussianUCB(sigma="smooth"), 4, rounds)
    levels = noise_levels(rewards, median.value)
    expected = [2 * s * math.sqrt(math.log(rounds + 1) / len(r)) for s, r in zip(levels, rewards, strict=True)]
    np.testing.assert_allclose(running.explain()["width"], expected, rtol=1e-9)
    for policy in (GaussianThompson, REdUCB, RLessUCB, RUCBE):
        running, rewards, median = _told(policy(sigma="smooth"), 4, rounds)
        levels = noise_levels(rewards, median.value)
        for arm, level in enumerate(levels):
            given_level = policy(sigma=level).reset(4, rounds, seed=1)
            for own, those in enumerate(rewards):
                for reward in those:
                    given_level.tell(own, reward)
            width = running.explain()["width"][arm]
            assert np.allclose(width, given_level.explain()["width"][arm], rtol=1e-9, equal_nan=True)


def test_little_noise_makes_a_small_width() -> None:
    told = GaussianUCB(sigma="smooth").reset(2)
    default = GaussianUCB().reset(2)
    for policy in (told, default):
        for n in range(1, 11):
            for arm in (0, 1):
                policy.tell(arm, 0.4 + 0.01 * n + 0.001 * (-1) ** n)
    assert told.explain()["width"][0] < 0.02 * default.explain()["width"][0]
