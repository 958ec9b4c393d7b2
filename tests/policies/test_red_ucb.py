"""R-ed-UCB against its definition: indexes, decisions, precision, memory, and the paper's two problems."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import play_index, play_policy, red_ucb_index
from risingbandits import get_problem, simulate
from risingbandits.policies import REdUCB
from risingbandits.policies._kernels import pruning
from risingbandits.problems import NoNoise, random_problem
from risingbandits.simulation._engine import Runner

pytestmark = pytest.mark.filterwarnings("ignore:.* is contradicted by the rewards")  # made up as they are

EPSILONS = (1 / 32, 0.1, 1 / 4, 1 / 3, 0.49)


def told(rewards: list[list[float]], **params: Any) -> REdUCB:
    """A policy that has seen these rewards, arm by arm."""
    policy = REdUCB(**params).reset(len(rewards))
    for arm, history in enumerate(rewards):
        for reward in history:
            policy.tell(arm, reward)
    return policy


@pytest.mark.parametrize("eps", EPSILONS)
@pytest.mark.parametrize("alpha", [2.5, 3.0])
def test_index_is_the_definition_on_random_histories(eps: float, alpha: float) -> None:
    rng = np.random.default_rng(int(1000 * eps))
    rewards = [list(rng.normal(0.5, 0.2, n)) for n in (*range(1, 60), 200, 617, 1500)]
    policy = told(rewards, eps=eps, sigma=0.1, alpha=alpha)
    t = policy.rounds + 1
    expected = [red_ucb_index(history, t, eps=eps, sigma=0.1, alpha=alpha) for history in rewards]
    np.testing.assert_allclose(policy.explain()["value"], expected, rtol=1e-9)


@given(
    st.lists(st.floats(-1e3, 1e3, allow_nan=False), min_size=0, max_size=40),
    st.sampled_from(EPSILONS),
    st.sampled_from([0.0, 0.1, 2.0]),
    st.integers(0, 500),
)
@settings(max_examples=60, deadline=None)
def test_index_is_the_definition_whatever_the_rewards(
    history: list[float], eps: float, sigma: float, idle: int
) -> None:
    policy = told([history, [0.0] * idle], eps=eps, sigma=sigma)
    t = policy.rounds + 1
    value = policy.explain()["value"][0]
    expected = red_ucb_index(history, t, eps=eps, sigma=sigma)
    assert value == expected or math.isclose(
        value, expected, rel_tol=1e-9, abs_tol=1e-9 * t * (1 + max(map(abs, history)))
    )


@pytest.mark.skipif(
    bool(getattr(numba.config, "DISABLE_JIT", 0)), reason="a million pulls in plain Python take minutes"
)
@pytest.mark.parametrize(("scale", "eps"), [(1e-3, 1 / 4), (1e3, 1 / 4), (1e3, 1 / 32)])
def test_index_keeps_its_precision_for_a_million_pulls(scale: float, eps: float) -> None:
    n = 1_000_000
    rewards = scale * (1.0 + 0.1 * np.random.default_rng(5).standard_normal(n))
    policy = REdUCB(eps=eps, sigma=0.0001 * scale).reset(2)
    for reward in rewards.tolist():
        policy.tell(0, reward)
    policy.tell(1, 0.0)
    h = math.floor(eps * n + 1e-12)
    new, old = rewards[n - h :].astype(np.longdouble), rewards[n - 2 * h : n - h].astype(np.longdouble)
    pulls = np.arange(n - h + 1, n + 1).astype(np.longdouble)
    t = policy.rounds + 1
    trend = np.sum((t - pulls) * (new - old)) / h**2
    width = 0.0001 * scale * (t - n + h - 1) * math.sqrt(30.0 * math.log(t) / h**3)
    expected = float(np.mean(new) + trend + width)
    assert policy.explain()["value"][0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("params", [{}, {"eps": 1 / 32}])
@pytest.mark.parametrize("name", ["paper-15arms", "paper-2arms", "random-3"])
def test_decisions_are_those_of_the_definition(name: str, params: dict[str, Any]) -> None:
    problem = get_problem(name)
    for seed in range(3):
        expected = play_index(partial(red_ucb_index, sigma=0.1, **params), problem, 400, seed)
        assert play_policy(REdUCB(sigma=0.1, **params), problem, 400, seed) == expected


def test_deterministic_decisions_are_those_of_the_definition() -> None:
    problem = get_problem("paper-15arms").with_noise(NoNoise())
    expected = play_index(partial(red_ucb_index, sigma=0.0), problem, 500, seed=0)
    assert play_policy(REdUCB(sigma=0.0), problem, 500, seed=0) == expected


def test_sigma_none_is_the_noise_of_the_instance_and_estimated_elsewhere() -> None:
    problem = get_problem("paper-2arms")
    assert REdUCB()._for_problem(problem, 100).sigma == 0.1
    assert REdUCB()._for_problem(problem.with_noise(NoNoise()), 100).sigma == 0.0
    by_default, by_hand = told([[0.1] * 20, [0.2] * 20]), told([[0.1] * 20, [0.2] * 20], sigma="auto")
    np.testing.assert_array_equal(by_default.explain()["value"], by_hand.explain()["value"])


def test_random_ties_are_uniform() -> None:
    chosen = [REdUCB(ties="random").reset(4, seed=seed).ask() for seed in range(400)]
    counts = np.bincount(chosen, minlength=4)
    assert abs(counts - 100).max() < 5 * math.sqrt(400 * 0.25 * 0.75)


# -- many arms ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("params", [{}, {"sigma": 0.0}])
def test_pruned_decisions_are_those_of_the_full_scan(params: dict[str, Any]) -> None:
    """The same run with all arms given as available, which scans them all."""
    n_arms, rounds = 300, 4_000
    problem = random_problem(n_arms, horizon=rounds, seed=4)
    assert n_arms >= pruning.PRUNING_FROM
    pruned, scanned = (REdUCB(**{"sigma": 0.02, **params}).reset(n_arms) for _ in range(2))
    everyone = np.ones(n_arms, dtype=bool)
    rng = np.random.default_rng(6)
    for _ in range(rounds):
        arm = pruned.ask()
        assert arm == scanned.ask(everyone)
        reward = float(problem.curves[arm](int(pruned.pulls[arm]) + 1)) + 0.02 * rng.standard_normal()
        pruned.tell(arm, reward)
        scanned.tell(arm, reward)


def test_pruning_survives_tells_of_other_arms() -> None:
    pruned, scanned = (REdUCB(sigma=0.1).reset(200) for _ in range(2))
    everyone = np.ones(200, dtype=bool)
    rng = np.random.default_rng(7)
    for i in range(3_000):
        arm = pruned.ask()
        assert arm == scanned.ask(everyone)
        if i % 7 == 0:
            arm = int(rng.integers(200))
        reward = float(rng.random())
        pruned.tell(arm, reward)
        scanned.tell(arm, reward)


def test_nth_largest() -> None:
    rng = np.random.default_rng(8)
    for size in (1, 2, 10, 257):
        values = rng.integers(0, 20, size).astype(float)
        values[rng.random(size) < 0.2] = np.inf
        for n in {1, size // 2 or 1, size}:
            assert pruning.nth_largest(values.copy(), n) == np.sort(values)[::-1][n - 1]


# -- memory -------------------------------------------------------------------------------------------------------


def bytes_of(state: Any) -> int:
    return sum(value.nbytes for value in state if isinstance(value, np.ndarray))


@pytest.mark.parametrize("n_arms", [1, 15])
def test_memory_of_an_open_run_is_at_most_48_bytes_a_pull(n_arms: int) -> None:
    policy = REdUCB(sigma=0.1).reset(n_arms)
    empty = bytes_of(policy._state)
    rng = np.random.default_rng(9)
    for pull in range(1, 60_001):
        policy.tell(int(rng.integers(n_arms)), 0.5)
        if pull >= 1_000 and pull % 97 == 0:
            assert bytes_of(policy._state) - empty <= 48 * pull


@pytest.mark.parametrize("horizon", [10_000, 200_000])
def test_memory_of_a_simulated_run_is_at_most_48_bytes_a_pull(horizon: int) -> None:
    few, many = (bytes_of(REdUCB(sigma=0.1)._new_state(15, horizon, n)) for n in (0, horizon))
    assert many - few <= 48 * horizon


def test_memory_for_many_arms_does_not_grow_with_arms_times_rounds() -> None:
    horizon, n_arms = 200_000, 10_000
    state = REdUCB(sigma=0.1)._new_state(n_arms, horizon, horizon)
    assert bytes_of(state) <= 48 * horizon + 400 * n_arms


# -- the paper's two problems -------------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("name", "reference", "reference_sd"), [("paper-2arms", 18_040, 642), ("paper-15arms", 102_288, 559)]
)
def test_regret_agrees_with_the_reference(name: str, reference: float, reference_sd: float) -> None:
    """Reference: 100 runs of an independent program. Four standard errors of the difference of the means."""
    runs = 30
    final = simulate(REdUCB(eps=0.25, alpha=3.0), name, runs=runs, seed=11).final_regret["red-ucb"]
    error = math.sqrt(reference_sd**2 / 100 + final.var(ddof=1) / runs)
    assert abs(final.mean() - reference) < 4 * error


@pytest.mark.compiled
def test_ten_thousand_arms_run_in_little_memory() -> None:
    problem = random_problem(10_000, horizon=20_000, seed=1)
    runner = Runner(REdUCB(sigma=0.1), problem, 20_000, np.array([20_000]))
    run = runner.play(np.random.SeedSequence(0))
    assert run.pulls.sum() == 20_000
    assert bytes_of(runner.state) + bytes_of(runner.arms.state) < 64 * 2**20
