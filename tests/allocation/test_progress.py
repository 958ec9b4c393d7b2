"""Share, time left and throughput, with a clock that the test moves."""

from __future__ import annotations

import heapq
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from risingbandits import Allocator, Budget, Execution, Pull
from risingbandits.allocation._ledger import Ledger
from risingbandits.allocation.arms._display import Lines
from risingbandits.allocation.arms._pace import Pace
from risingbandits.allocation.events import Event
from risingbandits.allocation.settings import Settings
from risingbandits.allocation.status._progress import Progress, progress_of
from risingbandits.allocation.status._status import allocation_table, flights_table
from risingbandits.allocation.stores._memory import MemoryStore
from risingbandits.cli import run


class Played:
    """An allocation whose pulls take as long as they are told to, by so many workers, in the time of the test."""

    def __init__(self, budget: int | Budget, seconds: dict[str, float], workers: int = 1, **settings: object) -> None:
        given: dict[str, Any] = {"policy": "round-robin", "arms": list(seconds), "budget": budget, **settings}
        self.ledger, self.pace = Ledger(Settings.make(**given)), Pace()
        self.seconds, self.workers, self.now = seconds, workers, 1000.0
        self.ends: list[tuple[float, int, str, int]] = []

    def event(self, kind: str, arm: str, pull: int, n: int, **more: object) -> None:
        event = Event(self.ledger.last_id + 1, self.now, kind, arm, pull, n, **more)  # type: ignore[arg-type]
        self.ledger.apply(event)
        self.pace.take((event,))

    def fill(self) -> None:
        """Begin what workers and budget allow."""
        ledger = self.ledger
        while len(ledger.in_flight) < self.workers and not (ledger.finished or ledger.committed):
            arm = ledger.decide()
            if arm is None:
                return
            id, n = ledger.last_id + 1, len(arm.rewards) + 1
            event = Event(id, self.now, "ask", arm.name, id, n, worker="vm:1:2:3:4")
            ledger.give(event, arm)
            self.pace.take((event,))
            heapq.heappush(self.ends, (self.now + self.seconds[arm.name], id, arm.name, n))

    def step(self, cost: float | None = None) -> None:
        """Until the next pull has ended, and others have begun."""
        self.fill()
        end, id, arm, n = heapq.heappop(self.ends)
        took, self.now = end - self.ledger.in_flight[id].asked, end
        self.event("tell", arm, id, n, reward=0.5, cost=took if cost is None else cost)
        self.fill()

    def progress(self) -> Progress:
        return progress_of(self.ledger, self.pace, self.now)

    def truth(self, cost: float | None = None) -> float:
        """Play to the end: how long that takes from now."""
        begun = self.now
        while not self.ledger.finished:
            self.step(cost)
        return self.now - begun


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_equal_pulls(workers: int) -> None:
    game = Played(40, dict.fromkeys("abcd", 60.0), workers)
    assert str(game.progress()) == "0 %"
    for _ in range(10):
        game.step()
    found = game.progress()
    assert found.share == 0.25
    assert found.per_minute == pytest.approx(workers)
    assert found.seconds_left == pytest.approx(game.truth(), abs=60.0)
    assert str(game.progress()) == "100 %"


def test_arms_that_differ() -> None:
    game = Played(100, {"a": 10.0, "b": 100.0, "c": 1000.0})
    for _ in range(21):
        game.step()
    found = game.progress().seconds_left
    assert found == pytest.approx(game.truth(), rel=0.15)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("budget", [Budget(cost=200.0), Budget(seconds=4000.0)])
def test_other_budgets(budget: Budget, workers: int) -> None:
    game = Played(budget, {"a": 20.0, "b": 60.0, "c": 40.0}, workers)
    cost = 2.0 if budget.seconds is None else None
    for _ in range(21):
        game.step(cost)
    found = game.progress()
    assert found.share == pytest.approx(game.ledger.spent / budget.amount)
    assert 0.1 < found.share < 0.9
    assert found.seconds_left == pytest.approx(game.truth(cost), rel=0.1)


def test_one_pull_that_hangs_makes_no_difference() -> None:
    game = Played(50, {"a": 10.0, "b": 10.0})
    for number in range(20):
        game.seconds["a"] = 5000.0 if number == 12 else 10.0
        game.step()
    assert game.progress().seconds_left == pytest.approx(game.truth())


def test_a_night_between_two_runs_makes_no_difference() -> None:
    game = Played(50, {"a": 10.0, "b": 10.0})
    for _ in range(10):
        game.step()
    (_, id, arm, n) = game.ends.pop()  # its process was killed, and is found out in the morning
    game.now += 40_000.0
    game.event("expire", arm, id, n)
    for _ in range(3):
        game.step()
    found = game.progress().seconds_left
    assert found == pytest.approx(game.truth())


def test_limits_of_arms_end_a_run_earlier() -> None:
    game = Played(1000, {"a": 10.0, "b": 10.0}, max_pulls=5)
    for _ in range(4):
        game.step()
    assert game.progress().seconds_left == pytest.approx(60.0)
    assert game.truth() == pytest.approx(60.0)


def test_the_last_pulls_take_as_long_as_any() -> None:
    game = Played(9, dict.fromkeys("abcd", 100.0), workers=4)
    for _ in range(8):
        game.step()
    assert game.progress().seconds_left == pytest.approx(100.0)


def test_what_running_pulls_have_done_counts() -> None:
    game = Played(4, {"a": 100.0})
    game.step()
    game.now += 30.0
    assert game.progress().seconds_left == pytest.approx(270.0)
    game.now += 500.0  # longer than usual: it may end at any time
    assert game.progress().seconds_left == pytest.approx(200.0)
    assert progress_of(game.ledger, game.pace).seconds_left == pytest.approx(300.0)


def test_what_nobody_makes_any_more_has_done_nothing_and_is_no_worker() -> None:
    game = Played(41, dict.fromkeys("abcd", 100.0), workers=2)
    for _ in range(9):
        game.step()
    game.now += 30.0
    first, second = game.ledger.in_flight.values()
    assert game.progress().seconds_left == pytest.approx((32 * 100.0 - 130.0) / 2)
    alone = progress_of(game.ledger, game.pace, game.now, [first])
    assert alone.per_minute == pytest.approx(0.6)
    assert alone.seconds_left == pytest.approx(32 * 100.0 - (game.now - second.asked))
    assert progress_of(game.ledger, game.pace, game.now, [first, second]) == Progress(9 / 41, None, None)


def test_pulls_that_take_no_time() -> None:
    game = Played(4, {"a": 0.0})
    game.step()
    assert game.progress() == Progress(0.25, 0.0, None)
    free = Played(Budget(cost=10.0), {"a": 1.0})
    free.step(cost=0.0)
    assert free.progress() == Progress(0.0, None, None)


def test_the_pace_of_a_run_counts_no_failed_pulls() -> None:
    """Two seconds for each pull by the store's clock; failed ones are not counted."""
    times, fails = iter(range(0, 10_000, 2)), {3}

    def arm(pull: Pull) -> float:
        if pull.n in fails:
            fails.remove(pull.n)
            raise OSError("once")
        return 0.5

    store = MemoryStore(clock=lambda: float(next(times)))
    allocator = Allocator({"a": arm}, 4, store=store, execution=Execution(reclaim=False))
    pace = Pace(store)
    allocator.run(progress=False)
    assert pace.seconds() is None
    pace.look()
    assert pace.lately() == ["a"] * 4
    seconds = pace.seconds()
    assert seconds is not None
    assert seconds > 0.0
    assert seconds % 2.0 == 0.0
    assert not pace._began


def test_the_pace_goes_on_with_a_store(tmp_path: Path) -> None:
    with Allocator(["a", "b"], 9, store=tmp_path / "run.db", policy="round-robin") as allocator:
        first = allocator.ask()
        assert first is not None
        allocator.ask()
        allocator.tell(first, 0.5)
        pace = Pace(allocator.store)
        assert pace.lately() == ["a"]
        assert pace.workers() == 2.0
        allocator.tell(2, 0.5)
        pace.look()
        assert pace.lately() == ["a", "b"]


def test_lines_say_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    game = Played(8, {"a": 90.0})
    game.step()
    game.step()

    class Holder:
        ledger = game.ledger

    lines = Lines(Holder())  # type: ignore[arg-type]
    lines.told(Pull(3, "a", 2), 0.5)
    assert capsys.readouterr().err == "a 2: 0.5  (2 of 8 pulls)\n"


def test_show_says_how_far_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Allocator(["a", "b"], 8, store=tmp_path / "run.db", policy="round-robin") as allocator:
        for _ in range(2):
            pull = allocator.ask()
            assert pull is not None
            allocator.tell(pull, 0.5)
        assert run(["status", str(tmp_path / "run.db")]) == 0
        assert "Running" not in capsys.readouterr().out
        allocator.ask(slot="cuda:0")
        assert run(["status", str(tmp_path / "run.db")]) == 0
    out = capsys.readouterr().out
    assert "Running: 25 %, about 1 s left" in out
    assert "cuda:0" in out


def round_robin(store: Path) -> Allocator:
    return Allocator(["a", "b", "c"], 8, store=store, policy="round-robin")


def ask_and_die(store: Path, pulls: int = 1, reclaim: bool = True) -> None:
    """A process of its own asks for pulls and ends without a word."""
    code = (
        "import os, sys; from risingbandits import Allocator, Execution\n"
        f"rules = dict(policy='round-robin', execution=Execution(reclaim={reclaim}))\n"
        "allocator = Allocator(['a', 'b', 'c'], 8, store=sys.argv[1], **rules)\n"
        f"assert None not in [allocator.ask() for _ in range({pulls})]; os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(store)], check=True)


def test_show_says_that_the_process_of_a_pull_has_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def shown() -> tuple[str, Any]:
        assert run(["status", str(store)]) == 0
        out = capsys.readouterr().out
        assert run(["status", str(store), "--json"]) == 0
        return out.splitlines()[-1], json.loads(capsys.readouterr().out)

    store = tmp_path / "run.db"
    with round_robin(store) as allocator:
        for _ in range(2):
            pull = allocator.ask()
            assert pull is not None
            allocator.tell(pull, 0.5)
    ask_and_die(store)
    line, found = shown()
    assert (
        line
        == "Stopped at 25 %: the process of the pull in flight has ended. Run it again to continue where it stopped."
    )
    assert found["abandoned"] == 1
    assert found["progress"] == {"share": 0.25, "seconds_left": None, "per_minute": None}
    with round_robin(store) as allocator:
        pull = allocator.ask()  # gives back what the other process asked for
        assert pull is not None
        line, found = shown()
        assert line.startswith("Running: 25 %")
        assert "ended" not in line
        assert found["abandoned"] == 0
        ask_and_die(store)
        line, found = shown()
        assert line.startswith("Running: 25 %, about ")
        assert line.endswith(". The process of 1 of the 2 pulls in flight has ended; another attempt follows.")
        assert found["abandoned"] == 1
        allocator.release(pull)
    ask_and_die(store, pulls=2)
    line, found = shown()
    assert line.startswith("Stopped at 25 %: the process of the 2 pulls in flight has ended.")
    assert found["abandoned"] == 2


def test_a_pull_that_another_process_may_tell_is_not_abandoned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "run.db"
    ask_and_die(store, reclaim=False)
    assert run(["status", str(store)]) == 0
    assert "Running: 0 %." in capsys.readouterr().out


def test_where_a_pull_runs_is_said_in_short() -> None:
    game = Played(9, dict.fromkeys("abc", 1.0), workers=2)
    game.fill()
    assert allocation_table(game.ledger)["a"].why == "pull 1 runs"
    first, second = game.ledger.in_flight.values()
    first.slot = "cuda:1"
    assert allocation_table(game.ledger)["a"].why == "pull 1 runs on cuda:1"
    second.worker = "other:7:1:1:1"
    assert allocation_table(game.ledger)["a"].why == "pull 1 runs on cuda:1, vm, process 1"
    assert allocation_table(game.ledger)["b"].why == "pull 1 runs on other, process 7"
    assert flights_table(game.ledger).header[-1] == "slot"
