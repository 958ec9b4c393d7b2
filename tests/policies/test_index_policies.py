"""Index policies and Thompson sampling decide as their definitions say, and keep the contract."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import reference_index as reference
from decisions import check_decisions, check_late_arm
from risingbandits import Policy, RisingBandit, get_problem, simulate
from risingbandits._core.jit import compiled, interpreted
from risingbandits.lab.related import DUCB, ETTS
from risingbandits.policies import (
    KLUCB,
    SWKLUCB,
    SWTS,
    SWUCB,
    UCB1,
    BetaThompson,
    EpsilonGreedy,
    GaussianThompson,
    GaussianUCB,
    RLessUCB,
)
from risingbandits.policies._kernels import reward_scale
from risingbandits.policies.classic import _kl, _thompson, _windows
from risingbandits.problems import NoNoise
from risingbandits.simulation._engine import Runner, compiled_loop, curve_pull
from risingbandits.testing import check_policy

pytestmark = pytest.mark.filterwarnings("ignore:.* is contradicted by the rewards")  # made up as they are

HORIZON = 1_500
PAIRS: list[tuple[Policy, type[reference.Reference], dict[str, Any]]] = [
    (KLUCB(), reference.KLUCB, {}),
    (SWUCB(), reference.SWUCB, {}),
    (SWKLUCB(), reference.SWKLUCB, {}),
    (SWTS(), reference.SWTS, {}),
    (ETTS(forced=20), reference.ETTS, {}),
    (BetaThompson(reward_range=(-0.5, 1.5)), reference.BetaThompson, {"low": -0.5, "high": 1.5}),
    (DUCB(), reference.DUCB, {}),
    (DUCB(discount=0.9), reference.DUCB, {"discount": 0.9}),
    (UCB1(), reference.UCB1, {}),
    (GaussianUCB(sigma=0.1), reference.GaussianUCB, {}),
    (GaussianThompson(sigma=0.1), reference.GaussianThompson, {}),
    (EpsilonGreedy(), reference.EpsilonGreedy, {}),
    (EpsilonGreedy(decay=2.0), reference.EpsilonGreedy, {"decay": 2.0}),
    (RLessUCB(sigma=0.1), reference.RLessUCB, {}),
]
INSTANCES = ["paper-15arms", "paper-2arms", "random-3"]
OPTIONS = [  # the defaults go through test_contract.py
    KLUCB(c=0.0, reward_range=(-1.0, 2.0)),
    KLUCB(ties="random"),
    SWUCB(tau=7),
    SWKLUCB(tau=9),
    SWTS(tau=5),
    ETTS(forced=3),
    ETTS(forced=0, tau=9),
    DUCB(discount=0.001),
    UCB1(ties="random"),
    EpsilonGreedy(decay=2.0, ties="random"),
    RLessUCB(sigma=0.0),
]
SETTINGS = [*(pair[0] for pair in PAIRS), *OPTIONS]


@pytest.mark.parametrize("name", INSTANCES)
@pytest.mark.parametrize(("policy", "slow", "changes"), PAIRS, ids=[repr(pair[0]) for pair in PAIRS])
def test_decisions_equal_the_reference(
    policy: Policy, slow: type[reference.Reference], changes: dict[str, Any], name: str
) -> None:
    problem = get_problem(name)
    runner = Runner(policy, problem, HORIZON, np.array([HORIZON]))
    for seed in range(2):
        other = slow(problem.n_arms, HORIZON)
        vars(other).update(changes)
        pulls = check_decisions(policy, other, problem, HORIZON, seed)
        np.testing.assert_array_equal(runner.play(np.random.SeedSequence(seed)).pulls, pulls)


@pytest.mark.parametrize("sigma", [0.0, 0.1])
@pytest.mark.parametrize("name", ["random-3", "mussi-5arms"])  # of the second, arms rest for different times
def test_restless_decisions_equal_the_reference(name: str, sigma: float) -> None:
    preset = get_problem(name)
    noise = NoNoise() if sigma == 0.0 else preset.noise
    problem = RisingBandit(preset.curves, noise, 400, restless=True)
    slow = reference.RLessUCB(problem.n_arms, 400)
    slow.sigma = sigma
    check_decisions(RLessUCB(sigma=sigma), slow, problem, 400, seed=1)


def test_restless_pruning_changes_nothing() -> None:
    curves = list(get_problem("random-3").curves) * 10  # 150 arms
    problem = RisingBandit(curves, get_problem("random-3").noise, 3_000, restless=True)
    for policy in (RLessUCB(sigma=0.1), RLessUCB(sigma=0.0)):
        pruned = Runner(policy, problem, 3_000, np.array([3_000])).play(np.random.SeedSequence(1))
        state_class: Any = type(policy._new_state(1, 1, 1))
        full_scan = compiled_loop(policy.kernels, state_class, curve_pull)
        plain = Runner(policy, problem, 3_000, np.array([3_000]), loop=full_scan)
        np.testing.assert_array_equal(plain.play(np.random.SeedSequence(1)).pulls, pruned.pulls)


@pytest.mark.parametrize("policy", OPTIONS, ids=repr)
def test_contract(policy: Policy) -> None:
    check_policy(policy)


@pytest.mark.parametrize("policy", [policy for policy in SETTINGS if not policy._draws], ids=repr)
def test_asking_changes_no_decision(policy: Policy) -> None:
    """Asking twice, or under a mask, without telling leaves later answers as they were."""
    calm, nervous = policy.clone().reset(4, 200), policy.clone().reset(4, 200)
    rng = np.random.default_rng(3)
    for _ in range(200):
        only = np.zeros(4, dtype=bool)
        only[rng.integers(4)] = True
        nervous.ask(only)
        nervous.ask()
        arm = calm.ask()
        assert nervous.ask() == arm
        reward = float(rng.random())
        calm.tell(arm, reward)
        nervous.tell(arm, reward)


@pytest.mark.parametrize("policy", SETTINGS, ids=repr)
def test_an_arm_that_is_masked_from_the_start_joins_later(policy: Policy) -> None:
    check_late_arm(policy)


def test_windows_of_the_defaults() -> None:
    assert SWKLUCB()._new_state(2, None, 10).ring.shape[0] == 252
    assert SWTS()._new_state(2, 200_000, 10).ring.shape[0] == 448
    assert SWUCB()._new_state(2, 200_000, 10).ring.shape[0] == 6250
    assert SWUCB()._new_state(2, 1, 10).ring.shape[0] == 1


# -- bounded rewards ------------------------------------------------------------------------------------------------

finite = st.floats(-1e6, 1e6)


@given(finite, st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_unit_is_a_clipped_affine_map(reward: float, low: float, width: float) -> None:
    unit = interpreted(reward_scale.unit)
    x = unit(reward, low, width)
    assert 0.0 <= x <= 1.0
    assert x == min(1.0, max(0.0, (reward - low) / width))
    assert unit(low, low, width) == 0.0
    assert unit(reward, 0.0, 1.0) == min(max(reward, 0.0), 1.0)


def test_clipping_moves_means_as_documented() -> None:
    noise = 0.1 * stats.norm.ppf((np.arange(100_000) + 0.5) / 100_000)
    seen = [float(np.clip(mean + noise, 0.0, 1.0).mean()) for mean in (0.0, 1.0)]
    assert seen == pytest.approx([0.040, 0.960], abs=5e-4)


def test_coin_has_the_chance_it_is_given() -> None:
    rng = np.random.default_rng(1)
    toss = interpreted(reward_scale.coin)
    wins = sum(toss(0.3, rng) for _ in range(20_000))
    assert abs(wins - 6_000) < 4 * math.sqrt(20_000 * 0.3 * 0.7)
    assert all(toss(0.0, rng) == 0 and toss(1.0, rng) == 1 for _ in range(100))


# -- windows --------------------------------------------------------------------------------------------------------


@given(st.integers(1, 12), st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1)), max_size=60))
def test_windows_hold_the_last_rounds(tau: int, rounds: list[tuple[int, float]]) -> None:
    push, in_units = interpreted(_windows.push), interpreted(_windows.in_units)
    ring, held, units = _windows.new_ring(tau), _windows.new_held(4), _windows.units_per_reward(tau)
    for t, (arm, reward) in enumerate(rounds, start=1):
        leaving = push(ring, held, arm, in_units(reward, units))
        assert leaving == (rounds[t - tau - 1][0] if t > tau else -1)
        for i in range(4):
            last = [x for a, x in rounds[max(0, t - tau) : t] if a == i]
            assert held[i, 0] == len(last)
            assert held[i, 1] == sum(in_units(x, units) for x in last)  # exactly
            assert held[i, 1] / units == pytest.approx(math.fsum(last), abs=1e-15 * max(1, tau))


def _push_many(ring: Any, held: Any, arms: Any, rewards: Any, units: float) -> None:
    for t in range(arms.shape[0]):
        _windows.push(ring, held, arms[t], _windows.in_units(rewards[t], units))


def test_window_sums_do_not_drift() -> None:
    rng = np.random.default_rng(2)
    arms, rewards = rng.integers(0, 3, 1_000_000), rng.random(1_000_000)
    tau = 450
    ring, held, units = _windows.new_ring(tau), _windows.new_held(3), _windows.units_per_reward(tau)
    compiled(_push_many)(ring, held, arms, rewards, units)
    for arm in range(3):
        last = rewards[-tau:][arms[-tau:] == arm]
        assert held[arm, 0] == len(last)
        assert held[arm, 1] / units == pytest.approx(math.fsum(last), rel=1e-14)
    assert 1_000_000 * _windows.units_per_reward(1_000_000) < 2.0**63


# -- KL bounds ------------------------------------------------------------------------------------------------------

arms_strategy = st.lists(
    st.tuples(st.integers(0, 2_000), st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.0 - 1e-9]))),
    min_size=1,
    max_size=8,
)


@settings(max_examples=100, deadline=None)
@given(arms_strategy, st.lists(st.floats(0.01, 40.0), min_size=1, max_size=5), st.data())
def test_separating_level_finds_the_arm_of_the_bisection(
    pulls_and_means: list[tuple[int, float]], thresholds: list[float], data: st.DataObject
) -> None:
    set_arm, best_arm, bound = (interpreted(f) for f in (_kl.set_arm, _kl.best_arm, _kl.bound))
    n_arms = len(pulls_and_means)
    arms, level = _kl.new_arms(n_arms), _kl.new_level()
    counts, means = np.zeros(n_arms), np.zeros(n_arms)
    thresholds = sorted(thresholds)
    for i, (n, mean) in enumerate(pulls_and_means):
        set_arm(arms, level, i, float(n), n * mean, thresholds[0])
        counts[i], means[i] = n, n * mean / max(n, 1)
    for f in thresholds:
        available = np.array(data.draw(st.lists(st.booleans(), min_size=n_arms, max_size=n_arms)))
        available[data.draw(st.integers(0, n_arms - 1))] = True
        exact = reference.kl_bound(counts, means, f)
        for mask in (None, available):
            allowed = exact if mask is None else np.where(mask, exact, -np.inf)
            arm = best_arm(arms, level, f, mask, None)
            assert mask is None or mask[arm]
            assert allowed[arm] == pytest.approx(allowed.max(), abs=2e-12)
            same = (counts == counts[arm]) & (means == means[arm])
            assert arm == np.flatnonzero(same if mask is None else same & mask)[0]  # equal arms: the lowest
        for i in range(n_arms):
            assert bound(arms, i, f) == pytest.approx(exact[i], abs=2e-12)
            assert arms[i, 3] + arms[i, 4] * f >= exact[i] - 2e-12  # no line cuts off its bound
        changed = data.draw(st.integers(0, n_arms - 1))
        x = data.draw(st.floats(0, 1))
        counts[changed] += 1
        set_arm(arms, level, changed, counts[changed], arms[changed, 1] + x, f)
        means[changed] = arms[changed, 1] / counts[changed]


@settings(max_examples=100, deadline=None)
@given(arms_strategy, st.data())
def test_thresholds_of_their_own_find_the_arm_of_the_bisection(
    pulls_and_means: list[tuple[int, float]], data: st.DataObject
) -> None:
    set_arm, best_arm_of = interpreted(_kl.set_arm), interpreted(_kl.best_arm_of)
    n_arms = len(pulls_and_means)
    arms, level = _kl.new_arms(n_arms), _kl.new_level()
    counts, means = np.zeros(n_arms), np.zeros(n_arms)
    for i, (n, mean) in enumerate(pulls_and_means):
        set_arm(arms, level, i, float(n), n * mean, 1.0)
        counts[i], means[i] = n, n * mean / max(n, 1)
    for _ in range(3):  # they may fall as well as rise
        own = np.array(data.draw(st.lists(st.sampled_from([0.5, 2.0, 9.0]), min_size=n_arms, max_size=n_arms)))
        exact = np.array([reference.kl_bound(counts[i : i + 1], means[i : i + 1], own[i])[0] for i in range(n_arms)])
        arm = best_arm_of(arms, own, None, None)
        assert exact[arm] == pytest.approx(exact.max(), abs=2e-12)
        same = (counts == counts[arm]) & (means == means[arm]) & (own == own[arm])
        assert arm == np.flatnonzero(same)[0]  # equal arms: the lowest


def test_random_ties_of_equal_kl_bounds_are_fair() -> None:
    policy = KLUCB(ties="random").reset(4, seed=1)
    for arm in range(4):
        policy.tell(arm, 0.0 if arm == 3 else 0.5)
    asked = np.bincount([policy.ask() for _ in range(3_000)], minlength=4)
    assert asked[3] == 0
    assert np.all(np.abs(asked[:3] - 1_000) < 4 * math.sqrt(3_000 * 2 / 9))


# -- Thompson sampling ----------------------------------------------------------------------------------------------


def _count_best(held: Any, log_beta: Any, leader: Any, rng: Any, wins: Any, draws: int) -> None:
    for _ in range(draws):
        wins[_thompson.best_of_draws(held, log_beta, leader, None, rng)] += 1


@pytest.mark.parametrize(
    "pulls_and_wins",
    [
        [(10, 6), (0, 0), (3, 0), (5, 4), (1, 1), (40, 20)],
        [(300, 250), (20, 15), (20, 10), (4, 1), (0, 0), (2, 0)],
        [(30, 15), (30, 15), (29, 15), (28, 12)],
        [(5_000, 2_600), (4_000, 2_000), (6_000, 3_100)],
        [(0, 0), (0, 0), (0, 0)],
        [(1, 0), (5, 0), (50, 0), (0, 0)],
    ],
)
@pytest.mark.parametrize("leader", [0, 1])
def test_pruned_draws_have_the_right_law(pulls_and_wins: list[tuple[int, int]], leader: int) -> None:
    draws = 200_000
    held = np.array([*pulls_and_wins, (0, 0)], dtype=np.int64)
    table = _thompson.new_log_factorials()
    log_beta = np.zeros(len(pulls_and_wins))
    for arm in range(len(pulls_and_wins)):
        interpreted(_thompson.refresh)(held, log_beta, table, arm)
    wins = np.zeros(len(pulls_and_wins), dtype=np.int64)
    compiled(_count_best)(held, log_beta, np.array([leader]), np.random.default_rng(5), wins, draws)
    grid = (np.arange(40_000) + 0.5) / 40_000
    posteriors = [stats.beta(1 + s, 1 + n - s) for n, s in pulls_and_wins]
    below = np.array([posterior.cdf(grid) for posterior in posteriors])
    for arm, posterior in enumerate(posteriors):
        chance = float(np.mean(posterior.pdf(grid) * np.delete(below, arm, 0).prod(axis=0)))
        # four standard errors, and two counts for what is too rare to be normal
        assert abs(wins[arm] - draws * chance) <= 4 * math.sqrt(draws * chance * (1 - chance)) + 2


@given(st.integers(0, 1_000_000))
def test_log_factorials(n: int) -> None:
    value = interpreted(_thompson.log_factorial)(_thompson.new_log_factorials(), n)
    assert value == pytest.approx(math.lgamma(n + 1.0), rel=1e-13, abs=1e-13)


# -- at full size ---------------------------------------------------------------------------------------------------

# (mean, sd over runs) of the final regret in the specification: T = 200,000, Gaussian noise of 0.1, 100 runs.
REGRETS = {
    ("paper-15arms", "sw-ts"): (16_613, 1_447),
    ("paper-15arms", "sw-kl-ucb"): (28_882, 129),
    ("paper-15arms", "sw-ucb"): (31_968, 824),
    ("paper-15arms", "kl-ucb"): (66_347, 5),
    ("paper-2arms", "sw-ts"): (110_474, 79),
    ("paper-2arms", "sw-kl-ucb"): (36_477, 262),
    ("paper-2arms", "sw-ucb"): (109_207, 6),
    ("paper-2arms", "kl-ucb"): (108_741, 5),
}


@pytest.mark.slow
@pytest.mark.parametrize(("problem", "policy"), REGRETS)
def test_regret_at_full_size(problem: str, policy: str) -> None:
    """Within four standard errors of the difference, or half a percent."""
    mean, sd = REGRETS[problem, policy]
    regret = simulate(policy, problem, runs=100, seed=1, record_at=1).final_regret[policy]
    error = math.hypot(sd, float(regret.std(ddof=1))) / math.sqrt(100)
    assert abs(regret.mean() - mean) <= max(4 * error, 0.005 * mean)
