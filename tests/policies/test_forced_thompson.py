"""Gaussian Thompson sampling in a window, and every form after forced pulls, decide as their definitions say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_forced as reference
from decisions import check_decisions
from reference_index import Reference
from risingbandits import Policy, RisingBanditsError, get_problem
from risingbandits._core.jit import interpreted
from risingbandits.lab.related import (
    ETTS,
    ETBetaThompson,
    ETGaussianThompson,
    ETSWGaussianThompson,
    SWGaussianThompson,
    sw_gaussian_ts,
)
from risingbandits.simulation._engine import Runner
from risingbandits.testing import check_policy

pytestmark = pytest.mark.filterwarnings("ignore:.* is contradicted by the rewards")  # made up as they are

HORIZON = 1_500
PAIRS: list[tuple[Policy, type[Reference], dict[str, Any]]] = [
    (SWGaussianThompson(sigma=0.1), reference.SWGaussianThompson, {}),
    (SWGaussianThompson(tau=7, sigma=0.2), reference.SWGaussianThompson, {"tau": 7, "sigma": 0.2}),
    (ETGaussianThompson(forced=20, sigma=0.1), reference.ETGaussianThompson, {}),
    (ETSWGaussianThompson(forced=20, sigma=0.1), reference.ETSWGaussianThompson, {}),
    (ETBetaThompson(forced=20), reference.ETBetaThompson, {}),
]
FORCED: list[Policy] = [
    ETTS(forced=5, tau=40),
    ETBetaThompson(forced=5),
    ETGaussianThompson(forced=5, sigma=0.1),
    ETSWGaussianThompson(forced=5, tau=40, sigma=0.1),
    ETSWGaussianThompson(forced=5, tau=40, sigma="auto"),
]


@pytest.mark.parametrize("name", ["paper-15arms", "paper-2arms", "random-3"])
@pytest.mark.parametrize(("policy", "slow", "changes"), PAIRS, ids=[repr(pair[0]) for pair in PAIRS])
def test_decisions_equal_the_reference(
    policy: Policy, slow: type[Reference], changes: dict[str, Any], name: str
) -> None:
    problem = get_problem(name)
    runner = Runner(policy, problem, HORIZON, np.array([HORIZON]))
    for seed in range(2):
        other = slow(problem.n_arms, HORIZON)
        vars(other).update(changes)
        pulls = check_decisions(policy, other, problem, HORIZON, seed)
        np.testing.assert_array_equal(runner.play(np.random.SeedSequence(seed)).pulls, pulls)


@pytest.mark.parametrize(
    "policy",
    [
        SWGaussianThompson(tau=5, sigma="auto"),
        SWGaussianThompson(tau=1, sigma="auto"),
        SWGaussianThompson(sigma=0.0),
        ETGaussianThompson(forced=3, sigma="auto"),
        ETGaussianThompson(forced=0, sigma=0.3),
        ETSWGaussianThompson(forced=3, tau=4, sigma="auto"),
        ETBetaThompson(forced=2, reward_range=(-1.0, 2.0)),
    ],
    ids=repr,
)
def test_contract(policy: Policy) -> None:
    check_policy(policy)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.lists(st.tuples(st.integers(0, 3), st.floats(-1e6, 1e6)), max_size=60))
def test_a_window_of_any_rewards_holds_the_last_rounds(tau: int, rounds: list[tuple[int, float]]) -> None:
    policy = SWGaussianThompson(tau=tau, sigma="auto")
    state = policy._new_state(4, None, 10)
    update = interpreted(sw_gaussian_ts.update)
    largest = max((abs(x) for _, x in rounds), default=0.0)
    for t, (arm, reward) in enumerate(rounds, start=1):
        update(state, t, arm, reward, None)
        for i in range(4):
            last = [x for a, x in rounds[max(0, t - tau) : t] if a == i]
            assert state.counts[i] == len(last)
            if last:
                assert state.mean[i] == pytest.approx(math.fsum(last) / len(last), abs=1e-13 * largest)
                assert state.root[i] == pytest.approx(1.0 / math.sqrt(len(last)))
            else:
                assert (state.mean[i], state.root[i], state.total[i]) == (math.inf, 0.0, 0.0)


@pytest.mark.parametrize("policy", FORCED, ids=repr)
def test_every_arm_gets_its_forced_pulls_and_the_reason_says_so(policy: Policy) -> None:
    policy = policy.clone().reset(3, 100, seed=1)
    said = []
    for _ in range(15):
        said.append(policy.explain().why)
        policy.tell(policy.ask(), 0.5)
    assert policy.pulls.tolist() == [5, 5, 5]
    assert said[0] == "forced pull 1 of 5"
    assert said[-1] == "forced pull 5 of 5"
    assert policy.explain().why == "drew the best sample"


@pytest.mark.parametrize("policy", FORCED, ids=repr)
def test_an_arm_that_was_not_available_catches_up(policy: Policy) -> None:
    policy = policy.clone().reset(3, 200, seed=1)
    for _ in range(60):
        arm = policy.ask([True, False, True])
        policy.tell(arm, 0.9)
    assert policy.pulls[1] == 0
    for _ in range(5):
        assert policy.ask() == 1
        policy.tell(1, 0.1)
    assert policy.explain().why == "drew the best sample"


@pytest.mark.parametrize("policy", [SWGaussianThompson(), ETSWGaussianThompson()], ids=repr)
def test_a_horizon_or_the_window_is_needed(policy: Policy) -> None:
    with pytest.raises(RisingBanditsError, match="needs horizon"):
        policy.clone().reset(2)
    assert policy.replace(tau=10).reset(2, seed=1).ask() == 0
    assert SWGaussianThompson()._new_state(2, 200_000, 10).arms.shape == (448,)
