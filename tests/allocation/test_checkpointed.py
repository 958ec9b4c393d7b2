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
from risingbandits import Allocator
from risingbandits._core.errors import RisingBanditsError
from risingbandits.allocation.arms.checkpointed import Checkpointed
from risingbandits.allocation.cluster.placement import Placed, room, who_must_go
from risingbandits.allocation.pull import Pull

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


@settings(deadline=None)
@given(
    happenings=st.lists(st.sampled_from(HAPPENINGS), max_size=25),
    every=st.sampled_from([1, 2, 5, None]),
    seconds=st.sampled_from([None, 0.0]),
    saved=st.booleans(),
)
def test_every_pull_follows_the_one_before(
    happenings: list[str], every: int | None, seconds: float | None, saved: bool
) -> None:
    make = Moody if saved else MoodyUnsaved
    with TemporaryDirectory() as folder:

        def begin() -> Checkpointed:
            return Checkpointed("a", lambda: make("a"), Path(folder), every, seconds)

        arm, told, rewards, asked = begin(), 0, [], 0
        for happening in [*happenings, "told"]:
            asked += 1
            Moody.raises = happening == "raised"
            try:
                reward = arm.pull(Pull(asked, "a", told + 1))
            except ValueError:
                continue
            if happening in ("told", "process lost", "made room"):
                told += 1
                rewards.append(reward)
            if happening.startswith("process lost"):
                arm = begin()
            if happening == "made room":
                assert arm.keep() == saved
                arm = begin()
        assert rewards == expected("a", told)
        left = list((Path(folder) / "a").iterdir()) if (Path(folder) / "a").exists() else []
        assert len(left) <= 2, left  # the last two checkpoints, and nothing half written


def test_pulls_since_the_last_checkpoint_are_made_again(tmp_path: Path) -> None:
    diary = tmp_path / "diary"

    def begin() -> Checkpointed:
        return Checkpointed("a", lambda: Chain("a", diary), tmp_path, every=3)

    first = begin()
    rewards = [first.pull(Pull(n, "a", n)) for n in range(1, 6)]
    diary.unlink()
    rewards.append(begin().pull(Pull(6, "a", 6)))
    assert rewards == expected("a", 6)
    made = [line.split()[2:5] for line in diary.read_text().splitlines() if line.startswith("begin")]
    assert made == [["4", "1", "0"], ["5", "1", "0"], ["6", "1", "6"]]  # the first two for nobody


def test_what_a_killed_process_had_begun_to_write_is_removed(tmp_path: Path) -> None:
    first = Checkpointed("a", lambda: Chain("a"), tmp_path)
    rewards = [first.pull(Pull(n, "a", n)) for n in (1, 2)]
    (tmp_path / "a" / "checkpoint-3.77.0a1b2c3d.tmp").write_text("hal")
    (tmp_path / "a" / "checkpoint-3.78.0a1b2c3d.tmp").mkdir()
    rewards.append(Checkpointed("a", lambda: Chain("a"), tmp_path).pull(Pull(3, "a", 3)))
    assert rewards == expected("a", 3)
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["checkpoint-2", "checkpoint-3"]


def test_a_new_allocation_does_not_take_old_checkpoints(tmp_path: Path) -> None:
    old = Checkpointed("a", lambda: Chain("other"), tmp_path)
    for n in range(1, 4):
        old.pull(Pull(n, "a", n))
    new = Checkpointed("a", lambda: Chain("a"), tmp_path)
    assert new.pull(Pull(1, "a", 1)) == expected("a", 1)[0]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["checkpoint-1"], (
        "the later ones are another learner's"
    )
    assert [new.pull(Pull(n, "a", n)) for n in (2, 3)] == expected("a", 3)[1:]


def test_a_function_of_the_pull_has_no_state(tmp_path: Path) -> None:
    arm = Checkpointed("a", lambda: lambda pull: pull.n / 10, tmp_path)
    assert arm.is_light()
    assert [arm.pull(Pull(9, "a", 7)), arm.pull(Pull(10, "a", 3))] == [0.7, 0.3]
    assert list(tmp_path.iterdir()) == []


def test_a_learner_that_was_trained_before_is_not_trained_again(tmp_path: Path) -> None:
    arm = Checkpointed("a", lambda: Chain("a"), tmp_path, trained=5)
    assert arm.pull(Pull(1, "a", 6)) == Chain("a").pull(Pull(1, "a", 6))


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

    rewards = [Checkpointed("a", lambda: InFolder("a"), tmp_path).pull(Pull(n, "a", n)) for n in (1, 2, 2, 3)]
    assert rewards == [expected("a", 3)[n - 1] for n in (1, 2, 2, 3)]


def test_a_checkpoint_has_its_name_when_it_is_whole(tmp_path: Path) -> None:
    class Watched(Chain):
        def save(self, path: Path) -> None:
            super().save(path)
            seen.append([other.name for other in path.parent.iterdir() if not other.name.endswith(".tmp")])

    seen: list[list[str]] = []
    Checkpointed("a", lambda: Watched("a"), tmp_path).pull(Pull(1, "a", 1))
    assert seen == [[]]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["checkpoint-1"]


@pytest.mark.parametrize("flush", [False, True])
def test_checkpoints_are_on_the_disk_where_power_may_fail(
    flush: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brought: list[int] = []
    monkeypatch.setattr(os, "fsync", brought.append)
    Checkpointed("a", lambda: Chain("a"), tmp_path, flush=flush).pull(Pull(1, "a", 1))
    assert len(brought) == flush


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
        pytest.raises(RisingBanditsError, match="arm must be one that this allocator has an object for, got 'a'"),
    ):
        nameless.load("a")
    given = {"a": Counting(), "b": Counting()}
    with Allocator(given, 5, store=tmp_path / "run.db", policy="round-robin") as allocator:
        with pytest.raises(RisingBanditsError, match="arm 'b' cannot be loaded: it has no checkpoint after pull 2"):
            allocator.load("b")
        with pytest.raises(RisingBanditsError, match=r"arm must be one of \['a', 'b'\], got 'c'"):
            allocator.load("c")
        assert allocator.load("a") is given["a"]
        assert given["a"].count == 3
