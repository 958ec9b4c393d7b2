"""The published program's policies follow a plain account of what it does, and keep the contract of policies."""

from __future__ import annotations

import math

import numpy as np
import pytest

import reference_program as slow
from reference_program import ProgramReference
from risingbandits import get_problem, simulate
from risingbandits._core.jit import interpreted
from risingbandits.lab.paper.published import ProgramREdUCB, ProgramSWTS, program_policies, starting_at_zero
from risingbandits.policies import Constant, policy_names, registry
from risingbandits.problems import Beta
from risingbandits.problems._kernels import draw_reward
from risingbandits.testing import check_policy

POLICIES = program_policies()
REFERENCES: dict[str, type[ProgramReference]] = {
    "red-ucb": slow.REdUCB,
    "kl-ucb": slow.KLUCB,
    "sw-ucb": slow.SWUCB,
    "sw-kl-ucb": slow.SWKLUCB,
    "rexp3": slow.Rexp3,
    "ser4": slow.Ser4,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
def test_contract(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = POLICIES[name]
    monkeypatch.setitem(registry._CLASSES, policy.name, type(policy))  # files of policies are opened by name
    check_policy(policy)


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("n_arms", [2, 4])
def test_decides_like_the_plain_account(name: str, n_arms: int) -> None:
    horizon = 900  # the window of SW-UCB is 312 rounds then, that of SW-KL-UCB 252, a batch of Rexp3 112 or 178
    policy = POLICIES[name].reset(n_arms=n_arms, horizon=horizon, seed=5)
    reference, rng = REFERENCES[name](n_arms, horizon), np.random.default_rng(5)
    noise = np.random.default_rng(6)
    pulls = [0] * n_arms
    for t in range(horizon):
        arm = policy.ask()
        assert arm == reference.ask(rng), f"round {t + 1}"
        pulls[arm] += 1
        mean = min(0.9, 0.002 * pulls[arm] * (arm + 1))
        reward = float(noise.beta(2 * mean / (1 - mean), 2))
        policy.tell(arm, reward)
        reference.tell(arm, reward, rng)
    assert min(pulls) < max(pulls)


@pytest.mark.parametrize("n_arms", [2, 7])
def test_red_ucb_of_the_experiment_with_learners_decides_like_the_plain_account(n_arms: int) -> None:
    policy = ProgramREdUCB(eps=1 / 32, clip_bonus=True).reset(n_arms=n_arms, horizon=3_000, seed=2)
    reference, rng = slow.IMDBREdUCB(n_arms, 3_000), np.random.default_rng(2)
    noise = np.random.default_rng(3)
    pulls = [0] * n_arms
    for t in range(3_000):
        arm = policy.ask()
        assert arm == reference.ask(rng), f"round {t + 1}"
        pulls[arm] += 1
        reward = float(noise.random() < 0.5 + 0.3 * (1 - math.exp(-pulls[arm] / 300)))
        policy.tell(arm, reward)
        reference.tell(arm, reward, rng)
    assert reference.clipped > 3_000
    assert max(pulls) > 2_000  # it has locked on an arm


def test_sw_ts_draws_from_pulls_in_place_of_rewards() -> None:
    """The parameters are those of the program; that draws from them are right is tested with SW-TS itself."""
    horizon, n_arms = 400, 3
    policy = ProgramSWTS().reset(n_arms=n_arms, horizon=horizon, seed=1)
    history: list[tuple[int, int]] = []
    before = np.zeros(n_arms, dtype=np.int64)
    for _ in range(horizon):
        arm = policy.ask()
        policy.tell(arm, [0.2, 0.5, 0.7][arm])
        window = policy._state.window[:-1]
        coin = int(window[:, 1].sum() - before.sum()) + (history[-20][1] if len(history) >= 20 else 0)
        assert coin in (0, 1)
        history.append((arm, coin))
        before = window[:, 1].copy()
        pulls = np.array([sum(a == k for a, _ in history[-20:]) for k in range(n_arms)])
        ones = np.array([sum(c for a, c in history[-20:] if a == k) for k in range(n_arms)])
        assert window[:, 0].tolist() == pulls.tolist()
        assert window[:, 1].tolist() == ones.tolist()
        held = policy._state.held[:-1]
        assert held[:, 1].tolist() == pulls.tolist()  # s of Beta(1 + s, 1 + n - s)
        assert (held[:, 0] - held[:, 1]).tolist() == (pulls - ones).tolist()


def test_arms_start_at_zero_with_the_programs_noise() -> None:
    problem = get_problem("paper-15arms")
    shifted = starting_at_zero(problem, 50)
    np.testing.assert_array_equal(shifted.means(np.arange(1, 51)), problem.means(np.arange(50)))
    assert shifted.arm_names == problem.arm_names
    assert shifted.noise == Beta(b=2.0)


def test_regret_counts_means_above_1_and_rewards_stay_below() -> None:
    """The program adds up the means of the pulls; arm 13 of the 15 ends at 1.0747, and is paid at most 1."""
    horizon = 200_000
    problem = starting_at_zero(get_problem("paper-15arms"), horizon)
    assert problem.means(horizon)[12] == pytest.approx(1.0747, abs=5e-5)
    policies = {f"arm {arm}": Constant(arm) for arm in (0, 12)}
    result = simulate(policies, problem, horizon=horizon, runs=1)
    by_hand = get_problem("paper-15arms").means(np.arange(horizon))[[0, 12]].sum(axis=1)
    expected = {"arm 0": by_hand[1] - by_hand[0], "arm 12": 0.0}
    assert {label: float(found[0]) for label, found in result.final_regret.items()} == pytest.approx(expected, abs=1e-6)
    env, rng = problem.environment(horizon), np.random.default_rng(0)
    assert interpreted(draw_reward)(env, 1.0747, rng) == 1.0


def test_nothing_of_it_is_registered() -> None:
    assert not {policy.name for policy in POLICIES.values()} & set(policy_names())
