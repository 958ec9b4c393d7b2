"""Stores that are deleted, replaced, cut or changed from outside: nothing of it goes unseen."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from programs import program, until
from risingbandits import Allocator, RisingBanditsError
from risingbandits.allocation import open_reader
from risingbandits.allocation.stores import _sqlite as sqlite
from risingbandits.allocation.stores import _sqlite_files as sqlite_files
from risingbandits.allocation.stores._inspection import copy_whole_part, inspect_store
from risingbandits.allocation.stores._sqlite_files import read_mark
from risingbandits.cli import run
from servers import PostgresServer

ARMS = ["a", "b", "c"]


def tell(allocator: Allocator, pulls: int) -> None:
    for _ in range(pulls):
        pull = allocator.ask()
        assert pull is not None
        allocator.tell(pull, pull.n / (pull.n + 3), cost=0.5 + pull.n)


def closed_store(path: Path, pulls: int = 60) -> Path:
    with Allocator(ARMS, 1000, policy="round-robin", store=path) as allocator:
        tell(allocator, pulls)
    return path


# -- while it is in use ---------------------------------------------------------------------------------------------


def _replace(path: Path) -> None:
    for file in path.parent.glob("run.db*"):
        file.unlink()
    closed_store(path, 2)


@pytest.mark.parametrize("what", [Path.unlink, lambda path: path.rename(path.with_name("other.db")), _replace])
def test_a_store_that_is_taken_away_acknowledges_nothing_more(tmp_path: Path, what: Callable[[Path], None]) -> None:
    path = tmp_path / "run.db"
    allocator = Allocator(ARMS, 1000, store=path)
    tell(allocator, 5)
    pull = allocator.ask()
    assert pull is not None
    what(path)
    there = path.exists()
    for _ in range(3):
        with pytest.raises(RisingBanditsError, match=r"run.db was .* while it was in use: nothing more is kept in it"):
            allocator.tell(pull, 0.5)
        with pytest.raises(RisingBanditsError, match="while it was in use"):
            allocator.ask(wait=0.5)
    assert path.exists() == there, "no second store was made"
    if there:
        with Allocator.open(path) as other:
            assert other.spent == 2
    allocator.close()


def test_a_schema_that_is_made_anew_is_another_store(postgres: PostgresServer) -> None:
    place = f"{postgres.address}&schema=anew"
    with Allocator(ARMS, 1000, store=place) as allocator:
        tell(allocator, 5)
        pull = allocator.ask()
        assert pull is not None
        allocator.store._connection().execute("DROP SCHEMA anew CASCADE")  # type: ignore[attr-defined]
        for pulls, said in ((2, "event 11 is gone"), (5, "event 11 is different")):
            with Allocator(ARMS, 1000, store=place) as other:
                tell(other, pulls)
            with pytest.raises(RisingBanditsError, match=f"is not the same store any more: {said}"):
                allocator.tell(pull, 0.5)


def test_another_process_does_not_delete_the_log_of_one_that_has_opened_the_store_twice(tmp_path: Path) -> None:
    """Whoever closes a file of SQLite's by itself releases the locks of all connections of its process."""
    path = tmp_path / "run.db"
    with Allocator(ARMS, 1000, store=path) as allocator:
        tell(allocator, 5)
        open_reader(path).close()
        assert all(finding.whole for finding in inspect_store(path))
        visitor = "import sys; from risingbandits import Allocator; Allocator.open(sys.argv[1]).close()"
        with program([sys.executable, "-c", visitor, str(path)]) as process:
            assert process.wait() == 0
        tell(allocator, 5)
        with program([sys.executable, "-m", "risingbandits", "status", str(path)], stdout=-1) as process:
            assert "10 of 1,000 pulls" in process.communicate()[0]


def test_a_new_store_neither_takes_over_nor_destroys_the_log_of_one_that_was_there(tmp_path: Path) -> None:
    """As after ``mv run.db backup.db`` when a killed run had left its log."""
    path = killed_store(tmp_path / "left")
    path.rename(tmp_path / "backup.db")
    with pytest.raises(RisingBanditsError, match=r"run.db-wal, the log of a store that was here"):
        closed_store(path, 3)
    (tmp_path / "backup.db").rename(path)
    with Allocator.open(path) as allocator:
        assert allocator.spent == 200
        tell(allocator, 1)
    path.unlink()  # closed by who has written, so that only the mark is left, at a later event
    closed_store(path, 3)
    with Allocator.open(path) as allocator:
        assert allocator.spent == 3


def test_a_log_that_is_removed_while_it_is_in_use(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    allocator = Allocator(ARMS, 1000, store=path)
    tell(allocator, 5)
    looked = time.monotonic()
    until(lambda: time.monotonic() > looked + sqlite_files._LOOK_AFTER)  # until it looks at its files again
    Path(f"{path}-wal").unlink()
    for _ in range(2):
        with pytest.raises(RisingBanditsError, match=r"run.db-wal was removed while .* was in use"):
            tell(allocator, 1)
    allocator.close()
    with Allocator.open(path) as allocator:
        assert allocator.spent == 5


# -- events -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stores", [300, pytest.param(5_000, marks=pytest.mark.slow)])
def test_changed_bytes_never_change_what_is_read(tmp_path: Path, stores: int) -> None:
    """Each store with changed bytes is refused, or holds what it held."""
    original = closed_store(tmp_path / "original.db")
    with open_reader(original) as reader:
        events, settings = list(reader.events()), reader.settings.to_json()
    content = original.read_bytes()
    rng = np.random.default_rng(stores)
    refused = 0
    for i in range(stores):
        changed = bytearray(content)
        first, length = int(rng.integers(100, len(content))), int(rng.choice([1, 1, 1, 4, 64]))
        changed[first : first + length] = rng.bytes(len(changed[first : first + length]))
        path = tmp_path / f"{i}.db"
        path.write_bytes(changed)
        try:
            with open_reader(path) as reader:
                assert list(reader.events()) == events
                assert reader.settings.to_json() == settings
                assert reader.ledger().told == 60
        except RisingBanditsError:
            refused += 1
        path.unlink()
    assert refused > stores / 5


@pytest.mark.parametrize("column", ["time", "arm", "pull", "n", "reward", "cost", "text", "worker", "checksum"])
def test_each_column_is_under_the_checksum(tmp_path: Path, column: str) -> None:
    path = closed_store(tmp_path / "run.db")
    value = {"arm": "'c'", "text": "'x'", "worker": "'y'"}.get(column, f"{column} + 1")
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE events SET {column} = {value} WHERE id = 40")
    connection.close()
    with pytest.raises(RisingBanditsError, match="event 40 does not fit its checksum"):
        Allocator.open(path)
    findings = {finding.part: finding for finding in inspect_store(path)}
    assert (findings["file"].whole, findings["settings"].whole, findings["events"].whole) == (True, True, False)
    assert findings["events"].text.endswith("Events 1 to 39 are whole.")
    assert copy_whole_part(path, tmp_path / "copy.db") == 39
    assert all(finding.whole for finding in inspect_store(tmp_path / "copy.db"))


def test_settings_are_under_the_first_checksum(tmp_path: Path) -> None:
    path = closed_store(tmp_path / "run.db")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE settings SET value = replace(value, '\"seed\": 0', '\"seed\": 1')")
    connection.close()
    with pytest.raises(RisingBanditsError, match="event 1 does not fit its checksum"):
        Allocator.open(path)


# -- what was acknowledged --------------------------------------------------------------------------------------------

KILLED = """
import os, sys
from risingbandits import Allocator, Execution
allocator = Allocator(["a", "b", "c"], 1000, store=sys.argv[1], execution=Execution(durability=sys.argv[2]))
for _ in range(200):
    pull = allocator.ask()
    allocator.tell(pull, 0.5)
print("told", flush=True)
sys.stdin.read()
"""


def killed_store(folder: Path, durability: str = "process") -> Path:
    """A store with 200 told pulls, most of them in the log that its killed process has left."""
    folder.mkdir()
    path = folder / "run.db"
    with program([sys.executable, "-c", KILLED, str(path), durability], stdin=-1, stdout=-1) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "told\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    return path


def copied(store: Path, folder: Path) -> Path:
    folder.mkdir()
    for ending in ("", "-wal", "-mark"):
        shutil.copy(f"{store}{ending}", folder)
    return folder / store.name


def test_a_log_that_is_cut_or_removed_is_noticed(tmp_path: Path) -> None:
    left = killed_store(tmp_path / "left")
    size = Path(f"{left}-wal").stat().st_size
    with Allocator.open(copied(left, tmp_path / "whole")) as allocator:
        assert allocator.spent == 200
    for i, cut in enumerate([None, 0, 31, *np.random.default_rng(3).integers(0, size - 5000, size=12).tolist()]):
        path = copied(left, tmp_path / str(i))
        log = Path(f"{path}-wal")
        log.unlink() if cut is None else os.truncate(log, cut)
        for open_it in (Allocator.open, open_reader):
            with pytest.raises(RisingBanditsError, match=r"has gone back in time: event 400 was kept .* now gone"):
                open_it(path)
        finding = next(finding for finding in inspect_store(path) if finding.part == "acknowledged")
        assert not finding.whole
        Path(f"{path}-mark").unlink()
        with Allocator.open(path) as allocator:  # as the message says
            assert allocator.spent < 200
            tell(allocator, 1)


def test_a_mark_that_is_damaged_is_none(tmp_path: Path) -> None:
    """Whatever byte is changed: it says nothing, and the store opens as if it had none."""
    path = closed_store(tmp_path / "run.db")
    mark = path.with_name("run.db-mark")
    whole = mark.read_bytes()
    assert read_mark(mark) is not None
    for place in range(len(whole)):
        mark.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert read_mark(mark) is None
    with open_reader(path) as reader:
        assert reader.ledger().told == 60


@pytest.mark.parametrize(("durability", "refused"), [("process", False), ("power", True)])
def test_what_power_loss_takes_is_a_warning_where_nothing_else_was_promised(
    tmp_path: Path, durability: str, refused: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = killed_store(tmp_path / "left", durability)
    Path(f"{path}-wal").unlink()
    monkeypatch.setattr(sqlite, "boot_id", lambda: "another start of the machine")
    allocator = Allocator.open(path)
    if refused:
        with pytest.raises(RisingBanditsError, match="has gone back"):
            allocator.ask()
    else:
        tell(allocator, 1)
        assert "has gone back" in caplog.text
    allocator.close()


def test_the_command_says_what_is_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = killed_store(tmp_path / "left")
    assert run(["store", "check", str(path)]) == 0
    assert "400 events, each with its checksum" in capsys.readouterr().out
    Path(f"{path}-wal").unlink()
    assert run(["store", "check", str(path)]) == 1
    assert "DAMAGED" in capsys.readouterr().out
    assert run(["store", "check", str(tmp_path / "nothing.db")]) == 2
    assert "does not exist" in capsys.readouterr().err
    Path(f"{path}-mark").write_bytes(b"nonsense")
    assert run(["store", "check", str(path)]) == 0
    assert "Not known" in capsys.readouterr().out
    os.truncate(path, 5_000)
    assert run(["store", "check", str(path)]) == 1
    assert "is cut short or damaged" in " ".join(capsys.readouterr().out.split())


def test_the_whole_part_is_copied_to_a_new_file_alone(tmp_path: Path) -> None:
    path = closed_store(tmp_path / "run.db", 3)
    other = tmp_path / "other.db"
    other.write_bytes(b"mine")
    with pytest.raises(RisingBanditsError, match=r"the copy must be a file that does not exist, got '.*other\.db'\.$"):
        copy_whole_part(path, other)
    assert other.read_bytes() == b"mine"
    assert copy_whole_part(path, tmp_path / "new.db") == 6


def test_damaged_settings_are_called_so_and_not_copied(tmp_path: Path) -> None:
    path = closed_store(tmp_path / "run.db")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE settings SET value = replace(value, 'maximize', 'maximise') WHERE key = 'settings'")
    connection.close()
    for look in (Allocator.open, open_reader, lambda path: copy_whole_part(path, tmp_path / "copy.db")):
        with pytest.raises(RisingBanditsError, match=r"run.db is damaged or of another version, judging by its"):
            look(path)
    assert not (tmp_path / "copy.db").exists()


# -- a folder that cannot be written to -------------------------------------------------------------------------------


@pytest.mark.parametrize("killed", [False, True])
def test_a_store_in_a_read_only_folder_can_be_read(tmp_path: Path, killed: bool) -> None:
    store = killed_store(tmp_path / "left") if killed else closed_store(tmp_path / "run.db", 200)
    with tempfile.TemporaryDirectory() as name:  # which other users can enter, unlike tmp_path
        os.chmod(name, 0o755)
        folder = Path(name, "shared")
        folder.mkdir()
        for path in store.parent.glob("run.db*"):
            if not path.name.endswith("-shm"):
                shutil.copy(path, folder)
                os.chmod(folder / path.name, 0o444)
        os.chmod(folder, 0o555)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                if os.getuid() == 0:
                    os.setuid(65534)  # root may write anywhere
                with open_reader(folder / "run.db") as reader:
                    code = 0 if reader.ledger().told == 200 else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        os.chmod(folder, 0o755)
