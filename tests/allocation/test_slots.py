"""Slots: arms get their places when they are first pulled, by a prior or as they are given, and replays agree."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_properties import Clock, random_steps
from test_snapshot import state

import reference_slots
from risingbandits import Allocator, Budget, NoArmAvailable, RisingBanditsError
from risingbandits.allocation import open_reader
from risingbandits.allocation.arm_state import ArmState
from risingbandits.allocation.ledger import Ledger
from risingbandits.allocation.prior.scores import normal_scores
from risingbandits.allocation.slots import SlotRule, new_slot
from risingbandits.allocation.snapshot import fold, pack, unpack
from risingbandits.allocation.starting.prior import Belief, Prior
from risingbandits.allocation.stores.memory import MemoryStore
from risingbandits.policies import Policy, policy_class
from risingbandits.reports.allocation_log import AllocationLog

NAMES = [f"arm {i}" for i in range(12)]


class Made(dict[str, Any]):
    """Arms that are made when they are needed, as names."""

    lazy = True


def nothing(pull: Any) -> float:
    raise NotImplementedError


def made(names: list[str]) -> Made:
    return Made(dict.fromkeys(names, nothing))


def prior_of(means: list[float], tasks: int = 3) -> Prior:
    return Prior({name: Belief(mean, 0.5, "3 tasks") for name, mean in zip(NAMES, means, strict=False)}, tasks, 0.5)


def reward(arm: str, n: int) -> float:
    top = (int(arm.split()[1]) * 7 % 12 + 1) / 13
    return top * n / (n + 3)


def play(allocator: Allocator, pulls: int = 10**6) -> list[str]:
    played: list[str] = []
    while len(played) < pulls and (pull := allocator.ask()) is not None:
        allocator.tell(pull, reward(pull.arm, pull.n))
        played.append(pull.arm)
    return played


def policies_in_order() -> list[Policy]:
    names = ("asha", "hyperband", "auto")
    policies = [policy_class(name)() for name in names]
    return [policy.replace(order="given") if "order" in policy.get_params() else policy for policy in policies]


@pytest.mark.parametrize("policy", policies_in_order(), ids=lambda policy: policy.name)
@pytest.mark.parametrize("pulls", [30, 150])
def test_bound_in_the_plain_order_nothing_changes(policy: Policy, pulls: int) -> None:
    fixed = Allocator(NAMES, pulls, policy=policy, order="given", seed=4)
    bound = Allocator(made(NAMES), pulls, policy=policy, seed=4)
    assert play(bound) == play(fixed)
    assert bound.recommend() == fixed.recommend()
    assert {arm.bound for arm in bound.ledger.arms if arm.place >= 0} == {"given"}


def test_the_order_of_the_prior_with_a_yardstick_and_every_fifth_at_random() -> None:
    means = [reward(name, 10**6) for name in NAMES]
    allocator = Allocator(NAMES, 400, policy="round-robin", prior=prior_of(means), seed=1)
    opened = play(allocator, 12)
    by_mean = [name for _, name in sorted(zip(means, NAMES, strict=True), reverse=True)]
    drawn = [opened[1], opened[4], opened[9]]
    assert opened[1] == by_mean[4]  # a third down the eleven others
    assert opened != by_mean
    assert [name for name in opened if name not in drawn] == [name for name in by_mean if name not in drawn]
    bound = [event for event in allocator.store.events() if event.kind == "bind"]
    assert [event.text for event in bound] == [
        "prior",
        "yardstick",
        *["prior"] * 2,
        "random",
        *["prior"] * 4,
        "random",
        *["prior"] * 2,
    ]
    assert [event.n for event in bound] == list(range(12))
    assert [event.reward for event in bound] == [means[NAMES.index(name)] for name in opened]
    following = [event.kind for event in allocator.store.events()]
    assert all(following[at + 1] == "ask" for at, kind in enumerate(following) if kind == "bind")


def test_strangers_come_at_random_and_after_what_is_thought_good() -> None:
    prior = Prior({"arm 3": Belief(0.5, 0.5, "1 task"), "arm 4": Belief(-0.5, 0.5, "1 task")}, 1, None)
    orders = {tuple(play(Allocator(NAMES[:6], 6, policy="round-robin", prior=prior, seed=seed))) for seed in range(9)}
    assert len(orders) > 4
    assert {order[0] for order in orders} == {"arm 3"}
    assert "arm 4" not in {arm for order in orders for arm in order[:4]}


def test_a_prior_that_the_run_contradicts_is_dropped_and_said_so(caplog: pytest.LogCaptureFixture) -> None:
    tops = [reward(name, 10**6) for name in NAMES]
    wrong = prior_of([-6.0 * top for top in tops])
    with caplog.at_level(logging.WARNING, logger="risingbandits"):
        allocator = Allocator(NAMES, 400, policy="round-robin", prior=wrong)
        play(allocator, 12)
    said = [event.text for event in allocator.store.events() if event.kind == "bind"]
    assert said[8].startswith("dropped: 8 arms contradict the prior (confirmed 0")
    assert said[9:] == ["dropped"] * 3
    assert allocator.ledger.dropped
    assert len(caplog.records) == 1
    right = Allocator(NAMES, 400, policy="round-robin", prior=prior_of([6.0 * top for top in tops]))
    play(right, 12)
    assert not right.ledger.dropped
    losses = Allocator(NAMES, 400, policy="round-robin", direction="minimize", prior=wrong)
    play(losses, 12)
    assert not losses.ledger.dropped, "what earns little costs little"


@pytest.mark.parametrize("seed", range(30))
def test_trust_is_as_defined(seed: int) -> None:
    rng = np.random.default_rng(seed)
    curves = [rng.integers(0, 4, size=rng.integers(0, 9)).astype(float).tolist() for _ in range(rng.integers(1, 14))]
    means = (rng.normal(size=len(curves)) * rng.choice([0.01, 1.0])).tolist()
    arms = [ArmState(f"arm {i}", i, None, curve) for i, curve in enumerate(curves)]
    prior = Prior({arm.name: Belief(mean, 1.0, "") for arm, mean in zip(arms, means, strict=True)})
    assert SlotRule(prior, 0).trust(arms) == pytest.approx(reference_slots.trust(means, curves), rel=1e-9)
    told = [curve for curve in curves if curve]
    if told:
        found = normal_scores([np.array(curve) for curve in told], 1 / 3)
        assert found == pytest.approx(reference_slots.scores(told), abs=1e-9)


def test_trust_has_limits() -> None:
    """Many arms that are ahead by more than was believed of them, or that are in the opposite order."""
    means = np.linspace(-0.3, 0.3, 40)
    arms = [ArmState(f"arm {i}", i, None, [float(i)] * 3) for i in range(40)]
    prior = Prior({arm.name: Belief(float(mean), 1.0, "") for arm, mean in zip(arms, means, strict=True)})
    assert SlotRule(prior, 0).trust(arms) == 1.5
    assert SlotRule(prior, 0).trust(arms, sign=-1.0) == 0.0


@pytest.mark.parametrize("dropped", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_the_order_is_as_defined(seed: int, dropped: bool) -> None:
    rng = np.random.default_rng(seed)
    arms = [ArmState(f"arm {i}", i, None, ()) for i in range(25)]
    prior = Prior({arm.name: Belief(float(rng.integers(3)), 1.0, "") for arm in arms[: rng.integers(25)]})
    closed = [arms[i] for i in rng.permutation(25)[: rng.integers(1, 26)]]
    means = {arm.index: prior.of(arm.name).mean for arm in closed}
    rule = SlotRule(prior, seed)
    for opened in (0, 1, 7):
        found = [(arm.index, why) for arm, why in rule.order(closed, opened, dropped)]
        assert found == reference_slots.order(means, opened, seed, dropped)
    slots = [new_slot(place) for place in range(len(closed))]
    expected = [prior.beliefs.get(f"arm {i}", (0.0, 1.0)) for i, _ in reference_slots.order(means, 0, seed, False)]
    believed = [(0.0, 1.0)] * len(closed) if dropped else [(belief[0], belief[1]) for belief in expected]
    assert list(zip(*rule.beliefs(slots, closed, dropped), strict=True)) == believed


class Believer(policy_class("round-robin")):  # type: ignore[misc]
    """Keeps what it was told to believe."""

    believes = True

    def believe(self, means: Any, deviations: Any) -> None:
        self.believed = (means.tolist(), deviations.tolist())


def test_policies_that_believe_are_told_of_every_slot() -> None:
    prior = prior_of([0.1, 0.9, 0.5, -1.0])
    allocator = Allocator(NAMES[:5], 50, policy=Believer(), prior=prior)
    policy: Any = allocator.ledger.policy
    assert policy.believed == ([0.9, 0.1, 0.5, 0.0, -1.0], [0.5, 0.5, 0.5, 1.0, 0.5])  # the fifth is what is left
    play(allocator, 3)
    opened = [arm.name for arm in allocator.ledger.opened if arm.index >= 0]
    assert opened == ["arm 1", "arm 0", "arm 2"]
    assert policy.believed[0] == [0.9, 0.1, 0.5, 0.0, -1.0]
    ledger = Ledger(allocator.settings)
    fold(ledger, allocator.store.events(), "memory")
    assert ledger.policy.believed == policy.believed  # type: ignore[attr-defined]
    allocator.add("arm 11")
    again: Any = allocator.ledger.policy
    assert again is not policy
    assert again.believed[0] == [0.9, 0.1, 0.5, 0.0, 0.0, -1.0]


ACTIONS = ("ask", "tell", "fail", "release", "sleep", "reopen", "add", "retire", "mask", "unmask")


@pytest.mark.parametrize("lazy", ["prior", "made"])
@pytest.mark.parametrize("block", range(4))
def test_replays_and_snapshots_agree_whatever_happens(lazy: str, block: int) -> None:
    """Random sequences of everything that can happen; a replay and a snapshot are the ledger after each of them."""
    for seed in range(40 * block, 40 * (block + 1)):
        configuration, steps = random_steps(seed, length=60)
        clock = Clock()
        store = MemoryStore(clock=clock)
        shared = {**configuration, "lease": 10.0, "retries": 2, "reward_range": (0.0, 4.0), "store": store}
        names = ["a", "b", "c", "d"]
        if lazy == "prior":
            beliefs = {"b": Belief(1.0, 0.5, "2 tasks"), "d": Belief(-1.0, 0.5, "2 tasks")}
            real = Allocator(names, prior=Prior(beliefs, 2, 0.1), **shared)
        else:
            real = Allocator(made(names), **shared)
        given: list[Any] = []
        copy: Ledger | None = None
        for number, (action, draw) in enumerate(steps):
            real = act(real, store, clock, given, action, draw)
            check(real.ledger)
            if number == 30:
                copy = unpack(pack(real.ledger), real.settings)
                assert copy is not None
                assert state(copy) == state(real.ledger)
        replayed = Ledger(real.settings)
        fold(replayed, store.events(), "memory")
        assert copy is not None
        fold(copy, store.events(copy.last_id), "memory")
        for other in (replayed, copy):
            assert other.surprises == 0
            assert state(other) == state(real.ledger)


def act(real: Allocator, store: Any, clock: Clock, given: list[Any], action: str, draw: int) -> Allocator:
    name = real.arms[draw % len(real.arms)]
    if action == "ask":
        try:
            pull = real.ask()
        except NoArmAvailable:
            pull = None
        given.extend([pull] if pull is not None else [])
    elif action in ("tell", "fail", "release", "renew") and given:
        pull = given[-1 - draw % min(5, len(given))]
        if action == "tell":
            real.tell(pull, (draw % 9) / 2.0, [None, 0.5, 1.5][draw % 3])
        else:
            getattr(real, action)(pull)
    elif action == "sleep":
        clock.time += [0.5, 3.0, 11.0][draw % 3]
    elif action == "reopen":
        return Allocator.open(store)
    elif action == "add" and len(real.arms) < 7:
        real.add(f"new {len(real.arms)}")
    elif action in ("retire", "mask", "unmask"):
        getattr(real, action)(name)
    return real


def check(ledger: Ledger) -> None:
    closed = [arm for arm in ledger.arms if arm.place < 0 and arm.retired is None]
    empty = [slot for slot in ledger.opened if slot.index < 0]
    assert [arm for arm in ledger.arms if arm.place >= 0 and ledger.opened[arm.place] is not arm] == []
    assert all(not arm.rewards for arm in ledger.arms if arm.place < 0)
    for slot in empty:
        assert slot.eligible == any(not arm.masked for arm in closed)
    live = sum(arm.retired is None for arm in ledger.opened)
    if ledger.settings.max_arms is None:
        assert len(closed) <= len(empty)
    else:
        assert live <= ledger.settings.max_arms
    if ledger.finished and ledger.spent < ledger.settings.budget.amount:
        assert closed == [] or live == ledger.settings.max_arms


def test_warm_arms_have_a_place_at_once_and_rebuilt_policies_keep_them() -> None:
    warm = {"arm 2": [0.1, 0.2], "arm 4": [0.3]}
    allocator = Allocator(
        NAMES[:6], Budget(cost=40.0), policy="round-robin", prior=prior_of([0.0, 3.0]), warm_start=warm
    )
    assert [arm.name for arm in allocator.ledger.opened] == ["arm 2", "arm 4", "", "", "", ""]
    play(allocator, 6)
    assert allocator.ledger.opened[2].name == "arm 1"
    places = {arm.name: arm.place for arm in allocator.ledger.arms}
    rebuilds = allocator.ledger.rebuilds
    for _ in range(20):
        pull = allocator.ask()
        assert pull is not None
        allocator.tell(pull, reward(pull.arm, pull.n), cost=0.1)
    assert allocator.ledger.rebuilds > rebuilds
    assert {arm.name: arm.place for arm in allocator.ledger.arms} == places


def test_the_prior_is_read_once_and_a_store_goes_on_without_it(tmp_path: Path) -> None:
    prior = prior_of(np.random.default_rng(2).normal(size=12).tolist())
    whole = play(Allocator(NAMES, 60, prior=prior, seed=5))
    with Allocator(NAMES, 60, prior=prior, seed=5, store=tmp_path / "a.db") as allocator:
        parts = play(allocator, 7)
        lost = allocator.ask()  # a process that dies with a pull in flight
        assert lost is not None
    with Allocator(NAMES, 60, seed=5, store=tmp_path / "a.db") as allocator:
        assert allocator.settings.prior == prior
        allocator.release(lost)
        parts += play(allocator, 10)
    with Allocator(NAMES, 60, seed=5, prior=prior_of([5.0]), store=tmp_path / "a.db") as allocator:
        assert allocator.settings.prior == prior
        assert parts + play(allocator) == whole


def test_named_policies_open_arms_in_the_order_of_the_prior(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    prior = prior_of([0.5, 1.0])
    assert Allocator(NAMES, 60, prior=prior).settings.policy.order == "given"  # type: ignore[attr-defined]
    given = policy_class("auto")().replace(order="random")
    assert Allocator(NAMES, 60, prior=prior, policy=given).settings.policy.order == "random"  # type: ignore[attr-defined]
    store = tmp_path / "a.db"
    with Allocator(NAMES, 60, prior=prior, policy="auto", store=store) as allocator:
        assert allocator.settings.policy.order == "given"  # type: ignore[attr-defined]
    Allocator(NAMES, 60, policy="auto", store=store).close()  # the same settings, though no prior is given
    with caplog.at_level(logging.WARNING, logger="risingbandits"):
        Allocator(NAMES, 60, store=tmp_path / "b.db").close()
        Allocator(NAMES, 60, prior=prior, store=tmp_path / "b.db").close()
    assert "was created without a prior" in caplog.text


def test_explain_says_where_the_places_are_from() -> None:
    tops = [reward(name, 10**6) for name in NAMES]
    allocator = Allocator(NAMES, 400, policy="round-robin", prior=prior_of([6.0 * top - 3.0 for top in tops[:-1]]))
    table = allocator.explain()
    assert table.prior == "prior from 3 tasks, agreement among them 0.5"
    best = NAMES[int(np.argmax(tops[:-1]))]
    assert table[best].why == "next: opened by the prior"
    play(allocator, 9)
    table = allocator.explain()
    assert table[best].prior == pytest.approx(0.9945, abs=0.002)
    assert (table[best].source, table[best].slot, table[best].bound) == ("3 tasks", 1, "prior")
    assert table["arm 11"].source == "unknown"
    assert table["arm 11"].prior == 0.5
    opened = {row.slot: row.bound for row in table.rows if row.slot}
    assert [opened[slot] for slot in range(1, 10)] == ["prior", "yardstick", "prior", "prior", "random", *["prior"] * 4]
    assert [row.bound for row in table.rows if row.status == "waiting"] == [""] * 3
    trust = reference_slots.trust(*shown(allocator))
    assert table.prior.endswith(f", so far confirmed {trust:.2g} by 9 arms")
    text = table.text_table()
    assert " ".join(text.header) == ("arm pulls last estimate lcb predicted interval p_best status why prior opened")
    assert text.numeric == set(range(1, 8))
    cells = {row[0]: row[-2:] for row in text.rows}
    assert cells[best] == ("0.99, 3 tasks", "1, by the prior")
    assert cells["arm 11"] == ("0.50, unknown", "-" if not table["arm 11"].slot else cells["arm 11"][1])
    assert sorted(cell.partition(", ")[2] for _, cell in cells.values()) == [
        *[""] * 3,
        "at random",
        *["by the prior"] * 7,
        "to test the prior",
    ]
    assert text.title.endswith(table.prior)
    without = Allocator(made(NAMES), 400, policy="round-robin")
    play(without, 3)
    assert [row[0] for row in without.explain().text_table().rows] == [*NAMES[:4], "8 more"], "the fourth is next"
    assert len(without.explain().rows) == 12
    plain = Allocator(NAMES, 400, policy="round-robin").explain().text_table()
    assert plain.header[-1] == "why", "as ever without a prior"
    wrong = Allocator(NAMES, 400, policy="round-robin", prior=prior_of([-6.0 * top for top in tops]))
    play(wrong, 12)
    assert ", dropped: 8 arms contradict the prior" in wrong.explain().prior


def shown(allocator: Allocator) -> tuple[list[float], list[list[float]]]:
    """What was believed of the started arms, and their curves."""
    prior = allocator.settings.prior
    assert prior is not None
    arms = [arm for arm in allocator.ledger.arms if arm.rewards]
    return [prior.of(arm.name).mean for arm in arms], [arm.rewards.tolist() for arm in arms]


def test_settings_of_arms_are_kept_and_shown(tmp_path: Path) -> None:
    class Tuned:
        config = {"lr": 0.001, "opt": "adam", "layers": [1, 2], "nest": True}  # noqa: RUF012 - a list is left out

        def pull(self, pull: Any) -> float:
            return 0.5

    arms: dict[str, Any] = {"a": Tuned(), "b": lambda pull: 0.5}
    with Allocator(arms, 4, configs={"b": {"lr": np.float64(0.1), "depth": 3}}, store=tmp_path / "x.db") as allocator:
        allocator.run(progress=False)
        allocator.add("c", Tuned())
        allocator.set_config("c", {"lr": 0.5})
        allocator.set_config("c", {"lr": 0.5})  # again: nothing
    with Allocator.open(tmp_path / "x.db") as allocator:
        found = {arm.name: arm.config for arm in allocator.ledger.arms}
        assert found == {
            "a": {"lr": 0.001, "opt": "adam", "nest": "True"},
            "b": {"lr": 0.1, "depth": 3},
            "c": {"lr": 0.5},
        }
        table = allocator.explain().text_table()
        assert table.header[-1] == "config"
        assert [row[-1] for row in table.rows] == ["lr=0.001 opt=adam nest=True", "lr=0.1 depth=3", "lr=0.5"]
        assert [event.kind for event in allocator.store.events()].count("config") == 2
    with pytest.raises(RisingBanditsError, match="configs of a, x must be a finite number or a string, got nan"):
        Allocator(["a"], 4, configs={"a": {"x": float("nan")}})
    with pytest.raises(RisingBanditsError, match="configs must name arms that exist, got 'b'"):
        Allocator(["a"], 4, configs={"b": {}})
    with pytest.raises(RisingBanditsError, match="configs of a must map hyperparameters to numbers or strings"):
        Allocator(["a"], 4, configs={"a": 3})  # type: ignore[dict-item]
    with pytest.raises(RisingBanditsError, match="config of a must be at most 2000 characters, got"):
        Allocator(["a"], 4).set_config("a", {"x": "y" * 3000})


def test_the_second_run_begins_where_the_first_ended(tmp_path: Path) -> None:
    with Allocator(NAMES, 120, policy="round-robin", store=tmp_path / "first.db") as allocator:
        play(allocator)
    with Allocator(NAMES, 60, prior=tmp_path / "first.db", store=tmp_path / "second.db") as allocator:
        best = max(NAMES, key=lambda name: reward(name, 10))
        assert play(allocator, 1) == [best]
        assert allocator.settings.prior is not None
        assert allocator.settings.prior.tasks == 1
    (tmp_path / "first.db").unlink()
    with Allocator(NAMES, 60, prior=tmp_path / "first.db", store=tmp_path / "second.db") as allocator:
        play(allocator)
        assert allocator.recommend() == best
    with open_reader(tmp_path / "second.db") as reader:
        log = AllocationLog(reader.settings)
        log.take(reader.events())
        assert log.arms_table(20).header[-2:] == ("prior", "opened")


def test_numbers_in_names_are_settings_unless_an_arm_has_others() -> None:
    allocator = Allocator(["mlp lr=0.02,wd=1e-4", "act=relu", "x=inf"], 4, configs={"act=relu": {"depth": 2}})
    found = {arm.name: arm.config for arm in allocator.ledger.arms}
    assert found["mlp lr=0.02,wd=1e-4"] == {"lr": 0.02, "wd": 1e-4}
    assert found["act=relu"] == {"depth": 2}
    assert found["x=inf"] == {"x": "inf"}
