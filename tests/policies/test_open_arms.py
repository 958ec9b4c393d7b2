"""OpenArms: agreement with its description, what it does with budgets of all sizes, masks and unasked rewards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_opening import SlowOpenArms
from risingbandits import RisingBandit, RisingBanditsError, simulate
from risingbandits.policies import CommitUCB, OpenArms
from risingbandits.problems import NoNoise
from risingbandits.testing import check_policy, check_same_in_all_modes

Reward = Callable[[int, int], float]


def learning_curves(n_arms: int, seed: int, slowness: float = 8.0, noise: float = 0.01) -> Reward:
    """Rewards of pull n = 1, 2, ... of an arm: limits and speeds differ, some arms start flat."""
    rng = np.random.default_rng(seed)
    limits = rng.uniform(0.2, 0.9, n_arms)
    speeds = slowness * rng.uniform(0.2, 2.0, n_arms)
    flat = rng.integers(0, 4, n_arms)

    def reward(arm: int, n: int) -> float:
        rise = 1.0 - np.exp(-max(0.0, n - flat[arm]) / speeds[arm])
        return float(limits[arm] * rise + noise * rng.standard_normal())

    return reward


def play(policy: Any, reward: Reward, rounds: int) -> list[int]:
    pulls: dict[int, int] = {}
    arms = []
    for _ in range(rounds):
        arm = policy.ask()
        pulls[arm] = pulls.get(arm, 0) + 1
        policy.tell(arm, reward(arm, pulls[arm]))
        arms.append(arm)
    return arms


@given(
    n_arms=st.integers(1, 12),
    rounds=st.integers(1, 250),
    known=st.booleans(),
    noise=st.sampled_from([1e-6, 0.01, 0.3, 1.0]),  # of the last, more than counts
    seed=st.integers(0, 10_000),
)
@settings(max_examples=60, deadline=None)
def test_agrees_with_its_description(n_arms: int, rounds: int, known: bool, noise: float, seed: int) -> None:
    horizon = rounds if known else None
    fast = OpenArms(order="given", few=1_000).reset(n_arms, horizon)
    slow = SlowOpenArms(n_arms, horizon)
    assert play(fast, learning_curves(n_arms, seed, noise=noise), rounds) == play(
        slow, learning_curves(n_arms, seed, noise=noise), rounds
    )


def test_settings_are_those_of_the_description() -> None:
    fast = OpenArms(order="given", spread=0.3, patience=0.5).reset(40, 400)
    slow = SlowOpenArms(40, 400, spread=0.3, patience=0.5)
    other = OpenArms(order="given").reset(40, 400)
    arms = play(fast, learning_curves(40, 1), 400)
    assert arms == play(slow, learning_curves(40, 1), 400)
    assert arms != play(other, learning_curves(40, 1), 400)


@pytest.mark.parametrize(
    "policy", [OpenArms(order="given"), OpenArms(few=0), OpenArms(few=0, sigma="smooth")], ids=repr
)
def test_settings_keep_the_contract(policy: OpenArms) -> None:
    check_policy(policy)


def test_many_arms_are_the_same_in_all_modes() -> None:
    curves = np.array([[learning_curves(60, 3)(arm, n) for n in range(1, 200)] for arm in range(60)])
    check_same_in_all_modes(OpenArms(), RisingBandit.from_array(curves, NoNoise()), 1_200, seed=2)


@pytest.mark.compiled
def test_opens_few_of_ten_thousand_arms_and_finds_a_good_one() -> None:
    rng = np.random.default_rng(0)
    limits = rng.uniform(0.0, 0.9, 10_000)
    curves = limits[:, None] * (1.0 - 0.5 ** np.arange(1, 30))
    problem = RisingBandit.from_array(curves, NoNoise(), 20_000)
    result = simulate(OpenArms(), problem, 20_000, runs=3, seed=1)
    opened = (result.pulls["open-arms"] > 0).sum(axis=1)
    assert (opened > 50).all()
    assert (opened < 1_500).all()
    assert (limits[result.recommended["open-arms"]] > 0.85).all()
    sums = problem.mean_sums(20_000)
    assert result.final_regret["open-arms"].mean() < 0.15 * (sums.max() - sums.mean())


def test_slow_learners_are_not_opened_one_after_another() -> None:
    """Where an arm needs all of the budget to learn, there is no time for a third one."""
    slow = np.linspace(0.0, 1.0, 100)[None, :] * np.linspace(0.5, 0.9, 30)[:, None]
    policy = OpenArms().reset(30, 90, seed=1)
    play(policy, lambda arm, n: float(slow[arm, n - 1]), 90)
    assert (policy.pulls > 0).sum() <= 4


def test_a_dead_arm_is_left() -> None:
    policy = OpenArms(order="given").reset(6, 120)
    play(policy, lambda arm, n: 0.0 if arm < 2 else 0.5 + 0.1 * arm, 120)
    assert policy.recommend() >= 2
    assert policy.pulls[:2].sum() < 30


@pytest.mark.parametrize("slowness", [1.0, 30.0])
def test_loses_less_than_a_random_arm_on_fast_and_on_slow_curves(slowness: float) -> None:
    lost = np.zeros((6, 2))
    for seed in range(6):
        reward = learning_curves(40, seed, slowness)
        curves = np.array([[reward(arm, n) for n in range(1, 401)] for arm in range(40)])
        problem = RisingBandit.from_array(curves, NoNoise(), 400)
        sums = problem.mean_sums(400)
        result = simulate(OpenArms(), problem, 400, runs=10, seed=seed)
        lost[seed] = result.final_regret["open-arms"].mean(), sums.max() - sums.mean()
    assert lost[:, 0].mean() < 0.9 * lost[:, 1].mean()


@pytest.mark.parametrize("sigma", [0.1, "smooth"])
def test_where_pulls_abound_it_is_commit_ucb(sigma: Any) -> None:
    rounds = 900
    arms = [
        play(policy.reset(4, rounds, seed=1), learning_curves(4, 5), rounds)
        for policy in (OpenArms(sigma=sigma), CommitUCB(sigma=sigma), OpenArms(sigma=sigma, few=300))
    ]
    assert arms[0] == arms[1]
    assert arms[0] != arms[2]


def test_simulated_problems_give_commit_ucb_its_noise() -> None:
    result = simulate([OpenArms(), CommitUCB()], "paper-2arms", horizon=2_000, runs=2, seed=1)
    np.testing.assert_array_equal(result.pulls["open-arms"], result.pulls["commit-ucb"])


def test_orders() -> None:
    given_order = play(OpenArms(order="given").reset(50, 100), learning_curves(50, 1), 100)
    assert list(dict.fromkeys(given_order))[:2] == [0, 1]
    firsts = {play(OpenArms().reset(50, 100, seed), learning_curves(50, 1), 1)[0] for seed in range(30)}
    assert len(firsts) > 15


def test_every_arm_is_as_likely_to_be_first() -> None:
    firsts = np.bincount([OpenArms().reset(5, 20, seed).ask() for seed in range(500)], minlength=5)
    assert firsts.min() > 70


def test_finished_arms_make_room_for_others() -> None:
    """Arms end after five pulls: the policy goes on with those that are left, and opens all in the end."""
    policy = OpenArms(order="given").reset(6, 30)
    reward = learning_curves(6, 2)
    for _ in range(30):
        arm = policy.ask(policy.pulls < 5)
        policy.tell(arm, reward(arm, int(policy.pulls[arm]) + 1))
    assert policy.pulls.tolist() == [5] * 6


def test_a_mask_that_hides_the_planned_arm_changes_nothing_else() -> None:
    policy = OpenArms(order="given").reset(10, 200)
    play(policy, learning_curves(10, 4), 60)
    untouched = policy.clone()
    planned = policy.ask()
    hidden = np.arange(10) != planned
    assert policy.ask(hidden) != planned
    assert policy.ask(hidden) == policy.ask(hidden)
    assert play(policy, learning_curves(10, 9), 100) == play(untouched, learning_curves(10, 9), 100)


def test_unasked_rewards_count() -> None:
    policy = OpenArms(order="given").reset(8, 100)
    for n in range(1, 11):
        policy.tell(5, 0.9 * (1 - 0.5**n))
    policy.tell(3, 0.1)
    play(policy, lambda arm, n: 0.9 if arm == 5 else 0.1, 50)
    assert policy.recommend() == 5
    assert policy.pulls[5] > 40


def test_explain_shows_levels_and_what_opening_has_cost() -> None:
    policy = OpenArms(order="given").reset(5, 100)
    assert np.isnan(policy.explain().columns["level"]).all()
    play(policy, lambda arm, n: [0.2, 0.8, 0.1, 0.1, 0.1][arm], 40)
    columns = policy.explain().columns
    assert columns["level"][:2] == pytest.approx([0.2, 0.8])
    assert columns["ahead"][:2] == pytest.approx([-0.6, 0.0])
    assert columns["cost"][:2] == pytest.approx([0.6, 0.0])
    assert "commit value" in OpenArms(few=0).reset(5, 100).explain().columns


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"order": "alphabetical"}, "order must be"),
        ({"spread": 0.0}, "spread must be"),
        ({"patience": -1.0}, "patience must be"),
        ({"few": float("nan")}, "few must be"),
        ({"sigma": -1.0}, "sigma must be"),
        ({"cap": 0.0}, "cap must be"),
    ],
)
def test_wrong_settings_are_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RisingBanditsError, match=sentence):
        OpenArms(**changes).reset(5, 100)
