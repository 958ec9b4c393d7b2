"""Auto: every kind of run is played by the policy that it names, exactly."""

from __future__ import annotations

import numpy as np
import pytest

from risingbandits import RisingBanditsError, get_problem, recommended_policy
from risingbandits.policies import Auto
from risingbandits.problems import Bernoulli, random_problem
from risingbandits.testing import check_policy, check_same_in_all_modes, play_by_hand

KINDS = [("cumulative", 300), ("cumulative", 3_000), ("best-arm", 300)]


@pytest.mark.parametrize("objective", ["cumulative", "best-arm"])
def test_the_contract_holds_for_both_objectives(objective: str) -> None:
    check_policy(Auto(objective))


@pytest.mark.parametrize(("objective", "horizon"), KINDS)
def test_a_run_is_that_of_the_chosen_policy(objective: str, horizon: int) -> None:
    problem = random_problem(8, horizon=horizon, seed=4)
    auto = Auto(objective)
    chosen = auto.chosen(8, horizon)
    assert chosen.objective == objective
    for policy in (auto, chosen):
        check_same_in_all_modes(policy, problem, horizon, seed=7)
    ours, theirs = (play_by_hand(policy, problem, horizon, seed=7) for policy in (auto, chosen))
    assert np.array_equal(ours.pulls, theirs.pulls)
    assert ours.recommended == theirs.recommended


def test_kinds_of_runs_are_played_by_different_policies() -> None:
    played = {type(Auto(objective).chosen(8, horizon)) for objective, horizon in KINDS}
    assert len(played) == len(KINDS)


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
    assert Auto().for_problem(problem, 1_000).get_params() == Auto().get_params()


def test_the_explanation_names_the_policy_that_plays() -> None:
    policy = Auto().reset(n_arms=3, horizon=30, seed=1)
    for reward in (0.1, 0.2, 0.3):
        policy.tell(policy.ask(), reward)
    explanation = policy.explain()
    assert explanation.policy == f"Auto(), played by {Auto().chosen(3, 30)!r}"
    assert "level" in explanation.columns


def test_recommended_is_auto_for_either_objective() -> None:
    assert recommended_policy("cumulative", 10, 100).get_params() == Auto().get_params()
    assert recommended_policy("best-arm", 10).get_params() == Auto("best-arm").get_params()


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"objective": "most"}, "objective"), ({"order": "any"}, "order"), ({"sigma": "smooth"}, "sigma")],
)
def test_settings_that_are_not_allowed(settings: dict[str, str], words: str) -> None:
    with pytest.raises(RisingBanditsError, match=f"^{words} must be"):
        Auto(**settings).validate()
