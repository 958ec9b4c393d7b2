"""FewArms: the inner policy plays as it would on the few arms alone, whichever they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from risingbandits import Policy, RisingBandit, RisingBanditsError, get_problem, simulate
from risingbandits.policies import CommitUCB, FewArms, GaussianUCB
from risingbandits.policies.few_arms import few_of
from risingbandits.problems import NoNoise
from risingbandits.testing import check_policy


def limits(n_arms: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(0.1, 0.9, n_arms)


def play(policy: Policy, levels: np.ndarray, rounds: int) -> list[int]:
    arms = []
    for _ in range(rounds):
        arm = policy.ask()
        policy.tell(arm, float(levels[arm] * (1 - 0.7 ** (policy.pulls[arm] + 1))))
        arms.append(arm)
    return arms


@pytest.mark.parametrize("policy", [FewArms("beta-ts", max_arms=2), FewArms("gaussian-ucb", 2, "given")], ids=repr)
def test_settings_keep_the_contract(policy: FewArms) -> None:
    check_policy(policy)


@pytest.mark.parametrize("inner", [GaussianUCB(sigma=0.1), CommitUCB(sigma=0.1)], ids=repr)
def test_the_first_arms_are_played_as_if_there_were_no_others(inner: Policy) -> None:
    levels = limits(20)
    few = FewArms.of(inner, max_arms=6, order="given").reset(20, 300)
    assert play(few, levels, 300) == play(inner.reset(6, 300), levels, 300)
    assert few.recommend() == inner.recommend()


def test_random_arms_are_played_as_if_there_were_no_others() -> None:
    levels = limits(20)
    arms = play(FewArms("gaussian-ucb", 6, sigma=0.1).reset(20, 200, seed=3), levels, 200)
    members = list(dict.fromkeys(arms))
    assert len(members) == 6
    alone = play(GaussianUCB(sigma=0.1).reset(6, 200), levels[members], 200)
    assert arms == [members[number] for number in alone]


def test_every_arm_is_as_likely_to_be_among_the_few() -> None:
    drawn = [FewArms("round-robin", 2).reset(5, 20, seed) for seed in range(400)]
    pairs = [tuple(play(policy, np.ones(5), 2)) for policy in drawn]
    counts = np.bincount(np.ravel(pairs), minlength=5)
    assert all(first != second for first, second in pairs)
    assert counts.min() > 120


def test_all_arms_are_the_inner_policy() -> None:
    problem = get_problem("paper-15arms").with_horizon(500)
    result = simulate(
        {"all": FewArms("gaussian-ucb", "all", "given"), "alone": GaussianUCB()}, problem, 500, runs=2, seed=1
    )
    np.testing.assert_array_equal(result.pulls["all"], result.pulls["alone"])


def test_many_arms_cost_nothing_that_is_not_opened() -> None:
    problem = RisingBandit.from_array(limits(10_000)[:, None], NoNoise(), 20_000)
    result = simulate(FewArms("gaussian-ucb", sigma=0.01), problem, 20_000, runs=2, seed=1)
    assert ((result.pulls["few-arms"] > 0).sum(axis=1) == 48).all()


@pytest.mark.parametrize(("n_arms", "horizon", "few"), [(50, 100, 4), (50, 1_000, 11), (50, 1_001, 50), (3, 60, 3)])
def test_the_default_number(n_arms: int, horizon: int, few: int) -> None:
    assert few_of(n_arms, horizon) == few


def test_another_arm_is_played_where_none_of_the_few_is_available() -> None:
    policy = FewArms("gaussian-ucb", 2, "given", sigma=0.1).reset(5, 50)
    others = np.array([False, False, False, True, True])
    assert policy.ask(others) == 3
    alone = GaussianUCB(sigma=0.1).reset(2, 50)
    for _ in range(10):
        policy.tell(policy.ask(others), 0.9)
        arm = policy.ask()
        assert arm == alone.ask()
        policy.tell(arm, 0.3 + 0.1 * arm)
        alone.tell(arm, 0.3 + 0.1 * arm)
    assert policy.pulls[3] == 10


def test_rounds_of_other_arms_are_not_those_of_the_few() -> None:
    """Widths grow with the logarithm of the round: with all rounds counted, the worse arm would come more often."""

    def pulls_of_the_worse(outside: int, counted: int) -> int:
        policy = FewArms("ucb1", 2, "given").reset(5, 20_000)
        policy.ask()
        for _ in range(outside):
            policy.tell(4, 0.5)
        play(policy, np.array([0.2, 1.0, 0.0, 0.0, 0.0]), counted)
        return int(policy.pulls[0])

    assert pulls_of_the_worse(10_000, 200) == pulls_of_the_worse(0, 200)


def test_rewards_from_before_the_first_ask_are_used() -> None:
    policy = FewArms("gaussian-ucb", 3, sigma=0.01).reset(30, 60, seed=1)
    for arm, reward in ((17, 0.9), (4, 0.1), (17, 0.9)):
        policy.tell(arm, reward)
    arms = play(policy, np.where(np.arange(30) == 17, 1.0, 0.1), 40)
    assert policy.recommend() == 17
    assert len({4, 17, *arms}) == 3


def test_more_told_arms_than_there_is_room_for() -> None:
    policy = FewArms("gaussian-ucb", 2, sigma=0.01).reset(4, 60, seed=1)
    for arm in (3, 2, 1, 0):
        policy.tell(arm, 0.5)
    assert set(play(policy, np.ones(4), 20)) <= {2, 3}


def test_noise_and_settings_reach_the_inner_policy(tmp_path: Path) -> None:
    problem = get_problem("paper-2arms")
    assert FewArms("gaussian-ucb").for_problem(problem, 100).inner().get_params()["sigma"] == problem.sigma
    assert FewArms("gaussian-ucb", sigma=0.3).inner().get_params()["sigma"] == 0.3
    given = FewArms("gaussian-ucb", sigma=0.3, settings={"sigma": 0.2})
    assert given.inner().get_params()["sigma"] == 0.2
    assert repr(FewArms("round-robin", sigma=0.3).inner()) == "RoundRobin()"
    loaded = Policy.load(FewArms("beta-ts", settings={"reward_range": (0.0, 2.0)}).save(tmp_path / "few.npz"))
    assert loaded.get_params()["settings"] == {"reward_range": (0.0, 2.0)}


def test_explain_shows_the_few() -> None:
    policy = FewArms("gaussian-ucb", 2, "given", sigma=0.1).reset(4, 50)
    play(policy, np.ones(4), 10)
    level = policy.explain().columns["level"]
    assert np.isfinite(level[:2]).all()
    assert np.isnan(level[2:]).all()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"policy": "gausian-ucb"}, "did you mean 'gaussian-ucb'"),
        ({"policy": "few-arms"}, "policy must not be"),
        ({"max_arms": 0}, "max_arms must be"),
        ({"max_arms": "some"}, "max_arms must be"),
        ({"order": "best"}, "order must be"),
        ({"settings": {"colour": 1}}, "settings must be those of CommitUCB"),
        ({"settings": {"cap": -1.0}}, "cap must be"),
    ],
)
def test_wrong_settings_are_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RisingBanditsError, match=sentence):
        FewArms(**changes).reset(5, 100)


def test_an_inner_policy_that_needs_the_horizon_says_so() -> None:
    with pytest.raises(RisingBanditsError, match="SequentialHalving needs horizon"):
        FewArms("sequential-halving").reset(5)
