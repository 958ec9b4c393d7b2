"""FEWA, wSWA and AdSwitch decide as their definitions say, where their rules fire."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reference_cited as slow
from decisions import check_decisions, check_late_arm
from reference_index import Reference
from risingbandits import Policy, RisingBandit, get_problem
from risingbandits.lab.related import FEWA, WSWA, AdSwitch
from risingbandits.problems import Bernoulli, Gaussian
from risingbandits.simulation._engine import Runner
from risingbandits.testing import check_policy

HORIZON = 600


def falling() -> RisingBandit:
    """One arm falls below the others, which are constant."""
    rows = [np.full(HORIZON, 0.4), 1.0 - 0.002 * np.arange(HORIZON), np.full(HORIZON, 0.3)]
    return RisingBandit.from_array(rows, Gaussian(0.1))


def jumping() -> RisingBandit:
    """Three coins of which two jump with time."""
    levels = [[0.5, 0.5, 0.5], [0.05, 0.95, 0.05], [0.9, 0.1, 0.95]]
    rows = [np.repeat(row, HORIZON // 3) for row in levels]
    return RisingBandit.from_array(rows, Bernoulli(), restless=True)


PROBLEMS = {
    "15": get_problem("paper-15arms"),
    "2": get_problem("paper-2arms"),
    "falling": falling(),
    "jumping": jumping(),
}
PAIRS: list[tuple[Policy, type[Reference]]] = [
    (FEWA(noise=0.1), slow.FEWA),
    (FEWA(noise=0.05, alpha=0.06), slow.FEWA),
    (WSWA(noise=0.1), slow.WSWA),
    (WSWA(noise=0.5, alpha=1.0), slow.WSWA),
]
# The constant of the definition needs more rounds than its reference can play.
SWITCHING = [AdSwitch(), AdSwitch(c1=1.0), AdSwitch(c1=0.5, every=7)]


def play_both(policy: Policy, reference: type[Reference], name: str) -> Any:
    """Ask both in every round of a run; return the reference."""
    problem = PROBLEMS[name]
    other: Any = reference(problem.n_arms, HORIZON)
    for setting, value in policy.get_params().items():
        if value is not None and setting != "reward_range":
            setattr(other, setting, value)
    pulls = check_decisions(policy, other, problem, HORIZON, seed=1)
    played = Runner(policy, problem, HORIZON, np.array([HORIZON])).play(np.random.SeedSequence(1))
    assert played.pulls.tolist() == pulls.tolist()
    return other


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize(("policy", "reference"), PAIRS, ids=[repr(pair[0]) for pair in PAIRS])
def test_decisions_equal_the_reference(policy: Policy, reference: type[Reference], name: str) -> None:
    play_both(policy, reference, name)


@pytest.mark.parametrize("policy", SWITCHING, ids=repr)
def test_ad_switch_decides_as_its_reference(policy: AdSwitch) -> None:
    played = play_both(policy, slow.AdSwitch, "jumping")
    if policy.c1 <= 1.0:
        assert played.evictions >= 2
        assert played.episode >= 2


def test_ad_switch_checks_evicted_arms() -> None:
    """An evicted arm gets rewards again, in a stretch, without a change of any other."""
    policy = AdSwitch(c1=0.5).reset(2, 2_000, seed=3)
    checked = 0
    for _ in range(2_000):
        arm = policy.ask()
        good = policy.explain()["good"]
        checked += good[arm] == 0.0
        policy.tell(arm, [0.2, 0.9][arm])
    assert checked > 20
    assert policy.explain()["episode"][0] == 1.0


@pytest.mark.parametrize(
    "policy",
    [
        FEWA(alpha=0.06),
        FEWA(noise=0.0),
        WSWA(alpha=2.0),
        AdSwitch(c1=0.2),
        AdSwitch(every=5, reward_range=(-0.5, 1.5)),
    ],
    ids=repr,
)
def test_contract(policy: Policy) -> None:
    check_policy(policy)


@pytest.mark.parametrize("policy", [FEWA(), WSWA(), AdSwitch()], ids=repr)
def test_an_arm_that_is_masked_from_the_start_joins_later(policy: Policy) -> None:
    check_late_arm(policy)
