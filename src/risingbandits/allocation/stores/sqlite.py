"""The store in one file: SQLite with a write-ahead log, for any number of processes of one machine."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from risingbandits._core.errors import RisingBanditsError
from risingbandits.allocation.stores._sql import MIGRATIONS, SqlStore
from risingbandits.allocation.stores.sqlite_files import APPLICATION_ID, check_file, check_file_system
from risingbandits.allocation.stores.write_lock import WriteLock

_LOG_BYTES = 64 * 2**20  # to which a log that has grown is cut when it begins anew
_BUSY_SECONDS = 60.0
_TROUBLE = (sqlite3.Error, UnicodeDecodeError)  # the second where a damaged name is part of the message
_CHECKPOINT_PAGES = 4000  # of 4 KiB: the log is written back to the file when it has so many


class SqliteStore(SqlStore):
    """Events in a SQLite file.

    Until the first write the file is only read, so that a file that turns out to be damaged stays as it is.

    Parameters
    ----------
    path : Path
        The file. Beside it SQLite keeps ``-wal`` and ``-shm`` while it is open, and ``-lock`` is the queue of writers.
    durability : {"process", "power"}
        Whether every commit is also written through to the disk.
    readonly : bool
        Never write.
    clock : callable
        What tells the time.
    migrations : sequence
        The steps between versions of the tables.
    """

    mark = "?"
    batch = 5000
    types: ClassVar[dict[str, str]] = {"integer": "INTEGER", "real": "REAL", "bytes": "BLOB"}
    _trouble = _TROUBLE

    def __init__(
        self,
        path: Path,
        durability: str = "process",
        readonly: bool = False,
        clock: Callable[[], float] = time.time,
        migrations: Sequence[Sequence[str]] = MIGRATIONS,
    ) -> None:
        self.path = Path(os.path.abspath(path))
        self.name = str(path)
        self.durability = durability
        self.directory: Path | None = self.path.with_name(self.path.name + ".state")
        self.now = clock
        self._readonly = readonly
        self._migrations = migrations
        self._pid = os.getpid()
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._write_lock: WriteLock | None = None
        self._left: list[Any] = []  # connections of the process that this one was forked from: not to be closed here
        check_file_system(self.path)
        if self.path.exists():
            self._check()

    # -- making and opening -------------------------------------------------------------------------------------

    def settings(self) -> str | None:
        if not self.path.exists():
            return None
        rows = self._read("SELECT value FROM settings WHERE key = 'settings'")
        if not rows or not isinstance(rows[0][0], str):
            raise RisingBanditsError(f"{self.name} is damaged: it holds no settings.")
        return rows[0][0]

    def create(self, settings: str) -> str:
        """Make the file under another name and link it, so that it appears whole and only one process makes it."""
        temporary = self.path.with_name(f"{self.path.name}.{uuid.uuid4().hex}.tmp")
        try:
            with contextlib.closing(sqlite3.connect(temporary, isolation_level=None)) as new:
                new.execute("BEGIN")
                new.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                new.execute(f"PRAGMA user_version = {self.version}")
                self._make_tables(new)
                new.execute("INSERT INTO settings VALUES ('settings', ?)", (settings,))
                new.execute("COMMIT")
                new.execute("PRAGMA journal_mode = WAL")
            self._publish(temporary)
        except (*_TROUBLE, OSError) as error:
            raise RisingBanditsError(f"{self.name} cannot be made: {error}.") from error
        finally:
            for name in (temporary.name, temporary.name + "-wal", temporary.name + "-shm"):
                temporary.with_name(name).unlink(missing_ok=True)
        self._check()
        kept = self.settings()
        assert kept is not None
        return kept

    def _publish(self, temporary: Path) -> None:
        """Give the file its name, unless another process was quicker."""
        try:
            os.link(temporary, self.path)
        except FileExistsError:
            return
        except OSError:  # a file system without links
            if not self.path.exists():
                temporary.rename(self.path)

    def _check(self) -> None:
        check_file(self.path)
        self._refuse_newer(self._number("PRAGMA user_version"))

    def _connection(self) -> sqlite3.Connection:
        """The connection to read from: the writer where there is one."""
        if os.getpid() != self._pid:
            self._after_fork()
        if self._writer is not None:
            return self._writer
        if self._reader is None:
            self._reader = self._connect("ro")
        return self._reader

    def _connect(self, mode: str) -> sqlite3.Connection:
        if not self.path.exists():
            raise RisingBanditsError(f"{self.name} does not exist.")
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode={mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=_BUSY_SECONDS,
        )
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except _TROUBLE:
            connection.close()
            raise
        return connection

    def _write_connection(self) -> sqlite3.Connection:
        if self._readonly:
            raise RisingBanditsError(f"{self.name} was opened to be read only.")
        writer = self._connect("rw")
        # FULL waits for the disk at every commit; NORMAL only when the log is written back.
        writer.execute(f"PRAGMA synchronous = {'FULL' if self.durability == 'power' else 'NORMAL'}")
        writer.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        writer.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
        self._migrate(writer)
        self._write_lock = WriteLock(self.path.with_name(self.path.name + "-lock"))
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        return writer

    def _migrate(self, writer: sqlite3.Connection) -> None:
        """Bring old tables up to date, all or nothing."""
        if writer.execute("PRAGMA user_version").fetchone()[0] == self.version:
            return
        writer.execute("BEGIN IMMEDIATE")
        try:
            old = writer.execute("PRAGMA user_version").fetchone()[0]  # another process may have been quicker
            for step in self._migrations[max(old, 1) - 1 :]:
                for statement in step:
                    writer.execute(statement)
            writer.execute(f"PRAGMA user_version = {self.version}")
            writer.execute("COMMIT")
        except BaseException:
            writer.execute("ROLLBACK")
            raise

    def _after_fork(self) -> None:
        """SQLite's connections must not be used, nor closed, in a child process."""
        self._left += [self._reader, self._writer, self._write_lock]
        self._reader = self._writer = self._write_lock = None
        self._pid = os.getpid()

    def _complain(self, error: Exception) -> NoReturn:
        text = str(error)
        if isinstance(error, sqlite3.OperationalError) and "locked" in text:
            raise RisingBanditsError(f"{self.name} is held by another program for too long: {text}.") from error
        if isinstance(error, sqlite3.OperationalError) and not text.startswith("no such"):
            raise RisingBanditsError(f"{self.name} cannot be used: {text}.") from error
        raise RisingBanditsError(f"{self.name} is damaged: {text}.") from error

    # -- writing ------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if os.getpid() != self._pid:
            self._after_fork()
        if self._writer is None:
            self._writer = self._write_connection()
        if self._write_lock is not None:
            self._write_lock.acquire()
        if self._writer.in_transaction:  # left open by an interrupt
            self._writer.execute("ROLLBACK")
        self._writer.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        super().commit()
        if self._write_lock is not None:
            self._write_lock.release()

    def rollback(self) -> None:
        if self._writer is not None and self._writer.in_transaction:
            with contextlib.suppress(*_TROUBLE):
                self._writer.execute("ROLLBACK")
        if self._write_lock is not None:
            self._write_lock.release()

    def close(self) -> None:
        for connection in (self._reader, self._writer):
            if connection is not None:
                connection.close()
        if self._write_lock is not None:
            self._write_lock.close()
        self._reader = self._writer = self._write_lock = None
