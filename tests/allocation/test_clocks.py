"""Clocks that are set while an allocation runs: neither leases nor budgets in seconds follow them."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from programs import PATIENCE, program
from risingbandits import Allocator, Budget, Execution, NoArmAvailable
from risingbandits._core import platform
from risingbandits.allocation.stores import _sqlite as sqlite
from risingbandits.allocation.stores._memory import MemoryStore

_REAL = time.time

ASKER = """
import sys, time
from risingbandits import Allocator, Execution
pull = Allocator(["a"], 10, store=sys.argv[1], execution=Execution(lease=float(sys.argv[2]), reclaim=False)).ask()
print(pull.id, flush=True)
"""


def set_clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(time, "time", lambda: _REAL() + seconds)


def dead_worker(place: str, lease: float) -> None:
    """Another process asks for the only arm and ends."""
    with program([sys.executable, "-c", ASKER, place, str(lease)], stdout=-1) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "1\n"
        process.wait()


@pytest.mark.parametrize("memory", [False, True])
@pytest.mark.parametrize("jump", [400.0, -400.0])
def test_a_clock_that_is_set_during_a_pull_costs_nothing(
    place: str, memory: bool, jump: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Allocator(["a"], Budget(seconds=300.0), store=None if memory else place) as allocator:
        for shift in (0.0, jump):
            pull = allocator.ask()
            assert pull is not None
            set_clock(monkeypatch, shift)
            assert allocator.tell(pull, 0.5)
        assert 0.0 < allocator.spent < 200.0
        assert not allocator.finished


@pytest.mark.parametrize("jump", [-1000.0, 1000.0])
def test_a_dead_workers_pull_comes_back_when_its_lease_ends(
    place: str, jump: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead_worker(place, lease=1.0)
    set_clock(monkeypatch, jump)
    with Allocator.open(place) as allocator:
        pull = allocator.ask(wait=PATIENCE)
        assert pull is not None
        assert pull.attempt == 2


def test_after_the_machine_was_started_with_an_earlier_clock_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(tmp_path / "run.db")
    dead_worker(place, lease=1.0)
    monkeypatch.setattr(sqlite, "boot_id", lambda: "another start of the machine")
    set_clock(monkeypatch, -1000.0)
    with Allocator.open(place) as allocator:
        pull = allocator.ask(wait=PATIENCE)
        assert pull is not None
        assert pull.attempt == 2
        times = [event.time for event in allocator.store.events()]
        assert times == sorted(times)


def test_a_clock_that_is_ahead_does_not_take_a_pull_from_a_live_worker(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Allocator(["a"], 10, store=place, execution=Execution(lease=600.0)) as there:
        pull = there.ask()
        assert pull is not None
        set_clock(monkeypatch, 86_400.0)
        with Allocator.open(place) as here:
            with pytest.raises(NoArmAvailable):
                here.ask()
            assert there.tell(pull, 0.5)


def test_clocks_of_one_machine_agree_and_only_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    one = platform.Clock()
    set_clock(monkeypatch, 500.0)
    other = platform.Clock()
    assert other() - one() > 400.0
    other.offset = one.offset
    assert one() <= other() <= one()
    assert MemoryStore().now() - one() > 400.0


def test_events_never_go_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the clock of the store says: after a step back the moments go on from the last one."""
    allocator = Allocator(["a"], 10)
    for now, moment in ((100.0, 100.0), (40.0, 100.0), (41.5, 101.5), (150.0, 210.0)):
        monkeypatch.setattr(allocator.store, "now", lambda now=now: now)
        pull = allocator.ask()
        assert pull is not None
        allocator.tell(pull, 0.5)
        assert [event.time for event in allocator.store.events()][-2:] == [moment, moment]


def test_seconds_of_a_pull_are_those_of_the_clock_of_who_made_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another worker's clock is a thousand seconds ahead, and the moments of the events with it."""
    one = Allocator(["a", "b"], Budget(seconds=300.0), store=tmp_path / "run.db")
    other = Allocator.open(tmp_path / "run.db")
    for allocator, now in ((one, 100.0), (other, 1_100.0)):
        monkeypatch.setattr(allocator.store, "now", lambda now=now: now)
    mine, theirs = one.ask(), other.ask()
    assert mine is not None
    assert theirs is not None
    for allocator, now, pull in ((other, 1_107.0, theirs), (one, 110.0, mine)):
        monkeypatch.setattr(allocator.store, "now", lambda now=now: now)
        allocator.tell(pull, 0.5)
    told = [event for event in one.store.events() if event.kind == "tell"]
    assert [(event.time, event.cost) for event in told] == [(1_107.0, 7.0), (1_107.0, 10.0)]
    one.close()
    other.close()
