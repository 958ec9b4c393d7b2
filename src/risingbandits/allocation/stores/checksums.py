"""A checksum for every event that also depends on all events before it, so that no damage goes unnoticed.

The chain begins with the settings. Events that are changed, removed or inserted by a faulty disk or copy no longer
match what follows. It does not protect against forged events.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from zlib import crc32

from risingbandits._core.errors import RisingBanditsError
from risingbandits.allocation.events import Event, new_event

_NUMBERS = struct.Struct("<qdqqdd").pack  # in one byte order, so that a store can move between machines
_NONE = float("nan")  # rewards and costs are finite, so this can stand for None


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


def first_link(settings: str) -> int:
    """What the first event's checksum depends on."""
    return crc32(settings.encode())


class Chain:
    """Where the chain of a store stands: its last event, and how the next one must continue it.

    Parameters
    ----------
    name : str
        Of the store, for messages.
    first : callable
        Gives what the first event's checksum depends on.

    Attributes
    ----------
    id : int
        Of the last event, 0 before the first.
    last : int or None
        Its checksum; None before the first.
    """

    __slots__ = ("_first", "_name", "id", "last")

    def __init__(self, name: str, first: Callable[[], int]) -> None:
        self._name, self._first = name, first
        self.id = 0
        self.last: int | None = None

    def at(self, id: int, last: int | None) -> Chain:
        """The same chain at another event."""
        other = Chain(self._name, self._first)
        other.id, other.last = id, last
        return other

    def after(self, event: Event) -> int:
        """The checksum of the event that comes next."""
        return checksum(event, self._first() if self.last is None else self.last)

    def follow(self, rows: Iterable[Any]) -> Iterator[Event]:
        """The events that come next, from rows that end with their checksums."""
        for row in rows:
            event, found = new_event(row[:-1]), row[-1]
            if event[0] != self.id + 1:
                raise RisingBanditsError(f"{self._name} is damaged: event {self.id + 1} is missing.")
            try:
                right = self.after(event) == found
            except (TypeError, ValueError, OverflowError, struct.error):
                right = False
            if not right:
                raise RisingBanditsError(f"{self._name} is damaged: event {event[0]} does not fit its checksum.")
            self.id, self.last = event[0], found
            yield event
