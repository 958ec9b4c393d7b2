"""How long pulls take, to know whether another one fits into the time that is left."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict, deque
from typing import TYPE_CHECKING

from risingbandits.allocation.pull import Pull

if TYPE_CHECKING:
    from risingbandits.allocation.allocator import Allocator

_RECENT = 5  # pulls of an arm
_READ = 2_000  # events of a store, the last ones


class Pace:
    """What pulls took lately, arm by arm.

    Examples
    --------
    >>> pace = Pace()
    >>> pace.expected("a"), pace.shortest()
    (0.0, 0.0)
    >>> pace.note("a", 3.0), pace.note("a", 1.0), pace.note("b", 10.0)
    (None, None, None)
    >>> pace.expected("a"), pace.expected("b"), pace.expected("new"), pace.shortest()
    (3.0, 10.0, 6.5, 3.0)
    """

    def __init__(self) -> None:
        self._took: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_RECENT))
        self._began: dict[int, float] = {}

    @classmethod
    def of(cls, allocator: Allocator) -> Pace:
        """As the last events of a store tell: other workers have made pulls, too."""
        pace, asked = cls(), {}
        for event in allocator.store.events(max(0, allocator.store.last_id() - _READ)):
            if event.kind == "ask":
                asked[event.id] = event.time
            elif event.kind == "tell" and event.pull in asked:
                pace.note(event.arm, event.time - asked[event.pull])
        return pace

    def begin(self, pull: Pull) -> None:
        """A pull begins here."""
        self._began[pull.id] = time.monotonic()

    def end(self, pull: Pull) -> None:
        """It has given its reward."""
        if pull.id in self._began:
            self.note(pull.arm, time.monotonic() - self._began.pop(pull.id))

    def note(self, arm: str, seconds: float) -> None:
        """A pull of an arm took so long."""
        self._took[arm].append(max(0.0, seconds))

    def expected(self, arm: str) -> float:
        """Seconds that the next pull of an arm may well take: its longest lately, or what the others take."""
        if arm in self._took:
            return max(self._took[arm])
        return statistics.median(max(took) for took in self._took.values()) if self._took else 0.0

    def shortest(self) -> float:
        """The same of the quickest arm."""
        return min((max(took) for took in self._took.values()), default=0.0)
