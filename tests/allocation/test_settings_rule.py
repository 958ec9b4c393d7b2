"""Arms that are opened by a model of their settings: only where that pays, as defined, and the same after a stop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reference_slots
from risingbandits import Allocator
from risingbandits.allocation.arm_state import ArmState
from risingbandits.allocation.ledger import Ledger
from risingbandits.allocation.settings import Settings
from risingbandits.allocation.settings_rule import MANY, SettingsRule, pays
from risingbandits.allocation.slots import new_slot
from risingbandits.allocation.snapshot import fold, pack, unpack
from risingbandits.allocation.starting.prior import Belief, Prior
from risingbandits.policies import Hyperband
from risingbandits.policies.default.auto import Auto

RNG = np.random.default_rng(3)
NAMES = [f"arm {i}" for i in range(600)]
SETTINGS: dict[str, Any] = {
    name: {"lr": float(x), "depth": int(y), "optimizer": "adam" if x < 0.4 else "sgd"}
    for name, x, y in zip(NAMES, RNG.random(600), RNG.integers(9, size=600), strict=True)
}
KEEP: dict[str, Any] = {"objective": "best-arm", "seed": 2, "max_pulls": 30}


def reward(arm: str, n: int) -> float:
    top = 0.9 - abs(float(SETTINGS.get(arm, {"lr": 0.0})["lr"]) - 0.7)
    return max(0.0, top) * n / (n + 3)


def play(allocator: Allocator, pulls: int = 10**6) -> list[str]:
    played: list[str] = []
    while len(played) < pulls and (pull := allocator.ask()) is not None:
        allocator.tell(pull, reward(pull.arm, pull.n))
        played.append(pull.arm)
    return played


def bound(allocator: Allocator) -> list[str]:
    return [event.text for event in allocator.store.events() if event.kind == "bind"]


def test_good_arms_are_opened_sooner_and_every_fifth_at_random() -> None:
    allocator = Allocator(NAMES, 600, configs=SETTINGS, **KEEP)
    play(allocator)
    reasons = bound(allocator)
    assert reasons[:5] == ["random"] * 5, "there is nothing to learn from yet"
    assert reasons[9::5] == ["random"] * len(reasons[9::5])
    assert reasons.count("settings") > 0.6 * len(reasons)
    events = [event for event in allocator.store.events() if event.kind == "bind"]
    near = {reason: [abs(SETTINGS[e.arm]["lr"] - 0.7) for e in events if e.text == reason] for reason in reasons}
    assert np.mean(near["settings"]) < 0.5 * np.mean(near["random"])
    assert all((event.reward is None) == (event.text == "random") for event in events)
    assert allocator.settings.policy.order == "given"  # type: ignore[attr-defined]


def test_losses_are_learnt_the_other_way_round() -> None:
    allocator = Allocator(NAMES, 600, configs=SETTINGS, direction="minimize", **KEEP)
    play(allocator)
    learnt = [event.arm for event in allocator.store.events() if event.text == "settings"]
    assert np.mean([SETTINGS[arm]["lr"] for arm in learnt]) < 0.3


def test_used_only_where_it_pays() -> None:
    assert pays(Auto(), "best-arm", SETTINGS)
    assert not pays(Hyperband(), "best-arm", SETTINGS)
    assert not pays(Auto(), "cumulative", SETTINGS)
    assert not pays(Auto(), "best-arm", dict(list(SETTINGS.items())[: MANY - 1]))
    assert not pays(Auto(), "best-arm", {name: {"lr": 0.1} for name in NAMES}), "they do not differ"
    assert not pays(Auto(), "best-arm", {name: {"lr": 0.1} if name == "arm 0" else {} for name in NAMES}), (
        "most have none"
    )
    few = dict(list(SETTINGS.items())[: MANY - 1])
    plain, with_few = (Allocator(NAMES, 600, configs=given, **KEEP) for given in (None, few))
    assert play(plain, 400) == play(with_few, 400)
    assert bound(with_few) == []
    assert not with_few.settings.learns
    known = Prior({"arm 7": Belief(1.0, 0.5, "1 task")}, 1, None)
    believing = Allocator(NAMES, 600, configs=SETTINGS, prior=known, **KEEP)
    assert play(believing, 1) == ["arm 7"]
    assert not believing.settings.learns


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(9))
def test_the_order_is_as_defined(seed: int) -> None:
    rng = np.random.default_rng(seed)
    many = seed == 8  # more arms, open and closed, than a model is made of
    count = 1300 if many else int(rng.integers(60, 80))
    names = [f"arm {i}" for i in range(count)]
    numbers = rng.permutation(count).reshape(-1, 1)
    without = set(rng.permutation(count)[: seed * 4].tolist())
    settings = {
        name: {"x": float(x)} for i, (name, [x]) in enumerate(zip(names, numbers, strict=True)) if i not in without
    }
    arms = [ArmState(name, i, None, ()) for i, name in enumerate(names)]
    told: list[int] = []
    for arm in rng.permutation(count)[: 251 if many else int(rng.integers(5, 40))].tolist():
        for _ in range(int(rng.integers(1, 6))):
            told.insert(int(rng.integers(len(told) + 1)), arm)
            arms[arm].rewards.append(float(rng.integers(4) + numbers[arm][0] / 30))
    opened = [arm for arm in arms if arm.rewards]
    for arm in opened:
        arm.place = 0
    closed = [arm for arm in arms if not arm.rewards]
    for arm in closed[::3]:
        arm.masked = True
    known = [settings[name]["x"] for name in names if name in settings]
    ranks = {i: [(sum(y < x for y in known) + 0.5) / len(known)] for i, [x] in enumerate(numbers) if i not in without}
    expected = reference_slots.settings_order(ranks, {arm.index: arm.rewards for arm in arms}, told, seed)
    free = [(arm, mean) for arm, mean in expected if not arms[arm].rewards and not arms[arm].masked]
    rule = SettingsRule(names, settings, seed)
    binding = rule.choose(closed, [*opened, new_slot(99)], told=told)
    if (len(opened) + 1) % 5 == 0 or not free:
        assert binding.reason == "random"
        assert binding.score is None
        drawn = np.random.default_rng([seed, 2, len(opened) + 1])
        assert (
            binding.arm is [arm for arm in closed if not arm.masked][drawn.integers(sum(not a.masked for a in closed))]
        )
    else:
        assert (binding.arm.index, binding.reason) == (free[0][0], "settings")
        assert binding.score == pytest.approx(free[0][1], abs=1e-6)


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not(tmp_path: Path) -> None:
    whole = Allocator(NAMES, 500, configs=SETTINGS, **KEEP)
    expected = play(whole)
    store = tmp_path / "a.db"
    parts: list[str] = []
    for pulls in (3, 150, 61, 40, 1000):  # in the middle of what one model says
        with Allocator(NAMES, 500, configs=SETTINGS, store=store, **KEEP) as allocator:
            parts += play(allocator, pulls)
    assert parts == expected
    replayed = Ledger(whole.settings)
    fold(replayed, whole.store.events(), "memory")
    assert replayed.surprises == 0
    assert replayed.recommend() == whole.recommend()
    copy = unpack(pack(whole.ledger), whole.settings)
    assert copy is not None
    assert [arm.bound for arm in copy.arms] == [arm.bound for arm in whole.ledger.arms]


def test_settings_of_arms_that_a_store_was_made_without_change_nothing(tmp_path: Path) -> None:
    for policy in (None, "auto"):
        store = tmp_path / f"{policy}.db"
        old = Settings.make(learns=False, arms=NAMES, budget=500, policy=policy, configs=SETTINGS, **KEEP)
        assert (old.learns, old.lazy) == (False, False)
        with Allocator(NAMES, 500, policy=old.policy, store=store, **KEEP) as begun:
            expected = play(Allocator(NAMES, 500, policy=old.policy, **KEEP), 200)
            assert play(begun, 100) == expected[:100]
        with Allocator(NAMES, 500, policy=policy, configs=SETTINGS, store=store, **KEEP) as allocator:
            assert not allocator.settings.learns
            assert play(allocator, 100) == expected[100:]


def test_arms_that_come_and_go() -> None:
    warm = {"arm 5": [0.1, 0.2], "arm 6": [0.3]}
    allocator = Allocator(NAMES, 600, configs=SETTINGS, warm_start=warm, **KEEP)
    assert [arm.name for arm in allocator.ledger.opened[:2]] == ["arm 5", "arm 6"]
    play(allocator, 150)
    allocator.add("new")
    for name in NAMES[100:300]:
        allocator.retire(name)
    for name in NAMES[300:400]:
        allocator.mask(name)
    before = set(play(allocator, 1))
    opened = {arm.name for arm in allocator.ledger.opened if arm.rewards}
    play(allocator)
    later = {arm.name for arm in allocator.ledger.opened if arm.rewards} - opened - before
    assert later
    assert not later & set(NAMES[100:400])


def test_explain_says_so() -> None:
    allocator = Allocator(NAMES, 600, configs=SETTINGS, **KEEP)
    play(allocator, 200)
    table = allocator.explain()
    seen = sum(bool(arm.rewards) for arm in allocator.ledger.arms)
    assert table.prior == f"arms are opened by their settings, learnt from {seen} arms"
    text = table.text_table()
    assert text.header[-2:] == ("opened", "settings")
    assert "prior" not in text.header
    assert text.title.endswith(table.prior)
    cells = {row[-2].partition(", ")[2] for row in text.rows}
    assert cells == {"", "at random", "by its settings"}
