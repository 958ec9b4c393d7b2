"""OpenByValue: agreement with its description, what it does on all kinds of curves, masks, and what it explains."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_trials import SlowOpenByValue
from risingbandits import RisingBandit, RisingBanditsError, simulate
from risingbandits.policies import UCB1, Auto, OpenByValue, Policy
from risingbandits.problems import NoNoise
from risingbandits.testing import check_policy, check_same_in_all_modes

Reward = Callable[[int, int], float]


def learning_curves(n_arms: int, seed: int, slowness: float = 8.0, noise: float = 0.01, flat: int = 4) -> Reward:
    """Rewards of pull n = 1, 2, ... of an arm: limits, speeds and lengths of the flat start differ."""
    rng = np.random.default_rng(seed)
    limits = rng.uniform(0.2, 0.9, n_arms)
    speeds = slowness * rng.uniform(0.2, 2.0, n_arms)
    starts = rng.integers(0, flat, n_arms)

    def reward(arm: int, n: int) -> float:
        rise = 1.0 - np.exp(-max(0.0, n - starts[arm]) / speeds[arm])
        return float(limits[arm] * rise + noise * rng.standard_normal())

    return reward


def coins(n_arms: int, seed: int) -> Reward:
    """Rewards near 0 and 1 of arms that hardly differ: they have no level before many pulls. No two are the same."""
    rng = np.random.default_rng(seed)
    chances = rng.uniform(0.4, 0.6, n_arms)
    return lambda arm, n: float(rng.random() < chances[arm]) + 0.1 * rng.random()


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
    rounds=st.integers(1, 200),
    known=st.booleans(),
    noise=st.sampled_from([1e-6, 0.01, 0.3]),
    sigma=st.sampled_from([None, None, 0.0, 0.2]),
    seed=st.integers(0, 10_000),
)
@settings(max_examples=40, deadline=None)
@pytest.mark.filterwarnings("ignore:.* is contradicted by the rewards")
def test_agrees_with_its_description(
    n_arms: int, rounds: int, known: bool, noise: float, sigma: float | None, seed: int
) -> None:
    horizon = rounds if known else None
    fast = OpenByValue(order="given", sigma="auto" if sigma is None else sigma).reset(n_arms, horizon)
    slow = SlowOpenByValue(n_arms, horizon, sigma=sigma)
    assert play(fast, learning_curves(n_arms, seed, noise=noise), rounds) == play(
        slow, learning_curves(n_arms, seed, noise=noise), rounds
    )
    assert fast.recommend() == slow.recommend()


@pytest.mark.parametrize("seed", range(6))
def test_a_contradicted_sigma_is_said_once_and_measured_from_then_on(seed: int) -> None:
    noisy = learning_curves(6, seed, noise=0.2)
    slow = SlowOpenByValue(6, 400, sigma=0.02)
    expected = play(slow, learning_curves(6, seed, noise=0.2), 400)
    assert slow.guard is not None
    assert slow.guard.contradicted
    policy = OpenByValue(order="given", sigma=0.02).reset(6, 400)
    with pytest.warns(UserWarning, match="open-by-value: sigma=0.02 is contradicted by the rewards") as said:
        assert play(policy, noisy, 400) == expected
    assert len(said) == 1


@given(
    n_arms=st.integers(1, 12),
    rounds=st.integers(1, 200),
    noise=st.sampled_from([1e-6, 0.01, 0.3]),
    trust=st.sampled_from([-1.0, 0.0, 1.0, 3.0]),
    seed=st.integers(0, 10_000),
)
@settings(max_examples=40, deadline=None)
def test_beliefs_are_those_of_the_description(n_arms: int, rounds: int, noise: float, trust: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    means, deviations = trust * rng.standard_normal(n_arms), rng.uniform(0.2, 1.2, n_arms)
    fast = OpenByValue(order="given").reset(n_arms, rounds)
    fast.believe(means, deviations)
    slow = SlowOpenByValue(n_arms, rounds, beliefs=list(zip(means, deviations, strict=True)))
    assert play(fast, learning_curves(n_arms, seed, noise=noise), rounds) == play(
        slow, learning_curves(n_arms, seed, noise=noise), rounds
    )
    assert fast.recommend() == slow.recommend()


def test_a_strong_belief_keeps_other_arms_closed_and_a_run_with_beliefs_is_saved(tmp_path: Path) -> None:
    def opened(means: list[float], deviation: float) -> int:
        policy = OpenByValue(order="given").reset(12, 300)
        policy.believe(means, [deviation] * 12)
        arms = play(policy, lambda arm, n: (0.5 + 0.1 * (arm % 2)) * n / (n + 5), 150)
        loaded = Policy.load(policy.save(tmp_path / "policy.npz"))
        assert play(loaded, coins(12, 1), 150) == play(policy, coins(12, 1), 150)
        return len(set(arms))

    assert opened([2.0, *[-1.0] * 11], 0.3) == 2
    assert opened([-1.0, -1.0, *[2.0] * 10], 0.3) > 2


@pytest.mark.parametrize(
    ("means", "deviations", "complaint"),
    [
        ([0.0], [1.0, 1.0], "means must be 2"),
        ([0.0, 0.0], [1.0, np.nan], "deviations must be 2"),
        ([0, 0], [1, 0], "above 0"),
    ],
)
def test_beliefs_are_numbers_for_all_arms(means: list[float], deviations: list[float], complaint: str) -> None:
    with pytest.raises(RisingBanditsError, match=complaint):
        OpenByValue().reset(2, 10).believe(means, deviations)


def test_auto_believes_and_other_policies_say_that_they_cannot() -> None:
    for believer, horizon in ((OpenByValue(order="given"), 100), (Auto("cumulative", order="given"), 100)):
        believer.reset(10, horizon).believe(np.linspace(2.0, -2.0, 10), np.full(10, 0.3))
        assert len(set(play(believer, lambda arm, n: 0.5 * n / (n + 5), 100))) == 2
    Auto("cumulative").reset(2, 1_000).believe([1.0, 0.0], [1.0, 1.0])  # played by a policy that has no use for it
    with pytest.raises(RisingBanditsError, match="takes no beliefs"):
        UCB1().reset(2, 10).believe([0.0, 0.0], [1.0, 1.0])


def test_every_branch_of_the_description_is_compared() -> None:
    taken: dict[str, int] = {}
    kinds: list[Callable[[], Reward]] = [
        lambda: learning_curves(12, 1),
        lambda: learning_curves(12, 2, noise=0.3),
        lambda: learning_curves(12, 3, noise=1e-6, flat=40),
        lambda: learning_curves(12, 23, noise=0.1),
        lambda: coins(12, 2),
    ]
    for make in kinds:
        slow = SlowOpenByValue(12, 400)
        fast = OpenByValue(order="given").reset(12, 400)
        assert play(slow, make(), 400) == play(fast, make(), 400)
        for branch, times in slow.branches.items():
            taken[branch] = taken.get(branch, 0) + times
    assert set(taken) == {
        "open",
        "second look",
        "incumbent",
        "trial",
        "older",
        "hopeless",
        "wide window",
        "flat",
    }
    assert min(taken.values()) > 0


def test_settings_are_those_of_the_description() -> None:
    fast = OpenByValue(order="given", spread=0.4).reset(40, 300)
    slow = SlowOpenByValue(40, 300, prior=0.4)
    other = OpenByValue(order="given").reset(40, 300)
    arms = play(fast, learning_curves(40, 1), 300)
    assert arms == play(slow, learning_curves(40, 1), 300)
    assert arms != play(other, learning_curves(40, 1), 300)


@pytest.mark.parametrize("policy", [OpenByValue(order="given"), OpenByValue(sigma=0.1)], ids=repr)
def test_settings_keep_the_contract(policy: OpenByValue) -> None:
    check_policy(policy)


def test_many_arms_are_the_same_in_all_modes() -> None:
    curves = np.array([[learning_curves(60, 3)(arm, n) for n in range(1, 200)] for arm in range(60)])
    check_same_in_all_modes(OpenByValue(), RisingBandit.from_array(curves, NoNoise()), 1_200, seed=2)


def lost_share(curves: np.ndarray, rounds: int, runs: int = 10, seed: int = 1) -> float:
    """Regret over what a random arm loses."""
    problem = RisingBandit.from_array(curves, NoNoise(), rounds)
    sums = problem.mean_sums(rounds)
    result = simulate(OpenByValue(), problem, rounds, runs=runs, seed=seed)
    return float(result.final_regret["open-by-value"].mean() / (sums.max() - sums.mean()))


@pytest.mark.compiled
def test_opens_few_of_ten_thousand_arms_and_finds_a_good_one() -> None:
    limits = np.random.default_rng(0).uniform(0.0, 0.9, 10_000)
    curves = limits[:, None] * (1.0 - 0.5 ** np.arange(1, 30))
    problem = RisingBandit.from_array(curves, NoNoise(), 5_000)
    result = simulate(OpenByValue(), problem, 5_000, runs=3, seed=1)
    opened = (result.pulls["open-by-value"] > 0).sum(axis=1)
    assert (opened > 5).all()
    assert (opened < 1_000).all()
    assert (limits[result.recommended["open-by-value"]] > 0.75).all()


def test_slow_learners_are_not_opened_one_after_another() -> None:
    """Where an arm needs all of the budget to learn, there is no time for a third one."""
    slow = np.linspace(0.0, 1.0, 100)[None, :] * np.linspace(0.5, 0.9, 30)[:, None]
    policy = OpenByValue().reset(30, 90, seed=1)
    play(policy, lambda arm, n: float(slow[arm, n - 1]), 90)
    assert (policy.pulls > 0).sum() <= 4


def test_arms_that_start_flat_are_not_all_opened() -> None:
    """A flat start makes others look as good as the incumbent, and free to try: they are not."""
    rng = np.random.default_rng(3)
    rise = 1.0 - np.exp(-np.maximum(0, np.arange(1, 301) - 15) / 20)
    curves = rng.uniform(0.3, 0.9, 40)[:, None] * rise[None, :]
    policy = OpenByValue().reset(40, 300, seed=1)
    play(policy, lambda arm, n: float(curves[arm, n - 1]), 300)
    assert (policy.pulls > 0).sum() <= 8
    assert lost_share(curves, 300, runs=40) < 1.3


def test_a_dead_arm_is_left() -> None:
    policy = OpenByValue(order="given").reset(6, 120)
    play(policy, lambda arm, n: 0.0 if arm < 2 else 0.5 + 0.1 * arm, 120)
    assert policy.recommend() >= 2
    assert policy.pulls[:2].sum() < 30


@pytest.mark.parametrize("slowness", [1.0, 30.0])
def test_loses_less_than_a_random_arm_on_fast_and_on_slow_curves(slowness: float) -> None:
    shares = []
    for seed in range(6):
        reward = learning_curves(40, seed, slowness)
        curves = np.array([[reward(arm, n) for n in range(1, 401)] for arm in range(40)])
        shares.append(lost_share(curves, 400, seed=seed))
    assert np.mean(shares) < 0.85


def test_rewards_of_0_and_1_do_not_keep_it_from_a_good_arm() -> None:
    """Ten arms, 1,000 rounds."""
    levels = np.linspace(0.1, 0.9, 10)
    lost = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        policy = OpenByValue().reset(10, 1_000, seed=seed)
        arms = play(policy, lambda arm, n, draw=rng: float(draw.random() < levels[arm]), 1_000)  # type: ignore[misc]
        lost.append(0.9 - levels[arms].mean())
    assert np.mean(lost) < 0.18 * (0.9 - levels.mean())


def test_orders() -> None:
    given_order = play(OpenByValue(order="given").reset(50, 100), learning_curves(50, 1), 100)
    assert list(dict.fromkeys(given_order))[:2] == [0, 1]
    firsts = np.bincount([OpenByValue().reset(5, 20, seed).ask() for seed in range(500)], minlength=5)
    assert firsts.min() > 70


def test_finished_arms_make_room_for_others() -> None:
    """Arms end after five pulls: the policy goes on with those that are left, and opens all in the end."""
    policy = OpenByValue(order="given").reset(6, 30)
    reward = learning_curves(6, 2)
    for _ in range(30):
        arm = policy.ask(policy.pulls < 5)
        policy.tell(arm, reward(arm, int(policy.pulls[arm]) + 1))
    assert policy.pulls.tolist() == [5] * 6


def test_a_mask_that_hides_the_planned_arm_changes_nothing_else() -> None:
    policy = OpenByValue(order="given").reset(10, 200)
    play(policy, learning_curves(10, 4), 60)
    untouched = policy.clone()
    planned = policy.ask()
    hidden = np.arange(10) != planned
    assert policy.ask(hidden) != planned
    assert policy.ask(hidden) == policy.ask(hidden)
    assert play(policy, learning_curves(10, 9), 100) == play(untouched, learning_curves(10, 9), 100)


def test_unasked_rewards_count() -> None:
    policy = OpenByValue(order="given").reset(8, 100)
    for n in range(1, 11):
        policy.tell(5, 0.9 * (1 - 0.5**n))
    policy.tell(3, 0.1)
    play(policy, lambda arm, n: 0.9 if arm == 5 else 0.1, 50)
    assert policy.recommend() == 5
    assert policy.pulls[5] > 40


def test_explanations_add_up_to_the_decision() -> None:
    reward = learning_curves(12, 6, slowness=1.0, flat=1)
    policy = OpenByValue(order="given").reset(12, 300)
    seen = set()
    for n in range(300):
        told = policy.explain().columns
        arm = policy.ask()
        before = int(policy.pulls[arm])
        if n > 14 and before < 20:  # decided anew after every pull
            tried = ~np.isnan(told["value"])
            np.testing.assert_allclose(told["gain"][tried], (told["value"] - told["price"])[tried])
            incumbent = int(np.flatnonzero((told["ahead"] == 0.0) & np.isnan(told["value"]))[0])
            best = int(np.nanargmax(told["gain"]))
            assert arm == (best if told["gain"][best] > 0 else incumbent)
            seen.add("incumbent" if arm == incumbent else "new" if before == 0 else "trial")
        policy.tell(arm, reward(arm, before + 1))
    assert seen == {"incumbent", "new", "trial"}


def test_explanations_are_in_units_of_reward() -> None:
    policy = OpenByValue(order="given").reset(5, 100)
    assert np.isnan(policy.explain()["level"]).all()
    play(policy, lambda arm, n: [0.2, 0.8, 0.1, 0.1, 0.1][arm], 40)
    told = policy.explain()
    assert told["level"][:2] == pytest.approx([0.2, 0.8])
    assert told["ahead"][:2] == pytest.approx([-0.6, 0.0])
    assert told["expected"][0] == pytest.approx(-0.6)
    assert told["chance"][0] < 0.1
    assert told["gain"][0] <= 0
    closed = policy.pulls == 0
    if closed.any():
        assert np.unique(told["gain"][closed]).size == 1


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"order": "alphabetical"}, "order must be"),
        ({"spread": 0.0}, "spread must be"),
        ({"sigma": -1.0}, "sigma must be"),
        ({"sigma": "half"}, "sigma must be"),
    ],
)
def test_wrong_settings_are_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RisingBanditsError, match=sentence):
        OpenByValue(**changes).reset(5, 100)
