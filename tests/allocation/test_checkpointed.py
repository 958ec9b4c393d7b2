"""Learners that come back: pull n begins where pull n - 1 ended, whatever is lost."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chain_arm import Chain, UnsavedChain, expected
from risingbandits import Allocator, Execution
from risingbandits._core.errors import RisingBanditsError
from risingbandits.allocation.arms._checkpointed import Checkpointed
from risingbandits.allocation.arms.base import Outcome
from risingbandits.allocation.cluster._placement import Placed, room, who_must_go
from risingbandits.allocation.pull import CannotGoOn, Pull

HAPPENINGS = ("told", "not told", "process lost", "process lost, not told", "raised", "made room")


class Moody(Chain):
    """Raises in the middle of a pull when its mood says so, with its state already changed."""

    raises = False

    def pull(self, pull: Pull) -> float:
        reward = super().pull(pull)
        if self.raises and pull.id:
            raise ValueError("no")
        return reward


class MoodyUnsaved(Moody, UnsavedChain):
    save = None
    load = None


class Counted:
    """One arm of an allocator in memory, whose pulls are made by any number of processes, one after another."""

    def __init__(self, name: str = "a") -> None:
        self.allocator = Allocator([name], 1000, policy="round-robin", execution=Execution(retries=1000))
        self.identity = self.allocator.store.identity()

    def ask(self) -> Pull:
        pull = self.allocator.ask()
        assert pull is not None
        return pull

    def tell(self, arm: Checkpointed, pull: Pull, answer: float | Outcome) -> float:
        outcome = answer if isinstance(answer, Outcome) else Outcome(answer)
        assert self.allocator.tell(pull, *outcome)
        arm.told(pull)
        return float(outcome.reward or 0.0)

    def play(self, arm: Checkpointed, pulls: int = 1) -> list[float]:
        return [self.tell(arm, pull, arm.pull(pull)) for pull in (self.ask() for _ in range(pulls))]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


@settings(deadline=None)
@given(
    happenings=st.lists(st.sampled_from(HAPPENINGS), max_size=25),
    every=st.sampled_from([1, 2, 5, 1_000]),
    saved=st.booleans(),
)
def test_every_pull_follows_the_one_before(happenings: list[str], every: int, saved: bool) -> None:
    make = Moody if saved else MoodyUnsaved
    with TemporaryDirectory() as folder:

        def begin() -> Checkpointed:
            return Checkpointed("a", lambda: make("a"), Path(folder), every)

        counted, arm, rewards = Counted(), begin(), []
        for happening in [*happenings, "told"]:
            pull = counted.ask()
            Moody.raises = happening == "raised"
            try:
                answer = arm.pull(pull)
            except ValueError:
                counted.allocator.fail(pull)
                continue
            if happening in ("told", "process lost", "made room"):
                rewards.append(counted.tell(arm, pull, answer))
            else:
                counted.allocator.release(pull)
            if happening == "made room":
                kept = arm.keep()
                assert (kept is not None) == saved
                if kept is not None and kept[1]:
                    counted.allocator.keep_checkpoint("a", *kept)
            if happening.startswith(("process lost", "made room")):
                arm = begin()
        assert rewards == expected("a", len(rewards))
        left = names(Path(folder) / "a")
        assert len(left) <= 3, left  # the last, the best, one that does not count, and nothing half written


def test_pulls_since_the_last_checkpoint_are_made_again(tmp_path: Path) -> None:
    diary = tmp_path / "diary"

    def begin() -> Checkpointed:
        return Checkpointed("a", lambda: Chain("a", diary), tmp_path, every=3)

    counted = Counted()
    rewards = counted.play(begin(), 5)
    diary.unlink()
    rewards += counted.play(begin())
    assert rewards == expected("a", 6)
    made = [line.split()[2:5] for line in diary.read_text().splitlines() if line.startswith("begin")]
    assert made == [["4", "0", "11"], ["5", "0", "11"], ["6", "1", "11"]]  # the first two only to get there


def test_what_a_killed_process_had_begun_to_write_is_removed(tmp_path: Path) -> None:
    counted = Counted()
    rewards = counted.play(Checkpointed("a", lambda: Chain("a"), tmp_path), 2)
    (tmp_path / "a" / "checkpoint-2-3.77.0a1b2c3d.tmp").write_text("hal")
    (tmp_path / "a" / "checkpoint-1-1.78.0a1b2c3d.tmp").mkdir()
    of_another_worker = tmp_path / "a" / "checkpoint-3-4.79.0a1b2c3d.tmp"  # its pull may still be told
    of_another_worker.write_text("hal")
    arm = Checkpointed("a", lambda: Chain("a"), tmp_path)
    pull = counted.ask()
    answer = arm.pull(pull)
    assert of_another_worker.exists()
    rewards.append(counted.tell(arm, pull, answer))
    rewards += counted.play(Checkpointed("a", lambda: Chain("a"), tmp_path))
    assert rewards == expected("a", 4)
    best = max(range(4), key=rewards.__getitem__) + 1
    assert names(tmp_path / "a") == sorted({f"checkpoint-{n}-{2 * n - 1}" for n in (best, 4)})


def test_the_folder_of_another_store_is_refused(tmp_path: Path) -> None:
    first, second = Counted(), Counted()
    for _ in range(2):
        first.play(Checkpointed("a", lambda: Chain("other"), tmp_path, store=first.identity), 2)
    with pytest.raises(CannotGoOn, match="holds checkpoints of another store: move it away"):
        second.play(Checkpointed("a", lambda: Chain("a"), tmp_path, store=second.identity))
    assert len(names(tmp_path / "a")) in (1, 2), "nothing was removed"


def test_a_function_of_the_pull_has_no_state(tmp_path: Path) -> None:
    arm = Checkpointed("a", lambda: lambda pull: pull.n / 10, tmp_path)
    assert arm.is_light()
    assert [arm.pull(Pull(9, "a", 7)), arm.pull(Pull(10, "a", 3))] == [0.7, 0.3]
    assert list(tmp_path.iterdir()) == []


def test_a_learner_that_was_trained_before_is_not_trained_again(tmp_path: Path) -> None:
    arm = Checkpointed("a", lambda: Chain("a"), tmp_path, trained=5)
    outcome = arm.pull(Pull(1, "a", 6))
    assert isinstance(outcome, Outcome)
    assert outcome.reward == Chain("a").pull(Pull(1, "a", 6))


def test_save_must_write_where_it_is_told(tmp_path: Path) -> None:
    class Elsewhere(Chain):
        def save(self, path: Path) -> None:
            path.with_suffix(".npz").write_text("")

    with pytest.raises(RisingBanditsError, match=r"save\(path\) of arm 'a' must write a file or a folder at path"):
        Checkpointed("a", lambda: Elsewhere("a"), tmp_path).pull(Pull(1, "a", 1))


def test_folders_can_be_checkpoints(tmp_path: Path) -> None:
    class InFolder(Chain):
        def save(self, path: Path) -> None:
            path.mkdir()
            super().save(path / "state")

        def load(self, path: Path) -> None:
            super().load(path / "state")

    counted = Counted()
    rewards = [reward for _ in range(3) for reward in counted.play(Checkpointed("a", lambda: InFolder("a"), tmp_path))]
    assert rewards == expected("a", 3)


def test_a_checkpoint_has_its_name_when_it_is_whole(tmp_path: Path) -> None:
    class Watched(Chain):
        def save(self, path: Path) -> None:
            super().save(path)
            seen.append([name for name in names(path.parent) if not name.endswith(".tmp")])

    seen: list[list[str]] = []
    Checkpointed("a", lambda: Watched("a"), tmp_path).pull(Pull(1, "a", 1))
    assert seen == [[]]
    assert names(tmp_path / "a") == ["checkpoint-1-1"]


@pytest.mark.parametrize("flush", [False, True])
def test_checkpoints_are_on_the_disk_where_power_may_fail(
    flush: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brought: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda handle: brought.append(os.readlink(f"/proc/self/fd/{handle}")))
    Checkpointed("a", lambda: Chain("a"), tmp_path / "states", flush=flush).pull(Pull(1, "a", 1))
    folders = [tmp_path / "states" / "a", tmp_path / "states", tmp_path]
    assert brought == ([str(path) for path in (folders[0] / "checkpoint-1-1", *folders)] if flush else [])


def test_who_makes_room() -> None:
    nodes = {"a": {"CPU": 4.0, "GPU": 1.0}, "b": {"CPU": 2.0}}
    placed: dict[str, Placed[None]] = {
        "x": Placed({"CPU": 2.0}, "a", busy=True, used=1),
        "y": Placed({"CPU": 2.0}, "a", busy=False, used=2),
        "z": Placed({"CPU": 1.0}, "b", busy=False, used=4),
        "w": Placed({"CPU": 1.0}, "b", busy=False, used=3, light=False),
    }
    assert room(nodes, placed.values(), {"CPU": 1.0}) is None
    assert room(nodes, placed.values(), {"GPU": 0.5}) == "a"
    assert room(nodes, list(placed.values())[:1], {"CPU": 1.0}) == "a"  # both have 2 left, the first of them
    assert who_must_go(nodes, placed, {"CPU": 1.0}) == (["y"], "a")  # idle longest of those with checkpoints
    assert who_must_go(nodes, placed, {"CPU": 2.0, "GPU": 1.0}) == (["y"], "a")
    assert who_must_go(nodes, placed, {"CPU": 3.0}) is None  # x is at work
    del placed["y"]
    assert who_must_go({"b": nodes["b"]}, placed, {"CPU": 2.0}) == (["z", "w"], "b")


class Counting:
    """Counts its pulls."""

    def __init__(self) -> None:
        self.count = 0

    def pull(self, pull: Pull) -> float:
        self.count += 1
        return {"a": 0.9, "b": 0.5}[pull.arm]

    def save(self, path: Path) -> None:
        path.write_text(str(self.count))

    def load(self, path: Path) -> None:
        self.count = int(path.read_text())


@pytest.mark.parametrize("made", [False, True], ids=["objects", "functions"])
def test_any_arm_can_be_loaded_after_a_restart(made: bool, tmp_path: Path) -> None:
    def arms() -> dict[str, Any]:
        return {name: Counting if made else Counting() for name in "ab"}

    with Allocator(arms(), 7, store=tmp_path / "run.db", policy="round-robin") as allocator:
        allocator.run(progress=False)
    with Allocator(arms(), 7, store=tmp_path / "run.db", policy="round-robin") as again:
        assert [again.load(name).count for name in "ab"] == [4, 3]
        again.run(progress=False)  # there is nothing left to do, and what was loaded stays
        assert again.load("b") is again.load("b")
        assert again.load("b").count == 3


def test_what_cannot_be_loaded_is_said(tmp_path: Path) -> None:
    with Allocator({"a": Counting(), "b": Counting()}, 5, store=tmp_path / "run.db", policy="round-robin") as allocator:
        allocator.run(progress=False)
    shutil.rmtree(tmp_path / "run.db.state" / "b")
    with (
        Allocator(["a", "b"], 5, store=tmp_path / "run.db", policy="round-robin") as nameless,
        pytest.raises(
            RisingBanditsError,
            match=r"arm must be one that .* was given an object or a function for, got 'a'",
        ),
    ):
        nameless.load("a")
    given = {"a": Counting(), "b": Counting()}
    with Allocator(given, 5, store=tmp_path / "run.db", policy="round-robin") as allocator:
        with pytest.raises(RisingBanditsError, match="'b' cannot be loaded: the checkpoint of its pull 2 is missing"):
            allocator.load("b")
        with pytest.raises(RisingBanditsError, match=r"arm must be one of \['a', 'b'\], got 'c'"):
            allocator.load("c")
        assert allocator.load("a") is given["a"]
        assert given["a"].count == 3
