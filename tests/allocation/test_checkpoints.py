"""The best and the last checkpoint, checkpoints that are lost, and errors that are the machine's."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from risingbandits import Allocator, Pull, RisingBanditsError
from risingbandits.allocation.arms._checkpointed import Checkpointed
from risingbandits.allocation.pull import CannotGoOn
from risingbandits.allocation.settings import as_arguments
from risingbandits.allocation.status._status import standing

OVERFITS = [0.1, 0.5, 0.9, 0.4, 0.3, 0.2]


class Counter:
    """Counts its pulls; its rewards are given."""

    rewards: Sequence[float] = OVERFITS

    def __init__(self) -> None:
        self.count = 0

    def pull(self, pull: Pull) -> float:
        self.count += 1
        return self.rewards[self.count - 1]

    def save(self, path: Path) -> None:
        path.write_text(f"{self.count}\n")

    def load(self, path: Path) -> None:
        self.count = int(path.read_text())


def begin(folder: Path, arm: Any = Counter, budget: int = 5, **settings: Any) -> Allocator:
    settings = {"policy": "round-robin", "objective": "best-arm", **settings}
    return Allocator({"a": arm}, budget, store=folder / "run.db", **as_arguments(settings))


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "run.db.state" / "a").glob("checkpoint-*"))


# -- the best one ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize(("objective", "default"), [("best-arm", 3), ("cumulative", 5)])
def test_the_best_and_the_last_checkpoint_are_kept(objective: str, default: int, restart: bool, tmp_path: Path) -> None:
    with begin(tmp_path, objective=objective) as allocator:
        allocator.run(progress=False)
        if restart:
            allocator.close()
            allocator = begin(tmp_path, objective=objective)
        assert files(tmp_path) == ["checkpoint-3-5", "checkpoint-5-9"]
        assert allocator.load("a").count == default
        assert allocator.load("a", which="last").count == 5
        assert allocator.load("a", which="best").count == 3
        row = allocator.explain()["a"]
        assert (row.best, row.best_pull) == (0.9, 3)
        assert (row.best_checkpoint, row.last_checkpoint) == ("a/checkpoint-3-5", "a/checkpoint-5-9")
        assert standing(allocator.ledger) == (
            "The budget is spent. Recommended: a. Its best reward is 0.9, after pull 3: a/checkpoint-3-5; "
            "its last one is 0.3: a/checkpoint-5-9."
        )
        allocator.extend(budget=6)
        allocator.run(progress=False)  # goes on from the last state, not from what was loaded
        assert allocator.rewards("a") == OVERFITS
        assert files(tmp_path) == ["checkpoint-3-5", "checkpoint-6-12"]
        allocator.close()


def test_the_best_loss_is_the_lowest_and_of_equals_the_newest_counts(tmp_path: Path) -> None:
    class Loss(Counter):
        rewards = (0.8, 0.2, 0.2, 0.7, 0.9)

    with begin(tmp_path, Loss, direction="minimize") as allocator:
        allocator.run(progress=False)
        assert files(tmp_path) == ["checkpoint-3-5", "checkpoint-5-9"]
        assert allocator.load("a").count == 3


def test_a_best_pull_without_a_checkpoint_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with begin(tmp_path) as allocator:
        arm = Checkpointed("a", Counter, tmp_path / "run.db.state", every=5, direction="maximize")
        allocator.run(progress=False, arms={"a": arm})
        assert files(tmp_path) == ["checkpoint-5-9"]
        said = r"its best pull, 3 \(0\.9\), left no checkpoint"
        with pytest.raises(RisingBanditsError, match=rf"'a' cannot be loaded: {said}; which=\"last\" loads pull 5"):
            allocator.load("a", which="best")
        assert allocator.load("a").count == 5
        assert "arm 'a' is loaded as pull 5 left it: its best pull, 3 (0.9), left no checkpoint." in caplog.text
        assert "after pull 3, which left no checkpoint; its last one is 0.3: a/checkpoint-5-9" in standing(
            allocator.ledger
        )
        with pytest.raises(RisingBanditsError, match="which must be one of best, last; got 'newest'"):
            allocator.load("a", which="newest")


def test_without_a_folder_there_is_no_checkpoint() -> None:
    with Allocator({"a": Counter}, 5, policy="round-robin") as allocator:
        allocator.run(progress=False)
        assert standing(allocator.ledger).endswith("Its best reward is 0.9, after pull 3, which left no checkpoint.")


# -- lost checkpoints -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("durability", ["process", "power"])
@pytest.mark.parametrize("damage", ["removed", "emptied", "cut", "changed"])
@pytest.mark.parametrize("best_too", [False, True])
def test_a_lost_checkpoint_is_never_passed_over_in_silence(
    durability: str, damage: str, best_too: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with begin(tmp_path, durability=durability) as allocator:
        allocator.run(progress=False)
    folder = tmp_path / "run.db.state" / "a"
    for name in ("checkpoint-5-9", *(["checkpoint-3-5"] if best_too else [])):
        path = folder / name
        if damage == "removed":
            path.unlink()
        else:
            path.write_text({"emptied": "", "cut": "5", "changed": "4\n"}[damage])
    with begin(tmp_path, budget=6, durability=durability) as allocator:
        allocator.run(progress=False)
        if damage == "changed" and durability == "process":  # of its size; only "power" pays for a digest
            assert allocator.rewards("a")[5] == 0.3
            return
        assert allocator.rewards("a") == OVERFITS
    how = "is missing" if damage == "removed" else "is not as it was saved"
    again = 5 if best_too else 2
    assert f"checkpoint-5-9, the checkpoint of pull 5, {how}: {again} pulls are made again" in caplog.text


def test_an_object_that_cannot_be_made_again_fails_in_one_sentence(tmp_path: Path) -> None:
    class Loser(Counter):
        def pull(self, pull: Pull) -> float:
            if self.count == 4:
                shutil.rmtree(tmp_path / "run.db.state" / "a")
                raise ValueError("no")
            return super().pull(pull)

    with begin(tmp_path, Loser()) as allocator:
        allocator.run(progress=False)
        assert allocator.rewards("a") == OVERFITS[:4]
        said = allocator.ledger.arm("a").retired
        assert said is not None
        assert said.endswith("checkpoint-4-7, the checkpoint of pull 4, is missing, and there is no other.")


# -- whose error it was ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT])
@pytest.mark.parametrize("where", ["save", "pull"])
def test_an_error_of_the_disk_stops_the_run_and_blames_no_arm(where: str, code: int, tmp_path: Path) -> None:
    class Unlucky(Counter):
        full = True

        def pull(self, pull: Pull) -> float:
            if where == "pull" and self.full and self.count == 2:
                raise OSError(code, "as it happens")
            return super().pull(pull)

        def save(self, path: Path) -> None:
            if where == "save" and self.full and self.count == 3:
                raise OSError(code, "as it happens")
            super().save(path)

    with begin(tmp_path, Unlucky) as allocator:
        with pytest.raises(CannotGoOn, match=rf"pull 3 of arm 'a' could not be made: {os.strerror(code)}"):
            allocator.run(progress=False)
        assert allocator.rewards("a") == OVERFITS[:2]
    Unlucky.full = False
    with begin(tmp_path, Unlucky) as allocator:
        allocator.run(progress=False)
        assert allocator.rewards("a") == OVERFITS[:5]
        assert "fail" not in {event.kind for event in allocator.store.events()}


def test_a_wrapped_error_of_the_disk_is_found_out_by_a_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As torch does it: the cause is only a text."""

    class Wrapped(Counter):
        def save(self, path: Path) -> None:
            if self.count == 3:
                raise RuntimeError("PytorchStreamWriter failed writing file data/0: file write failed")
            super().save(path)

    def full(handle: int) -> None:
        assert os.fstat(handle).st_size == 64 * 1024
        raise OSError(errno.ENOSPC, "No space left on device")

    with begin(tmp_path, Wrapped) as allocator:
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(CannotGoOn, match="pull 3 of arm 'a' could not be made: No space left on device"):
            allocator.run(progress=False)
        assert [event.kind for event in allocator.store.events()][-1] == "expire"
    assert files(tmp_path) == ["checkpoint-2-3"]
    assert not list((tmp_path / "run.db.state" / "a").glob(".probe*"))
    monkeypatch.undo()
    with begin(tmp_path, Wrapped, retries=1) as allocator:  # the disk is well, so it is the arm's
        allocator.run(progress=False)
        assert "PytorchStreamWriter" in str(allocator.ledger.arm("a").retired)


def test_memory_that_an_arm_lacks_is_its_own_trouble(tmp_path: Path) -> None:
    class Large(Counter):
        def pull(self, pull: Pull) -> float:
            raise MemoryError

    arms = {"a": Large, "b": Counter}
    with Allocator(arms, 5, store=tmp_path / "run.db", policy="round-robin") as allocator:
        allocator.run(progress=False)
        assert allocator.ledger.arm("a").retired == "failed 3 times in a row: MemoryError"
        assert allocator.rewards("b") == OVERFITS[:5]


def test_a_new_store_is_not_made_beside_checkpoints_of_another_one(tmp_path: Path) -> None:
    with begin(tmp_path) as allocator:
        allocator.run(progress=False)
    for file in tmp_path.glob("run.db*"):
        if file.is_file():
            file.unlink()
    before = files(tmp_path)
    with pytest.raises(RisingBanditsError, match=r"run\.db\.state holds checkpoints of another store: move it away"):
        begin(tmp_path)
    assert files(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["run.db.state"]


def test_checkpoints_that_are_gone_are_said_to_be_missing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with begin(tmp_path) as allocator:
        allocator.run(progress=False)
        folder = allocator.store.directory
        assert folder is not None
        (folder / "a" / "checkpoint-3-5").unlink()
        assert "after pull 3: a/checkpoint-3-5 (missing); its last one is 0.3: a/checkpoint-5-9." in standing(
            allocator.ledger, folder
        )
        lost = r"its best pull, 3 \(0\.9\), left a/checkpoint-3-5, which is missing or damaged"
        with pytest.raises(RisingBanditsError, match=rf"'a' cannot be loaded: {lost}; which=\"last\" loads pull 5"):
            allocator.load("a", which="best")
        assert allocator.load("a").count == 5
        assert "arm 'a' is loaded as pull 5 left it: its best pull, 3 (0.9), left a/checkpoint-3-5" in caplog.text
