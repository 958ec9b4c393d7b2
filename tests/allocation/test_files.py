"""SQLite files that are foreign, cut short, damaged or in the wrong place: one sentence, and the file stays as is."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from risingbandits import Allocator, RisingBanditsError
from risingbandits.allocation import open_reader
from risingbandits.allocation.stores._sqlite_files import check_file_system


def make_store(path: Path, pulls: int = 40) -> bytes:
    with Allocator(["a", "b", "c"], 1000, store=path, policy="beta-ts") as allocator:
        for _ in range(pulls):
            pull = allocator.ask()
            assert pull is not None
            allocator.tell(pull, 0.5)
        allocator.store.keep_snapshot(2, b"not a snapshot")
    return path.read_bytes()


def refused(path: Path, said: str) -> None:
    before, files = path.read_bytes(), sorted(os.listdir(path.parent))
    for attempt in (Allocator.open, open_reader, lambda p: Allocator(["a", "b", "c"], 1000, store=p)):
        with pytest.raises(RisingBanditsError, match=said) as caught:
            attempt(path)
        assert str(path) in str(caught.value)
    assert path.read_bytes() == before
    assert sorted(os.listdir(path.parent)) == files, "nothing is left beside it"


def test_foreign_files(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content in (b"", b"hello", b"x" * 5000, b"SQLite format 3\0" + bytes(84)):
        path.write_bytes(content)
        refused(path, "is not a store of risingbandits")
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE events (id INTEGER)")
    connection.commit()
    connection.close()
    refused(path, "is not a store of risingbandits")


def test_a_run_that_was_closed_can_still_be_asked(tmp_path: Path) -> None:
    with Allocator({"a": lambda pull: 0.1, "b": lambda pull: 0.2}, 6, store=tmp_path / "a.db") as allocator:
        allocator.run(progress=False)
    assert (allocator.recommend(), allocator.spent) == ("b", 6)
    allocator.close()


def test_a_directory_and_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(RisingBanditsError, match="cannot be read"):
        Allocator.open(tmp_path)
    with pytest.raises(RisingBanditsError, match=r"cannot be made: the folder .*nowhere does not exist"):
        Allocator(["a"], 3, store=tmp_path / "nowhere" / "run.db")


@pytest.mark.parametrize("size", [1, 99, 100, 4096, 8000, -1])
def test_files_cut_short(tmp_path: Path, size: int) -> None:
    path = tmp_path / "run.db"
    content = make_store(path)
    (tmp_path / "run.db-mark").unlink()
    path.write_bytes(content[:size])
    refused(path, "is not a store of risingbandits" if 0 < size < 100 else "is cut short or damaged")


def test_a_missing_event_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    make_store(path)
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM events WHERE id = 7")
    connection.commit()
    connection.close()
    with pytest.raises(RisingBanditsError, match="is damaged: event 7 is missing"):
        Allocator.open(path)


@pytest.mark.parametrize("block", range(4))
def test_damaged_files_never_give_a_traceback(tmp_path: Path, block: int) -> None:
    """Bytes changed at random: everything works, or there is one sentence."""
    original = tmp_path / "original.db"
    content = make_store(original)
    sentences = []
    for seed in range(60 * block, 60 * (block + 1)):
        rng = np.random.default_rng(seed)
        damaged = bytearray(content)
        begin = int(rng.integers(len(content)))
        length = int(rng.choice([1, 4, 100, 3000]))
        damaged[begin : begin + length] = rng.bytes(min(length, len(content) - begin))
        if rng.random() < 0.2:
            damaged = damaged[: int(rng.integers(len(damaged)))]
        path = tmp_path / f"{seed}.db"
        path.write_bytes(damaged)
        try:
            use(path)
        except RisingBanditsError as error:
            sentences.append(str(error))
    assert len(sentences) > 10
    assert [text for text in sentences if "\n" in text or len(text) > 1000] == []


def use(path: Path) -> None:
    before = path.read_bytes()
    try:
        allocator = Allocator.open(path)
    except RisingBanditsError:
        assert path.read_bytes() == before
        raise
    with allocator:
        pull = allocator.ask()
        if pull is not None:
            allocator.tell(pull, 0.5)
        str(allocator.explain())
    with open_reader(path) as reader:
        list(reader.events())
        reader.ledger().recommend()


def test_a_copy_taken_while_others_write_is_a_store(tmp_path: Path) -> None:
    """The file and its log, without the shared memory file, as after a crash of the machine."""
    path = tmp_path / "run.db"
    allocator = Allocator(["a", "b"], 100, store=path)
    for _ in range(10):
        pull = allocator.ask()
        assert pull is not None
        allocator.tell(pull, 0.5)
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", tmp_path / f"copy.db{suffix}")
    allocator.close()
    with open_reader(tmp_path / "copy.db") as reader:
        assert reader.ledger().told == 10
    with Allocator.open(tmp_path / "copy.db") as copy:
        assert copy.spent == 10


def test_network_file_systems_are_refused(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    table = "/dev/vda / ext4 rw 0 0\nserver:/x {0}/far\\040away nfs4 rw 0 0\ntmpfs {0}/far\\040away/near tmpfs rw 0 0\n"
    mounts.write_text(table.format(tmp_path))
    far = tmp_path / "far away"
    (far / "near").mkdir(parents=True)
    check_file_system(tmp_path / "run.db", mounts)
    check_file_system(far / "near" / "run.db", mounts)
    with pytest.raises(RisingBanditsError, match=r"network file system \(nfs4\).*postgresql://"):
        check_file_system(far / "run.db", mounts)
    check_file_system(tmp_path / "run.db", tmp_path / "no such table")


@pytest.mark.parametrize("name", ["a\0b", "x" * 201, "é" * 101, ":memory:"])
def test_names_that_no_store_can_have(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = (
        "store must be None for an allocation in memory" if name == ":memory:" else "store must be a path without null"
    )
    with pytest.raises(RisingBanditsError, match=said):
        Allocator(["a"], 3, store=name)
    with pytest.raises(RisingBanditsError, match=said):
        open_reader(name)
    assert list(tmp_path.iterdir()) == []


def test_the_longest_name_that_is_allowed_works(tmp_path: Path) -> None:
    with Allocator(["a"], 3, store=tmp_path / ("x" * 200)) as allocator:
        for pull in allocator:
            allocator.tell(pull, 0.5)
    with open_reader(tmp_path / ("x" * 200)) as reader:
        assert reader.ledger().told == 3
