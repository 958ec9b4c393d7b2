"""CORRAL and regret balancing over arms decide as their definitions say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_model_selection as reference
from decisions import check_decisions
from risingbandits import Policy, RisingBandit, get_problem
from risingbandits._core.jit import interpreted
from risingbandits.lab.related import Corral, RegretBalancing, corral
from risingbandits.problems import Bernoulli, ConstantCurve
from risingbandits.simulation._engine import Runner
from risingbandits.testing import check_policy

HORIZON = 1_500
COINS = RisingBandit([ConstantCurve(level) for level in (0.2, 0.9, 0.5)], Bernoulli(), HORIZON)


@pytest.mark.parametrize("name", ["paper-15arms", "paper-2arms", "coins"])
def test_corral_decides_as_the_reference(name: str) -> None:
    problem = COINS if name == "coins" else get_problem(name)
    for seed in range(2):
        slow = reference.Corral(problem.n_arms, HORIZON)
        pulls = check_decisions(Corral(), slow, problem, HORIZON, seed)
        runner = Runner(Corral(), problem, HORIZON, np.array([HORIZON]))
        np.testing.assert_array_equal(runner.play(np.random.SeedSequence(seed)).pulls, pulls)
        np.testing.assert_allclose(runner.state.weights, slow.p, rtol=1e-6)
        assert runner.state.restarts.sum() == slow.restarts


@pytest.mark.parametrize("name", ["paper-15arms", "paper-2arms", "coins"])
@pytest.mark.parametrize("changes", [{"eta": 1.0}, {"eta": 0.3, "gamma": 0.1}], ids=repr)
def test_every_step_of_corral_is_that_of_the_reference(changes: dict[str, Any], name: str) -> None:
    """Large rates multiply rounding errors from step to step, so the reference begins each at the policy's weights."""
    problem = COINS if name == "coins" else get_problem(name)
    slow = reference.Corral(problem.n_arms, HORIZON)
    vars(slow).update(changes)

    def agree(policy: Policy) -> None:
        state = policy._state
        np.testing.assert_allclose(state.weights, slow.p, rtol=1e-9)
        np.testing.assert_allclose(state.rates, slow.rates, rtol=1e-12)
        assert state.restarts.sum() == slow.restarts
        slow.p = state.weights.copy()

    check_decisions(Corral(**changes), slow, problem, HORIZON, 1, agree)
    assert slow.restarts > 0, "a base must have become rare"


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.floats(1e-6, 1.0), st.floats(1e-3, 3.0)), min_size=1, max_size=8),
    st.integers(0, 7),
    st.one_of(st.just(0.0), st.floats(1e-9, 1e6)),
)
def test_a_step_of_corral_solves_its_equation(bases: list[tuple[float, float]], place: int, loss: float) -> None:
    weights = np.array([weight for weight, _ in bases])
    weights /= weights.sum()
    state = Corral()._new_state(len(bases), 100, 10)
    state.weights[:] = weights
    state.rates[:] = [rate for _, rate in bases]
    arm = place % len(bases)
    interpreted(corral._step)(state, arm, loss)
    assert state.weights.sum() == pytest.approx(1.0, abs=1e-9)
    assert np.all(state.weights > 0.0)
    losses = np.where(np.arange(len(bases)) == arm, loss, 0.0)
    common = losses - (1.0 / state.weights - 1.0 / weights) / state.rates  # x, the same for all bases
    error = 1e-9 * (1.0 / weights + 1.0 / state.weights).max() / state.rates.min() + 1e-9 * loss
    assert np.ptp(common) <= error


def test_a_reward_that_nobody_asked_for_counts_with_the_chance_of_now() -> None:
    asked, told = (Corral().reset(1, 50, seed=1) for _ in range(2))
    asked.ask()
    for policy in (asked, told):
        policy.tell(0, 0.4)
    assert asked.explain()["probability"].tolist() == pytest.approx(told.explain()["probability"].tolist())
    masked = Corral().reset(3, 50, seed=1)
    assert masked.ask([False, True, False]) == 1
    assert masked._state.asked.tolist() == [0.0, 1.0, 0.0], "the only arm that is free is drawn for certain"


@pytest.mark.parametrize("name", ["paper-15arms", "paper-2arms", "coins"])
@pytest.mark.parametrize("changes", [{}, {"d": 0.3}, {"d": "each"}, {"c": 0.2, "delta": 0.5}], ids=repr)
def test_regret_balancing_decides_as_the_reference(changes: dict[str, Any], name: str) -> None:
    problem = COINS if name == "coins" else get_problem(name)
    if changes.get("d") == "each":
        changes = {"d": tuple(0.2 + 0.1 * arm for arm in range(problem.n_arms))}
    slow = reference.RegretBalancing(problem.n_arms, HORIZON)
    vars(slow).update(changes)
    policy = RegretBalancing(**changes)
    pulls = check_decisions(policy, slow, problem, HORIZON, 3)
    runner = Runner(policy, problem, HORIZON, np.array([HORIZON]))
    np.testing.assert_array_equal(runner.play(np.random.SeedSequence(3)).pulls, pulls)
    assert np.flatnonzero(runner.state.active).tolist() == slow.active
    if name == "coins" and changes:
        assert slow.active == [1], "the others must have been dropped"


def test_claims_stay_balanced_until_one_is_broken() -> None:
    policy = RegretBalancing(d=(1.0, 2.0, 0.5)).reset(3)
    for _ in range(2_100):
        policy.tell(policy.ask(), 0.5)
    claims = policy.explain()["claim"]
    assert np.ptp(claims) < 0.1 * claims.mean()
    np.testing.assert_allclose(policy.pulls, [400, 100, 1_600], rtol=0.02)
    assert policy.explain().why == f"least claimed regret {claims.min():.4g} of the 3 remaining arms"


def test_a_dropped_base_is_pulled_only_where_no_other_is_free() -> None:
    policy = RegretBalancing(c=0.1).reset(2)
    for _ in range(200):
        arm = policy.ask()
        policy.tell(arm, [0.1, 0.9][arm])
    assert policy.explain()["active"].tolist() == [0.0, 1.0]
    assert policy.ask([True, False]) == 0
    assert policy.recommend() == 1
    assert policy.explain().why == "the only remaining arm"


@pytest.mark.parametrize(
    "policy",
    [Corral(eta=2.0, gamma=0.3, growth=1.5), Corral(reward_range=(-1.0, 2.0)), RegretBalancing(d=0.1, c=0.0)],
    ids=repr,
)
def test_contract(policy: Policy) -> None:
    check_policy(policy)
