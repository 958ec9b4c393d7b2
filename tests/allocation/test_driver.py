"""`run`: functions and learners as arms, in threads, with failures, interrupts and resumed learners."""

from __future__ import annotations

import json
import math
import threading
import time
from pathlib import Path

import pytest

from programs import until
from risingbandits import Allocator, Budget, Execution, Pull, RisingBanditsError
from risingbandits.allocation import Outcome, as_arm


class Learner:
    """Counts its own pulls; its reward shows whether it is where the allocation believes it is."""

    def __init__(self, broken: set[int] | None = None) -> None:
        self.pulls = 0
        self.broken = broken or set()

    def pull(self, pull: Pull) -> float:
        self.pulls += 1
        if self.pulls in self.broken:
            self.broken.remove(self.pulls)
            raise OSError("the disk is full")
        return 1.0 if self.pulls == pull.n else 0.0

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(self.pulls))

    def load(self, path: Path) -> None:
        self.pulls = json.loads(path.read_text())


@pytest.mark.parametrize("jobs", [1, 3])
def test_functions(jobs: int) -> None:
    arms = {"a": lambda pull: 0.2, "b": lambda pull: Outcome(0.8, cost=2.0), "c": lambda pull: 0.5}
    allocator = Allocator(arms, 60)
    allocator.run(jobs=jobs, progress=False)
    assert allocator.spent == 60
    assert allocator.recommend() == "b"
    assert allocator.explain()["b"].cost == 2.0 * len(allocator.rewards("b"))
    allocator.run(jobs=jobs)  # nothing is left to do


def test_threads_pull_different_arms_at_the_same_time() -> None:
    meeting = threading.Barrier(3, timeout=60)

    def together(pull: Pull) -> float:
        meeting.wait()
        return 0.5

    allocator = Allocator(dict.fromkeys("abc", together), 9, policy="round-robin")
    allocator.run(jobs=3, progress=False)
    assert allocator.spent == 9


@pytest.mark.parametrize("jobs", [1, 2])
def test_failures(jobs: int) -> None:
    def bad(pull: Pull) -> float:
        raise ZeroDivisionError("again")

    allocator = Allocator({"good": lambda pull: 0.5, "bad": bad, "wild": lambda pull: math.nan}, 20)
    allocator.run(jobs=jobs, progress=False)
    assert allocator.spent == 20
    assert allocator.explain()["bad"].why == "failed 3 times in a row: ZeroDivisionError: again"
    assert "reward must be a finite number, got nan" in allocator.explain()["wild"].why
    with pytest.raises(RisingBanditsError, match=r"every arm was retired .*; bad failed 3 times .*: again"):
        Allocator({"bad": bad}, 5).run(jobs=jobs, progress=False)


def test_seconds_are_measured() -> None:
    def slow(pull: Pull) -> float:
        time.sleep(0.01)
        return 0.5

    allocator = Allocator({"a": slow}, Budget(seconds=0.1))
    allocator.run(progress=False)
    assert allocator.spent >= 0.1
    assert 1 <= allocator.ledger.told <= 10


@pytest.mark.parametrize("jobs", [1, 2])
def test_learners_continue_where_their_last_counted_pull_left_them(tmp_path: Path, jobs: int) -> None:
    store = tmp_path / "run.db"
    learners = {"a/b": Learner(broken={3, 5}), "..": Learner(broken={2})}
    with Allocator(learners, 12, store=store, policy="round-robin") as allocator:
        allocator.run(jobs=jobs, progress=False)
        assert set(allocator.rewards("a/b") + allocator.rewards("..")) == {1.0}, "a failed pull is undone"
    checkpoints = list((tmp_path / "run.db.state").rglob("checkpoint-*"))
    assert len(checkpoints) == 2, "only the last of each arm is kept"

    store = tmp_path / "killed.db"
    with Allocator({"a": Learner(), "b": Learner()}, 30, store=store, policy="round-robin") as allocator:
        learner = Learner()
        allocator._arms["a"] = learner
        original = learner.pull

        def stop(pull: Pull) -> float:
            if pull.n == 6:
                raise KeyboardInterrupt
            return original(pull)

        learner.pull = stop  # type: ignore[method-assign]
        if jobs == 1:
            with pytest.raises(KeyboardInterrupt):
                allocator.run(jobs=1, progress=False)
            assert not allocator.ledger.in_flight, "the interrupted pull is handed back"
    with Allocator.open(store, arms={"a": Learner(), "b": Learner()}) as allocator:
        allocator.run(jobs=jobs, progress=False)
        assert allocator.spent == 30
        assert set(allocator.rewards("a") + allocator.rewards("b")) == {1.0}, "fresh objects were loaded"


def test_long_pulls_keep_their_lease() -> None:
    calls = []

    def long(pull: Pull) -> float:
        calls.append(pull)
        first = allocator.ledger.in_flight[pull.id].deadline
        until(lambda: allocator.ledger.in_flight[pull.id].deadline > first)
        return 0.5

    allocator = Allocator({"a": long}, 1, execution=Execution(lease=3.0, retries=1))
    allocator.run(jobs=2, progress=False)
    assert [pull.attempt for pull in calls] == [1]
    assert allocator.rewards("a") == [0.5]


def test_what_cannot_be_run() -> None:
    with pytest.raises(RisingBanditsError, match=r"got only the names \['a', 'b'\]"):
        Allocator(["a", "b"], 3).run()
    with pytest.raises(RisingBanditsError, match="jobs must be"):
        Allocator({"a": lambda pull: 0.5}, 3).run(jobs=0)
    with pytest.raises(RisingBanditsError, match="an arm must have a method pull"):
        as_arm(3)
    allocator = Allocator({"a": lambda pull: 0.5}, 30)
    allocator.add("b")
    with pytest.raises(RisingBanditsError, match=r"got only the names \['b'\]"):
        allocator.run(progress=False)
    masked = Allocator({"a": lambda pull: 0.5}, 30)
    masked.mask("a")
    with pytest.raises(RisingBanditsError, match="masked"):
        masked.run(progress=False)
    masked.unmask("a")
    masked.add("b", lambda pull: 0.9)
    masked.run(progress=False)
    assert masked.recommend() == "b"
