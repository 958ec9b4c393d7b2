"""Arms that have had their last pull: how they say so, what that costs, and what stays of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from test_command import done, sh

from risingbandits import Allocator, Pull
from risingbandits.allocation import Outcome
from risingbandits.allocation._snapshot import load_ledger
from risingbandits.allocation.stores._sqlite import SqliteStore

LENGTHS = {"short": 3, "middle": 5, "long": 8}
TOPS = {"short": 0.9, "middle": 0.5, "long": 0.3}


def curve(name: str) -> Iterator[float]:
    """A training of a few epochs, all of which it yields."""
    for epoch in range(1, LENGTHS[name] + 1):
        yield TOPS[name] * epoch / (epoch + 2)


def rewards(name: str) -> list[float]:
    return list(curve(name))


def makers() -> dict[str, Callable[[], Iterator[float]]]:
    return {name: (lambda name=name: curve(name)) for name in LENGTHS}  # type: ignore[misc]


def check(allocator: Allocator) -> None:
    """Every training came to its end, nothing else was spent, and the best one is recommended."""
    assert {name: allocator.rewards(name) for name in LENGTHS} == {name: rewards(name) for name in LENGTHS}
    assert allocator.spent == sum(LENGTHS.values())
    assert allocator.finished
    assert not any(event.kind in ("fail", "retire") for event in allocator.store.events())
    assert [row.status for row in allocator.explain().rows] == ["finished"] * 3
    assert allocator.recommend() == "short"


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("kind", ["generators", "functions that make them"])
def test_a_generator_that_ends_is_finished(kind: str, jobs: int, tmp_path: Path) -> None:
    arms: dict[str, Any] = {name: curve(name) for name in LENGTHS} if kind == "generators" else {**makers()}
    with Allocator(arms, 1000, store=tmp_path / "run.db") as allocator:
        allocator.run(jobs=jobs, progress=False)
        check(allocator)


def test_in_processes(tmp_path: Path) -> None:
    pytest.importorskip("cloudpickle")
    with Allocator(makers(), 1000, store=tmp_path / "run.db") as allocator:
        allocator.run(jobs=2, progress=False, backend="processes")
        check(allocator)


def test_an_arm_says_so_with_its_last_reward() -> None:
    def arm(name: str) -> Callable[[Pull], Outcome]:
        return lambda pull: Outcome(rewards(name)[pull.n - 1], finished=pull.n == LENGTHS[name])

    allocator = Allocator({name: arm(name) for name in LENGTHS}, 1000)
    allocator.run(progress=False)
    check(allocator)
    kinds = [event.kind for event in allocator.store.events()]
    assert kinds.count("ask") == kinds.count("tell") == sum(LENGTHS.values())


def test_stop_iteration_of_a_function_is_an_error() -> None:
    def broken(pull: Pull) -> float:
        return next(iter([]))

    allocator = Allocator({"broken": broken, "good": lambda pull: 0.5}, 8)
    allocator.run(progress=False)
    assert allocator.explain()["broken"].status == "retired"
    assert allocator.explain()["broken"].why == "failed 3 times in a row: StopIteration"


def test_a_generator_that_raises_is_not_finished() -> None:
    def diverges() -> Iterator[float]:
        yield 0.5
        raise ZeroDivisionError("diverged")

    for arm in (diverges, diverges()):
        arms: dict[str, Any] = {"a": arm, "b": lambda pull: 0.2}
        allocator = Allocator(arms, 12, policy="round-robin")
        allocator.run(progress=False)
        assert allocator.explain()["a"].status == "retired"
        assert "ZeroDivisionError: diverged" in allocator.explain()["a"].why


def test_a_training_that_became_shorter_is_an_error(tmp_path: Path) -> None:
    """Its pulls are made again in a new process, as there is no checkpoint, and there are fewer than count."""
    with Allocator(["short"], 9, store=tmp_path / "run.db") as allocator:
        for pull in islice(allocator, 4):
            allocator.tell(pull, 0.5)
    with Allocator.open(tmp_path / "run.db", arms={"short": makers()["short"]}) as allocator:
        allocator.run(progress=False)
        row = allocator.explain()["short"]
    assert row.status == "retired"
    assert "'short' ended after pull 3 when its pulls were made again, although 4 count" in row.why


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ("echo 0.5; exit 100", Outcome(0.5, finished=True)),
        ("echo loading; exit 100", Outcome(finished=True)),
        ("exit 100", Outcome(finished=True)),
        ("echo 0.5 finished", Outcome(0.5, finished=True)),
        ("echo finished", Outcome(finished=True)),
        ("""echo '{"reward": 0.5, "cost": 2, "finished": true}'""", Outcome(0.5, 2.0, finished=True)),
        ("""echo '{"finished": true}'""", Outcome(finished=True)),
        ("""echo '{"reward": 0.5, "finished": false}'""", Outcome(0.5)),
    ],
)
def test_commands_say_so(script: str, outcome: Outcome, tmp_path: Path) -> None:
    assert done(sh(script, tmp_path), tmp_path).result() == outcome


def test_a_command_that_finds_its_end_leaves_no_checkpoint(tmp_path: Path) -> None:
    command = done(sh('echo x > "$RISINGBANDITS_CHECKPOINT"; echo finished', tmp_path), tmp_path, 2)
    assert command.result() == Outcome(finished=True)
    assert not list(command.folder.path.glob("checkpoint-*"))


class Saved:
    """Counts its pulls; finds its end in the fourth."""

    def __init__(self) -> None:
        self.count = 0

    def pull(self, pull: Pull) -> Outcome:
        if self.count == 3:
            return Outcome(finished=True)
        self.count += 1
        return Outcome(self.count / 10)

    def save(self, path: Path) -> None:
        path.write_text(str(self.count))

    def load(self, path: Path) -> None:
        self.count = int(path.read_text())


def test_a_finished_arm_can_be_loaded(tmp_path: Path) -> None:
    with Allocator({"a": Saved()}, 10, store=tmp_path / "run.db") as allocator:
        allocator.run(progress=False)
        assert (allocator.spent, allocator.load("a").count) == (3, 3)
    with Allocator.open(tmp_path / "run.db", {"a": Saved()}) as allocator:
        allocator.run(progress=False)
        assert (allocator.recommend(), allocator.load("a").count) == ("a", 3)


def test_a_last_reward_and_the_end_are_one_transaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqliteStore(tmp_path / "run.db")
    with Allocator(["a"], 10, store=store) as allocator:
        pull = allocator.ask()
        assert pull is not None
        append = store.append

        def broken(event: Any) -> None:
            append(event)
            if event.kind == "tell":
                raise OSError("the disk is full")

        monkeypatch.setattr(store, "append", broken)
        with pytest.raises(OSError, match="full"):
            allocator.tell(pull, 0.5, finished=True)
        monkeypatch.undo()
        assert (allocator.spent, allocator.finished) == (0, False)
        assert allocator.tell(pull, 0.5, finished=True)
        assert allocator.finished
        assert load_ledger(store, allocator.settings).arm("a").finished
