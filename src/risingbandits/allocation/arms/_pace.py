"""How long pulls take and how many run at a time: whether another one fits, and how long all will take."""

from __future__ import annotations

import statistics
from collections import defaultdict, deque
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from risingbandits.allocation.events import Event
    from risingbandits.allocation.stores.base import Store
    from risingbandits.allocation.stores.reader import StoreReader

_RECENT = 5  # pulls of an arm
_MIX = 20  # pulls of any arm: those that will be made are taken to be like them
_READ = 2_000  # events of a store, the last ones


class Pace:
    """What pulls took lately, arm by arm, by the times of the events of a store: other workers make pulls too.

    The last events of the store are read at once, later ones by `look`, with the ``lock`` of those who use it as well.
    """

    def __init__(
        self, store: Store | StoreReader | None = None, lock: AbstractContextManager[Any] | None = None
    ) -> None:
        self._store, self._lock = store, lock or nullcontext()
        with self._lock:
            self._seen = 0 if store is None else max(0, store.last_id() - _READ)
        self._took: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_RECENT))
        self._began: dict[int, float] = {}
        self._mix: deque[tuple[str, int]] = deque(maxlen=_MIX)  # of the last pulls: the arm, and how many ran then
        self.look()

    def look(self) -> None:
        """Take in what the store has been told since the last look."""
        if self._store is not None:
            with self._lock:
                self.take(self._store.events(self._seen))

    def take(self, events: Iterable[Event]) -> None:
        """Take in the next events."""
        for event in events:
            self._seen = event.id
            if event.kind == "ask":
                self._began[event.id] = event.time
            elif event.kind in ("tell", "fail", "expire", "finish"):
                at_a_time = len(self._began)
                began = self._began.pop(event.pull, None)
                if began is not None and event.kind == "tell":
                    self.note(event.arm, event.time - began, at_a_time)

    def note(self, arm: str, seconds: float, at_a_time: int = 1) -> None:
        """A pull of an arm took ``seconds``, while ``at_a_time`` pulls ran in total."""
        self._took[arm].append(max(0.0, seconds))
        self._mix.append((arm, at_a_time))

    def expected(self, arm: str) -> float:
        """Seconds that the next pull of an arm may take: its longest recent one, or those of others."""
        if arm in self._took:
            return max(self._took[arm])
        return statistics.median(max(took) for took in self._took.values()) if self._took else 0.0

    def shortest(self) -> float:
        """The same of the quickest arm."""
        return min((max(took) for took in self._took.values()), default=0.0)

    # -- for the time that all will take ------------------------------------------------------------------------

    def usual(self, arm: str) -> float | None:
        """Typical recent seconds of a pull of an arm; for an arm that was not pulled, those of others."""
        return statistics.median(self._took[arm]) if arm in self._took else self.seconds()

    def seconds(self) -> float | None:
        """Seconds of a pull, for the recent mix of arms; one pull that hangs makes no difference."""
        arms = self.lately()
        return sum(statistics.median(self._took[arm]) for arm in arms) / len(arms) if arms else None

    def workers(self) -> float:
        """Pulls that are made at a time, lately."""
        return statistics.fmean(count for _, count in self._mix) if self._mix else 1.0

    def lately(self) -> list[str]:
        """The arms of the last pulls."""
        return [arm for arm, _ in self._mix]
