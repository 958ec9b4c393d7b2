"""Halving after a pilot: equal to its definition, starts many arms where early levels carry, and says why."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from reference_pilot import SlowPilotHalving
from risingbandits import RisingBandit, simulate
from risingbandits.policies import Auto
from risingbandits.policies.default._best_arm import PilotHalving
from risingbandits.problems import NoNoise, random_problem
from risingbandits.testing import check_policy, check_same_in_all_modes

Curves = np.ndarray


def curves_of(kind: str, n_arms: int, length: int, rng: np.random.Generator) -> Curves:
    """Values of pulls 1, 2, ...: what the arms are like."""
    n = np.arange(1, length + 1)
    final = rng.random((n_arms, 1))
    speed = rng.integers(2, 30, (n_arms, 1))
    rising = final * n / (n + speed)
    if kind == "flat":
        rising[:, : length // 5] = 0.125
    if kind == "reversed":  # who is ahead early is behind in the end
        rising = np.where(n < 8, 1 - final, final)
    if kind == "noisy":
        rising = (rng.random(rising.shape) < rising).astype(float)
    if kind == "same":
        rising[:] = 0.5
    return np.asarray(rising + (1e-3 * rng.standard_normal(rising.shape) if kind == "rising" else 0.0))


def play_both(seed: int, seen: Counter[str]) -> None:
    """Ask and tell the policy and the reference the same, with masks, ends of arms and rewards nobody asked for."""
    rng = np.random.default_rng(seed)
    n_arms, horizon = int(rng.integers(1, 30)), int(rng.integers(2, 400))
    length = int(rng.integers(5, 60)) if seed % 3 == 0 else horizon + 1
    kind = ("rising", "flat", "reversed", "noisy", "same")[seed % 5]
    curves = curves_of(kind, n_arms, max(length, 5), rng)
    planned = horizon if seed % 4 else None
    order = "given" if seed % 2 else "random"
    policy = PilotHalving(order).reset(n_arms, planned, seed=seed)
    slow: SlowPilotHalving | None = None
    pulled = np.zeros(n_arms, dtype=int)
    for _ in range(horizon):
        available = pulled < length
        if seed % 6 == 0:
            available &= rng.random(n_arms) < 0.8
        if not available.any():
            break
        arm = policy.ask(None if available.all() else available)
        if slow is None:
            slow = SlowPilotHalving(n_arms, planned, policy._state.order.tolist())
        assert arm == slow.ask(available.tolist())
        if seed % 11 == 0 and rng.random() < 0.1:
            arm = int(rng.choice(np.flatnonzero(available)))  # not the one that was asked for
        reward = float(curves[arm, min(pulled[arm], curves.shape[1] - 1)])
        pulled[arm] += 1
        policy.tell(arm, reward)
        slow.tell(arm, reward)
        assert policy.recommend() == slow.recommend()
    if slow is not None:
        seen.update(slow.seen)


BRANCHES = {
    "level pilots",
    "noisy",
    "clear",
    "compared early",
    "compared late",
    "all started",
    "some started",
    "more pulls at once",
    "protected",
    "halved",
    "halved at the same pulls",
    "beyond the goal",
    "outside",
    "new plan",
}


def test_decisions_are_those_of_the_definition() -> None:
    seen: Counter[str] = Counter()
    for seed in range(120):
        play_both(seed, seen)
    assert {branch for branch in BRANCHES if seen[branch] < 3} == set()


def test_the_given_order_keeps_the_contract() -> None:
    check_policy(Auto(order="given"))


def test_many_arms_are_the_same_in_all_modes() -> None:
    check_same_in_all_modes(PilotHalving(), random_problem(150, horizon=1_500, seed=2), 1_500, seed=1)


def run(policy: PilotHalving, curves: Curves, horizon: int) -> PilotHalving:
    policy.reset(len(curves), horizon, seed=0)
    for _ in range(horizon):
        arm = policy.ask()
        policy.tell(arm, float(curves[arm, policy.pulls[arm]]))
    return policy


def test_arms_are_opened_as_early_levels_carry() -> None:
    """All of them where ranks never change; about as many as have time to show themselves where all start level."""
    rng = np.random.default_rng(3)
    straight = rng.random((100, 1)) * np.ones(500)
    level = np.where(np.arange(500) < 12, 0.1, straight)
    many = run(PilotHalving(), straight, 300)
    few = run(PilotHalving(), level, 300)
    assert (many.pulls > 0).all()
    assert (few.pulls > 0).sum() < 30
    assert many.recommend() == straight[:, 0].argmax()
    assert (straight[few.recommend(), 0] > straight[:, 0]).mean() > 0.8


def test_the_order_is_drawn_or_given() -> None:
    assert PilotHalving(order="given").reset(50, 100).ask() == 0
    assert len({PilotHalving().reset(50, 100, seed=seed).ask() for seed in range(20)}) > 10


def test_a_reward_before_the_first_question_does_no_harm() -> None:
    policy = PilotHalving().reset(5, 40, seed=1)
    for arm in range(5):
        policy.tell(arm, 0.1 * arm)
    for _ in range(35):
        arm = policy.ask()
        policy.tell(arm, 0.1 * arm)
    assert policy.recommend() == 4


def test_it_recommends_at_any_time() -> None:
    policy = PilotHalving().reset(30, 100, seed=2)
    assert 0 <= policy.recommend() < 30
    for _ in range(100):
        arm = policy.ask()
        policy.tell(arm, arm / 30)
        assert policy.pulls[policy.recommend()] > 0


def test_it_goes_on_after_the_horizon_and_ends_at_no_arm() -> None:
    policy = PilotHalving().reset(4, 20, seed=2)
    for _ in range(60):
        arm = policy.ask()
        policy.tell(arm, arm / 4)
    assert policy.pulls[3] == policy.pulls.max()
    assert policy.recommend() == 3


def test_finished_arms_leave_their_pulls_to_others() -> None:
    curves = np.linspace(0.1, 0.9, 12)[:, None] * np.ones(4)
    problem = RisingBandit.from_array(curves, NoNoise(), 40)
    result = simulate(Auto(), problem, after_end="stop", runs=20, seed=0)
    assert result.recommended[result.policies[0]].tolist() == [11] * 20


def test_zero_one_rewards_are_averaged_over_more_pulls() -> None:
    """One of ten arms is .8, the others .5: with 1,000 pulls it is found."""
    means = np.full(10, 0.5)
    means[4] = 0.8
    rng = np.random.default_rng(5)
    found = 0
    for seed in range(30):
        policy = PilotHalving().reset(10, 1_000, seed=seed)
        for _ in range(1_000):
            arm = policy.ask()
            policy.tell(arm, float(rng.random() < means[arm]))
        found += policy.recommend() == 4
    assert found >= 27


def test_it_says_why() -> None:
    rng = np.random.default_rng(1)
    straight = rng.random((20, 1)) * np.ones(300)
    policy = PilotHalving().reset(20, 100, seed=0)
    assert policy.explain()["active"].sum() == 3
    assert policy.explain().why.startswith("one of 3 pilots, pulled 10 times each")
    policy = run(policy, straight, 100)
    parts = policy.explain()
    started = policy.pulls > 0
    assert np.allclose(parts["level"][started], straight[started, 0])
    assert parts["active"].sum() == parts["active"][policy.recommend()] == 1
    assert parts.why == "the only remaining arm"


@pytest.mark.parametrize("kind", ["rising", "flat", "noisy"])
def test_rewards_on_another_scale_are_played_alike(kind: str) -> None:
    """Exactly, if scaling by a power of two and shifting by an integer change no digit."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        curves = np.round(curves_of(kind, 20, 200, rng) * 1024) / 1024
        plain, other = PilotHalving(), PilotHalving()
        run(plain, curves, 200)
        run(other, 64.0 * curves - 3.0, 200)
        assert plain.pulls.tolist() == other.pulls.tolist()
        assert plain.recommend() == other.recommend()
