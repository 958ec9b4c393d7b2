"""CUSUM-UCB, M-UCB and GLR-klUCB decide as their definitions say, where changes are found and where none is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_changes as reference
from decisions import check_decisions
from risingbandits import Policy, RisingBandit, get_problem, simulate
from risingbandits._core.jit import interpreted
from risingbandits.lab.related import CUSUMUCB, GLRKLUCB, MUCB, _restarts, glr_kl_ucb
from risingbandits.problems import Bernoulli, Gaussian
from risingbandits.simulation._engine import Runner
from risingbandits.testing import check_policy

HORIZON = 1_500


def jumping(horizon: int = HORIZON, noise: Any = None, restless: bool = True) -> RisingBandit:
    """Three arms of which two jump, up and down, so that every arm is the best for a while."""
    quarter = horizon // 4
    steady = np.full(horizon, 0.5)
    first = np.repeat([0.2, 0.9, 0.3, 0.95], quarter)
    second = np.repeat([0.8, 0.1, 0.7, 0.05], quarter)
    rows = [steady[: 4 * quarter], first, second]
    return RisingBandit.from_array(rows, Gaussian(0.1) if noise is None else noise, restless=restless)


PROBLEMS: dict[str, RisingBandit] = {
    "jumping": jumping(),
    "jumping coins": jumping(noise=Bernoulli()),
    "jumping rested": jumping(restless=False),
    "paper-15arms": get_problem("paper-15arms"),
    "paper-2arms": get_problem("paper-2arms"),
}
PAIRS: list[tuple[Policy, type[reference.Restarting], dict[str, Any]]] = [
    (CUSUMUCB(M=20, eps=0.1, h=4.0, alpha=0.1), reference.CUSUMUCB, {"M": 20, "eps": 0.1, "h": 4.0, "alpha": 0.1}),
    (CUSUMUCB(), reference.CUSUMUCB, {}),
    (MUCB(w=20, b=5.0, gamma=0.1), reference.MUCB, {"w": 20, "b": 5.0, "gamma": 0.1}),
    (MUCB(), reference.MUCB, {}),
    (GLRKLUCB(), reference.GLRKLUCB, {}),
    (GLRKLUCB(restart="global", changes=3), reference.GLRKLUCB, {"restart": "global", "changes": 3}),
    (GLRKLUCB(restart="global", alpha=0.1), reference.GLRKLUCB, {"restart": "global", "alpha": 0.1}),
    (
        GLRKLUCB(every=10, c=0.0, delta=0.5),
        reference.GLRKLUCB,
        {"every": 10, "c": 0.0, "delta": 0.5},
    ),
]
SENSITIVE = [pair[0] for pair in PAIRS if repr(pair[0]) not in ("CUSUMUCB()", "MUCB()")]


OFTEN = ("jumping coins", "jumping rested")  # the same jumps as in "jumping"


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in OFTEN else n for n in PROBLEMS])
@pytest.mark.parametrize(("policy", "slow", "changes"), PAIRS, ids=[repr(pair[0]) for pair in PAIRS])
def test_decisions_equal_the_reference(
    policy: Policy, slow: type[reference.Restarting], changes: dict[str, Any], name: str
) -> None:
    problem = PROBLEMS[name]
    runner = Runner(policy, problem, HORIZON, np.array([HORIZON]))
    found = 0
    for seed in range(2 if name.startswith("jumping") else 1):
        other = slow(problem.n_arms, HORIZON)
        vars(other).update(changes)
        pulls = check_decisions(policy, other, problem, HORIZON, seed)
        np.testing.assert_array_equal(runner.play(np.random.SeedSequence(seed)).pulls, pulls)
        counted = np.bincount([arm for _, arm in other.found], minlength=problem.n_arms)
        np.testing.assert_array_equal(runner.state.changes, counted)
        found += len(other.found)
    if name.startswith("jumping") and policy in SENSITIVE:
        assert found >= 2, "the rule under test must have spoken"


@pytest.mark.parametrize(
    "policy",
    [
        CUSUMUCB(M=2, h=0.3, ties="random"),
        MUCB(w=4, b=0.4),
        MUCB(w=2, b=0.0, gamma=0.0, ties="random"),
        GLRKLUCB(restart="global", delta=1.0),
        GLRKLUCB(alpha=1.0, every=3, ties="random", reward_range=(-0.5, 1.5)),
    ],
    ids=repr,
)
def test_contract(policy: Policy) -> None:
    check_policy(policy)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 60), st.sampled_from([0.0, 0.05, 0.5, 0.6, 0.97, 1.0])), min_size=1, max_size=5),
    st.booleans(),
    st.integers(0, 10_000),
)
def test_spared_scans_never_miss_a_change(stretches: list[tuple[int, float]], coins: bool, seed: int) -> None:
    """One arm: the pull at which a change is found is that of the test in full, after every pull."""
    rng = np.random.default_rng(seed)
    levels = np.concatenate([np.full(length, level) for length, level in stretches])
    noisy = np.clip(levels + 0.1 * rng.standard_normal(levels.size), 0.0, 1.0)
    rewards = (rng.random(levels.size) < levels).astype(float) if coins else noisy
    policy = GLRKLUCB(alpha=0.0, delta=0.3)
    slow = reference.GLRKLUCB(1, levels.size)
    vars(slow).update({"alpha": 0.0, "delta": 0.3})
    state = policy._new_state(1, None, levels.size)
    update = interpreted(glr_kl_ucb.update)
    for t, reward in enumerate(rewards.tolist(), start=1):
        update(state, t, 0, reward, None)
        slow.tell(0, reward, None)
        assert state.changes[0] == len(slow.found)
        assert state.pulls[0] == len(slow.kept[0])


def test_what_is_known_of_a_scan_bounds_the_statistic() -> None:
    """After every reward the bound that may spare a scan is no less than the statistic of any split."""
    rng = np.random.default_rng(7)
    rewards = np.clip(np.linspace(0.2, 0.8, 400) + 0.2 * rng.standard_normal(400), 0.0, 1.0)
    policy = GLRKLUCB(alpha=0.0, delta=1e-12)
    state = policy._new_state(1, None, 400)
    update, uncertainty = interpreted(glr_kl_ucb.update), interpreted(glr_kl_ucb._uncertainty)
    scans = 0
    for t, reward in enumerate(rewards.tolist(), start=1):
        before = float(state.scanned[0, 2])
        update(state, t, 0, reward, None)
        scans += state.scanned[0, 2] != before
        bound = state.scanned[0, 0] + uncertainty(float(state.total[0]), float(t)) - state.scanned[0, 1]
        assert bound >= reference.statistic(rewards[:t].tolist()) - 1e-9
    assert 0 < scans < 40, "scans are few, but there are some"


def test_forced_exploration_visits_every_arm_at_its_share() -> None:
    due = interpreted(_restarts.arm_due)
    every = _restarts.period(3, 0.1)
    arms = [due(t, every, 3, None) for t in range(1, 10 * every + 1)]
    assert np.bincount(np.array(arms) + 1).tolist() == [270, 10, 10, 10]
    assert arms[:4] == [0, 1, 2, -1]
    assert due(1, every, 3, np.array([False, True, True])) == -1
    assert due(1, _restarts.period(3, 0.0), 3, None) == -1


def test_settings_from_the_horizon_are_those_of_the_papers() -> None:
    cusum = CUSUMUCB(changes=4)._new_state(3, 40_000, 10)
    assert cusum.h == pytest.approx(math.log(10_000))
    assert cusum.alpha == pytest.approx(math.sqrt(math.log(10_000) / 10_000))
    monitored = MUCB(changes=2)._new_state(3, 40_000, 10)
    assert monitored.b == pytest.approx(math.sqrt(100 * math.log(6 * 40_000**2)))
    gamma = math.sqrt(2 * 3 * (2 * monitored.b + 3 * math.sqrt(200)) / 80_000)
    assert monitored.every == math.floor(3 / gamma)
    for restart, events in (("local", 2 * 3), ("global", 2)):
        ratio = GLRKLUCB(restart=restart, changes=2)._new_state(3, 40_000, 10)
        assert ratio.forced == math.floor(3 / (0.1 * math.sqrt(events * math.log(40_000) / 40_000)))
        assert ratio.log_factor == pytest.approx(math.log(3 * math.sqrt(events) * 200))


def test_the_reasons_name_exploration_and_restarts() -> None:
    policy = GLRKLUCB(alpha=0.1, delta=0.5).reset(2, 600)
    reasons = set()
    for t in range(600):
        reasons.add(policy.explain().why.split(" 0.")[0].split(" 1")[0])
        arm = policy.ask()
        policy.tell(arm, [0.5, 0.1 if t < 300 else 0.9][arm])
    assert "its turn: forced exploration, so that changes are noticed" in reasons
    assert "not pulled since it was found to have changed" in reasons
    assert "best index" in reasons
    drawn = CUSUMUCB(alpha=1.0, h=1.0).reset(4, 100, seed=1)
    for arm in range(4):
        drawn.tell(arm, 0.2 * arm)
    said = {drawn.explain().why.split(" 0.")[0] for _ in range(20) if drawn.ask() >= 0}
    assert "drawn at random, so that changes are noticed" in said


def test_where_the_best_arm_falls_they_beat_those_that_remember_everything() -> None:
    """20,000 rounds of coins, two changes, ten runs: every lead is at least three standard errors."""
    lengths = [8_000, 6_000, 6_000]
    levels = [[0.9, 0.2, 0.2], [0.5, 0.5, 0.9], [0.2, 0.6, 0.6]]
    problem = RisingBandit.from_array([np.repeat(row, lengths) for row in levels], Bernoulli(), restless=True)
    watching = ["cusum-ucb", "glr-kl-ucb", "m-ucb"]
    result = simulate([*watching, "ucb1", "kl-ucb"], problem, runs=10, seed=1, record_at=1)
    for name in watching:
        for other in ("ucb1", "kl-ucb"):
            lead = result.final_regret[other] - result.final_regret[name]
            assert lead.mean() > 3 * lead.std(ddof=1) / math.sqrt(10)
