"""An allocation that ConfigModel plays: events are its decisions, whoever reads them and whatever happens between."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from risingbandits import Allocator, Budget, NoArmAvailable, Pull
from risingbandits.allocation import Belief, Prior
from risingbandits.policies.config_model import ConfigModel

ARMS = {f"arm {i}": {"lr": 10.0 ** -(1 + i / 10), "depth": i % 4} for i in range(40)}


def value(arm: str, n: int) -> float:
    config = ARMS.get(arm, {"lr": 0.001})
    return n / (n + 4) - 0.1 * abs(math.log10(float(config["lr"])) + 3)


def allocator(store: Any = None, **given: Any) -> Allocator:
    known: dict[str, Any] = {"budget": 200, "policy": "config-model", "configs": ARMS, "seed": 2}
    return Allocator(list(ARMS), store=store, **{**known, **given})


def play(run: Allocator, pulls: int) -> list[str]:
    names = []
    for _ in range(pulls):
        pull = run.ask()
        assert pull is not None
        names.append(pull.arm)
        run.tell(pull, value(pull.arm, pull.n))
    return names


def test_configs_and_prior_reach_the_model() -> None:
    prior = Prior({arm: Belief(math.cos(i), 0.5, "2 tasks") for i, arm in enumerate(ARMS)}, tasks=2)
    run = allocator(prior=prior)
    policy = run.ledger.policy
    assert isinstance(policy, ConfigModel)
    model = policy._state.run
    assert model.names == ["lr", "depth"]
    np.testing.assert_array_equal(model.prior, [math.cos(i) for i in range(40)])
    assert play(run, 1) == ["arm 0"]


def test_a_store_that_is_closed_after_each_ask_decides_as_one_that_never_was(tmp_path: Path) -> None:
    expected = play(allocator(), 200)
    names = []
    for _ in range(200):
        run = allocator(tmp_path / "run.sqlite")
        pull = run.ask()
        assert pull is not None
        run.close()  # as a process that dies: the pull stays in flight
        run = allocator(tmp_path / "run.sqlite")
        names.append(pull.arm)
        run.tell(pull, value(pull.arm, pull.n))
        run.close()
    assert names == expected
    levels = sorted((value(arm, 27) for arm in ARMS), reverse=True)
    assert value(str(allocator(tmp_path / "run.sqlite").recommend()), 27) >= levels[8]


def test_processes_that_take_turns_decide_as_one(tmp_path: Path) -> None:
    runs = [allocator(tmp_path / "run.sqlite") for _ in range(2)]
    names = [name for turn in range(60) for name in play(runs[turn % 2], 1)]
    assert names == play(allocator(), 60)


class Late(dict[str, Any]):
    """Arms that get their numbers when they are first pulled, as Optuna's trials do."""

    lazy = True


@pytest.mark.parametrize("arms", [list(ARMS), Late.fromkeys(ARMS, lambda pull: 0.0)], ids=["named", "made"])
def test_replay_does_not_ask_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arms: Any) -> None:
    def opened() -> Allocator:
        return Allocator(arms, 100, policy="config-model", seed=2, store=tmp_path / "run.sqlite")

    run = opened()
    play(run, 60)
    asks = run.ledger.policy.state_dict()["numbers"]["asks"]
    run.close()

    def refuse(*_: Any) -> int:
        raise AssertionError("asked")

    monkeypatch.setattr(ConfigModel, "select", refuse)
    ledger = opened().ledger
    assert ledger.told == 60
    assert ledger.policy.state_dict()["numbers"]["asks"] == asks == 60


def test_ten_thousand_decisions_open_in_two_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = allocator(tmp_path / "run.sqlite", budget=20_000)
    monkeypatch.setattr(run._session, "_next_snapshot", math.inf)  # what is timed reads every event
    names = list(ARMS)
    policy = run.ledger.policy

    def fewest(available: Any) -> int:
        return int(np.argmin(np.where(available, policy.pulls, 1 << 30)))

    monkeypatch.setattr(policy, "ask", fewest)
    for i in range(10_000):
        pull = run.ask()
        assert pull is not None
        run.tell(pull, 1.0 - 1.0 / (pull.n + names.index(pull.arm)) + 1e-6 * (i % 7))
    run.close()
    before = time.process_time()
    again = allocator(tmp_path / "run.sqlite", budget=20_000)
    assert again.ledger.told == 10_000
    assert time.process_time() - before < 2.0


def test_a_failed_pull_goes_first_and_workers_get_different_arms() -> None:
    run, rng, failed = allocator(retries=2), np.random.default_rng(1), 0
    flying: list[Pull] = []
    while run.ledger.told < 120:
        if len(flying) < 5:
            try:
                pull = run.ask()
            except NoArmAvailable:
                pull = None
            if pull is not None:
                assert pull.arm not in [other.arm for other in flying]
                flying.append(pull)
                continue
        pull = flying.pop(int(rng.integers(len(flying))))
        if rng.random() < 0.1:
            run.fail(pull, "made up")
            failed += 1
        else:
            run.tell(pull, value(pull.arm, pull.n))
    assert failed > 3
    assert run.recommend() is not None


def test_arms_and_configs_that_arrive_late() -> None:
    run = allocator(configs={arm: ARMS[arm] for arm in list(ARMS)[:30]})
    play(run, 50)
    before = run.ledger.rebuilds
    for arm in list(ARMS)[30:]:
        run.set_config(arm, ARMS[arm])
    assert run.ledger.rebuilds == before, "nothing is told again"
    policy = run.ledger.policy
    assert isinstance(policy, ConfigModel)
    assert len(np.unique(policy._state.run.points[:, 0])) == 40
    run.add("late")
    run.set_config("late", {"lr": 0.001, "depth": 1})
    play(run, 50)


def test_costs_are_what_pulls_cost() -> None:
    run = allocator(budget=Budget(cost=300.0))
    for _ in range(60):
        pull = run.ask()
        assert pull is not None
        run.tell(pull, value(pull.arm, pull.n), cost=5.0 if pull.arm == "arm 20" else 1.0)
    policy = run.ledger.policy
    assert isinstance(policy, ConfigModel)
    model = policy._state.run
    spent = np.bincount(model.told, model.costs, minlength=40)
    np.testing.assert_allclose(spent, [arm.cost for arm in run.ledger.arms])
