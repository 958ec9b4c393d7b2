"""Snapshots: a ledger from one equals a ledger from all events, and decides the same from there on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_properties import Clock, Machine, random_steps

from risingbandits import Allocator
from risingbandits.allocation import Event
from risingbandits.allocation import _session as session
from risingbandits.allocation._ledger import Ledger
from risingbandits.allocation._snapshot import fold, pack, unpack
from risingbandits.allocation.stores._memory import MemoryStore


def state(ledger: Ledger) -> dict[str, Any]:
    """Everything in a ledger, as plain values."""
    arms = [
        {slot: getattr(arm, slot) for slot in arm.__slots__ if slot not in ("flight", "rewards")} for arm in ledger.arms
    ]
    policy = ledger.policy
    return {
        "arms": arms,
        "rewards": [arm.rewards.tolist() for arm in ledger.arms],
        "in_flight": [(f.pull, f.asked, f.deadline, f.worker) for f in ledger.in_flight.values()],
        "given_back": [(f.pull, f.asked, f.deadline, f.worker) for f in ledger.lapsed.values()],
        "returned": [arm.name for arm in ledger.repeat_first],
        "numbered": [arm.name for arm in ledger.numbered],
        "order": ledger.told_arms.tolist(),
        "spent": ledger.spent,
        "counts": (ledger.last_id, ledger.rebuilds, ledger.free.count, ledger.eligible.count),
        "policy": (repr(policy), policy.horizon, policy.pulls.tolist()),
        "generator": None if policy._rng is None else policy._rng.bit_generator.state,
    }


@pytest.mark.parametrize("seed", range(500, 540))
def test_a_snapshot_is_the_ledger(seed: int) -> None:
    configuration, steps = random_steps(seed, length=60)
    clock = Clock()
    machine = Machine(MemoryStore(clock=clock), clock, configuration)
    copy: Ledger | None = None
    for i, step in enumerate(steps):
        machine.act(*step)
        if i == len(steps) // 2:
            copy = unpack(pack(machine.real.ledger), machine.real.settings)
            assert copy is not None
            assert state(copy) == state(machine.real.ledger)
    assert copy is not None
    fold(copy, machine.real.store.events(copy.last_id), "memory")
    assert state(copy) == state(machine.real.ledger)
    assert copy.surprises == 0


def test_stores_take_snapshots_and_open_from_them(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_SNAPSHOT_FIRST", 50)
    with Allocator(["a", "b"], 10_000, store=place, policy="beta-ts") as allocator:
        for _ in range(200):
            pull = allocator.ask()
            assert pull is not None
            allocator.tell(pull, float(np.random.default_rng(pull.id).random()))
        expected = state(allocator.ledger)
        assert 200 < allocator.store.snapshot_id() <= 400
    applied: list[int] = []
    original = Ledger.apply

    def counted(ledger: Ledger, event: Event) -> None:
        applied.append(event.id)
        original(ledger, event)

    monkeypatch.setattr(Ledger, "apply", counted)
    with Allocator.open(place) as allocator:
        assert state(allocator.ledger) == expected
        assert len(applied) < 200, "the snapshot was used"
        allocator.store.keep_snapshot(400, b"damaged")
    applied.clear()
    with Allocator.open(place) as allocator:
        assert state(allocator.ledger) == expected
        assert len(applied) == 400, "a snapshot that cannot be read is not needed"


def test_a_run_that_has_grown_often_opens_without_telling_its_policy_everything_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each extension tells a new policy all pulls again; so would each replay of it, as often as the run has grown."""
    monkeypatch.setattr(session, "_SNAPSHOT_FIRST", 100)
    store = str(tmp_path / "run.db")
    with Allocator(["a", "b"], 100, store=store, policy="epsilon-greedy") as allocator:
        for number in range(12):
            allocator.extend(budget=100 + 10 * number, arms=[f"extra {number}"])
            for pull in allocator:
                allocator.tell(pull, (pull.n * 7 % 17) / 17)
        expected = state(allocator.ledger)
        assert allocator.ledger.retold > 10 * 100
    with Allocator.open(store) as allocator:
        assert state(allocator.ledger) == expected
        assert allocator.ledger.retold <= 210, "at most what one snapshot waits for"


def test_a_snapshot_of_another_version_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    from risingbandits.allocation import _snapshot as snapshot

    allocator = Allocator(["a", "b"], 10)
    data = pack(allocator.ledger)
    assert unpack(data, allocator.settings) is not None
    monkeypatch.setattr(snapshot, "__version__", "0.0.0")
    assert unpack(data, allocator.settings) is None
    assert unpack(data[:-30], allocator.settings) is None
