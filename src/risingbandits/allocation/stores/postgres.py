"""The store in PostgreSQL, for workers on several machines: the same events, in a schema of their own."""

from __future__ import annotations

import os
import re
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.allocation.events import Event

if TYPE_CHECKING:
    import psycopg

__all__ = ["MIGRATIONS", "PostgresStore"]

_TABLES = (
    "CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE events (id BIGINT PRIMARY KEY, time DOUBLE PRECISION NOT NULL, kind TEXT NOT NULL,
       arm TEXT NOT NULL, pull BIGINT NOT NULL, n BIGINT NOT NULL, reward DOUBLE PRECISION, cost DOUBLE PRECISION,
       text TEXT NOT NULL, worker TEXT NOT NULL)""",
    "CREATE TABLE snapshots (event BIGINT PRIMARY KEY, data BYTEA NOT NULL)",
)
MIGRATIONS: Sequence[Sequence[str]] = ()  #: as in the SQLite store
_COLUMNS = "id, time, kind, arm, pull, n, reward, cost, text, worker"
_NEW = f"SELECT {_COLUMNS} FROM events WHERE id > %s ORDER BY id"
_INSERT = f"INSERT INTO events ({_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
_LOCKS = 0x5242  # the first half of the number of the lock; the second is the schema's
_CLOCK = "SELECT extract(epoch FROM clock_timestamp())::float8"
_SCHEMA = "risingbandits"
_BATCH = 10_000


class PostgresStore:
    """Events in a schema of a PostgreSQL database.

    Every commit is as durable as the server's ``synchronous_commit`` makes it, so both values of ``durability`` mean
    the same here.

    Parameters
    ----------
    address : str
        As psycopg takes it, ``postgresql://user@host/database``; with ``?schema=name`` in another schema than
        "risingbandits", so that one database can hold many stores.
    """

    shared = True
    directory: Path | None = None

    def __init__(
        self,
        address: str,
        durability: str = "process",
        readonly: bool = False,
        migrations: Sequence[Sequence[str]] = MIGRATIONS,
    ) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise RisingBanditsError(
                "psycopg is needed for a store in PostgreSQL: pip install 'risingbandits[postgres]'."
            ) from error
        self._psycopg = psycopg
        self._address, self.schema = _split(address)
        self.name = f"the store {self.schema} in PostgreSQL"
        self.durability = durability
        self._readonly = readonly
        self._migrations = migrations
        self._lock_key = zlib.crc32(self.schema.encode()) - 2**31
        self._pid = os.getpid()
        self._open: psycopg.Connection[Any] | None = None
        self._offset = 0.0  # of the server's clock
        self._left: list[Any] = []  # connections of the process that this one was forked from
        self._check_version()

    # -- making and opening -------------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The version of the tables that this program writes."""
        return len(self._migrations) + 1

    def now(self) -> float:
        return time.monotonic() + self._offset

    def settings(self) -> str | None:
        return self._setting("settings")

    def create(self, settings: str) -> str:
        try:
            self._begin()
            if self._setting("settings") is None:
                connection = self._connection()
                connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{self.schema}"')
                for statement in (*_TABLES, *(line for step in self._migrations for line in step)):
                    connection.execute(statement)
                rows = [("settings", settings), ("version", str(self.version))]
                for row in rows:
                    connection.execute("INSERT INTO settings VALUES (%s, %s)", row)
            self.commit()
        except self._psycopg.Error as error:
            self.rollback()
            self._complain(error)
        kept = self._setting("settings")
        assert kept is not None
        return kept

    def _setting(self, key: str) -> str | None:
        """A row of the table of settings; None if the store does not exist."""
        found = self._read("SELECT to_regclass(%s)", (f'"{self.schema}".settings',))
        if found[0][0] is None:
            return None
        rows = self._read("SELECT value FROM settings WHERE key = %s", (key,))
        if not rows:
            raise RisingBanditsError(f"{self.name} is damaged: it holds no {key}.")
        return str(rows[0][0])

    def _check_version(self) -> None:
        text = self._setting("version")
        if text is None:
            return
        if not text.isdecimal():
            raise RisingBanditsError(f"{self.name} is damaged: its version is {shown(text)}.")
        if int(text) > self.version:
            self.close()
            raise RisingBanditsError(
                f"{self.name} has version {text}, this program knows versions up to {self.version}: update it."
            )
        if int(text) < self.version and not self._readonly:
            self._migrate()

    def _migrate(self) -> None:
        try:
            self._begin()
            old = int(self._setting("version") or self.version)
            for step in self._migrations[old - 1 :]:
                for statement in step:
                    self._connection().execute(statement)
            self._connection().execute("UPDATE settings SET value = %s WHERE key = 'version'", (str(self.version),))
            self.commit()
        except self._psycopg.Error as error:
            self.rollback()
            self._complain(error)

    def _connection(self) -> psycopg.Connection[Any]:
        if os.getpid() != self._pid:  # a connection must not be used by two processes
            self._left.append(self._open)
            self._open, self._pid = None, os.getpid()
        if self._open is None or self._open.closed:
            path = f'-c search_path="{self.schema}"' + (
                " -c default_transaction_read_only=on" if self._readonly else ""
            )
            self._open = self._psycopg.connect(self._address, autocommit=True, options=path)
            self._set_clock(self._open)
        return self._open

    def _set_clock(self, connection: psycopg.Connection[Any]) -> None:
        row = connection.execute(_CLOCK).fetchone()
        assert row is not None
        self._offset = row[0] - time.monotonic()

    def _complain(self, error: Exception) -> NoReturn:
        text = str(error).strip().split("\n")[0]
        raise RisingBanditsError(f"{self.name} cannot be used: {text}.") from error

    # -- writing ------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if self._readonly:
            raise RisingBanditsError(f"{self.name} was opened to be read only.")
        connection = self._connection()
        if connection.info.transaction_status != self._psycopg.pq.TransactionStatus.IDLE:
            connection.execute("ROLLBACK")  # left open by an interrupt
        connection.execute(f"BEGIN; SELECT pg_advisory_xact_lock({_LOCKS}, {self._lock_key})")

    def begin(self, after: int) -> list[Event]:
        try:
            self._begin()
            return [Event._make(row) for row in self._connection().execute(_NEW, (after,))]
        except self._psycopg.Error as error:
            self.rollback()
            self._complain(error)
        except BaseException:
            self.rollback()
            raise

    def append(self, event: Event) -> None:
        assert self._open is not None  # not `_connection`: a new one would be outside the transaction
        try:
            self._open.execute(_INSERT, event)
        except self._psycopg.Error as error:
            self._complain(error)

    def commit(self) -> None:
        assert self._open is not None
        try:
            self._open.execute("COMMIT")
        except self._psycopg.Error as error:
            self._complain(error)

    def rollback(self) -> None:
        if self._open is not None and not self._open.closed:
            try:
                self._open.execute("ROLLBACK")
            except self._psycopg.Error:
                self._open.close()

    def keep_snapshot(self, id: int, data: bytes) -> None:
        self.begin(id)
        try:
            connection = self._connection()
            connection.execute("DELETE FROM snapshots WHERE event <= %s", (id,))
            connection.execute("INSERT INTO snapshots VALUES (%s, %s)", (id, data))
        except self._psycopg.Error as error:
            self.rollback()
            self._complain(error)
        self.commit()

    # -- reading ------------------------------------------------------------------------------------------------

    def _read(self, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._connection().execute(statement, values).fetchall()
        except self._psycopg.Error as error:
            self._complain(error)

    def events(self, after: int = 0, limit: int | None = None) -> Iterator[Event]:
        while limit is None or limit > 0:
            batch = self._read(f"{_NEW} LIMIT %s", (after, _BATCH if limit is None else min(_BATCH, limit)))
            yield from map(Event._make, batch)
            if len(batch) < _BATCH:
                return
            after = batch[-1][0]
            limit = None if limit is None else limit - len(batch)

    def event(self, id: int) -> Event | None:
        rows = self._read(f"SELECT {_COLUMNS} FROM events WHERE id = %s", (id,))
        return Event._make(rows[0]) if rows else None

    def last_id(self) -> int:
        return int(self._read("SELECT coalesce(max(id), 0) FROM events")[0][0])

    def snapshot(self) -> tuple[int, bytes] | None:
        rows = self._read("SELECT event, data FROM snapshots ORDER BY event DESC LIMIT 1")
        return (rows[0][0], bytes(rows[0][1])) if rows else None

    def snapshot_id(self) -> int:
        return int(self._read("SELECT coalesce(max(event), 0) FROM snapshots")[0][0])

    def close(self) -> None:
        if self._open is not None and os.getpid() == self._pid:
            self._open.close()
        self._open = None


def _split(address: str) -> tuple[str, str]:
    """The address without ``schema``, which is ours, and the schema."""
    base, _, query = address.partition("?")
    parts = query.split("&") if query else []
    schema = next((part.removeprefix("schema=") for part in parts if part.startswith("schema=")), _SCHEMA)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,62}", schema):
        raise RisingBanditsError(f"schema must be a name of letters, digits and underscores, got {shown(schema)}.")
    kept = "&".join(part for part in parts if not part.startswith("schema="))
    return f"{base}?{kept}" if kept else base, schema
