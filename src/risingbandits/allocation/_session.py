"""One process working on a store: each method is one atomic transaction."""

from __future__ import annotations

import json
import logging
import math
import numbers
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast
from weakref import WeakSet

from risingbandits._core.errors import RisingBanditsError, check_finite, shown
from risingbandits._core.platform import at_fork, is_gone, worker_name
from risingbandits.allocation._arm_state import LOST, ArmState, Flight
from risingbandits.allocation._ledger import Ledger
from risingbandits.allocation._snapshot import fold, load_ledger, pack
from risingbandits.allocation.arms.base import Outcome
from risingbandits.allocation.events import Event, new_event
from risingbandits.allocation.listeners import Told, new_told
from risingbandits.allocation.pull import NoArmAvailable, Pull, new_pull
from risingbandits.allocation.settings import Settings
from risingbandits.allocation.stores.base import PATIENCE, Store, StoreBusy, StoreUnreachable

T = TypeVar("T")

log = logging.getLogger("risingbandits")

_RECLAIM_EVERY = 1.0  # seconds between looks for processes that died
LONGEST_TEXT = 2000
_MOST_FREE_PULLS = 1000  # in a row, of a budget that is spent by what pulls cost
_LEVELS = {"fail": logging.WARNING, "expire": logging.WARNING}
_LEVELS |= dict.fromkeys(("renew", "config", "checkpoint", "extend"), logging.DEBUG)
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0  # seconds between tries to reach a server
_PROPOSALS = 2  # that may come too late before a decision is made in the transaction
_SNAPSHOT_FIRST, _SNAPSHOT_GROWTH = 20_000, 0.25  # events and pulls told again: snapshots stay a share of all work


class NotNow(NamedTuple):
    """Why there is no pull now, and the last event known at that time."""

    reason: str
    last_id: int


class _Proposal(NamedTuple):
    """An arm that was decided on outside a transaction, and the last event known then."""

    arm: str
    last_id: int


_GIVEN_AWAY = NotNow("the arm that was decided on is not free any more.", 0)


class _Unsure(NamedTuple):
    """What a transaction had done when the server went away before confirming it."""

    last: Event
    result: Any


class Session:
    """A ledger that is kept in sync with a store. Safe for threads, and for a child process after a fork."""

    def __init__(self, store: Store, settings: Settings, ledger: Ledger | None = None) -> None:
        self.store, self._begun_with = store, settings
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)  # notified when a pull is told or given back, or arms change
        self.waiting = 0  # threads that wait for it
        self.earliest = 0.0  # nothing expires before
        self._ahead = 0.0  # how much later than the store's clock the events are
        self._asked: dict[int, float] = {}  # by the store's clock, where a pull costs the seconds that it takes
        self._seconds = settings.budget.seconds is not None
        self._dirty = False  # whether the ledger may be ahead of the store
        self._last: Event | None = None  # that was appended in this transaction
        self._next_reclaim = 0.0
        self._worker = worker_name()
        self._ledger: Ledger | None = load_ledger(store, settings, ledger)
        self._kept = store.snapshot_id()
        self._next_snapshot = _next_snapshot(self._kept)  # in events and retold pulls
        _SESSIONS.add(self)

    def begin_as_child(self, whole: bool) -> None:
        """After a fork: a worker of its own, with new locks; a ledger that was being changed is read again."""
        self._worker = worker_name()
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.waiting = 0
        if not whole:
            self._ledger, self.earliest = None, 0.0

    @property
    def settings(self) -> Settings:
        """As of the last event that is known here."""
        return self._begun_with if self._ledger is None else self._ledger.settings

    def check_reward(self, value: Any) -> float:
        """``value`` as a float, if it is a reward; the range may have been changed by another process."""
        try:
            return self.settings.check_reward(value)
        except RisingBanditsError:
            return self.ledger().settings.check_reward(value)

    def ledger(self) -> Ledger:
        """The ledger, including what other processes have done."""
        with self.lock:
            ledger = self._ledger
            if ledger is None or self.store.shared:
                ledger = self._ledger = load_ledger(self.store, self._begun_with, ledger)
            return ledger

    def changed_since(self, id: int) -> bool:
        """Whether anything was written after event ``id``, by anyone, or a lease may have ended."""
        ledger = self._ledger
        if ledger is None or ledger.last_id != id or self.store.now() + self._ahead >= self.earliest:
            return True
        return self.store.shared and self.store.last_id() != id

    # -- transactions -------------------------------------------------------------------------------------------

    def transact(self, work: Callable[[Ledger], T], patience: float = PATIENCE) -> T:
        """Do ``work`` with the ledger, atomically; retry while the server is away, for ``patience`` seconds."""
        try:
            return self._attempt(work, patience)
        except StoreUnreachable as error:
            return self._try_again(work, patience, error)

    def _try_again(self, work: Callable[[Ledger], T], patience: float, error: StoreUnreachable) -> T:
        log.warning("%s Trying again.", error)
        unsure: _Unsure | None = getattr(error, "unsure", None)
        end, pause = time.monotonic() + patience, _SHORTEST_PAUSE
        while True:
            time.sleep(min(pause, max(0.0, end - time.monotonic())))
            pause = min(2.0 * pause, _LONGEST_PAUSE)
            try:
                return self._attempt(work, patience, unsure)
            except StoreUnreachable as again:
                if time.monotonic() >= end:
                    raise
                unsure = getattr(again, "unsure", unsure)

    def _attempt(self, work: Callable[[Ledger], T], patience: float, unsure: _Unsure | None = None) -> T:
        if not (self.lock.acquire(False) or self.lock.acquire(timeout=min(patience, threading.TIMEOUT_MAX))):
            raise StoreBusy(f"{self.store.name} has been in use by another thread of this process for too long.")
        committing = False
        try:
            ledger = self._begin(patience)
            if unsure is not None and unsure.last == self.store.event(unsure.last.id):
                self.store.rollback()
                return cast(T, unsure.result)  # it had been committed before the server went away
            self._last = None
            result = work(ledger)
            committing = True
            self.store.commit()
            self._dirty = False
            if self.waiting:
                self.changed.notify_all()
            if ledger.last_id + ledger.retold >= self._next_snapshot:
                self._take_snapshot(ledger)
            return result
        except BaseException as error:
            self._abandon()
            if committing and self._last is not None and isinstance(error, StoreUnreachable):
                error.unsure = _Unsure(self._last, result)  # type: ignore[attr-defined]
            raise
        finally:
            self.lock.release()

    def ask(self, patience: float = PATIENCE, slot: str = "") -> Pull | NotNow | None:
        """A pull, None if there will be none, or the reason why there is none now."""
        for _ in range(_PROPOSALS):
            if (proposed := self._propose(patience)) is None:
                break
            answer = self.transact(partial(self._ask, slot=slot, proposed=proposed), patience)
            if answer is not _GIVEN_AWAY:
                return answer
        return self.transact(partial(self._ask, slot=slot) if slot else self._ask, patience)

    def _propose(self, patience: float) -> _Proposal | None:
        """What an informed policy decides, which may take longer than others should wait; None: decide with the rest.

        It is decided without a transaction, so that other processes go on meanwhile.
        """
        ledger = self._ledger
        if ledger is not None and not ledger.policy._informed:
            return None
        if not self.lock.acquire(timeout=min(patience, threading.TIMEOUT_MAX)):
            return None
        try:
            ledger = self.ledger()
            if not (ledger.policy._informed and ledger.may_go_on) or ledger.repeated() is not None:
                return None
            arm = ledger.decide()
            return None if arm is None else _Proposal(arm.name, ledger.last_id)
        except (StoreBusy, StoreUnreachable):
            return None
        finally:
            self.lock.release()

    def _ask(self, ledger: Ledger, slot: str = "", proposed: _Proposal | None = None) -> Pull | NotNow | None:
        moment = self._now(ledger)
        if moment >= self.earliest:
            self._expire(ledger, moment)
        if not ledger.may_go_on:
            if ledger.finished:
                return None
            if ledger.committed:
                return NotNow(f"the last {len(ledger.in_flight)} pulls of the budget are in flight.", ledger.last_id)
        if ledger.free_pulls >= _MOST_FREE_PULLS:
            raise RisingBanditsError(
                f"the last {ledger.free_pulls:,} pulls cost nothing, so a budget in {self.settings.budget.unit} would "
                "never be spent: tell what pulls cost, or give a budget in pulls."
            )
        self._dirty = True
        if proposed is None or ledger.repeated() is not None:
            arm, proposed = ledger.decide(), None
        else:
            arm = ledger.arm(proposed.arm)
            if not arm.eligible or arm.flight is not None:
                return _GIVEN_AWAY
        if arm is None:
            why = f"all arms that may be pulled are in flight ({len(ledger.in_flight)}) or masked."
            return NotNow(why, ledger.last_id)
        id = ledger.last_id + 1
        n = len(arm.rewards) + 1
        seen = None if proposed is None or proposed.last_id == ledger.last_id else float(proposed.last_id)
        event = new_event((id, moment, "ask", arm.name, id, n, None, seen, slot, self._worker))
        self._append(event)
        flight = ledger.give(event, arm)
        if self._seconds:
            self._asked[id] = self.store.now()
        if flight.deadline < self.earliest:
            self.earliest = flight.deadline
        return new_pull((id, arm.name, n, flight.attempt, slot, arm.last_pull, arm.last, arm.best))

    def tell(self, pull: Pull | int, outcome: Outcome, listened: bool = False) -> Told | bool:
        """Whether the outcome counts, which it does not if its (arm, n) is known; if ``listened``, what to pass on."""
        return self.transact(partial(self._tell, pull, outcome, listened))

    def _tell(self, pull: Pull | int, outcome: Outcome, listened: bool, ledger: Ledger) -> Told | bool:
        reward, cost, checkpoint, finished = outcome
        id = pull[0] if isinstance(pull, Pull) else self._id(ledger, pull)
        flight = ledger.countable(id)
        if flight is None:
            self._id(ledger, pull)
            return False
        if isinstance(pull, Pull) and (pull[1] != flight.arm.name or pull[2] != flight.n):
            self._id(ledger, pull)  # complains
        moment = self._now(ledger)
        if cost is None:
            cost = self._seconds_since(flight, moment) if self._seconds else 1.0
        arm = flight.arm
        if reward is None:
            self._note(ledger, "finish", arm, flight)
            self._asked.pop(id, None)
            return True
        event = new_event(
            (ledger.last_id + 1, moment, "tell", arm.name, flight.id, flight.n, reward, cost, checkpoint, self._worker)
        )
        self._append(event)
        ledger.apply_tell(event, arm)
        if finished:
            self._note(ledger, "finish", arm)
        if self._seconds:
            self._asked.pop(id, None)
        if not listened:
            return True
        return new_told((arm.name, flight.n, reward, cost, ledger.told, ledger.spent, arm.config))

    def _seconds_since(self, flight: Flight, moment: float) -> float:
        """How long a pull took: by one clock if it was asked for here, otherwise by the times of the events."""
        asked = self._asked.get(flight.id)
        return max(0.0, moment - flight.asked if asked is None else self.store.now() - asked)

    def give_back(self, pull: Pull | int, reason: str, blame: bool, retry: bool = True, lost: bool = False) -> bool:
        """End a pull without a reward; ``blame`` counts it as a failure of the arm. False if it is not in flight."""

        def work(ledger: Ledger) -> bool:
            flight = ledger.in_flight.get(self._id(ledger, pull))
            if flight is None:
                return False
            arm = flight.arm
            self._note(ledger, "fail" if blame else "expire", arm, flight, reason, quietly=not blame)
            self._asked.pop(flight.id, None)
            if (arm.failures >= self.settings.retries or not retry) and arm.retired is None:
                times = "once" if arm.failures == 1 else f"{arm.failures} times in a row"
                why = f"{LOST if lost else ''}failed {times}" + (f": {reason}" if reason else "")
                self._note(ledger, "retire", arm, flight, why)
                log.warning("%s is retired: it %s", arm.name, why)
            return True

        return self.transact(work)

    def renew(self, pull: Pull | int) -> bool:
        """Extend a lease; False if the pull is not in flight."""

        def work(ledger: Ledger) -> bool:
            flight = ledger.in_flight.get(self._id(ledger, pull))
            if flight is not None:
                self._note(ledger, "renew", flight.arm, flight)
            return flight is not None

        return self.transact(work)

    def holds(self, pull: Pull) -> bool:
        """Whether a pull is still in flight. Only reads: a lease that has ended counts until another worker asks."""
        with self.lock:
            return pull.id in self.ledger().in_flight

    def keep_checkpoint(self, name: str, n: int, id: int, proof: str) -> None:
        """Record a checkpoint that was left after its pull was told, unless the arm's next pull was asked for since."""

        def work(ledger: Ledger) -> None:
            arm = ledger.arm(name)
            if arm.last_pull == id and len(arm.rewards) == n and arm.flight is None:
                self._note(ledger, "checkpoint", arm, Flight(id, arm, n, 0, 0.0, 0.0, ""), proof)

        self.transact(work)

    def give_up(self, rename: Callable[[Ledger], list[str]]) -> list[str]:
        """Record that the arms which ``rename`` returns gave up their checkpoints; it renames them inside."""

        def work(ledger: Ledger) -> list[str]:
            given_up = rename(ledger)
            for name in given_up:
                self._note(ledger, "checkpoint", ledger.arm(name))
            return given_up

        return self.transact(work)

    def add(self, name: str) -> None:
        """A new arm."""

        def work(ledger: Ledger) -> None:
            if name in ledger.by_name:
                raise RisingBanditsError(f"arm {shown(name)} exists already.")
            self._note(ledger, "add", name)

        self.transact(work)

    def change(self, kind: str, name: str, reason: str = "") -> None:
        """Retire, mask or unmask an arm, or give its config; nothing if it is so already."""

        def work(ledger: Ledger) -> None:
            arm = ledger.arm(name)
            if kind == "config":
                so = json.dumps(arm.config) == reason
            else:
                so = arm.retired is not None if kind == "retire" else arm.masked == (kind == "mask")
            if not so:
                self._note(ledger, kind, arm, text=reason)

        self.transact(work)

    def extend(self, changes: Callable[[Ledger], dict[str, Any]]) -> str:
        """Change settings by what ``changes`` finds, which may be nothing; returns its description."""

        def work(ledger: Ledger) -> str:
            found = changes(ledger)
            if found:
                self._note(ledger, "extend", "", text=json.dumps(found))
            return str(found.get("said", ""))

        return self.transact(work)

    # -- the store ----------------------------------------------------------------------------------------------

    def _begin(self, patience: float) -> Ledger:
        """Wait for the turn to write; the ledger, up to date."""
        ledger = self._ledger
        if ledger is None:
            ledger = self._ledger = load_ledger(self.store, self._begun_with)
        new = self.store.begin(ledger.last_id, patience)
        if new:
            self._dirty = True
            fold(ledger, new, self.store.name)
            self.earliest = min(self.earliest, new[0].time + self.settings.lease)
            if self.settings.reclaim:
                self.earliest = min(self.earliest, self._next_reclaim)
        self._dirty = False
        return ledger

    def _now(self, ledger: Ledger) -> float:
        """The time of the next event: by the store's clock, but never before the last one.

        Another process, or this machine before its last boot, may have used another clock. From then on time passes as
        it does here.
        """
        moment = self.store.now() + self._ahead
        if moment < ledger.last_time:
            self._ahead += ledger.last_time - moment
            moment = ledger.last_time
        return moment

    def _append(self, event: Event) -> None:
        self._dirty = True
        self._last = event
        self.store.append(event)

    def _abandon(self) -> None:
        """After an error: write nothing, and reread a ledger that is ahead of the store."""
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
        quietly: bool = False,
    ) -> None:
        """Append an event and apply it."""
        name = arm if isinstance(arm, str) else arm.name
        text = text if kind == "extend" else text[:LONGEST_TEXT]
        text = text.encode(errors="replace").decode().replace("\0", "?")  # what any database takes
        id, n = (flight.id, flight.n) if flight is not None else (0, 0)
        moment = self._now(ledger) if moment is None else moment
        event = Event(ledger.last_id + 1, moment, kind, name, id, n, None, None, text, self._worker)
        self._append(event)
        ledger.apply(event)
        level = logging.INFO if quietly else _LEVELS.get(kind, logging.INFO)
        log.log(level, "%s %s%s", kind, name, f": {text}" if text else "")

    def _id(self, ledger: Ledger, pull: Pull | int) -> int:
        """The id of a pull that was given out, in flight or not."""
        token: Any = pull.id if isinstance(pull, Pull) else pull
        if not isinstance(token, bool) and isinstance(token, numbers.Integral):
            id = int(token)
            flight = ledger.in_flight.get(id) or ledger.lapsed.get(id)
            event = self.store.event(id) if flight is None and 0 < id <= ledger.last_id else None
            given = None if flight is None else flight.pull
            if event is not None and event.kind == "ask":
                given = Pull(id, event.arm, event.n)
            if given is not None:
                if isinstance(pull, Pull) and (pull.arm, pull.n) != (given.arm, given.n):
                    raise RisingBanditsError(f"{pull} is not from {self.store.name}, where that pull is {given}.")
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
                gone[flight.worker] = is_gone(flight.worker, self.store.one_machine)
            if flight.deadline <= moment:
                self._note(ledger, "expire", flight.arm, flight, "its lease ended", moment)
            elif gone.get(flight.worker, False):
                self._note(ledger, "expire", flight.arm, flight, "its process has ended", moment)
        times = [flight.deadline for flight in ledger.in_flight.values()]
        if self.settings.reclaim and any(flight.worker != self._worker for flight in ledger.in_flight.values()):
            times.append(self._next_reclaim)
        self.earliest = min(times, default=math.inf)

    def _take_snapshot(self, ledger: Ledger) -> None:
        """Store a snapshot, unless another process has. Without it the store only opens more slowly."""
        last = ledger.last_id
        try:
            kept = self.store.snapshot_id()
            if kept != self._kept:  # by another process, which had been told again what this one was
                last = kept
            elif self.store.shared:
                self.store.keep_snapshot(last, pack(ledger))
        except RisingBanditsError as error:  # what led here is kept and must be acknowledged
            log.info("no snapshot was kept: %s", error)
        self._kept, self._next_snapshot = last, _next_snapshot(last) + ledger.retold


def _next_snapshot(last: int) -> int:
    return last + int(_SNAPSHOT_GROWTH * last) + _SNAPSHOT_FIRST


# -- a fork while threads use allocators: the child gets them intact, with locks of its own ---------------------------

# A lock that another thread holds at that moment would never be released in the child, and a ledger in the middle of
# a change would stay so.
_SESSIONS: WeakSet[Session] = WeakSet()
_PATIENCE = 1.0  # seconds: a transaction is rarely longer, and a fork must not wait for one that hangs
_fork = threading.local()  # several threads may fork at once; ``held``: sessions, and whether their locks are held


def _before() -> None:
    _fork.held = [(session, session.lock.acquire(timeout=_PATIENCE)) for session in list(_SESSIONS)]


def _in_parent() -> None:
    for session, locked in _fork.held:
        if locked:
            session.lock.release()
    _fork.held = []


def _in_child() -> None:
    for session, locked in _fork.held:
        session.begin_as_child(whole=locked)
    _fork.held = []


at_fork(_before, _in_parent, _in_child)


# -- asking for as long as it takes -----------------------------------------------------------------------------------

_SHORTEST_POLL, _LONGEST_POLL = 0.001, 0.05  # seconds between looks at a store that others write to
_LEAST_PATIENCE = 1.0  # seconds with a store that others write to, however short a wait is asked for


def ask_patiently(session: Session, wait: Any, slot: str = "") -> Pull | None:
    """Ask, and again whenever something has changed, for up to ``wait`` seconds; infinity is allowed."""
    end = time.monotonic() + (math.inf if wait == math.inf else check_finite("wait", wait, minimum=0.0))
    while True:
        left = end - time.monotonic()
        seen = -1
        try:
            answer = session.ask(max(_LEAST_PATIENCE, min(left, PATIENCE)), slot)
            if not isinstance(answer, NotNow):
                return answer
            trouble: RisingBanditsError = NoArmAvailable(answer.reason)
            seen = answer.last_id
        except (StoreBusy, StoreUnreachable) as error:
            trouble = error
            if end > time.monotonic():
                log.warning("%s Waiting for it.", error)
        if not _wait_for_change(session, seen, end):
            raise trouble


def _wait_for_change(session: Session, seen: int, end: float) -> bool:
    """Wait until it is worth asking again after event ``seen``; False if that does not happen before ``end``."""
    pause = _SHORTEST_POLL
    while (left := end - time.monotonic()) > 0:
        if not session.lock.acquire(timeout=min(left, threading.TIMEOUT_MAX)):
            return False
        try:
            # Other processes cannot notify this one, and leases end by themselves: look again after a pause.
            session.waiting += 1
            try:
                session.changed.wait(min(left, pause))
            finally:
                session.waiting -= 1
            with suppress(StoreUnreachable):
                if session.changed_since(seen):
                    return True
        finally:
            session.lock.release()
        pause = min(2.0 * pause, _LONGEST_POLL)
    return False
