"""What the stores in SQL databases share: the tables, and how events are written to and read from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NoReturn

from risingbandits._core.errors import RisingBanditsError
from risingbandits.allocation.events import Event

_TABLES = (
    "CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE events (id {integer} PRIMARY KEY, time {real} NOT NULL, kind TEXT NOT NULL, arm TEXT NOT NULL,
       pull {integer} NOT NULL, n {integer} NOT NULL, reward {real}, cost {real}, text TEXT NOT NULL,
       worker TEXT NOT NULL)""",
    "CREATE TABLE snapshots (event {integer} PRIMARY KEY, data {bytes} NOT NULL)",
)
#: Statements that turn version v of the tables into v + 1, for v = 1, 2, ...; the current version is one more than
#: there are steps.
MIGRATIONS: Sequence[Sequence[str]] = ()
_COLUMNS = ", ".join(Event._fields)
_NEW = f"SELECT {_COLUMNS} FROM events WHERE id > ? ORDER BY id"
_INSERT = f"INSERT INTO events ({_COLUMNS}) VALUES ({', '.join('?' for _ in Event._fields)})"


class SqlStore:
    """Base of the stores in SQL databases. A subclass has ``_writer``, the connection within begin and commit."""

    shared = True
    name: str
    mark: ClassVar[str]  # what stands for a value in a statement, which is written as ? here
    batch: ClassVar[int]  # events that are read at once
    types: ClassVar[dict[str, str]]  # of columns
    _trouble: tuple[type[Exception], ...]  # what the database raises
    _migrations: Sequence[Sequence[str]]
    _writer: Any

    def _connection(self) -> Any:
        """The connection to read from."""
        raise NotImplementedError

    def _begin(self) -> None:
        """Wait for the turn to write, and begin a transaction."""
        raise NotImplementedError

    def _complain(self, error: Exception) -> NoReturn:
        raise NotImplementedError

    # -- versions of the tables ---------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The version of the tables that this program writes."""
        return len(self._migrations) + 1

    def _make_tables(self, connection: Any) -> None:
        tables = (statement.format(**self.types) for statement in _TABLES)
        for statement in (*tables, *(line for step in self._migrations for line in step)):
            connection.execute(statement)

    def _refuse_newer(self, version: int) -> None:
        if version > self.version:
            self.close()
            raise RisingBanditsError(
                f"{self.name} has version {version}, this program knows versions up to {self.version}: update it."
            )

    # -- writing ------------------------------------------------------------------------------------------------

    def begin(self, after: int) -> list[Event]:
        try:
            self._begin()
            return list(map(Event._make, self._writer.execute(_NEW.replace("?", self.mark), (after,))))
        except self._trouble as error:
            self.rollback()
            self._complain(error)
        except BaseException:
            self.rollback()
            raise

    def append(self, event: Event) -> None:
        self._write(_INSERT, event)

    def commit(self) -> None:
        self._write("COMMIT")

    def keep_snapshot(self, id: int, data: bytes) -> None:
        self.begin(id)
        try:
            self._write("DELETE FROM snapshots WHERE event <= ?", (id,))
            self._write("INSERT INTO snapshots VALUES (?, ?)", (id, data))
        except RisingBanditsError:
            self.rollback()
            raise
        self.commit()

    def _write(self, statement: str, values: tuple[Any, ...] = ()) -> None:
        try:
            self._writer.execute(statement.replace("?", self.mark), values)
        except self._trouble as error:
            self._complain(error)

    def rollback(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

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
        # In batches: while a statement reads, SQLite cannot begin its log anew, and it would grow.
        while limit is None or limit > 0:
            size = self.batch if limit is None else min(self.batch, limit)
            rows = self._read(f"{_NEW} LIMIT ?", (after, size))
            yield from map(Event._make, rows)
            if len(rows) < size:
                return
            after = rows[-1][0]
            limit = None if limit is None else limit - size

    def event(self, id: int) -> Event | None:
        rows = self._read(f"SELECT {_COLUMNS} FROM events WHERE id = ?", (id,))
        return Event._make(rows[0]) if rows else None

    def last_id(self) -> int:
        return self._number("SELECT coalesce(max(id), 0) FROM events")

    def snapshot(self) -> tuple[int, bytes] | None:
        rows = self._read("SELECT event, data FROM snapshots ORDER BY event DESC LIMIT 1")
        return (rows[0][0], rows[0][1]) if rows and isinstance(rows[0][1], bytes) else None

    def snapshot_id(self) -> int:
        return self._number("SELECT coalesce(max(event), 0) FROM snapshots")
