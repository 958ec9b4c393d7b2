"""The entries of a memory in a schema of a PostgreSQL database, for runs on several machines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from risingbandits._core.errors import RisingBanditsError
from risingbandits.allocation.prior.shelves import parse_entry
from risingbandits.allocation.prior.tasks import EarlierTask
from risingbandits.allocation.stores.base import StoreUnreachable
from risingbandits.allocation.stores.postgres import complaint, connect, load_psycopg, split_address

if TYPE_CHECKING:
    import psycopg

_SCHEMA = "risingbandits_memory"  # not that of stores, so that one address can name both
_LOCKS = 0x5243  # for those who make the table


class PostgresShelf:
    """A table of entries, opened and closed for each request: one when a run starts, and one when it ends.

    Parameters
    ----------
    address : str
        As stores have it, ``postgresql://user@host/database``; with ``?schema=name`` in another schema than
        "risingbandits_memory", so that one database can hold the memories of many projects.
    """

    kind = "a memory"

    def __init__(self, address: str) -> None:
        self._driver = load_psycopg("a memory")
        self._address, self.schema = split_address(address, _SCHEMA)
        self.name = f"the memory {self.schema} in PostgreSQL"

    def exists(self) -> bool:
        with self._connection() as connection:
            return self._is_there(connection)

    def entries(self) -> Iterator[EarlierTask]:
        return self._read("SELECT name, entry FROM remembered")

    def entries_of(self, identity: str) -> Iterator[EarlierTask]:
        return self._read("SELECT name, entry FROM remembered WHERE identity = %s", identity)

    def put(self, name: str, identity: str | None, entry: bytes) -> str:
        with self._connection() as connection, connection.transaction():
            if not self._is_there(connection):
                self._make(connection)
            connection.execute("DELETE FROM remembered WHERE identity = %s AND name <> %s", (identity, name))
            connection.execute(
                "INSERT INTO remembered (name, identity, entry) VALUES (%s, %s, %s)"
                " ON CONFLICT (name) DO UPDATE SET identity = excluded.identity, entry = excluded.entry",
                (name, identity, entry),
            )
        return f"{name} in {self.name}"

    def remove(self, name: str) -> None:
        with self._connection() as connection:
            connection.execute("DELETE FROM remembered WHERE name = %s", (name,))

    def _read(self, question: str, *values: str) -> Iterator[EarlierTask]:
        with self._connection() as connection:
            rows = connection.execute(question, values).fetchall() if self._is_there(connection) else []
        for name, entry in rows:
            yield parse_entry(entry, f"{name} in {self.name}")

    def _is_there(self, connection: psycopg.Connection[Any]) -> bool:
        row = connection.execute("SELECT to_regclass(%s)", (f'"{self.schema}".remembered',)).fetchone()
        return row is not None and row[0] is not None

    def _make(self, connection: psycopg.Connection[Any]) -> None:
        """Create the table, and the schema if there is none: not everyone who may use a schema may create one."""
        connection.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", (_LOCKS, self.schema))
        found = connection.execute("SELECT to_regnamespace(%s)", (f'"{self.schema}"',)).fetchone()
        if found is None or found[0] is None:
            connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{self.schema}"')
        connection.execute(
            "CREATE TABLE IF NOT EXISTS remembered (name TEXT PRIMARY KEY, identity TEXT, entry BYTEA NOT NULL)"
        )

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[Any]]:
        """A short-lived connection; errors are one sentence, without the password."""
        try:
            connection = connect(self._driver, self._address, self.schema)
        except self._driver.Error as error:
            why = complaint(self._driver, self._address, error)
            raise StoreUnreachable(f"{self.name} cannot be reached: {why}.") from None
        try:
            yield connection
        except self._driver.Error as error:
            why = complaint(self._driver, self._address, error)
            raise RisingBanditsError(f"{self.name} cannot be used: {why}.") from None
        finally:
            connection.close()
