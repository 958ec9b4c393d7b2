"""Where events are kept: the protocol of stores, and how one is found by its address."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from risingbandits._core.errors import RisingBanditsError, hide_password, shown
from risingbandits.allocation.events import Event
from risingbandits.allocation.pull import NoArmAvailable

PATIENCE = 60.0  #: seconds for which a writer waits for its turn, or for the server to come back
_LONGEST_NAME = 200  # bytes of a file's name: systems allow 255, and what lies beside a store has longer names


class StoreBusy(NoArmAvailable):
    """Another process has held the turn to write for too long. Nothing was written; you can retry."""


class StoreUnreachable(RisingBanditsError):
    """The server of a store does not answer. Nothing was acknowledged; you can retry."""


@runtime_checkable
class Store(Protocol):
    """An append-only list of events with one writer at a time.

    Opening a store only reads. ``begin`` waits for the turn to write and returns the events that are new since then;
    ``commit`` makes what was appended durable, atomically.
    """

    name: str  #: for messages
    shared: bool  #: whether other processes may write to it
    one_machine: bool  #: whether all that may are on this machine
    durability: str  #: "process" or "power"
    directory: Path | None  #: where files that belong to the store may be put

    def now(self) -> float:
        """The time on the store's host."""

    def settings(self) -> str | None:
        """The settings as JSON; None while the store does not exist."""

    def identity(self) -> str:
        """A random name, given when the store was created; what lies beside a store belongs to it by this name."""

    def create(self, settings: str) -> str:
        """Create the store; returns its settings, which are another process's if that one was first."""

    def begin(self, after: int, patience: float = PATIENCE) -> Sequence[Event]:
        """Wait for the turn to write, about ``patience`` seconds at most; the events later than ``after``.

        `StoreBusy` if the turn does not come, `StoreUnreachable` if a server does not answer.
        """

    def append(self, event: Event) -> None:
        """Add an event, within begin and commit."""

    def commit(self) -> None:
        """Keep what was appended."""

    def rollback(self) -> None:
        """Forget what was appended."""

    def events(self, after: int = 0, limit: int | None = None) -> Iterator[Event]:
        """The events later than ``after``, without a lock."""

    def event(self, id: int) -> Event | None:
        """One event."""

    def last_id(self) -> int:
        """The id of the last event, 0 if there is none."""

    def snapshot(self) -> tuple[int, bytes] | None:
        """The last snapshot and the id of the event after which it was taken."""

    def snapshot_id(self) -> int:
        """The id of the event after which the last snapshot was taken, 0 if there is none."""

    def keep_snapshot(self, id: int, data: bytes) -> None:
        """Store a snapshot, replacing older ones."""

    def close(self) -> None:
        """Close files and connections."""


def open_store(where: str | Path | Store | None, durability: str = "process", readonly: bool = False) -> Store:
    """The store at a path (SQLite) or an address ``postgresql://...``; None is memory."""
    if where is None:
        from risingbandits.allocation.stores._memory import MemoryStore

        return MemoryStore()
    if isinstance(where, Store):
        return where
    store: Any
    if is_server(where):
        from risingbandits.allocation.stores._postgres import PostgresStore

        store = PostgresStore(str(where), durability=durability, readonly=readonly)
    elif isinstance(where, str) and "://" in where:
        raise RisingBanditsError(
            f"store must be a path or an address postgresql://..., got {shown(hide_password(where))}."
        )
    elif isinstance(where, str | Path) and str(where).strip():
        from risingbandits.allocation.stores._sqlite import SqliteStore

        path = Path(where)
        if str(where) == ":memory:":
            raise RisingBanditsError("store must be None for an allocation in memory, got ':memory:'.")
        if str(where).startswith("file:"):
            raise RisingBanditsError(f"store must be a path, without file:, got {shown(str(where))}.")
        if "\0" in str(where) or len(os.fsencode(path.name)) > _LONGEST_NAME:
            raise RisingBanditsError(
                f"store must be a path without null characters whose last part has at most {_LONGEST_NAME} bytes, "
                f"got {shown(str(where))}."
            )
        store = SqliteStore(path, durability=durability, readonly=readonly)
    else:
        raise RisingBanditsError(f"store must be a path, an address postgresql://... or None, got {shown(where)}.")
    result: Store = store
    return result


STORE_MARK = ".store-"  # and the identity of a store: a file in the folder of checkpoints that belong to it


def check_folder_of(store: str, folder: Path | None) -> None:
    """Raise an error if a folder holds checkpoints of another store than the one with this identity ("": a new one)."""
    try:
        names = [] if folder is None else os.listdir(folder)
    except OSError:  # there is none yet
        return
    if any(name.startswith(STORE_MARK) and name != f"{STORE_MARK}{store}" for name in names):
        raise RisingBanditsError(
            f"{folder} holds checkpoints of another store: move it away, or use the store that it belongs to."
        )


@contextmanager
def closed_on_error(store: Store) -> Iterator[None]:
    """Inside, an error closes the store."""
    try:
        yield
    except BaseException:
        store.close()
        raise


def is_server(where: Any) -> bool:
    """Whether this is the address of a server.

    >>> is_server("postgresql://host/runs"), is_server("runs")
    (True, False)
    """
    return isinstance(where, str) and where.startswith(("postgresql://", "postgres://"))
