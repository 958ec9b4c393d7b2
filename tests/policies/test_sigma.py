"""sigma="auto": the noise level from pairs of neighbouring rewards, in every policy that has one."""

from __future__ import annotations

import math
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_noise import estimated
from risingbandits import Policy, RisingBandit, get_policy, policy_names, simulate
from risingbandits._core.jit import interpreted
from risingbandits.lab.related import RUCBE
from risingbandits.policies import CommitUCB, GaussianThompson, GaussianUCB, REdUCB, RLessUCB
from risingbandits.policies._kernels import noise
from risingbandits.problems import Bernoulli, Polynomial, random_problem

OWN = {"auto"}  # parts of the default, which have estimates of their own
WITH_SIGMA = [name for name in policy_names() if "sigma" in get_policy(name).get_params() and name not in OWN]
State = namedtuple("State", ("noise", "heard"))
add = interpreted(noise.add)


def new_state(n_arms: int, policy: Any = None) -> Any:
    return State(**(policy or GaussianUCB(sigma="auto"))._noise_fields(n_arms))


REWARDS = {
    "continuous": st.floats(-1, 2),
    "0 and 1": st.sampled_from([0.0, 1.0]),
    "steps of a quarter": st.sampled_from([0.25, 0.5, 0.75]),
    "mostly 0": st.sampled_from([0.0, 0.0, 0.0, 0.0, 0.3]),
}


@pytest.mark.parametrize("kind", REWARDS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_the_level_is_that_of_the_definition(kind: str, data: st.DataObject) -> None:
    pulls = data.draw(st.lists(st.tuples(st.integers(0, 2), REWARDS[kind]), max_size=60))
    state = new_state(3)
    rewards: list[list[float]] = [[] for _ in range(3)]
    for arm, reward in pulls:
        rewards[arm].append(reward)
        add(state, arm, reward)
        expected = max(1e-9, math.sqrt(estimated(rewards)))
        assert state.noise["level"][0] == pytest.approx(expected, rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(
    pulls=st.lists(st.tuples(st.integers(0, 2), st.integers(-8, 8)), min_size=2, max_size=60),
    power=st.integers(-4, 8),
    shift=st.integers(-100, 100),
)
def test_scaled_and_shifted_rewards_have_a_scaled_level(pulls: list[tuple[int, int]], power: int, shift: int) -> None:
    plain, moved = new_state(3), new_state(3)
    for arm, reward in pulls:
        add(plain, arm, float(reward))
        add(moved, arm, 2.0**power * (reward + shift))
    if len({reward for _, reward in pulls}) > 1:
        assert moved.noise["level"][0] == 2.0**power * plain.noise["level"][0]


def test_rewards_without_noise_are_soon_known_to_have_none() -> None:
    state, known = new_state(10), {}
    for n in range(1, 41):
        for arm in range(10):
            add(state, arm, 0.1 * arm)
        known[n] = state.noise["level"][0]
    assert known[1] == pytest.approx(0.45)
    assert known[4] < 0.05
    assert known[20] < 1e-4


@pytest.mark.compiled
@pytest.mark.parametrize("policy", [GaussianUCB(), CommitUCB(widths="gaussian")], ids=repr)
def test_bernoulli_rewards_are_not_taken_for_noiseless(policy: Policy) -> None:
    """Differences of 0 and 1 may all be 0 by chance: an estimate that believed them lost three times as much."""
    lost = dict.fromkeys(("told", "auto"), 0.0)
    for seed in range(12):
        problem = random_problem(horizon=20_000, seed=4_400 + seed, noise=Bernoulli())
        policies = {"told": policy, "auto": policy.replace(sigma="auto")}
        for name, regrets in simulate(policies, problem, seed=seed).final_regret.items():
            lost[name] += regrets[0] / problem.oracle_value(20_000)
    assert lost["auto"] < 1.5 * lost["told"]


@pytest.mark.parametrize("name", WITH_SIGMA)
def test_a_policy_that_is_told_nothing_estimates(name: str) -> None:
    told_nothing, auto = (policy.reset(3, 40, seed=1) for policy in (get_policy(name), get_policy(name, sigma="auto")))
    rng = np.random.default_rng(0)
    for _ in range(40):
        arm = told_nothing.ask()
        assert arm == auto.ask()
        reward = float(0.2 * arm + 0.05 * rng.standard_normal())
        told_nothing.tell(arm, reward)
        auto.tell(arm, reward)


@pytest.mark.parametrize("rounds", [7, 40, 300])
@pytest.mark.parametrize("policy", [GaussianUCB, GaussianThompson, REdUCB, RLessUCB, RUCBE])
def test_widths_follow_the_level(policy: Any, rounds: int) -> None:
    """The width of every index is that of the same policy with the level given."""
    problem = RisingBandit([Polynomial(0.3 + 0.1 * arm, 10.0, 1.0) for arm in range(4)])
    running = policy(sigma="auto").reset(4, rounds, seed=1)
    rng = np.random.default_rng(2)
    told: list[tuple[int, float]] = []
    rewards: list[list[float]] = [[] for _ in range(4)]
    for _ in range(rounds):
        arm = running.ask()
        reward = float(problem.means(len(rewards[arm]) + 1)[arm] + 0.02 * rng.standard_normal())
        running.tell(arm, reward)
        told.append((arm, reward))
        rewards[arm].append(reward)
    given_level = policy(sigma=math.sqrt(estimated(rewards))).reset(4, rounds, seed=1)
    for arm, reward in told:
        given_level.tell(arm, reward)
    width = running.explain()["width"]
    np.testing.assert_allclose(width, given_level.explain()["width"], rtol=1e-9)
