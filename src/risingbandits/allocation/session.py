"""One process at work on a store: each method is one transaction, so that it happens whole or not at all."""

from __future__ import annotations

import logging
import math
import numbers
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.allocation.arms.processes import is_gone, worker_name
from risingbandits.allocation.events import Event, new_event
from risingbandits.allocation.ledger import ArmState, Flight, Ledger
from risingbandits.allocation.pull import Pull, new_pull
from risingbandits.allocation.settings import Settings
from risingbandits.allocation.snapshot import fold, load_ledger, pack
from risingbandits.allocation.stores.base import Store

log = logging.getLogger("risingbandits")

_RECLAIM_EVERY = 1.0  # seconds between looks for processes that died
_LONGEST_TEXT = 2000
_LEVELS = {"fail": logging.WARNING, "expire": logging.WARNING, "renew": logging.DEBUG}
_SNAPSHOT_FIRST, _SNAPSHOT_GROWTH = 20_000, 1.25  # events: the work for snapshots stays a share of all work


class Session:
    """A ledger that is kept in step with a store. Safe for threads, and for a child process after a fork."""

    def __init__(self, store: Store, settings: Settings, ledger: Ledger | None = None) -> None:
        self.store, self.settings = store, settings
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)  # notified when a pull is told or given back, or arms change
        self.waiting = 0  # threads that wait for it
        self.earliest = 0.0  # nothing expires before
        self._seconds = settings.budget.seconds is not None
        self._dirty = False  # whether the ledger may be ahead of the store
        self._next_reclaim = 0.0
        self._pid, self._worker = os.getpid(), worker_name()
        self._ledger: Ledger | None = load_ledger(store, settings, ledger)
        self._next_snapshot = _next_snapshot(store.snapshot_id())

    def ledger(self) -> Ledger:
        """The ledger with what other processes have done."""
        with self.lock:
            ledger = self._ledger
            if ledger is None or self.store.shared:
                ledger = self._ledger = load_ledger(self.store, self.settings, ledger)
            return ledger

    def looks_changed(self) -> bool:
        """Whether another process has written, or a lease may have ended, since the last look."""
        ledger = self._ledger
        return ledger is None or self.store.last_id() != ledger.last_id or self.store.now() >= self.earliest

    # -- transactions -------------------------------------------------------------------------------------------

    def ask(self) -> Pull | str | None:
        """A pull, None if there will be none, or the reason why there is none now."""
        with self.lock:
            try:
                ledger = self._begin()
                moment = self.store.now()
                if moment >= self.earliest:
                    self._expire(ledger, moment)
                answer = self._choose(ledger, moment)
                self.store.commit()
            except BaseException:
                self._abandon()
                raise
            if ledger.last_id >= self._next_snapshot:
                self._take_snapshot(ledger)
            return answer

    def _choose(self, ledger: Ledger, moment: float) -> Pull | str | None:
        if not ledger.may_go_on:
            if ledger.finished:
                return None
            if ledger.committed:
                return f"the last {len(ledger.in_flight)} pulls of the budget are in flight."
        before = ledger.choice
        self._dirty = True
        arm = ledger.decide()
        if arm is None:
            return f"all arms that may be pulled are in flight ({len(ledger.in_flight)}) or masked."
        id = ledger.last_id + 1
        if arm.flight is not None:
            if before is None:
                self.store.append(Event(id, moment, "wait", arm.name, worker=self._worker))
                ledger.last_id = id  # the decision itself is made
            return f"the best arm, {shown(arm.name)}, is in flight."
        n = len(arm.rewards) + 1
        event = new_event((id, moment, "ask", arm.name, id, n, None, None, "", self._worker))
        self.store.append(event)
        flight = ledger.give(event, arm)
        if flight.deadline < self.earliest:
            self.earliest = flight.deadline
        return new_pull((id, arm.name, n, flight.attempt))

    def tell(self, pull: Pull | int, reward: float, cost: float | None) -> bool:
        """Whether the reward counts; False if its (arm, n) is known."""
        with self.lock:
            try:
                ledger = self._begin()
                flight = ledger.countable(pull[0] if isinstance(pull, Pull) else self._id(ledger, pull))
                if flight is None:
                    self._id(ledger, pull)
                    self.store.rollback()
                    return False
                arm = flight.arm
                if isinstance(pull, Pull) and (pull[1] != arm.name or pull[2] != flight.n):
                    raise RisingBanditsError(f"{pull} is not from {self.store.name}, where it is {flight.pull}.")
                moment = self.store.now()
                if cost is None:
                    cost = max(0.0, moment - flight.asked) if self._seconds else 1.0
                self._dirty = True
                id = ledger.last_id + 1
                event = new_event((id, moment, "tell", arm.name, flight.id, flight.n, reward, cost, "", self._worker))
                self.store.append(event)
                ledger.apply_tell(event, arm)
                self.store.commit()
            except BaseException:
                self._abandon()
                raise
            if self.waiting:
                self.changed.notify_all()
            if id >= self._next_snapshot:
                self._take_snapshot(ledger)
            return True

    def give_back(self, pull: Pull | int, reason: str, blame: bool) -> bool:
        """End a pull without a reward; ``blame`` counts it as a failure of the arm. False if it is not in flight."""
        with self._turn() as ledger:
            flight = ledger.in_flight.get(self._id(ledger, pull))
            if flight is None:
                return False
            arm = flight.arm
            self._note(ledger, "fail" if blame else "expire", arm, flight, reason)
            if arm.failures >= self.settings.retries and arm.retired is None:
                why = f"failed {arm.failures} times in a row" + (f": {reason}" if reason else "")
                self._note(ledger, "retire", arm, text=why)
                log.warning("%s is retired: it %s", arm.name, why)
            return True

    def renew(self, pull: Pull | int) -> bool:
        """Extend a lease; False if the pull is not in flight."""
        with self._turn() as ledger:
            flight = ledger.in_flight.get(self._id(ledger, pull))
            if flight is not None:
                self._note(ledger, "renew", flight.arm, flight)
            return flight is not None

    def add(self, name: str) -> None:
        """A new arm."""
        with self._turn() as ledger:
            if name in ledger.by_name:
                raise RisingBanditsError(f"arm {shown(name)} exists already.")
            self._note(ledger, "add", name)

    def change(self, kind: str, name: str, reason: str = "") -> None:
        """Retire, mask or unmask an arm; nothing if it is so already."""
        with self._turn() as ledger:
            arm = ledger.arm(name)
            if not (arm.retired is not None if kind == "retire" else arm.masked == (kind == "mask")):
                self._note(ledger, kind, arm, text=reason)

    # -- the store ----------------------------------------------------------------------------------------------

    def _begin(self) -> Ledger:
        """Wait for the turn to write; the ledger, up to date."""
        if os.getpid() != self._pid:  # a fork: the child is a worker of its own
            self._pid, self._worker = os.getpid(), worker_name()
        ledger = self._ledger
        if ledger is None:
            ledger = self._ledger = load_ledger(self.store, self.settings)
        new = self.store.begin(ledger.last_id)
        if new:
            self._dirty = True
            fold(ledger, new, self.store.name)
            self.earliest = min(self.earliest, new[0].time + self.settings.lease)
            if self.settings.reclaim:
                self.earliest = min(self.earliest, self._next_reclaim)
        self._dirty = False
        return ledger

    @contextmanager
    def _turn(self) -> Iterator[Ledger]:
        with self.lock:
            try:
                ledger = self._begin()
                yield ledger
                self.store.commit()
            except BaseException:
                self._abandon()
                raise
            self.changed.notify_all()

    def _abandon(self) -> None:
        """After an error: nothing is written, and a ledger that is ahead of the store is read again."""
        if self._dirty:
            self._ledger = None
            self.earliest = 0.0
        self.store.rollback()

    def _note(
        self,
        ledger: Ledger,
        kind: str,
        arm: ArmState | str,
        flight: Flight | None = None,
        text: str = "",
        moment: float | None = None,
    ) -> None:
        """Append an event and apply it."""
        self._dirty = True
        name = arm if isinstance(arm, str) else arm.name
        text = text[:_LONGEST_TEXT].encode(errors="replace").decode().replace("\0", "?")  # what any database takes
        id, n = (flight.id, flight.n) if flight is not None else (0, 0)
        moment = self.store.now() if moment is None else moment
        event = Event(ledger.last_id + 1, moment, kind, name, id, n, None, None, text, self._worker)
        self.store.append(event)
        ledger.apply(event)
        log.log(_LEVELS.get(kind, logging.INFO), "%s %s%s", kind, name, f": {text}" if text else "")

    def _id(self, ledger: Ledger, pull: Pull | int) -> int:
        """The id of a pull that was given out, in flight or not."""
        token: Any = pull.id if isinstance(pull, Pull) else pull
        if not isinstance(token, bool) and isinstance(token, numbers.Integral):
            id = int(token)
            if id in ledger.in_flight or id in ledger.lapsed:
                return id
            event = self.store.event(id) if 0 < id <= ledger.last_id else None
            if event is not None and event.kind == "ask":
                return id
        raise RisingBanditsError(f"pull must be one that was asked for, got {shown(pull)}.")

    def _expire(self, ledger: Ledger, moment: float) -> None:
        """Give back pulls whose lease has ended or whose process is gone."""
        reclaim = self.settings.reclaim and moment >= self._next_reclaim
        if reclaim:
            self._next_reclaim = moment + _RECLAIM_EVERY
        gone: dict[str, bool] = {self._worker: False}
        for flight in list(ledger.in_flight.values()):
            if reclaim and flight.worker not in gone:
                gone[flight.worker] = is_gone(flight.worker)
            if flight.deadline <= moment:
                self._note(ledger, "expire", flight.arm, flight, "its lease ended", moment)
            elif gone.get(flight.worker, False):
                self._note(ledger, "expire", flight.arm, flight, "its process has ended", moment)
        times = [flight.deadline for flight in ledger.in_flight.values()]
        if self.settings.reclaim and any(flight.worker != self._worker for flight in ledger.in_flight.values()):
            times.append(self._next_reclaim)
        self.earliest = min(times, default=math.inf)

    def _take_snapshot(self, ledger: Ledger) -> None:
        """Keep a snapshot, unless another process has."""
        self._next_snapshot = _next_snapshot(self.store.snapshot_id())
        if ledger.last_id >= self._next_snapshot:
            if self.store.shared:
                self.store.keep_snapshot(ledger.last_id, pack(ledger))
            self._next_snapshot = _next_snapshot(ledger.last_id)


def _next_snapshot(last: int) -> int:
    return int(_SNAPSHOT_GROWTH * last) + _SNAPSHOT_FIRST
