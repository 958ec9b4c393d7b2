"""Auto: every kind of run is played by the policy that it names, exactly."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

from risingbandits import Allocator, Policy, RisingBandit, get_problem, simulate
from risingbandits.policies import Auto
from risingbandits.problems import Bernoulli, Gaussian, Tabulated, random_problem
from risingbandits.testing import check_policy, check_same_in_all_modes, play_by_hand

KINDS = [("cumulative", 300), ("cumulative", 2_000), ("best-arm", 300)]


@pytest.mark.parametrize("objective", ["cumulative", "best-arm"])
def test_the_contract_holds_for_both_objectives(objective: str) -> None:
    check_policy(Auto(objective))


@pytest.mark.parametrize(("objective", "horizon"), KINDS)
def test_a_run_is_that_of_the_chosen_policy(objective: str, horizon: int) -> None:
    problem = random_problem(8, horizon=horizon, seed=4)
    auto = Auto(objective)
    chosen = auto.chosen()
    for policy in (auto, chosen):
        check_same_in_all_modes(policy, problem, horizon, seed=7)
    ours, theirs = (play_by_hand(policy, problem, horizon, seed=7) for policy in (auto, chosen))
    assert np.array_equal(ours.pulls, theirs.pulls)
    assert ours.recommended == theirs.recommended


def curve(arm: int, n: int) -> float:
    return [0.5, 0.9 * n / (n + 40), 0.3][arm]


def play(policy: Policy, rounds: int) -> list[int]:
    asked = []
    for _ in range(rounds):
        arm = policy.ask()
        policy.tell(arm, curve(arm, int(policy.pulls[arm]) + 1))
        asked.append(arm)
    return asked


@pytest.mark.parametrize("rounds", [20, 149, 150, 200])
def test_copies_go_on_alike_with_an_unknown_end(rounds: int, tmp_path: Path) -> None:
    policy = Auto("cumulative").reset(3, seed=5)
    play(policy, rounds)
    copies = [policy.clone(), Policy.load(policy.save(tmp_path / "run.npz")), pickle.loads(pickle.dumps(policy))]
    expected = play(policy, 60)
    for copy in copies:
        assert play(copy, 60) == expected


@pytest.mark.parametrize("objective", ["cumulative", "best-arm"])
def test_the_end_need_not_be_known(objective: str) -> None:
    policy = Auto(objective).reset(n_arms=5, seed=1)
    rng = np.random.default_rng(1)
    for _ in range(400):
        arm = policy.ask()
        policy.tell(arm, float(rng.normal(0.1 * arm, 0.01)))
    assert policy.recommend() == 4


def test_nothing_is_told_by_a_simulation() -> None:
    problem = get_problem("paper-2arms").with_noise(Bernoulli())
    assert Auto()._for_problem(problem, 1_000).get_params() == Auto().get_params()


def test_the_explanation_names_the_policy_that_plays() -> None:
    policy = Auto().reset(n_arms=3, horizon=30, seed=1)
    for reward in (0.1, 0.2, 0.3):
        policy.tell(policy.ask(), reward)
    explanation = policy.explain()
    assert explanation.policy == f"Auto(), played by {Auto().chosen()!r}"
    assert "level" in explanation.columns


def test_a_sigma_that_is_contradicted_is_said_once_by_the_policy_that_was_chosen() -> None:
    rng = np.random.default_rng(1)
    policy = Auto("cumulative", sigma=1e-3).reset(2, seed=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(600):
            policy.tell(policy.ask(), 0.5 + 0.1 * rng.standard_normal())
    assert [str(warning.message).split(":")[0] for warning in caught] == ["auto"]


def test_a_sigma_that_is_contradicted_is_said_where_pulls_are_few() -> None:
    problem = RisingBandit([Tabulated([0.4]), Tabulated([0.6])], noise=Gaussian(0.2), horizon=300)
    with pytest.warns(UserWarning, match=r"auto: sigma=0.02 is contradicted by .* \(in 4 of 4 runs\)"):
        simulate(Auto("cumulative", sigma=0.02), problem, runs=4)


def test_auto_by_name_plays_for_the_objective_of_the_allocation() -> None:
    for objective in ("cumulative", "best-arm"):
        allocator = Allocator(["a", "b"], 20, policy="auto", objective=objective)
        assert allocator.settings.policy.get_params() == Auto(objective).get_params()
