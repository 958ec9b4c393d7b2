"""The store in PostgreSQL, for workers on several machines: the same events, in a schema of their own."""

from __future__ import annotations

import os
import re
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn
from uuid import uuid4

from risingbandits._core.errors import RisingBanditsError, missing, shown
from risingbandits.allocation.stores._sql import VERSION, SqlStore
from risingbandits.allocation.stores.base import PATIENCE, StoreBusy, StoreUnreachable

if TYPE_CHECKING:
    import psycopg

_CONNECT_SECONDS = 10
_LOCKS = 0x5242  # the first half of the number of the lock; the second is the schema's
_CLOCK = "SELECT extract(epoch FROM clock_timestamp())::float8"
_SCHEMA = "risingbandits"
_LONGEST_TURN = 30  # seconds: the server ends the transaction of a worker that stands still in it for longer
_LONGEST_WAIT = 1e6  # seconds that the server can count
_LOCK_NOT_AVAILABLE = "55P03"


def load_psycopg(what: str) -> Any:
    """The driver that ``what`` needs."""
    try:
        import psycopg
    except ImportError as error:
        raise missing("psycopg", f"{what} in PostgreSQL", "postgres") from error
    return psycopg


def split_address(address: str, schema: str) -> tuple[str, str]:
    """The address without ``?schema=...``, which only this package knows, and that schema, or the given default.

    >>> split_address("postgresql://host/runs?schema=may&user=me", "risingbandits")
    ('postgresql://host/runs?user=me', 'may')
    """
    base, _, query = address.partition("?")
    parts = query.split("&") if query else []
    schema = next((part.removeprefix("schema=") for part in parts if part.startswith("schema=")), schema)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,62}", schema):
        raise RisingBanditsError(f"schema must be a name of letters, digits and underscores, got {shown(schema)}.")
    kept = "&".join(part for part in parts if not part.startswith("schema="))
    return f"{base}?{kept}" if kept else base, schema


def connect(driver: Any, address: str, schema: str, *options: str) -> psycopg.Connection[Any]:
    """A connection that commits each statement separately, with the schema for its tables and all digits of floats."""
    own = driver.conninfo.conninfo_to_dict(address)
    said = [own.get("options"), f'-c search_path="{schema}" -c extra_float_digits=1', *options]
    connection: psycopg.Connection[Any] = driver.connect(
        address,
        autocommit=True,
        options=" ".join(str(option) for option in said if option),
        connect_timeout=int(own.get("connect_timeout") or _CONNECT_SECONDS),
    )
    return connection


def complaint(driver: Any, address: str, error: Exception) -> str:
    """The first line of what a server or a driver says, which may quote the address, without the password."""
    try:
        secret = driver.conninfo.conninfo_to_dict(address).get("password")
    except driver.Error:
        return "its address cannot be read"
    text = str(error).strip().split("\n")[0].rstrip(".")
    return text.replace(str(secret), "***") if secret else text


class PostgresStore(SqlStore):
    """Events in a schema of a PostgreSQL database.

    Every commit is as durable as the server's ``synchronous_commit`` makes it, so both values of ``durability`` mean
    the same here.

    Parameters
    ----------
    address : str
        As for psycopg, ``postgresql://user@host/database``; with ``?schema=name`` in another schema than
        "risingbandits", so that one database can hold many stores.
    """

    mark = "%s"
    batch = 10_000
    types: ClassVar[dict[str, str]] = {"integer": "BIGINT", "real": "DOUBLE PRECISION", "bytes": "BYTEA"}
    directory: Path | None = None
    one_machine = False

    def __init__(self, address: str, durability: str = "process", readonly: bool = False) -> None:
        self._psycopg = load_psycopg("a store")
        self._trouble = (self._psycopg.Error,)
        self._address, self.schema = split_address(address, _SCHEMA)
        self.name = f"the store {self.schema} in PostgreSQL"
        self.durability = durability
        self._readonly = readonly
        self._lock_key = zlib.crc32(self.schema.encode()) - 2**31
        self._pid = os.getpid()
        self._writer: psycopg.Connection[Any] | None = None
        self._offset = 0.0  # of the server's clock
        self._left: list[Any] = []  # connections of the process that this one was forked from
        super().__init__()
        self._check_version()

    # -- making and opening -------------------------------------------------------------------------------------

    def now(self) -> float:
        return time.monotonic() + self._offset

    def settings(self) -> str | None:
        return self._setting("settings")

    def create(self, settings: str) -> str:
        try:
            self._begin(PATIENCE)
            if self._setting("settings") is None:
                connection = self._connection()
                connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{self.schema}"')
                self._make_tables(connection)
                rows = {"settings": settings, "version": str(VERSION), "identity": uuid4().hex}
                for row in rows.items():
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
        found = self._read("SELECT to_regclass(?)", (f'"{self.schema}".settings',))
        if found[0][0] is None:
            return None
        rows = self._read("SELECT value FROM settings WHERE key = ?", (key,))
        if not rows:
            raise RisingBanditsError(f"{self.name} is damaged: it holds no {key}.")
        return str(rows[0][0])

    def _check_version(self) -> None:
        text = self._setting("version")
        if text is None:
            return
        if not text.isdecimal():
            raise RisingBanditsError(f"{self.name} is damaged: its version is {shown(text)}.")
        self._check_tables(int(text))

    def _connection(self) -> psycopg.Connection[Any]:
        if os.getpid() != self._pid:  # a connection must not be used by two processes
            self._left.append(self._writer)
            self._writer, self._pid = None, os.getpid()
        if self._writer is None or self._writer.closed:
            options = [f"-c idle_in_transaction_session_timeout={_LONGEST_TURN}s"]
            options += ["-c default_transaction_read_only=on"] if self._readonly else []
            self._writer = connect(self._psycopg, self._address, self.schema, *options)
            self._cursor = self._writer
            self._set_clock(self._writer)
        return self._writer

    def _set_clock(self, connection: psycopg.Connection[Any]) -> None:
        row = connection.execute(_CLOCK).fetchone()
        assert row is not None
        self._offset = row[0] - time.monotonic()

    def _complain(self, error: Exception) -> NoReturn:
        text = complaint(self._psycopg, self._address, error)
        if getattr(error, "sqlstate", None) == _LOCK_NOT_AVAILABLE:
            raise StoreBusy(f"{self.name} has been held by another worker for too long; nothing was written.") from None
        if isinstance(error, self._psycopg.OperationalError) and (self._writer is None or self._writer.closed):
            raise StoreUnreachable(f"{self.name} cannot be reached: {text}.") from None
        raise RisingBanditsError(f"{self.name} cannot be used: {text}.") from None

    # -- writing ------------------------------------------------------------------------------------------------

    def _begin(self, patience: float) -> None:
        if self._readonly:
            raise RisingBanditsError(f"{self.name} was opened read-only.")
        connection = self._connection()
        if connection.info.transaction_status != self._psycopg.pq.TransactionStatus.IDLE:
            connection.execute("ROLLBACK")  # left open by an interrupt
        # Read committed, whatever the server's default: what others have committed before our turn must be seen.
        connection.execute(
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"
            f"SET LOCAL lock_timeout = {max(1, round(1000 * min(patience, _LONGEST_WAIT)))};"
            f"SELECT pg_advisory_xact_lock({_LOCKS}, {self._lock_key})"
        )

    def rollback(self) -> None:
        writer = self._writer
        if writer is None or writer.closed or writer.info.transaction_status == self._psycopg.pq.TransactionStatus.IDLE:
            return
        try:
            writer.execute("ROLLBACK")
        except self._psycopg.Error:
            writer.close()

    def close(self) -> None:
        if self._writer is not None and os.getpid() == self._pid:
            self._writer.close()
        self._writer = None
