"""What the stores in SQL databases share: the tables, and how events are written to and read from them.

Every event has a checksum that depends on all events before it, so that no damage goes unnoticed. The chain begins with
the settings. Events that are changed, removed or inserted by a faulty disk or copy no longer match what follows. It
does not protect against forged events.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, NamedTuple, NoReturn
from zlib import crc32

from risingbandits._core.errors import RisingBanditsError
from risingbandits.allocation.events import Event, new_event
from risingbandits.allocation.stores.base import PATIENCE

_NUMBERS = struct.Struct("<qdqqdd").pack  # in one byte order, so that a store can move between machines
_NONE = float("nan")  # rewards and costs are finite, so this can stand for None
VERSION = 3  # of the tables
_TABLES = (
    "CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE events (id {integer} PRIMARY KEY, time {real} NOT NULL, kind TEXT NOT NULL, arm TEXT NOT NULL,
       pull {integer} NOT NULL, n {integer} NOT NULL, reward {real}, cost {real}, text TEXT NOT NULL,
       worker TEXT NOT NULL, checksum {integer} NOT NULL)""",
    "CREATE TABLE snapshots (event {integer} PRIMARY KEY, data {bytes} NOT NULL)",
)
_COLUMNS = ", ".join(Event._fields)
_FROM = f"SELECT {_COLUMNS}, checksum FROM events WHERE id >= ? ORDER BY id"
_INSERT = f"INSERT INTO events ({_COLUMNS}, checksum) VALUES ({', '.join('?' for _ in range(len(Event._fields) + 1))})"


def checksum(event: Event, before: int) -> int:
    """The checksum of ``event`` after an event with the checksum ``before``.

    >>> checksum(Event(1, 10.5, "ask", "a", 1, 1), 0) == checksum(Event(1, 10.5, "ask", "a", 1, 1), 1)
    False
    """
    id, moment, kind, arm, pull, n, reward, cost, text, worker = event
    if reward is None:
        reward = _NONE
    if cost is None:
        cost = _NONE
    words = f"{kind}\0{arm}\0{text}\0{worker}".encode()
    return crc32(words, crc32(_NUMBERS(id, moment, pull, n, reward, cost), before))


class Link(NamedTuple):
    """Where the chain of checksums stands."""

    id: int  #: of the last event, 0 before the first
    sum: int  #: its checksum, before the first event that of the settings


class SqlStore(ABC):
    """Base of the stores in SQL databases. A subclass starts transactions and has ``_cursor``."""

    shared = True
    name: str
    mark: ClassVar[str]  # what stands for a value in a statement, which is written as ? here
    batch: ClassVar[int]  # events that are read at once
    types: ClassVar[dict[str, str]]  # of columns
    _trouble: tuple[type[Exception], ...]  # what the database raises
    _cursor: Any  # what executes the statements between begin and commit

    def __init__(self) -> None:
        self._from, self._insert = (statement.replace("?", self.mark) for statement in (_FROM, _INSERT))
        self._kept: Link | None = None  # at the last event that is known to be in the store
        self._chain = Link(0, 0)  # at the last one that was appended in this transaction

    @abstractmethod
    def _connection(self) -> Any:
        """The connection to read from."""

    @abstractmethod
    def _begin(self, patience: float) -> None:
        """Wait for the turn to write, and start a transaction."""

    @abstractmethod
    def _complain(self, error: Exception) -> NoReturn:
        """Turn a database error into a sentence."""

    @abstractmethod
    def settings(self) -> str | None:
        """The settings that the store was created with, as JSON; None if it does not exist yet."""

    # -- the tables ---------------------------------------------------------------------------------------------

    def _make_tables(self, connection: Any) -> None:
        for statement in _TABLES:
            connection.execute(statement.format(**self.types))

    def _check_tables(self, version: int) -> None:
        """Raise an error for tables of another version."""
        if version != VERSION:
            self.close()
            known = f"version {VERSION}: update it" if version > VERSION else f"only version {VERSION}"
            raise RisingBanditsError(f"{self.name} has version {version}, this program reads {known}.")

    # -- writing ------------------------------------------------------------------------------------------------

    def begin(self, after: int, patience: float = PATIENCE) -> list[Event]:
        try:
            self._begin(patience)
            kept = self._kept
            if kept is not None and kept.id == after and self._untouched():
                self._chain = kept
                return []
            rows = self._cursor.execute(self._from, (after,)).fetchall()
            before = self._link_at(after, rows)
            new = rows[1:] if after else rows
            events = list(self._checked(new, before))
            self._chain = self._kept = Link(new[-1][0], new[-1][-1]) if new else before
        except self._trouble as error:
            self.rollback()
            self._complain(error)
        except BaseException:
            self.rollback()
            raise
        return events

    def _untouched(self) -> bool:
        """Whether certainly no other process has written since the last transaction of this one."""
        return False

    def _link_at(self, after: int, rows: list[Any]) -> Link:
        """The chain at event ``after``, which must be that of the first row, unless it is 0."""
        if after == 0:
            return Link(0, crc32((self.settings() or "").encode()))
        if not rows or rows[0][0] != after:
            raise RisingBanditsError(f"{self.name} is not the same store any more: event {after} is gone.")
        found = Link(after, rows[0][-1])
        if self._kept is not None and self._kept.id == after and self._kept != found:
            raise RisingBanditsError(f"{self.name} is not the same store any more: event {after} is different.")
        return found

    def _checked(self, rows: Iterable[Any], before: Link) -> Iterator[Event]:
        """The events that follow in the chain, from rows that end with their checksums."""
        id, last = before
        for row in rows:
            event, found = new_event(row[:-1]), row[-1]
            if event[0] != id + 1:
                raise RisingBanditsError(f"{self.name} is damaged: event {id + 1} is missing.")
            try:
                right = checksum(event, last) == found
            except (TypeError, ValueError, OverflowError, struct.error):
                right = False
            if not right:
                raise RisingBanditsError(f"{self.name} is damaged: event {event[0]} does not fit its checksum.")
            id, last = event[0], found
            yield event

    def append(self, event: Event) -> None:
        own = checksum(event, self._chain.sum)
        try:
            self._cursor.execute(self._insert, (*event, own))
        except self._trouble as error:
            self._complain(error)
        self._chain = Link(event[0], own)

    def commit(self) -> None:
        try:
            self._cursor.execute("COMMIT")
        except self._trouble as error:
            self._complain(error)
        self._kept = self._chain

    def keep_snapshot(self, id: int, data: bytes) -> None:
        try:
            self._begin(PATIENCE)
            self._write("DELETE FROM snapshots WHERE event <= ?", (id,))
            self._write("INSERT INTO snapshots VALUES (?, ?)", (id, data))
            self._write("COMMIT")
        except self._trouble as error:
            self._complain(error)
        finally:
            self.rollback()  # nothing is left to undo if all went well, but the turn to give away

    def _write(self, statement: str, values: tuple[Any, ...] = ()) -> None:
        try:
            self._cursor.execute(statement.replace("?", self.mark), values)
        except self._trouble as error:
            self._complain(error)

    @abstractmethod
    def rollback(self) -> None:
        """Roll back the transaction."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

    # -- reading ------------------------------------------------------------------------------------------------

    def _read(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        try:
            rows: list[Any] = self._connection().execute(statement.replace("?", self.mark), values).fetchall()
            return rows
        except self._trouble as error:
            self._complain(error)

    def _number(self, statement: str) -> int:
        number = self._read(statement)[0][0]
        if not isinstance(number, int):
            raise RisingBanditsError(f"{self.name} is damaged: a number is missing.")
        return number

    def events(self, after: int = 0, limit: int | None = None) -> Iterator[Event]:
        before: Link | None = None
        # In batches: while a statement reads, SQLite cannot restart its log, and it would grow.
        while limit is None or limit > 0:
            size = self.batch if limit is None else min(self.batch, limit)
            # With the event before, to which the checksum of the first belongs.
            rows = self._read(f"{_FROM} LIMIT ?", (after, size + (after > 0)))
            if before is None:
                before = self._link_at(after, rows)
            new = rows[1:] if after else rows
            yield from self._checked(new, before)
            if len(new) < size:
                return
            before = Link(new[-1][0], new[-1][-1])
            after = before.id
            limit = None if limit is None else limit - size

    def event(self, id: int) -> Event | None:
        rows = self._read(f"SELECT {_COLUMNS} FROM events WHERE id = ?", (id,))
        return Event._make(rows[0]) if rows else None

    def identity(self) -> str:
        rows = self._read("SELECT value FROM settings WHERE key = 'identity'")
        if not rows:
            raise RisingBanditsError(f"{self.name} is damaged: it holds no identity.")
        return str(rows[0][0])

    def last_id(self) -> int:
        return self._number("SELECT coalesce(max(id), 0) FROM events")

    def snapshot(self) -> tuple[int, bytes] | None:
        rows = self._read("SELECT event, data FROM snapshots ORDER BY event DESC LIMIT 1")
        return (rows[0][0], rows[0][1]) if rows and isinstance(rows[0][1], bytes) else None

    def snapshot_id(self) -> int:
        return self._number("SELECT coalesce(max(event), 0) FROM snapshots")
