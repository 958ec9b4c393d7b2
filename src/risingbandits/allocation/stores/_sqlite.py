"""The store in one file: SQLite with a write-ahead log, for any number of processes of one machine."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import sqlite3
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.files import flush_folder
from risingbandits._core.platform import Clock, boot_id, holder
from risingbandits.allocation.events import Event
from risingbandits.allocation.stores._sql import VERSION, SqlStore
from risingbandits.allocation.stores._sqlite_files import (
    APPLICATION_ID,
    InUse,
    alone,
    check_file,
    check_file_system,
    read_mark,
    write_mark,
)
from risingbandits.allocation.stores.base import PATIENCE, StoreBusy, check_folder_of

log = logging.getLogger("risingbandits")

_LOG_BYTES = 64 * 2**20  # to which a large log is cut when it restarts
# Seconds between looks whether the turn to write has come. SQLite's own pauses grow to a tenth of a second, in which
# some processes wait for long while others go ahead.
_SHORTEST_PAUSE, _LONGEST_PAUSE = 1e-4, 2e-3
_READ_PATIENCE = 10.0  # seconds: while another process repairs the log after a kill, it cannot be read
_TROUBLE = (sqlite3.Error, UnicodeDecodeError)  # the second where a damaged name is part of the message
_PAGE = 2048  # bytes: every commit writes a page to the log, and an event takes some 100
_CHECKPOINT_PAGES = 8000  # pages in the log from which on it is written back to the file


_KEEP_MARK = "INSERT OR REPLACE INTO settings VALUES ('mark', ?)"
_LINK_OF_MARK = """SELECT id, checksum FROM events WHERE id =
                   (SELECT CAST(value AS INTEGER) FROM settings WHERE key = 'mark')"""


class SqliteStore(SqlStore):
    """Events in a SQLite file.

    Until the first write the file is only read, so that a damaged file stays as it is.

    Parameters
    ----------
    path : Path
        The file. Beside it SQLite keeps ``-wal`` and ``-shm`` while it is open; ``-mark`` says which event was
        acknowledged last.
    durability : {"process", "power"}
        Whether every commit is also written through to the disk.
    readonly : bool
        Never write.
    clock : callable, optional
        Tells the time; the default agrees with those of other processes on this machine.
    damaged : bool
        Open it even if acknowledged events are missing, to look at what is left.
    """

    one_machine = True
    mark = "?"
    batch = 5000
    types: ClassVar[dict[str, str]] = {"integer": "INTEGER", "real": "REAL", "bytes": "BLOB"}
    _trouble = _TROUBLE

    def __init__(
        self,
        path: Path,
        durability: str = "process",
        readonly: bool = False,
        clock: Callable[[], float] | None = None,
        damaged: bool = False,
    ) -> None:
        self.path = Path(os.path.abspath(path))
        self.name = str(path)
        self.durability = durability
        self.directory: Path | None = self.path.with_name(self.path.name + ".state")
        self.now = clock or Clock()
        self._readonly = readonly
        self._pid = os.getpid()
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._log = self.path.with_name(self.path.name + "-wal")
        self._mark_path = self.path.with_name(self.path.name + "-mark")
        self._mark = -1  # the same, open
        self._files = InUse(self.path, self.name)
        self._data_version = -1
        self._marked = True  # whether the mark stands where it should
        self._boot = boot_id().encode()
        self._copy: tempfile.TemporaryDirectory[str] | None = None  # of files that cannot be read where they are
        self._lost = ""  # what is missing since the last boot
        self._left: list[Any] = []  # connections of the process that this one was forked from: not to be closed here
        super().__init__()
        check_file_system(self.path)
        if self.path.exists():
            self._check(damaged)

    # -- making and opening -------------------------------------------------------------------------------------

    def settings(self) -> str | None:
        if not self.path.exists():
            return None
        rows = self._read("SELECT value FROM settings WHERE key = 'settings'")
        if not rows or not isinstance(rows[0][0], str):
            raise RisingBanditsError(f"{self.name} is damaged: it holds no settings.")
        return rows[0][0]

    def create(self, settings: str) -> str:
        """Create the file under another name and link it, so that it appears complete and is created only once."""
        if not os.access(self.path.parent, os.W_OK):
            what = "cannot be written to" if self.path.parent.is_dir() else "does not exist"
            raise RisingBanditsError(f"{self.name} cannot be made: the folder {self.path.parent} {what}.")
        check_folder_of("", self.directory)
        temporary = self.path.with_name(f"{self.path.name}.{uuid.uuid4().hex}.tmp")
        try:
            with contextlib.closing(sqlite3.connect(temporary, isolation_level=None)) as new:
                new.execute(f"PRAGMA page_size = {_PAGE}")
                new.execute("BEGIN")
                new.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                new.execute(f"PRAGMA user_version = {VERSION}")
                self._make_tables(new)
                for row in (("settings", settings), ("identity", uuid.uuid4().hex)):
                    new.execute("INSERT INTO settings VALUES (?, ?)", row)
                new.execute("COMMIT")
                new.execute("PRAGMA journal_mode = WAL")
            ours = self._publish(temporary)
        except (*_TROUBLE, OSError) as error:
            raise RisingBanditsError(f"{self.name} cannot be made: {error}.") from error
        finally:
            for name in (temporary.name, temporary.name + "-wal", temporary.name + "-shm"):
                with contextlib.suppress(OSError):  # the store is whole without
                    temporary.with_name(name).unlink(missing_ok=True)
        if not ours:
            self._check()
        kept = self.settings()
        assert kept is not None
        return kept

    def _publish(self, temporary: Path) -> bool:
        """Give the file its name, unless another process was quicker; whether it is now the store."""
        with alone(self._mark_path, PATIENCE) as mark:
            if self.path.exists():
                return False
            # The log of another store must not become part of this one, nor be lost: it may hold its last events.
            if self._log.exists() and self._log.stat().st_size > 0:
                raise RisingBanditsError(
                    f"{self.name} cannot be made: {self._log.name}, the log of a store that was here, would become "
                    f"part of it. Move that store back, or remove {self._log.name} too."
                )
            os.ftruncate(mark, 0)
            try:
                os.link(temporary, self.path)
            except FileExistsError:
                return False
            except OSError:  # a file system without links
                temporary.rename(self.path)
            flush_folder(self.path.parent)
            return True

    def _check(self, damaged: bool = False) -> None:
        """Raise an error for a file that is not a store, has other tables, or lacks acknowledged events."""
        check_file(self.path)
        self._check_tables(self._number("PRAGMA user_version"))
        if not damaged:
            self.check_mark()

    def check_mark(self) -> bool:
        """Raise an error if acknowledged events are missing; returns whether a mark says what was acknowledged."""
        mark = read_mark(self._mark_path)  # before the events, to which others may add
        inside = self._read("SELECT value FROM settings WHERE key = 'mark'")
        if inside and inside[0][0] not in (f"{id} {sum}" for id, sum in self._read(_LINK_OF_MARK)):
            self.close()
            raise RisingBanditsError(f"{self.name} is damaged: events are missing that were there when it was closed.")
        if mark is None:
            return bool(inside)
        if mark.boot == boot_id() and isinstance(self.now, Clock):
            self.now.offset = mark.offset
        found = self._read("SELECT checksum FROM events WHERE id = ?", (mark.id,))
        if found == [(mark.checksum,)]:
            return True
        lost = (
            f"{self.name} has gone back in time: event {mark.id} was kept in it and is now "
            f"{'a different one' if found else f'gone, the last one is {self.last_id()}'}. One of its files was cut, "
            f"removed or replaced, perhaps {self.path.name}-wal. To go on from what is left, remove "
            f"{self._mark_path.name}."
        )
        if mark.boot == boot_id():
            self.close()
            raise RisingBanditsError(lost)
        self._lost = lost  # whether that may be depends on the durability, which is not known yet
        if self._readonly:
            log.warning("%s", lost)
        return True

    def _connection(self) -> sqlite3.Connection:
        """The connection to read from: the writer if there is one."""
        if os.getpid() != self._pid:
            self._after_fork()
        if self._writer is None and self._reader is None:
            self._reader = self._connect("ro")
        self._files.check()
        connection = self._writer or self._reader
        assert connection is not None
        return connection

    def _connect(self, mode: str) -> sqlite3.Connection:
        if not self.path.exists():
            raise RisingBanditsError(f"{self.name} does not exist.")
        self._files.check()
        there = os.stat(self.path)
        connection = self._opened(f"{self.path.as_uri()}?mode={mode}")
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except _TROUBLE:
            connection.close()
            if mode != "ro" or os.access(self.path.parent, os.W_OK):
                raise
            connection = self._without_a_log()
        self._files.remember(there)
        return connection

    def _without_a_log(self) -> sqlite3.Connection:
        """A connection to a store in a folder where SQLite cannot put the files that it reads with."""
        written = self._log
        if not written.exists() or written.stat().st_size == 0:
            return self._opened(f"{self.path.as_uri()}?mode=ro&immutable=1")
        self._copy = tempfile.TemporaryDirectory(prefix="risingbandits-")
        for file in (self.path, written):
            shutil.copy(file, self._copy.name)
        return self._opened((Path(self._copy.name) / self.path.name).as_uri())

    def _opened(self, address: str) -> sqlite3.Connection:
        return sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False, timeout=_READ_PATIENCE)

    def _write_connection(self) -> sqlite3.Connection:
        if self._readonly:
            raise RisingBanditsError(f"{self.name} was opened read-only.")
        if self._lost:  # with the machine; only "power" promises that this does not happen
            if self.durability == "power":
                raise RisingBanditsError(self._lost)
            log.warning("%s", self._lost)
            self._lost = ""
        writer = self._connect("rw")
        # FULL waits for the disk at every commit; NORMAL only when the log is written back.
        writer.execute(f"PRAGMA synchronous = {'FULL' if self.durability == 'power' else 'NORMAL'}")
        writer.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        writer.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
        writer.execute("PRAGMA busy_timeout = 0")  # see `_patiently`
        with contextlib.suppress(OSError):  # where it cannot be made, the store goes without
            self._mark = os.open(self._mark_path, os.O_RDWR | os.O_CREAT, 0o644)
        self._data_version, self._files.log = -1, None
        self._marked = False  # for the mark also tells others our clock
        self._cursor = writer.cursor()
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        return writer

    def _after_fork(self) -> None:
        """SQLite's connections must not be used, nor closed, in a child process."""
        self._left += [self._reader, self._writer]
        self._reader = self._writer = None
        self._files = InUse(self.path, self.name)
        self._mark = -1
        self._pid = os.getpid()

    def _read(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        try:
            connection = self._connection()
            if connection is self._writer:
                found: list[Any] = self._patiently(statement, values, _READ_PATIENCE).fetchall()
                return found
            return connection.execute(statement, values).fetchall()
        except self._trouble as error:
            self._complain(error)

    def _complain(self, error: Exception) -> NoReturn:
        text = "".join(letter if letter.isprintable() else "?" for letter in str(error))  # which may quote the damage
        if isinstance(error, sqlite3.OperationalError) and "locked" in text:
            files = [self.path.with_name(self.path.name + ending) for ending in ("-shm", "-mark", "")]
            raise StoreBusy(f"{self.name} has been held for too long{holder(files)}; nothing was written.") from error
        if isinstance(error, sqlite3.OperationalError) and not text.startswith(("no such", "Could not decode")):
            raise RisingBanditsError(f"{self.name} cannot be used: {text}.") from error
        raise RisingBanditsError(f"{self.name} is damaged: {text}.") from error

    # -- writing ------------------------------------------------------------------------------------------------

    def _begin(self, patience: float) -> None:
        if os.getpid() != self._pid:
            self._after_fork()
        if self._writer is None:
            self._writer = self._write_connection()
        elif self._writer.in_transaction:  # left open by an interrupt
            self._writer.execute("ROLLBACK")
        self._files.check()
        self._patiently("BEGIN IMMEDIATE", (), patience)

    def _patiently(self, statement: str, values: tuple[Any, ...], patience: float) -> Any:
        """Execute a statement; retry while another process blocks it."""
        pause = end = 0.0
        while True:
            try:
                return self._cursor.execute(statement, values)
            except sqlite3.OperationalError as error:
                now = time.monotonic()
                end = end or now + patience
                if "locked" not in str(error) or now >= end:
                    raise
            pause = min(1.5 * pause or _SHORTEST_PAUSE, _LONGEST_PAUSE)
            time.sleep(pause)

    def _untouched(self) -> bool:
        # SQLite's number for what other connections have committed: cheaper than to look for events.
        found: int = self._cursor.execute("PRAGMA data_version").fetchone()[0]
        same, self._data_version = found == self._data_version, found
        return same

    def append(self, event: Event) -> None:
        super().append(event)
        if event[2] != "ask":  # who has asked will tell, and notices then; this spares half of the marks
            self._marked = False

    def commit(self) -> None:
        super().commit()
        if self._files.log is None:
            with contextlib.suppress(OSError):
                there = os.stat(self._log)
                self._files.log = there.st_dev, there.st_ino  # the one that is there now is ours
        if not self._marked:
            self._marked = True
            if self._chain.id > 0 and self._mark >= 0:
                write_mark(self._mark, *self._chain, getattr(self.now, "offset", 0.0), self._boot)

    def rollback(self) -> None:
        if self._writer is not None and self._writer.in_transaction:
            with contextlib.suppress(*_TROUBLE):
                self._writer.execute("ROLLBACK")

    def close(self) -> None:
        """Close the file, with a mark inside, too, for copies without the mark file.

        Without it a store with a page that is damaged so that it looks empty would be one with fewer events.
        """
        kept = self._kept
        if self._writer is not None and kept is not None and kept.id > 0 and os.getpid() == self._pid:
            with contextlib.suppress(*_TROUBLE):
                self._writer.execute(_KEEP_MARK, (f"{kept.id} {kept.sum}",))
        for connection in (self._reader, self._writer):
            if connection is not None:
                connection.close()
        if self._mark >= 0:
            os.close(self._mark)
            self._mark = -1
        self._files.close()
        if self._copy is not None:
            self._copy.cleanup()
        self._reader = self._writer = self._copy = None
