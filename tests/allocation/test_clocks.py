"""Clocks that are set while an allocation runs: neither leases nor budgets in seconds follow them."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from programs import PATIENCE, program
from risingbandits import Allocator, Budget, NoArmFree
from risingbandits.allocation.stores import clock, sqlite
from risingbandits.allocation.stores.memory import MemoryStore

_REAL = time.time

ASKER = """
import sys, time
from risingbandits import Allocator
pull = Allocator(["a"], 10, store=sys.argv[1], lease=float(sys.argv[2]), reclaim=False).ask()
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
    dead_worker(place, lease=3.0)
    set_clock(monkeypatch, jump)
    with Allocator.open(place) as allocator:
        pull = allocator.ask(wait=PATIENCE)
        assert pull is not None
        assert pull.attempt == 2


def test_after_the_machine_was_started_with_an_earlier_clock_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(tmp_path / "run.db")
    dead_worker(place, lease=3.0)
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
    with Allocator(["a"], 10, store=place, lease=600.0) as there:
        pull = there.ask()
        assert pull is not None
        set_clock(monkeypatch, 86_400.0)
        with Allocator.open(place) as here:
            with pytest.raises(NoArmFree):
                here.ask()
            assert there.tell(pull, 0.5)


def test_clocks_of_one_machine_agree_and_only_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    one = clock.Clock()
    set_clock(monkeypatch, 500.0)
    other = clock.Clock()
    assert other() - one() > 400.0
    other.offset = one.offset
    assert one() <= other() <= one()
    assert MemoryStore().now() - one() > 400.0
