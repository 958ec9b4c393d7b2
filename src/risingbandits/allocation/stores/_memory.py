"""A store that lasts as long as the process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from uuid import uuid4

from risingbandits._core.platform import Clock
from risingbandits.allocation.events import Event
from risingbandits.allocation.stores.base import PATIENCE


class MemoryStore:
    """Events for the lifetime of the process.

    Parameters
    ----------
    clock : callable
        What tells the time.
    """

    name = "memory"
    shared = False
    one_machine = True
    directory: Path | None = None

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self.now = clock or Clock()
        self.durability = "process"
        self._settings: str | None = None
        self._identity = uuid4().hex
        self._events: list[Event] = []
        self._committed = 0  # how many of them are kept

    def settings(self) -> str | None:
        return self._settings

    def identity(self) -> str:
        return self._identity

    def create(self, settings: str) -> str:
        if self._settings is None:
            self._settings = settings
        return self._settings

    def begin(self, after: int, patience: float = PATIENCE) -> Sequence[Event]:
        return () if after == self._committed else list(self.events(after))

    def append(self, event: Event) -> None:
        self._events.append(event)

    def commit(self) -> None:
        self._committed = len(self._events)

    def rollback(self) -> None:
        del self._events[self._committed :]

    def events(self, after: int = 0, limit: int | None = None) -> Iterator[Event]:
        yield from self._events[after : self._committed if limit is None else min(self._committed, after + limit)]

    def event(self, id: int) -> Event | None:
        return next(self.events(id - 1, 1), None) if 1 <= id <= self._committed else None

    def last_id(self) -> int:
        return self._committed

    def snapshot(self) -> tuple[int, bytes] | None:
        return None

    def snapshot_id(self) -> int:
        return 0

    def keep_snapshot(self, id: int, data: bytes) -> None:
        """Nothing: memory is never opened again."""

    def close(self) -> None:
        """Nothing to close."""
