"""A store that lasts as long as the process."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from uuid import uuid4

from risingbandits._core.platform import Clock
from risingbandits.allocation.events import Event
from risingbandits.allocation.stores.base import PATIENCE


class MemoryStore:
    """Events for the lifetime of the process: the last ones as they are, the others packed in columns of numbers.

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
        self._blocks: list[_Block] = []
        self._events: list[Event] = []  # those after the blocks
        self._packed = 0  # how many events the blocks hold
        self._committed = 0

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
        self._committed = self._packed + len(self._events)
        if len(self._events) >= _BLOCK:
            self._blocks.append(_Block(self._events))
            self._packed, self._events = self._committed, []

    def rollback(self) -> None:
        del self._events[self._committed - self._packed :]

    def events(self, after: int = 0, limit: int | None = None) -> Iterator[Event]:
        last = self._committed if limit is None else min(self._committed, after + limit)
        begin = 0
        for block in self._blocks:
            if begin + block.length > after and begin < last:
                yield from block.events(max(0, after - begin), last - begin)
            begin += block.length
        yield from self._events[max(0, after - begin) : max(0, last - begin)]

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


class _Block:
    """Packed events: about 50 bytes each instead of 300."""

    def __init__(self, events: list[Event]) -> None:
        columns = list(zip(*events, strict=True))
        self.length = len(events)
        self._numbers = [array(code, columns[i]) for i, code in ((0, "q"), (1, "d"), (4, "q"), (5, "q"))]
        self._values = [array("d", (_NONE if x is None else x for x in columns[i])) for i in (6, 7)]
        self._names = [sorted(set(columns[i])) for i in (2, 3, 8, 9)]
        self._texts = []
        for names, i in zip(self._names, (2, 3, 8, 9), strict=True):
            number = {name: j for j, name in enumerate(names)}
            self._texts.append(array("H", (number[name] for name in columns[i])))

    def events(self, first: int, end: int) -> Iterator[Event]:
        for i in range(first, min(end, self.length)):
            id, moment, pull, n = (column[i] for column in self._numbers)
            kind, arm, text, worker = (names[at[i]] for names, at in zip(self._names, self._texts, strict=True))
            reward, cost = (None if column[i] != column[i] else column[i] for column in self._values)
            yield Event(int(id), moment, kind, arm, int(pull), int(n), reward, cost, text, worker)


_BLOCK = 8192  # events; fewer than 65,536 so that a number of two bytes finds any text of a block
_NONE = float("nan")  # rewards and costs are finite, so this can stand for None
