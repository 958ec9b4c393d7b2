"""Runs that grow: budgets, arms and settings that change while a run goes on."""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from risingbandits import Allocator, Budget, Execution, NoArmAvailable, Pull, RisingBanditsError
from risingbandits.allocation import Event, open_reader
from risingbandits.allocation._growth import declared_by, said
from risingbandits.allocation._snapshot import pack, unpack
from risingbandits.allocation.settings import Settings, as_arguments
from risingbandits.allocation.starting.earlier_runs import store_task
from risingbandits.allocation.status._status import standing
from risingbandits.allocation.stores._inspection import inspect_store
from risingbandits.allocation.stores._memory import MemoryStore
from risingbandits.policies import CommitUCB, EpsilonGreedy, Policy, RoundRobin, policy_class
from risingbandits.policies.objectives import Objective

ARMS = [f"arm{i}" for i in range(5)]


def curve(arm: str, n: int) -> float:
    """A learning curve with a little noise, the same whoever asks."""
    number = int(arm.removeprefix("arm"))
    top, pace = 0.4 + 0.07 * number, 3.0 + 2.0 * (number % 3)
    return top * (1.0 - math.exp(-n / pace)) + 0.02 * ((7 * n + 3 * number) % 11) / 11.0


def spend(allocator: Allocator, most: int = 10**6) -> list[str]:
    """Ask and tell until the budget is spent, or so many pulls; the arms."""
    arms: list[str] = []
    while len(arms) < most and (pull := allocator.ask()) is not None:
        allocator.tell(pull, curve(pull.arm, pull.n))
        arms.append(pull.arm)
    return arms


def told_again(
    policy: Policy, arms: list[str], horizon: int, pulls: list[str], warm: dict[str, int], seed: Any
) -> Policy:
    """A policy that was told what happened, in the plainest way: earlier runs in turns, then the pulls in order."""
    policy = policy.replace().reset(len(arms), horizon, seed=seed)
    for n in range(1, 1 + max(warm.values(), default=0)):
        for place, arm in enumerate(arms):
            if n <= warm.get(arm, 0):
                policy.tell(place, curve(arm, n))
    count = {arm: warm.get(arm, 0) for arm in arms}
    for arm in pulls:
        count[arm] += 1
        policy.tell(arms.index(arm), curve(arm, count[arm]))
    return policy


POLICIES: dict[str, Callable[[], Policy | None]] = {
    "default": lambda: None,
    "commit-ucb": lambda: CommitUCB(sigma="auto"),
    "round-robin": RoundRobin,
    "epsilon-greedy": EpsilonGreedy,
    "r-sr": lambda: policy_class("r-sr")(),
}


@pytest.mark.parametrize("objective", ["cumulative", "best-arm"])
@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("change", ["budget", "arms", "warm"])
def test_48_pulls_extended_to_96_are_decided_like_by_a_policy_told_that_history(
    name: str, objective: str, change: str
) -> None:
    policy = POLICIES[name]()
    warm = {"arm1": 4, "arm3": 2} if change == "warm" else {}
    earlier = {arm: [curve(arm, n) for n in range(1, 1 + count)] for arm, count in warm.items()}
    allocator = Allocator(ARMS, 48, objective=objective, policy=policy, warm_start=earlier, seed=3)
    first = spend(allocator)
    assert len(first) == 48
    new = ["arm5", "arm6"] if change == "arms" else None
    allocator.extend(budget=96, arms=new)
    second = spend(allocator)
    assert len(second) == 48

    places = [*ARMS, *(new or [])]
    plays = Objective.get(objective).policy() if policy is None else policy
    reference = told_again(plays, places, 96 + sum(warm.values()), first, warm, seed=[3, 0, 1])
    count = {arm: first.count(arm) + warm.get(arm, 0) for arm in places}
    expected = []
    for _ in range(48):
        place = reference.ask()
        arm = places[place]
        count[arm] += 1
        reference.tell(place, curve(arm, count[arm]))
        expected.append(arm)
    assert second == expected
    assert allocator.recommend() == places[reference.recommend()]


def test_the_first_48_decisions_stay_as_they_were(place: str) -> None:
    with Allocator(ARMS, 48, store=place) as allocator:
        first = spend(allocator)
    with Allocator(ARMS, 96, store=place) as allocator:
        assert allocator.taken_over == "budget 48 -> 96 pulls"
        second = spend(allocator)
    assert (len(first), len(second)) == (48, 48)
    with open_reader(place) as reader:
        asked = [event.arm for event in reader.events() if event.kind == "ask"]
        assert asked == first + second
        ledger = reader.ledger()
        assert (ledger.surprises, ledger.spent, ledger.settings.budget) == (0, 96, Budget(pulls=96))


def test_a_process_that_is_at_work_follows(place: str) -> None:
    with Allocator(["a", "b"], 2, store=place, policy="round-robin") as one, Allocator.open(place) as other:
        pulls = [one.ask(), one.ask()]
        with pytest.raises(NoArmAvailable, match="the last 2 pulls of the budget are in flight"):
            one.ask()
        assert other.extend(budget=5, arms=["c"], retries=7) == "budget 2 -> 5 pulls, 1 new arm: c, retries 3 -> 7"
        third = one.ask()
        assert third is not None
        assert third.arm == "c"
        assert (one.settings.budget.pulls, one.settings.retries, one.arms) == (5, 7, ["a", "b", "c"])
        for pull in (*pulls, third):
            assert pull is not None
            assert one.tell(pull, 0.5), "what was in flight counts"
        assert [one.remaining, other.remaining] == [2, 2]


def test_one_that_waits_is_woken(tmp_path: Path) -> None:
    with Allocator(["a", "b"], 1, store=tmp_path / "run.db") as allocator, Allocator.open(tmp_path / "run.db") as other:
        assert allocator.ask() is not None
        found: list[Any] = []
        waiting = threading.Thread(target=lambda: found.append(allocator.ask(wait=60.0)))
        waiting.start()
        other.extend(budget=2)
        waiting.join(60.0)
        assert found[0] is not None


def test_after_the_budget_was_spent_and_after_all_arms_ended() -> None:
    allocator = Allocator(["a", "b"], 4, max_pulls=3, policy="round-robin")
    for pull in allocator:
        allocator.tell(pull, 0.5)
    assert allocator.finished
    assert allocator.extend(budget=20) == "budget 4 -> 20 pulls"
    assert len([allocator.tell(pull, 0.5) for pull in allocator]) == 2
    assert allocator.finished, "every arm has had its pulls"
    assert allocator.extend(max_pulls=5) == "max_pulls 3 -> 5"
    assert len([allocator.tell(pull, 0.5) for pull in allocator]) == 4
    assert allocator.extend(max_pulls={"a": 6}) == "max_pulls 5 -> (a 6, b 5)"
    assert [pull.arm for pull in allocator if allocator.tell(pull, 0.5)] == ["a"]
    assert allocator.extend(max_pulls=None) == "max_pulls (a 6, b 5) -> none"
    assert len([allocator.tell(pull, 0.5) for pull in allocator]) == 9
    assert allocator.spent == 20


def test_saying_it_again_changes_nothing(place: str) -> None:
    with Allocator(["a", "b"], 4, store=place) as allocator:
        assert allocator.extend(budget=9, arms=["c"])
        last = allocator.store.last_id()
        assert allocator.extend(budget=9, arms=["c"]) == ""
        assert allocator.extend() == ""
        assert allocator.store.last_id() == last
    for _ in range(2):
        with Allocator(["a", "b"], 4, store=place) as again:
            assert again.taken_over == "", "a program that is started as it was undoes nothing"
            assert (again.settings.budget.pulls, again.arms) == (9, ["a", "b", "c"])
            assert again.store.last_id() == last
    with Allocator(["a", "b", "c"], 9, store=place) as again:
        assert again.taken_over == "", "it is so already"
        assert again.store.last_id() == last + 1, "but now it was said"
        assert said(list(again.store.events())[-1]) == "nothing, because it is already so"
        again.extend(budget=12)
    with Allocator(["a", "b", "c"], 9, store=place) as again:
        assert again.settings.budget.pulls == 12


def test_an_arm_that_is_no_longer_named_and_comes_back(place: str) -> None:
    def opened(*arms: str) -> Allocator:
        return Allocator(arms, 20, store=place, policy="round-robin")

    with opened("a", "b", "c") as allocator:
        flying = [allocator.ask() for _ in range(2)]
        assert flying[0] is not None
        allocator.tell(flying[0], 0.5)
    with opened("c", "d") as allocator:
        assert allocator.taken_over == "1 new arm: d, no longer pulled: a (1 pulls), b"
        assert flying[1] is not None
        assert allocator.tell(flying[1], 0.25), "what is in flight counts"
        assert [allocator.ledger.arm(arm).retired for arm in "abcd"] == ["no longer named"] * 2 + [None] * 2
        assert sorted(pull.arm for pull in (allocator.ask(), allocator.ask()) if pull is not None) == ["c", "d"]
    with opened("d", "c", "a") as allocator:
        assert allocator.taken_over == "again: a"
        pull = allocator.ask()
        assert pull is not None
        assert (pull.arm, pull.n) == ("a", 2)
        assert allocator.rewards("b") == [0.25]


def test_arms_in_another_order_are_the_same(tmp_path: Path) -> None:
    Allocator(["a", "b"], 4, store=tmp_path / "run.db").close()
    with Allocator(["b", "a"], 4, store=tmp_path / "run.db") as allocator:
        assert (allocator.taken_over, allocator.store.last_id(), allocator.arms) == ("", 0, ["a", "b"])


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (
            {"budget": 2},
            "budget is 9 pulls in the store, got 2 pulls: it must be at least the 2 that are spent and 1 that",
        ),
        ({"budget": Budget(cost=50)}, r"budget is in pulls in the store, got Budget\(cost=50\): give it in pulls"),
        (
            {"objective": "best-arm"},
            "objective is 'cumulative' in the store, got 'best-arm'; that cannot change in a run",
        ),
        ({"direction": "minimize", "seed": 5}, "direction is .* got 'minimize'; seed is 0 in the store, got 5; that"),
        ({"reward_range": (0.0, 0.6)}, ".* it must hold all rewards so far, and pull 1 of b has given 0.75"),
        ({"warm_start": {"a": [0.1]}}, r"warm_start of a is none in the store, got \[0.1\]: it cannot change any more"),
        ({"arms": ["x", "y"]}, "arms are 'a', 'b', 'c' in the store, got 'x', 'y', none of them"),
    ],
)
def test_what_cannot_be_taken_over_is_named(given: dict[str, Any], complaint: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"arms": ["a", "b", "c"], "budget": 9, "store": tmp_path / "run.db"}
    with Allocator(**as_arguments(settings), policy="round-robin") as allocator:
        for reward in (0.5, 0.75):
            pull = allocator.ask()
            assert pull is not None
            allocator.tell(pull, reward)
        assert allocator.ask() is not None
        last = allocator.store.last_id()
        with pytest.raises(RisingBanditsError, match=f"run.db holds another allocation: {complaint}"):
            Allocator(**as_arguments({**settings, **given}), policy="round-robin")
        if "arms" not in given:
            about = "|".join(["what can be extended", *given])
            with pytest.raises(RisingBanditsError, match=about):
                allocator.extend(**given)
        assert allocator.store.last_id() == last, "and nothing is lost"
        assert allocator.ledger.surprises == 0


def test_names_are_never_listed_twice_nor_all(tmp_path: Path) -> None:
    many = [f"grid lr={i}" for i in range(40)]
    Allocator(many, 400, store=tmp_path / "run.db").close()
    with Allocator([*many, "x", "y"], 400, store=tmp_path / "run.db") as allocator:
        assert allocator.taken_over == "2 new arms: x, y"
    with Allocator([*many[:30], "x", "y"], 400, store=tmp_path / "run.db") as allocator:
        shown = ", ".join(many[30:36])
        assert allocator.taken_over == f"no longer pulled: {shown} and 4 more"


def test_a_smaller_budget_and_wider_rewards(tmp_path: Path) -> None:
    with Allocator(["a", "b"], 9, store=tmp_path / "run.db", policy="round-robin") as allocator:
        assert allocator.extend(budget=4, reward_range=(0, 2)) == "budget 9 -> 4 pulls, reward_range (0, 1) -> (0, 2)"
        with Allocator.open(tmp_path / "run.db") as other:
            other.extend(reward_range=(0, 4))
        for pull in allocator:
            allocator.tell(pull, 3.0)  # which this process must find out is allowed now
        assert allocator.spent == 4


def test_a_policy_that_refuses_leaves_the_run_as_it_was() -> None:
    allocator = Allocator(["a", "b"], 4, policy="round-robin")
    with pytest.raises(RisingBanditsError, match="arm must be 0 to 1, got 7"):
        allocator.extend(policy="constant(arm=7)", budget=50)
    with pytest.raises(RisingBanditsError, match=r"only arms, budget, .* can be extended, got objective"):
        allocator.extend(objective="best-arm")
    assert (allocator.settings.budget.pulls, len(spend_half(allocator)), allocator.store.last_id()) == (4, 4, 8)
    assert allocator.extend(policy="epsilon-greedy") == "policy RoundRobin() -> EpsilonGreedy()"
    assert repr(allocator.ledger.policy) == "EpsilonGreedy()"


def spend_half(allocator: Allocator) -> list[str]:
    return [pull.arm for pull in allocator if allocator.tell(pull, 0.5)]


def test_an_arm_that_failed_too_often_is_tried_again_even_after_a_late_reward() -> None:
    allocator = Allocator(["a"], 10, execution=Execution(retries=1))
    pull = allocator.ask()
    assert pull is not None
    allocator.fail(pull, "no answer")
    assert allocator.tell(pull, 0.5), "it came after all"
    assert allocator.finished
    assert "1 of 1 arms failed and was retired: a" in standing(allocator.ledger)
    allocator.extend(retries=2)
    assert allocator.ask() is not None


def test_new_arms_bring_their_settings_limits_and_earlier_rewards(tmp_path: Path) -> None:
    store = tmp_path / "run.db"
    with Allocator(["a"], 6, store=store, max_pulls={"a": 2}, configs={"a": {"lr": 0.1}}) as allocator:
        spend_half(allocator)
    with Allocator(
        ["a", "b"],
        6,
        store=store,
        max_pulls={"a": 2, "b": 4},
        configs={"a": {"lr": 0.1}, "b": {"lr": 0.2}},
        warm_start={"b": [0.25, 0.5]},
    ) as allocator:
        assert allocator.taken_over == "1 new arm: b, max_pulls (a 2) -> (a 2, b 4), rewards of earlier pulls: 2 of b"
        pulls = [pull for pull in allocator if allocator.tell(pull, 0.75)]
        assert [(pull.arm, pull.n) for pull in pulls] == [("b", 3), ("b", 4)]
        assert allocator.ledger.arm("b").config == {"lr": 0.2}
    task = store_task(store)
    assert [list(task.curves[arm]) for arm in "ab"] == [[0.5, 0.5], [0.25, 0.5, 0.75, 0.75]]
    assert task.configs["b"] == {"lr": 0.2}
    assert all(finding.whole for finding in inspect_store(store))


def test_numbers_of_new_arms_follow_those_that_are_there_and_are_drawn() -> None:
    allocator = Allocator(["a", "b", "c"], 30, policy="asha", seed=4)
    before = [arm.name for arm in allocator.ledger.numbered]
    assert sorted(before) == ["a", "b", "c"] != before
    allocator.extend(arms=["d", "e", "f", "g"])
    after = [arm.name for arm in allocator.ledger.numbered]
    assert after[:3] == before
    assert sorted(after[3:]) == ["d", "e", "f", "g"] != after[3:]


def test_with_a_prior_and_configs_new_arms_are_known_to_the_policy() -> None:
    prior = {"may": {arm: [0.1 * i, 0.2 * i] for i, arm in enumerate(["arm0", "arm1", "arm2", "arm3"])}}
    allocator = Allocator(ARMS[:4], 30, prior=prior)
    first = spend(allocator, 6)
    allocator.extend(budget=40, arms=["arm4", "arm5"], warm_start={"arm5": [curve("arm5", 1)]})
    assert allocator.ledger.policy._informed
    assert allocator.ledger.policy.n_arms == 6
    assert len(first + spend(allocator)) == 40
    again = unpack(pack(allocator.ledger), allocator.settings)
    assert again is not None
    assert again.policy._informed


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_snapshot_holds_the_settings_that_hold(moment: str, tmp_path: Path) -> None:
    with Allocator(ARMS, 48, store=tmp_path / "run.db", policy="epsilon-greedy") as allocator:
        spend(allocator, 20)
        if moment == "after":
            allocator.extend(budget=96, arms=["arm5"], retries=9)
            spend(allocator, 5)
        made = open_reader(tmp_path / "run.db")
        copy = unpack(pack(allocator.ledger), made.settings)
        made.close()
        assert copy is not None
        assert copy.settings.to_json() == allocator.settings.to_json()
        assert declared_by(copy).to_json() == declared_by(allocator.ledger).to_json()
        allocator.store.keep_snapshot(allocator.ledger.last_id, pack(allocator.ledger))
        if moment == "before":
            allocator.extend(budget=96, arms=["arm5"], retries=9)
        with Allocator(ARMS, 48, store=tmp_path / "run.db", policy="epsilon-greedy") as other:
            assert (other.taken_over, other.settings.retries) == ("", 9)
            assert spend(other, 7)
        spend(allocator)
    with open_reader(tmp_path / "run.db") as reader:
        assert reader.ledger().surprises == 0
        assert reader.ledger().spent == 96


def test_the_event_is_kept_whole(tmp_path: Path) -> None:
    names = [f"a rather long name of an arm, number {i}" for i in range(200)]
    with Allocator(["a"], 5, store=tmp_path / "run.db") as allocator:
        allocator.extend(arms=names)
        [event] = list(allocator.store.events())
    assert (event.kind, event.arm) == ("extend", "")
    assert json.loads(event.text)["arms"] == {"in": names, "out": []}
    with Allocator.open(tmp_path / "run.db") as allocator:
        assert allocator.arms == ["a", *names]


@pytest.mark.parametrize(
    ("event", "what"),
    [
        (Event(3, 9.0, "teleport", "arm0"), "event 3 is of the kind 'teleport'"),
        (Event(3, 9.0, "extend", "", text='{"gravity": 2, "said": "gravity 1 -> 2"}'), "event 3 changes 'gravity'"),
    ],
)
def test_what_a_newer_version_wrote_is_not_called_damaged(event: Event, what: str, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with Allocator(ARMS, 5, store=path) as allocator:
        spend(allocator, 1)
        allocator.store.begin(2)
        allocator.store.append(event)
        allocator.store.commit()
    sentence = f"{path} was written by a newer version: {what}, which this one does not know; update risingbandits."
    with pytest.raises(RisingBanditsError, match=f"^{re.escape(sentence)}$"):
        Allocator.open(path)


def test_nor_are_settings_of_a_newer_version() -> None:
    plain = json.loads(Allocator(["a"], 5).settings.to_json())
    with pytest.raises(RisingBanditsError, match="written by a newer version: it has the setting 'gravity'"):
        Settings.from_json(json.dumps({**plain, "gravity": 2}))


def test_a_store_in_memory_is_joined_like_any_other() -> None:
    store = MemoryStore()
    one = Allocator(["a", "b"], 2, store=store, policy="round-robin")
    spend_half(one)
    two = Allocator(["a", "b", "c"], 6, store=store, policy="round-robin")
    assert two.taken_over == "budget 2 -> 6 pulls, 1 new arm: c"
    assert spend_half(two) == ["c", "a", "b", "c"]


def test_functions_of_arms_that_come_while_it_runs() -> None:
    def first(pull: Any) -> float:
        if pull.n == 3:
            allocator.extend(budget=12, arms={"late": lambda pull: 0.9})
        return 0.5

    allocator = Allocator({"early": first}, 4, policy="round-robin")
    allocator.run(progress=False)
    assert allocator.spent == 12
    assert len(allocator.rewards("late")) > 3


def test_decisions_in_between_are_replayed(tmp_path: Path) -> None:
    """At random moments, twice in a row, with pulls in flight: whoever reads the store finds the same."""
    rng = np.random.default_rng(0)
    with Allocator(ARMS, 10, store=tmp_path / "run.db", policy="epsilon-greedy") as allocator:
        flying: list[Pull] = []
        for step in range(300):
            kind = int(rng.integers(8))
            if kind == 0:
                allocator.extend(budget=int(allocator.spent + len(flying) + rng.integers(1, 20)))
            elif kind == 1 and step % 5 == 0:
                allocator.extend(arms=[f"arm{5 + step}"], retries=int(rng.integers(2, 9)))
            elif kind < 4 and flying:
                pull = flying.pop(int(rng.integers(len(flying))))
                allocator.tell(pull, curve(pull.arm, pull.n) % 1.0)
            else:
                try:
                    asked = allocator.ask()
                except NoArmAvailable:
                    continue
                flying += [asked] if asked is not None else []
        mine = allocator.ledger
        with open_reader(tmp_path / "run.db") as reader:
            ledger = reader.ledger()
            assert ledger.surprises == 0
            assert ledger.told_arms == mine.told_arms
            assert sorted(ledger.in_flight) == sorted(mine.in_flight)
            assert ledger.settings.to_json() == mine.settings.to_json()
            assert ledger.told > 40
