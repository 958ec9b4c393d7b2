"""An allocation whose arms have configs: events are its decisions, whoever reads them and whatever happens between."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from risingbandits import Allocator, Budget, NoArmAvailable, Pull
from risingbandits.allocation import Belief, Prior
from risingbandits.allocation._ledger import Ledger
from risingbandits.allocation._snapshot import pack, unpack
from risingbandits.allocation.settings import as_arguments
from risingbandits.policies import Auto

ARMS = {f"arm {i}": {"lr": 10.0 ** -(1 + i / 10), "depth": i % 4} for i in range(40)}


def value(arm: str, n: int) -> float:
    config = ARMS.get(arm, {"lr": 0.001})
    return n / (n + 4) - 0.1 * abs(math.log10(float(config["lr"])) + 3)


def allocator(store: Any = None, **given: Any) -> Allocator:
    known: dict[str, Any] = {"budget": 200, "configs": ARMS, "seed": 2}
    return Allocator(list(ARMS), store=store, **as_arguments({**known, **given}))


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
    assert policy._informed
    space = policy._state.run._given
    assert space.names == ["lr", "depth"]
    np.testing.assert_array_equal(space.prior, [math.cos(arm.index) for arm in run.ledger.numbered])
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


@pytest.mark.parametrize("objective", ["best-arm", "cumulative"])
def test_replay_does_not_ask_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, objective: str) -> None:
    def opened() -> Allocator:
        return allocator(tmp_path / "run.sqlite", objective=objective)

    run = opened()
    play(run, 60)
    known = run.ledger.policy.state_dict()
    run.close()

    def refuse(*_: Any) -> int:
        raise AssertionError("asked")

    for asked in ("ask", "_propose"):
        monkeypatch.setattr(Auto, asked, refuse)
    ledger = opened().ledger
    assert ledger.told == 60
    again = ledger.policy.state_dict()
    assert again["numbers"] == known["numbers"]
    assert again["arrays"].keys() == known["arrays"].keys()
    assert isinstance(ledger.policy, Auto)
    for name in known["arrays"].keys() - ledger.policy.chosen()._scratch:
        np.testing.assert_array_equal(again["arrays"][name], known["arrays"][name])


def test_ten_thousand_decisions_open_in_two_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = allocator(tmp_path / "run.sqlite", budget=20_000)
    monkeypatch.setattr(run._session, "_next_snapshot", math.inf)  # what is timed reads every event
    names = list(ARMS)
    policy = run.ledger.policy

    def fewest(available: Any) -> int:
        return int(np.argmin(np.where(available, policy.pulls, 1 << 30)))

    monkeypatch.setattr(policy, "_propose", fewest)
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
    assert len(np.unique(run.ledger.policy._state.run._given.points[:, 0])) == 40
    run.add("late")
    assert run.ledger.rebuilds == before, "nothing is told again"
    run.set_config("late", {"lr": 0.001, "depth": 1})
    play(run, 50)


def test_costs_are_what_pulls_cost() -> None:
    run = allocator(budget=Budget(cost=300.0))
    for _ in range(60):
        pull = run.ask()
        assert pull is not None
        run.tell(pull, value(pull.arm, pull.n), cost=5.0 if pull.arm == "arm 20" else 1.0)
    model = run.ledger.policy._state.run
    spent = np.bincount(model.told, model.costs, minlength=40)
    np.testing.assert_allclose(spent, [arm.cost for arm in run.ledger.numbered])


def test_a_decision_that_comes_too_late_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one process decides, another takes the same arm: twice, then the decision is made in the transaction."""
    one, other = (allocator(tmp_path / "run.sqlite") for _ in range(2))
    for _ in range(3):
        play(one, 4)
        play(other, 4)
    decide, taken = one._session._propose, []

    def interrupted(patience: float) -> Any:
        proposed = decide(patience)
        pull = other.ask()
        assert proposed is not None
        assert pull is not None
        assert pull.arm == proposed.arm
        taken.append(pull)
        return proposed

    monkeypatch.setattr(one._session, "_propose", interrupted)
    pull = one.ask()
    assert pull is not None
    assert len({pull.arm, *(each.arm for each in taken)}) == 3 == len(taken) + 1


def test_asks_follow_from_the_events_that_each_saw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes, one of which writes while the other decides; every ask is computed again from its events."""
    runs = [allocator(tmp_path / "run.sqlite") for _ in range(2)]
    flying: list[Pull] = []
    decide = runs[0]._session._propose

    def slowly(patience: float) -> Any:
        proposed = decide(patience)
        if flying:
            pull = flying.pop(0)
            runs[1].tell(pull, value(pull.arm, pull.n))
        return proposed

    monkeypatch.setattr(runs[0]._session, "_propose", slowly)
    for step in range(60):
        pull = runs[step % 3 > 0].ask()
        assert pull is not None
        flying.append(pull)
        if len(flying) > 3:
            pull = flying.pop(0)
            runs[0].tell(pull, value(pull.arm, pull.n))
    events = list(runs[0].store.events())
    late = 0
    for event in events:
        if event.kind == "ask":
            seen = event.id - 1 if event.cost is None else int(event.cost)
            late += seen < event.id - 1
            ledger = Ledger(runs[0].settings)
            for earlier in events[:seen]:
                ledger.apply(earlier)
            decided = ledger.decide()
            assert decided is not None
            assert decided.name == event.arm
    assert late > 5


def test_configs_that_arms_get_in_their_first_pulls_let_the_model_play(tmp_path: Path) -> None:
    """As soon as two differ; who opens the store anew, from a snapshot or from its events, decides alike."""
    run, plain = allocator(tmp_path / "run.sqlite", configs=None), allocator(configs=None)
    for number in range(60):
        asked = run.ask()
        assert asked is not None
        again = unpack(pack(run.ledger), run.settings)
        assert again is not None
        run.tell(asked, value(asked.arm, asked.n))
        if asked.n == 1:
            run.set_config(asked.arm, ARMS[asked.arm])
        known = sum(bool(arm.config) for arm in run.ledger.arms)
        assert run.ledger.policy._informed == (known > 1)
        assert run.ledger.rebuilds == 1 + (known > 1)
        if known < 2:
            assert play(plain, 1) == [asked.arm]
        if number % 6 == 0:
            run.close()
            run = allocator(tmp_path / "run.sqlite", configs=None)
        for event in run.store.events(again.last_id):
            again.apply(event)
        decided, other = run.ledger.decide(), again.decide()
        assert decided is not None
        assert other is not None
        assert decided.name == other.name
    points = run.ledger.policy._state.run._given.points
    near = np.linalg.norm(points[:, None] - points, axis=-1) < 100.0
    unknown = [arm.place for arm in run.ledger.arms if not arm.config]
    assert len(unknown) > 3
    assert near[unknown].sum() == len(unknown), "nothing is like an arm whose config is not known, but itself"


def test_arms_of_which_nothing_is_known_are_started_in_their_order() -> None:
    run = allocator(configs=None, policy="auto(order='given')")
    for _ in range(60):
        [arm] = play(run, 1)
        run.set_config(arm, ARMS[arm])
    started = list(dict.fromkeys(event.arm for event in run.store.events() if event.kind == "ask"))
    assert started == list(ARMS)[: len(started)]
    assert 3 < len(started) < len(ARMS)


def test_for_sums_of_rewards_configs_of_started_arms_alone_say_nothing() -> None:
    run, plain = (allocator(configs=None, objective="cumulative") for _ in range(2))
    for _ in range(40):
        [arm] = play(run, 1)
        assert play(plain, 1) == [arm]
        run.set_config(arm, ARMS[arm])
    assert run.ledger.arm(arm).config == ARMS[arm]
    assert not run.ledger.policy._informed
    assert run.ledger.rebuilds == 1


@pytest.mark.parametrize("what", ["arms", "budget", "cost"])
def test_the_model_goes_on_with_more_arms_and_another_budget(tmp_path: Path, what: str) -> None:
    """Nothing is told again, arms go on to their rungs, and another process decides alike."""
    given: dict[str, Any] = {"configs": dict(list(ARMS.items())[:30])}
    if what == "cost":
        given["budget"] = Budget(cost=100.0)
    run = Allocator(list(ARMS)[:30], store=tmp_path / "run.sqlite", **as_arguments({"budget": 200, "seed": 2, **given}))
    for step in range(45):
        pull = run.ask()
        assert pull is not None
        cost = 1.0 if step < 20 else 2.5  # which the budget in cost has not planned
        run.tell(pull, value(pull.arm, pull.n), cost=cost if what == "cost" else None)
    pull = run.ask()
    assert pull is not None
    model = run.ledger.policy._state.run
    below = np.flatnonzero((model.counts < model.goals) & run.ledger.free.mask())
    asks = model.asks
    if what == "arms":
        run.extend(arms=list(ARMS)[30:], configs={arm: ARMS[arm] for arm in list(ARMS)[30:]})
        run.add("one more")
    if what == "budget":
        run.extend(budget=300)
    assert run.ledger.rebuilds == 1
    assert run.ledger.retold == 0
    model = run.ledger.policy._state.run
    assert model.asks == asks == 46
    if len(below):
        assert run.ledger.decide() in [run.ledger.numbered[arm] for arm in below]
    if what == "arms":
        assert len(model.counts) == len(model._given.points) == len(run.ledger.policy.pulls) == 41
    assert run.ledger.policy.horizon == model.horizon == run.ledger.horizon() or what == "cost"
    for again in (unpack(pack(run.ledger), run.settings), Ledger(run._session._begun_with)):
        assert again is not None
        for event in run.store.events(again.last_id):
            again.apply(event)
        for name, array in run.ledger.policy.state_dict()["arrays"].items():
            np.testing.assert_array_equal(again.policy.state_dict()["arrays"][name], array)
        one, other = again.decide(), run.ledger.decide()
        assert one is not None
        assert other is not None
        assert one.name == other.name


def test_a_snapshot_holds_what_is_known() -> None:
    for objective in ("best-arm", "cumulative"):
        run = allocator(objective=objective)
        play(run, 40)
        again = unpack(pack(run.ledger), run.settings)
        assert again is not None
        for _ in range(20):
            decided = again.decide()
            pull = run.ask()
            assert decided is not None
            assert pull is not None
            assert pull.arm == decided.name
            run.tell(pull, value(pull.arm, pull.n))
            for event in run.store.events(again.last_id):
                again.apply(event)


def test_other_policies_say_that_they_do_not_use_a_prior() -> None:
    prior = Prior({arm: Belief(math.cos(i), 0.5, "2 tasks") for i, arm in enumerate(ARMS)}, tasks=2)
    assert allocator(policy="ucb1", prior=prior).explain().prior == "prior from 2 tasks, not used by policy ucb1"
    assert allocator(prior=prior).explain().prior == "prior from 2 tasks"


def crossing(budget: int, **given: Any) -> Allocator:
    """A run of four arms that rise to what their config says, the best of them slowest."""
    ends = {"a": 0.5, "b": 0.65, "c": 0.8, "d": 0.95}
    configs = {name: {"end": end} for name, end in ends.items()}
    run = Allocator(list(ends), budget=budget, **{"configs": configs, **given})
    for pull in run:
        run.tell(pull, reward=ends[pull.arm] * pull.n / (pull.n + 100 * (ends[pull.arm] - 0.4)))
    return run


def test_rewards_alone_decide_where_the_budget_lets_them_say_enough() -> None:
    run = crossing(1_000)
    assert run.recommend() == "d"
    assert [len(arm.rewards) for arm in run.ledger.arms] == [
        len(arm.rewards) for arm in crossing(1_000, configs=None).ledger.arms
    ]
    for budget, informed in ((15, True), (16, False)):  # as many rounds per arm as there are arms
        assert crossing(budget).ledger.policy._informed == informed
    for budget, informed in ((99, True), (100, False)):  # with earlier runs as many as `patience`
        run = crossing(budget, prior={"a": 1, "b": 2, "c": 3, "d": 4})
        assert run.ledger.policy._informed == informed
    assert "not used by policy auto, which has enough rounds per arm without" in str(run.explain())
    assert crossing(400, objective="cumulative").ledger.policy._informed
