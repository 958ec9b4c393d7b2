"""What the page of a store and its live view show, folded from the events as they come.

`Follower` reads what is new while others write to the store, and waits while the store cannot be read.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from risingbandits._core.errors import hide_password
from risingbandits._core.tables import TextTable
from risingbandits._core.types import Floats, Ints
from risingbandits.allocation._arm_state import ArmState, Flight
from risingbandits.allocation._ledger import Ledger
from risingbandits.allocation.arms._pace import Pace
from risingbandits.allocation.events import Event
from risingbandits.allocation.settings import Settings
from risingbandits.allocation.status._progress import Progress, abandoned, progress_of
from risingbandits.allocation.status._status import allocation_table, arms_table
from risingbandits.allocation.stores.reader import StoreReader, open_reader

_FAILURES_KEPT = 100
_MOST_AT_ONCE = 20_000  # events read in one go, so that a live view of a long history stays alive


class Decision(NamedTuple):
    """A pull that was given out, and what was known about the arms when it was decided."""

    event: Event
    known: TextTable
    why: str = ""


class AllocationLog:
    """The fold of an allocation's events for readers, from the settings that it was created with.

    ``one_machine`` says whether all that use its store are on this one.
    """

    def __init__(self, settings: Settings, one_machine: bool = False) -> None:
        self.ledger = Ledger(settings)
        self.one_machine = one_machine
        self.first_time: float | None = None
        self.last_time: float | None = None
        self.failures: deque[Event] = deque(maxlen=_FAILURES_KEPT)
        self.n_failures = 0
        self.extensions: list[Event] = []  # by which settings were changed
        self.decision: Decision | None = None
        self.pace = Pace()
        self._costs = array("d")

    @property
    def last_id(self) -> int:
        """The number of the last event that was taken in."""
        return self.ledger.last_id

    def take(self, events: Iterable[Event]) -> int:
        """Take in the next events; return how many.

        For a told pull, its arm and cost are kept. Only the last decision among the events is explained, by the
        policy as it was just before.
        """
        batch = list(events)
        asked = max((at for at, event in enumerate(batch) if event.kind == "ask"), default=-1)
        for at, event in enumerate(batch):
            if at == asked:
                table = allocation_table(self.ledger)
                reason = table.why_next if table.next == event.arm else ""
                self.decision = Decision(event, table.text_table(), reason)
            self.ledger.apply(event)
            self._note(event)
        return len(batch)

    def _note(self, event: Event) -> None:
        if self.first_time is None:
            self.first_time = event.time
        self.last_time = event.time
        self.pace.take((event,))
        if event.kind == "tell":
            self._costs.append(event.cost or 0.0)
        elif event.kind in ("fail", "expire"):
            self.failures.append(event)
            self.n_failures += 1
        elif event.kind == "extend":
            self.extensions.append(event)

    # -- views --------------------------------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """The present ones."""
        return self.ledger.settings

    @property
    def unit(self) -> str:
        """What the budget counts: "pulls", "cost" or "seconds"."""
        return self.settings.budget.unit

    @property
    def arms(self) -> Sequence[ArmState]:
        """All arms, in the order in which they were named."""
        return self.ledger.arms

    def abandoned(self) -> list[Flight]:
        """The pulls in flight whose process has ended, as far as this machine knows."""
        return abandoned(self.ledger, self.one_machine)

    def progress(self, now: float | None = None) -> Progress:
        """How far it is; see `progress_of`. Without ``now``, for a page that is kept, processes are not looked at."""
        return progress_of(self.ledger, self.pace, now, () if now is None else self.abandoned())

    def tells(self) -> tuple[Ints, Floats]:
        """Of each told pull: the number of its arm, and what it took of the budget."""
        arms = np.array(self.ledger.told_arms, dtype=np.int64)
        return arms, np.ones(arms.size) if self.unit == "pulls" else np.array(self._costs)

    def spent_by_arm(self) -> Floats:
        """What each arm has received from the budget."""
        if self.unit == "pulls":
            return np.array([len(arm.rewards) - arm.warm for arm in self.arms], dtype=float)
        return np.array([arm.cost for arm in self.arms], dtype=float)

    def arms_table(self, most: int, known: TextTable | None = None) -> TextTable:
        """What is ``known`` about the arms, by default now: the ``most`` arms that got most, in that order."""
        table = arms_table(self.ledger) if known is None else known
        order = np.argsort(-self.spent_by_arm(), kind="stable")
        return table._replace(rows=[table.rows[arm] for arm in order if arm < len(table.rows)][:most])


class Follower:
    """A log of an allocation that is brought up to date by `poll`.

    The store, an SQLite file or a ``postgresql://`` address, must exist and be readable now; later problems are
    tolerated: ``trouble`` says why it could not be read at the last `poll`, and is empty if it could. ``shown_store``
    is its name without a password, ``log`` what was read so far.
    """

    def __init__(self, store: str | Path) -> None:
        self.store = str(store)
        self.shown_store = hide_password(self.store)
        self.trouble = ""
        self._reader: StoreReader | None = open_reader(self.store)
        self.log = AllocationLog(self._reader.settings, self._reader.one_machine)

    def poll(self) -> int:
        """Read what is new, at most some thousand events; return how many. Never raises: see ``trouble``."""
        try:
            if self._reader is None:
                self._reader = open_reader(self.store)
            taken = self._read(self._reader)
        except Exception as error:  # busy, locked, moved away, a server that restarts: all of them may pass
            self.trouble = f"The store cannot be read now ({_first_line(error)}); trying again."
            self.close()
            return 0
        self.trouble = ""
        return taken

    def read_all(self) -> None:
        """Read all events; raises what `poll` tolerates."""
        assert self._reader is not None
        while self._read(self._reader):
            pass

    def _read(self, reader: StoreReader) -> int:
        if reader.last_id() < self.log.last_id:  # another store was put in its place
            self.log = AllocationLog(reader.settings, reader.one_machine)
        return self.log.take(islice(reader.events(self.log.last_id, _MOST_AT_ONCE), _MOST_AT_ONCE))

    def close(self) -> None:
        """Close the store."""
        reader, self._reader = self._reader, None
        if reader is not None:
            with suppress(Exception):  # it may be broken already, which `trouble` says
                reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
