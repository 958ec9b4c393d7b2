"""Algorithms related to R-ed-UCB: equal to their definitions where their rules fire, sane with masks and settings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_rising_related as slow
from decisions import check_decisions, check_late_arm
from reference_index import Reference
from risingbandits import Policy, RisingBandit, get_policy, get_problem, simulate
from risingbandits._core.jit import interpreted
from risingbandits.lab.related import RAWUCB, RCBE, TIUCB, CureUCB, LinearAE, LinearEE, cure_ucb, rc_be
from risingbandits.lab.related import _least_squares as least_squares
from risingbandits.policies._kernels import noise
from risingbandits.problems import ConstantCurve, Gaussian, LinearCapped, NoNoise, Tabulated
from risingbandits.simulation._engine import Runner
from risingbandits.testing import check_policy

pytestmark = pytest.mark.filterwarnings("ignore:.* is contradicted by the rewards")  # made up as they are

HORIZON = 1_000
PAIRS: list[tuple[Policy, type[Reference]]] = [
    (CureUCB(sigma=0.1), slow.CureUCB),
    (CureUCB(sigma=0.02, eps=0.4, alpha=2.5, bonus_scale=0.1), slow.CureUCB),
    (CureUCB(sigma=0.02, bonus_scale=0.05, ceiling=1.0), slow.CureUCB),
    (CureUCB(sigma=0.0), slow.CureUCB),
    (TIUCB(sigma=0.1), slow.TIUCB),
    (TIUCB(omega=20, gamma=0.3, c=0.05), slow.TIUCB),
    (LinearEE(), slow.LinearEE),
    (LinearEE(m=30), slow.LinearEE),
    (LinearAE(sigma=0.1), slow.LinearAE),
    (LinearAE(sigma=0.001, delta=0.5), slow.LinearAE),
    (RCBE(sigma=0.1), slow.RCBE),
    (RCBE(sigma=0.0, alpha=2.0), slow.RCBE),
    (RAWUCB(sigma=0.1), slow.RAWUCB),
    (RAWUCB(sigma=0.05, alpha=0.5, m=1.0), slow.RAWUCB),
    (RAWUCB(sigma=0.1, m=1.3), slow.RAWUCB),
]
OPTIONS = [
    CureUCB(ties="random"),
    CureUCB(sigma="auto", ceiling=0.5),
    CureUCB(sigma="auto", bonus_scale=0.1),
    CureUCB(sigma=0.0, ceiling=1.0),
    TIUCB(omega=4, gamma=0.0),
    TIUCB(omega=7, ties="random"),
    LinearEE(m=2),
    LinearAE(sigma=0.0),
    RCBE(alpha=0.5),
    RAWUCB(m=1.0),
]
LINES = RisingBandit(  # the third overtakes after 200 pulls and earns most
    [ConstantCurve(0.2), LinearCapped(0.0001, 0.4), LinearCapped(0.001, 1.0)], Gaussian(0.03), HORIZON
)
KINKS = RisingBandit([LinearCapped(0.004, 0.6), LinearCapped(0.01, 0.9)], Gaussian(0.02), HORIZON)
FALLING = RisingBandit(
    [ConstantCurve(0.4), Tabulated(np.maximum(0.0, 1.0 - 0.002 * np.arange(HORIZON))), ConstantCurve(0.3)],
    Gaussian(0.1),
    HORIZON,
)
RESTLESS = RisingBandit(get_problem("random-3").curves, Gaussian(0.1), HORIZON, restless=True)
PROBLEMS = {"15": get_problem("paper-15arms"), "2": get_problem("paper-2arms"), "lines": LINES, "kinks": KINKS,
            "falling": FALLING, "restless": RESTLESS}  # fmt: skip


def reference_of(policy: Policy, slow_class: type[Reference], n_arms: int) -> Any:
    """The reference with the settings of the policy."""
    made: Any = slow_class(n_arms, HORIZON)
    given_values = {name: value for name, value in policy.get_params().items() if value is not None}
    for name in given_values:
        if name != "ties":
            assert hasattr(made, name)
            setattr(made, name, given_values[name])
    if isinstance(made, slow.RCBE):  # the first window depends on the settings
        made.window = 0
        made.open_window()
    return made


def play_both(policy: Policy, slow_class: type[Reference], problem: RisingBandit, seed: int) -> Any:
    """Ask both in every round of one run and compare their indexes now and then; return the reference."""
    other = reference_of(policy, slow_class, problem.n_arms)

    def compare(running: Policy) -> None:
        other.running = running
        if running.pulls.sum() % 25 == 0 and isinstance(other, slow.CureUCB | slow.TIUCB | slow.RAWUCB):
            np.testing.assert_allclose(running.explain()["value"], other.index(), rtol=1e-9)

    pulls = check_decisions(policy, other, problem, HORIZON, seed, compare)
    compiled_run = Runner(policy, problem, HORIZON, np.array([HORIZON])).play(np.random.SeedSequence(seed))
    assert compiled_run.pulls.tolist() == pulls.tolist()
    return other


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize(("policy", "slow_class"), PAIRS, ids=[repr(pair[0]) for pair in PAIRS])
def test_decisions_equal_the_reference(policy: Policy, slow_class: type[Reference], name: str) -> None:
    play_both(policy, slow_class, PROBLEMS[name], seed=1)


@pytest.mark.parametrize("policy", OPTIONS, ids=repr)
def test_contract(policy: Policy) -> None:
    check_policy(policy)


# -- the rules fire ---------------------------------------------------------------------------------------------------


def test_cure_ucb_waits_for_a_slow_starter_where_there_is_time_for_it() -> None:
    """One arm gives 0.5, the other n / 400: over 500 rounds the first earns more, over 2,000 the second."""
    problem = RisingBandit([ConstantCurve(0.5), LinearCapped(0.0025, 1.0)], NoNoise(), 2_000)
    policy = CureUCB(sigma=0.0, ceiling=1.0)
    for horizon, best in ((300, 0), (2_000, 1)):
        pulls = Runner(policy, problem, horizon, np.array([horizon])).play(np.random.SeedSequence(1)).pulls
        assert pulls[best] == horizon - 2


@given(st.floats(-2, 2), st.floats(-0.5, 0.5) | st.just(0.0), st.integers(1, 60), st.floats(-1, 2))
def test_the_cut_mean_is_that_of_its_terms(now: float, rise: float, left: int, ceiling: float) -> None:
    terms = [min(ceiling, now + s * rise) for s in range(1, left + 1)]
    mean = interpreted(cure_ucb._mean_below)(now, rise, float(left), ceiling)
    assert mean == pytest.approx(math.fsum(terms) / left, abs=1e-12 * (1 + abs(rise) * left))


def test_cure_ucb_is_cut_at_its_ceiling_in_the_runs_above() -> None:
    cut, uncut = CureUCB(sigma=0.02, bonus_scale=0.05, ceiling=1.0), CureUCB(sigma=0.02, bonus_scale=0.05)
    runs = [simulate(policy, "paper-15arms", horizon=HORIZON, runs=1, seed=1) for policy in (cut, uncut)]
    pulls = [next(iter(run.pulls.values())).tolist() for run in runs]
    assert pulls[0] != pulls[1]


def test_ti_ucb_finds_the_kinks() -> None:
    played = play_both(TIUCB(omega=40, sigma=0.02), slow.TIUCB, KINKS, seed=2)
    found = played.running.explain()["changes"]
    assert found.sum() == played.changes >= 1
    assert played.running.recommend() == 1
    assert abs(played.running.explain()["trend"][1]) < 0.001, "its line is that of the flat part"
    straight = RisingBandit([LinearCapped(0.0005, 1.0), ConstantCurve(0.3)], Gaussian(0.02), HORIZON)
    assert play_both(TIUCB(omega=40, sigma=0.02), slow.TIUCB, straight, seed=2).changes == 0


def test_ti_ucb_does_not_drift() -> None:
    policy = TIUCB(omega=10, gamma=1e9, c=1.0).reset(2)
    rewards = np.random.default_rng(3).normal(size=3_003) * 1e3
    for reward in rewards:
        policy.tell(0, float(reward))
    old, new = rewards[-10:-5], rewards[-5:]
    weights = np.arange(1, 6)
    assert policy._state.halves[0] == pytest.approx([old.sum(), weights @ old, new.sum(), weights @ new], abs=1e-8)


def test_linear_policies_find_the_steep_arm() -> None:
    """The steep arm leads from its pull 200 on; both commit to it, elimination having dropped the others."""
    explored = play_both(LinearEE()._for_problem(LINES, HORIZON), slow.LinearEE, LINES, seed=3)
    assert explored.chosen == explored.running.recommend() == 2
    assert explored.running.pulls[0] == explored.running._state.m
    dropped = play_both(LinearAE(sigma=0.03), slow.LinearAE, LINES, seed=3)
    assert dropped.active == [2]
    assert dropped.running.explain()["active"].tolist() == [0.0, 0.0, 1.0]
    assert dropped.running.pulls[2] > 500


def test_linear_bounds_hold_as_often_as_they_say() -> None:
    """20,000 lines with Gaussian noise: of the two-sided bounds at delta / (4 K n^2) each no more may fail."""
    n, rest, sigma, runs = 20, 500, 0.3, 20_000
    rng = np.random.default_rng(5)
    numbers = np.arange(1.0, n + 1)
    rewards = 0.2 + 0.001 * numbers + sigma * rng.standard_normal((runs, n))
    middle = n + (rest + 1) / 2
    value_at, variance_at = interpreted(least_squares.value_at), interpreted(least_squares.variance_at)
    values = np.array([value_at(float(n), own.sum(), float(own @ numbers), middle) for own in rewards])
    errors = (values - (0.2 + 0.001 * middle)) / (sigma * math.sqrt(variance_at(float(n), middle)))
    assert errors.std() == pytest.approx(1.0, abs=0.02)
    assert np.mean(np.abs(errors) > math.sqrt(2 * math.log(2 / 0.05))) < 0.05


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=50), st.floats(-100, 100))
def test_least_squares_is_the_line_of_numpy(rewards: list[float], x: float) -> None:
    slope, start = slow.line_of(np.array(rewards))
    sums = float(len(rewards)), math.fsum(rewards), math.fsum(k * r for k, r in enumerate(rewards, start=1))
    assert interpreted(least_squares.slope)(*sums) == pytest.approx(slope, abs=1e-9)
    assert interpreted(least_squares.value_at)(*sums, x) == pytest.approx(slope * x + start, abs=1e-7)


def test_rc_be_drops_arms_and_takes_them_back() -> None:
    problem = RisingBandit([ConstantCurve(level) for level in (0.1, 0.5, 0.9)], Gaussian(0.1), HORIZON)
    played = play_both(RCBE(sigma=0.1), slow.RCBE, problem, seed=1)
    assert played.drops >= 5
    assert played.window >= 8
    assert played.running.pulls.tolist() == sorted(played.running.pulls.tolist())


def test_windows_of_rc_be_are_exact() -> None:
    """ceil(w^(8/3)) is the smallest whole number whose cube is w^8 at least."""
    length = interpreted(rc_be.window_length)
    for w in range(1, 2_000):
        found = length(w, 8 / 3)
        assert (found - 1) ** 3 < w**8 <= found**3
    assert length(1_000_000, 1.0) == 1_000_000


def test_raw_ucb_leaves_an_arm_that_falls_and_shorter_windows_decide() -> None:
    played = play_both(RAWUCB(sigma=0.1, m=1.0), slow.RAWUCB, FALLING, seed=1)
    pulls = played.running.pulls
    assert 300 < pulls[1] < 450, "it crosses 0.4 after 300 pulls"
    assert played.running.explain()["window"][1] < 0.8 * pulls[1]
    regret = {
        name: simulate(get_policy(name), FALLING, runs=5, seed=1).final_regret[name].mean()
        for name in ("raw-ucb", "gaussian-ucb")
    }
    assert regret["raw-ucb"] < 0.6 * regret["gaussian-ucb"]


def test_raw_ucb_with_rewards_that_were_not_asked_for() -> None:
    """Several rewards between two questions: no bound of an older window may pass over an arm."""
    rng = np.random.default_rng(7)
    policy, other = RAWUCB(sigma=0.1).reset(4), slow.RAWUCB(4, 2_000)
    for _ in range(500):
        assert policy.ask() == other.ask(None)
        for arm in rng.integers(4, size=3):
            reward = float(0.5 + 0.3 * rng.standard_normal())
            policy.tell(int(arm), reward)
            other.tell(int(arm), reward, None)


@pytest.mark.parametrize("kind", [TIUCB, LinearAE, RCBE, RAWUCB])
def test_noise_that_is_estimated_is_what_decides(kind: Any) -> None:
    """The level is near the truth in the end."""
    rng = np.random.default_rng(8)
    policy = kind(sigma="auto").reset(3, 600)
    wide = kind(sigma=0.5).reset(3, 600)
    arms = []
    for _ in range(600):
        arm = policy.ask()
        arms.append((arm, wide.ask()))
        reward = 0.3 + 0.2 * arm + 0.05 * float(rng.standard_normal())
        policy.tell(arm, reward)
        wide.tell(arm, reward)
    assert interpreted(noise.level)(policy._state) == pytest.approx(0.05, rel=0.2)
    assert any(one != other for one, other in arms)


# -- masks, settings, reasons -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [*(pair[0] for pair in PAIRS), *OPTIONS], ids=repr)
def test_an_arm_that_is_masked_from_the_start_joins_later(policy: Policy) -> None:
    check_late_arm(policy)


def test_what_a_simulation_knows_is_taken_over() -> None:
    problem = get_problem("paper-2arms")
    for name in ("cure-ucb", "ti-ucb", "linear-ee", "linear-ae", "rc-be", "raw-ucb"):
        told = get_policy(name)._for_problem(problem, 1_000).get_params()
        if name == "linear-ee":
            assert told == {"m": math.ceil((0.1 * 1_000**2 / 2) ** 0.4)}
        else:
            assert told["sigma"] == problem.sigma == 0.1
        needed = name in ("cure-ucb", "linear-ee", "linear-ae")
        assert get_policy(name)._requires_horizon() is needed


def test_reasons() -> None:
    policy = LinearEE(m=2).reset(2, 100)
    assert policy.explain().why == "exploring: pull 1 of 2 of each arm"
    for arm, reward in ((0, 0.5), (1, 0.0), (0, 0.5), (1, 0.1)):
        policy.tell(arm, reward)
    assert policy.explain().why == "best line of exploring, 4.95 on average from there to the end"
    assert policy.explain().why_kept == "best line, 4.95 on average to the end"
    windows = RCBE(sigma=0.1).reset(2)
    for _ in range(10):
        windows.tell(windows.ask(), 0.5)
    assert windows.explain().why == "its turn among the 2 remaining arms, window 3"
    lines = TIUCB(omega=4, gamma=0.1, c=0.0).reset(2)
    for reward in (0.0, 0.1, 0.5, 0.5):
        lines.tell(0, reward)
    lines.tell(1, 0.1)
    lines.tell(1, 0.1)
    assert lines.explain().why == "best index 0.5, by the 2 rewards since its last change"
