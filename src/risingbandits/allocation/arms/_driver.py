"""The one loop that spends a budget: ask for pulls, have arms make them, tell their rewards, stop cleanly.

For all arms (functions, learners, commands, processes on a cluster) pulls are made in threads; finished pulls and
signals arrive in one queue. If only one pull is made at a time, by an arm that cannot be stopped from outside, it is
made in the calling thread, where a signal can interrupt it.
"""

from __future__ import annotations

import logging
import math
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from functools import cached_property
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from risingbandits._core.errors import RisingBanditsError, check_finite, shown
from risingbandits.allocation.arms._checkpointed import Checkpointed
from risingbandits.allocation.arms._checkpoints import Name
from risingbandits.allocation.arms._display import Display, table_or
from risingbandits.allocation.arms._economy import Economy
from risingbandits.allocation.arms._pace import Pace
from risingbandits.allocation.arms._slots import Places, Slots
from risingbandits.allocation.arms.base import ArmInUse, Outcome, own_config
from risingbandits.allocation.pull import CannotGoOn, NoArmAvailable, OutOfRange, Pull
from risingbandits.allocation.stores._memory import MemoryStore
from risingbandits.allocation.stores.base import PATIENCE, StoreBusy, StoreUnreachable

if TYPE_CHECKING:
    from risingbandits.allocation.allocator import Allocator

log = logging.getLogger("risingbandits")

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1")  # those that the system knows; the last only where it is wanted
_GENTLE = ("SIGINT", "SIGUSR1")  # let running pulls finish when they come first
GRACE = 5.0  # seconds
_TELLS = 10  # tries, of a minute each
_LOOK = 0.2  # seconds between looks at a store whose free arms other processes have, and at the clock


class _Ended(NamedTuple):
    """A pull that has ended, and with what."""

    pull: Pull
    result: float | Outcome | BaseException


class _Stopped(KeyboardInterrupt):
    """Raised by a signal in a pull that is made in the main thread."""


class Driver:
    """Spends the budget of ``allocator`` on ``arms``, with at most ``jobs`` pulls at a time.

    The first SIGINT lets running pulls finish; a second one, SIGTERM or SIGHUP ends them and gives them back; pulls
    that cannot be ended are given back and left alone. Told rewards are always in the store before the next pull
    starts. Signals are received only in the main thread.

    A ``patient`` one waits if all arms are masked; otherwise that is an error. Nothing runs on after ``until``, by
    `time.monotonic`: no pull is started that would take longer, judging by earlier ones, and what still runs then is
    given back. ``grace`` are the seconds between asking pulls to end and killing them, and until those that do not end
    are left alone. If ``warned``, SIGUSR1 lets running pulls finish, as the first SIGINT does. ``find`` returns an arm
    that was added since, by name, or None. For ``slots`` see `Places`.
    """

    def __init__(
        self,
        allocator: Allocator,
        arms: Mapping[str, Any],
        jobs: int | None,
        display: Display,
        patient: bool = False,
        until: float = math.inf,
        warned: bool = False,
        grace: float = GRACE,
        find: Callable[[str], Any] | None = None,
        slots: Slots = None,
    ) -> None:
        self.places = Places(slots)
        self.jobs = self.places.jobs(jobs)
        missing = [arm.name for arm in allocator.ledger.arms if arm.name not in arms and not arm.over]
        if missing:
            raise RisingBanditsError(
                f"arms must be functions or Arm objects for run, got only the names {shown(missing)}."
            )
        self.allocator, self.display, self.patient, self.until = allocator, display, patient, until
        self.closed = False  # whether the time is too short for another pull
        self.arms = {name: Checkpointed.of(name, arm, allocator) for name, arm in arms.items()}
        self.economy: Economy | None = None  # where checkpoints are bounded
        self._find = find
        self.running: dict[int, Pull] = {}
        self._stopping = threading.Lock()  # a pull that is being stopped stays in `running`, and its arm has no other
        # SimpleQueue: its put may be called by a signal handler that interrupts a get or a put.
        self._events: queue.SimpleQueue[_Ended | signal.Signals] = queue.SimpleQueue()
        self._tasks: queue.SimpleQueue[Pull | None] = queue.SimpleQueue()
        self._threads = 0
        self._heard = _SIGNALS if warned else _SIGNALS[:-1]
        self._signal: signal.Signals | None = None
        self._ending = False  # whether running pulls are being ended
        self._grace = grace
        self._end_at = math.inf  # when those that were asked to end are ended, and then left alone
        self._ended = False
        self._waiting = False  # whether the user was told that all arms are elsewhere
        self._trouble_since = math.inf  # since when the store cannot be written to
        self._inside = False  # whether a pull is being made in this thread

    @cached_property
    def pace(self) -> Pace:
        """How long pulls take, for a run that must end in time."""
        return Pace(self.allocator.store, self.allocator._session.lock)

    def run(self) -> signal.Signals | None:
        """Pull until the budget is spent, the time is over or a signal comes; returns the signal."""
        with self._signals(), self._leases():
            try:
                while self._go_on():
                    self._wait()
                    self.display.tick()
            except BaseException:
                self._abandon()
                raise
            finally:
                for _ in range(self._threads):
                    self._tasks.put(None)
        return self._signal

    def _go_on(self) -> bool:
        """Start what can be started; returns whether there is something to wait for."""
        while self._signal is None and len(self.running) < self.jobs and not self._too_late():
            try:
                slot = self.places.free(self.running.values()) if self.places.room else ""
                pull = self.allocator.ask(0.0 if self.running else _LOOK, slot)
            except (NoArmAvailable, StoreBusy, StoreUnreachable) as reason:
                self._complain(reason)
                return True  # an arm will be free when a pull ends, here or in another process
            self._trouble_since = math.inf
            if pull is None:
                break
            self._waiting = False
            if self._too_late(pull.arm):
                self.allocator.release(pull, "no time left")
                break
            self._start(pull)
            if not self.running:  # it was made in this thread
                return True
        return bool(self.running)

    def _too_late(self, arm: str | None = None) -> bool:
        """Whether a pull of an arm, or of any, would take too long; from then on, none is started."""
        if self.until < math.inf and not self.closed:
            with suppress(StoreBusy, StoreUnreachable):
                self.pace.look()
            seconds = self.pace.shortest() if arm is None else self.pace.expected(arm)
            self.closed = time.monotonic() + seconds >= self.until
        return self.closed

    def _complain(self, reason: RisingBanditsError) -> None:
        """If nothing runs here: report that others are waited for, or that the wait would never end."""
        if self.running:
            return
        if isinstance(reason, StoreBusy | StoreUnreachable):
            self._trouble_since = min(self._trouble_since, time.monotonic())
            if not self.patient and time.monotonic() - self._trouble_since > PATIENCE:
                raise reason
        elif not self.patient:
            ledger = self.allocator.ledger
            if not (ledger.in_flight or ledger.eligible.count or ledger.finished):
                raise reason
        if self.patient and not self._waiting:
            self.display.say(f"Waiting: {reason}")
        self._waiting = True

    def _start(self, pull: Pull) -> None:
        arm = self.arms.get(pull.arm)
        if arm is None and self._find is not None and (added := self._find(pull.arm)) is not None:
            arm = self.arms[pull.arm] = Checkpointed.of(pull.arm, added, self.allocator)
        if arm is None:
            self.allocator.release(pull, "no function for it in this process")
            raise RisingBanditsError(f"arm {shown(pull.arm)} was added, but has no function in this process.")
        self.running[pull.id] = pull
        self.display.started(pull)
        if self.jobs == 1 and arm.stop is None:
            self._finish(self._made(pull, inside=True))
            return
        if self._threads < self.jobs:
            self._threads += 1
            # A daemon: a pull that cannot be ended must not keep the program alive.
            threading.Thread(target=self._work, name=f"risingbandits-{self._threads}", daemon=True).start()
        self._tasks.put(pull)

    def _work(self) -> None:
        while (pull := self._tasks.get()) is not None:
            self._events.put(self._made(pull))

    def _made(self, pull: Pull, inside: bool = False) -> _Ended:
        result: float | Outcome | BaseException
        try:
            self._inside = inside
            result = self.arms[pull.arm].pull(pull)
            self._inside = False
        except BaseException as error:
            self._inside = False
            result = error
        return _Ended(pull, result)

    def _wait(self) -> None:
        """Wait for the next event, or until it is time to check the clock, and handle it."""
        with suppress(queue.Empty):
            happened = self._events.get(block=bool(self.running), timeout=_LOOK)
            if isinstance(happened, signal.Signals):
                self._hear(happened)
            elif happened.pull.id in self.running:
                self._finish(happened)
        if time.monotonic() >= self.until and not self._ending:
            self._end_all()
        if time.monotonic() >= self._end_at:
            self._end_at = time.monotonic() + self._grace
            left = list(self.running.values())
            self._stop(left) if not self._ended else self._give_back(left)
            self._ended = True

    def _finish(self, ended: _Ended) -> None:
        """Tell the reward of a pull that has ended, or give it back."""
        pull, result = ended
        with self._stopping:
            del self.running[pull.id]
        try:
            if isinstance(result, BaseException):
                raise result
            outcome = self._checked(result)
        except Exception as error:
            log.debug("%s, pull %d", pull.arm, pull.n, exc_info=True)
            kind = "" if isinstance(error, RisingBanditsError) else f"{type(error).__name__}: "
            reason = f"{kind}{error}".removesuffix(": ")
            if isinstance(error, OutOfRange) and not isinstance(result, BaseException):
                self.arms[pull.arm].refused(pull, result)
            if isinstance(error, CannotGoOn):
                with suppress(RisingBanditsError):  # the disk may be full; then the pull is reclaimed later
                    self.allocator.release(pull, reason)
                raise
            if self._ending:
                self.allocator.release(pull, "stopped")
            elif isinstance(error, ArmInUse | StoreBusy | StoreUnreachable):
                log.warning("%s %d is given back: %s", pull.arm, pull.n, reason)
                self.allocator.release(pull, reason)
            else:
                reason, stuck = self.arms[pull.arm].failed(pull, reason)
                # Another process on the store may have an object of its own that can make the pull.
                retry = not (stuck and isinstance(self.allocator.store, MemoryStore))
                self.allocator.fail(pull, reason, retry=retry, lost=stuck)
            return
        except _Stopped:
            self.allocator.release(pull, "stopped")
            return
        except BaseException:
            self.allocator.release(pull, "interrupted")
            raise
        if self._tell(pull, outcome) and outcome.reward is not None:
            try:
                self.arms[pull.arm].told(pull)
            except OSError as error:  # they are removed later
                log.warning("checkpoints of %s that are no longer needed could not be removed: %s", pull.arm, error)
            if self.economy is not None:
                self.economy.tidy()
            self.display.told(pull, outcome.reward)
            ledger = self.allocator.ledger
            if not ledger.arm(pull.arm).config:
                self._keep_config(pull.arm)
            if ledger.told & (ledger.told - 1) == 0 or ledger.finished:  # often enough to save most of the budget
                self.allocator.doubt_direction()

    def _checked(self, result: float | Outcome) -> Outcome:
        """What a pull gave, as it is told; only one that has found the end of its arm may be without a reward."""
        outcome = result if isinstance(result, Outcome) else Outcome(result)
        if outcome.reward is None and outcome.finished:
            return Outcome(finished=True)
        cost = None if outcome.cost is None else check_finite("cost", outcome.cost, minimum=0.0)
        return outcome._replace(reward=self.allocator.check_reward(outcome.reward), cost=cost)

    def _keep_config(self, arm: str) -> None:
        """Store the config of an arm that was made in its first pull; it is already told, so this must not fail."""
        found = own_config(self.arms[arm].given)
        try:
            if found:
                self.allocator.set_config(arm, found)
        except RisingBanditsError as error:
            log.warning("the config of %s is not kept: %s", arm, error)

    def _tell(self, pull: Pull, outcome: Outcome) -> bool:
        """Tell an outcome, with more patience than for anything else, because the pull would have to be repeated."""
        tries = 1
        while True:
            try:
                return self.allocator.tell(pull, *outcome)
            except RisingBanditsError as error:
                if tries < _TELLS and isinstance(error, StoreBusy | StoreUnreachable):
                    self.display.say(f"Waiting to tell the reward of {pull.arm}: {error}")
                    tries += 1
                    continue
                with suppress(RisingBanditsError):  # this process may go on, and would wait for it until its lease ends
                    self.allocator.release(pull, f"could not be told: {error}")
                raise

    # -- leases -------------------------------------------------------------------------------------------------

    @contextmanager
    def _leases(self) -> Iterator[None]:
        """Renew the leases of running pulls, in a separate thread; a pull whose lease was lost is ended if possible."""
        done = threading.Event()

        def renew() -> None:
            while not done.wait(self.allocator.settings.lease / 3.0):
                for pull in list(self.running.values()):
                    try:
                        ours = self.allocator.renew(pull)
                    except RisingBanditsError as error:
                        log.warning("the lease of %s could not be renewed: %s", pull, error)
                        continue
                    with self._stopping:
                        if not ours and pull.id in self.running:  # another worker has it now: at once
                            self._stop([pull, pull])

        thread = threading.Thread(target=renew, name="risingbandits-leases", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    # -- stopping -----------------------------------------------------------------------------------------------

    def _hear(self, received: signal.Signals) -> None:
        first = self._signal is None
        self._signal = self._signal or received
        if received.name == "SIGUSR1" and not first:
            return  # a warning that comes twice
        if first and received.name in _GENTLE:
            if self.running:
                number = f"{len(self.running)} running pull{'' if len(self.running) == 1 else 's'}"
                again = " Interrupt again to stop now." if received == signal.SIGINT else ""
                self.display.say(f"Interrupted: finishing {number}.{again}")
        elif not self._ending:
            self._end_all()

    def _end_all(self) -> None:
        """End running pulls; those that cannot be ended are given back now, those that do not end later."""
        self._ending = True
        self._stop(list(self.running.values()))
        self._end_at = time.monotonic() + self._grace
        self._give_back([pull for pull in self.running.values() if self.arms[pull.arm].stop is None])

    def _stop(self, pulls: list[Pull]) -> None:
        for pull in pulls:
            try:
                if (stop := self.arms[pull.arm].stop) is not None:
                    stop()
            except Exception as error:  # of a learner's own
                log.warning("%s could not be stopped: %s", pull.arm, error)

    def _give_back(self, pulls: list[Pull]) -> None:
        """Stop waiting for pulls; their results will not be told."""
        for pull in pulls:
            with self._stopping:
                del self.running[pull.id]
            self.allocator.release(pull, "stopped")

    def _abandon(self) -> None:
        """After an error, no pull goes on without the driver. Those that cannot be given back are reclaimed later."""
        left = list(self.running.values())
        self._stop([*left, *left])
        for pull in left:
            with suppress(Exception):
                self.allocator.release(pull, "stopped by an error")

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Signals go to the queue while the budget is spent; before and after, the previous handlers apply."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def note(number: int, frame: FrameType | None) -> None:
            received = signal.Signals(number)
            if not self._inside:
                self._events.put(received)
            elif self._signal is None and received.name in _GENTLE:
                with suppress(RuntimeError):  # the pull was in the middle of printing something
                    self._hear(received)
            else:
                self._signal, self._ending, self._inside = self._signal or received, True, False
                raise _Stopped

        numbers = [signal.Signals[name] for name in self._heard if name in signal.Signals.__members__]
        ignored = [number for number in numbers[1:] if signal.getsignal(number) is signal.SIG_IGN]  # as nohup does
        before = {number: signal.signal(number, note) for number in numbers if number not in ignored}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


# -- `Allocator.run` --------------------------------------------------------------------------------------------------


def run_arms(
    allocator: Allocator,
    arms: Mapping[str, Any],
    jobs: int | None,
    progress: bool,
    slots: Slots,
    keep: int | None = None,
) -> None:
    """Pull ``arms`` until the budget of ``allocator`` is spent, as `Allocator.run` says."""
    if hasattr(arms, "belong_to"):
        arms.belong_to(allocator)
    ready: dict[str, Checkpointed] = {}
    for name, arm in arms.items():
        before = allocator.checkpointed.get(name)  # an object that was pulled before has learnt something
        same = before is not None and before.given is arm
        ready[name] = before if before is not None and same else Checkpointed.of(name, arm, allocator)
    allocator.checkpointed.update(ready)
    with table_or(Display(), allocator) if progress else nullcontext(Display()) as display:
        driver = Driver(allocator, ready, jobs, display, slots=slots, find=allocator.find_arm)
        if keep is not None:
            folder = getattr(arms, "folder", None) or allocator.store.directory
            driver.economy = Economy(allocator, folder, driver.arms, keep, driver.jobs)
            driver.economy.tidy()
        received = driver.run()
    if received is not None:
        for ended in driver.arms.values():
            ended.close()
    allocator.remember_at_end()
    if received == signal.SIGINT:
        raise KeyboardInterrupt
    if received is not None:
        signal.raise_signal(received)  # now it does what it did before
    ledger = allocator.ledger
    if ledger.finished and not ledger.told:
        failed = next((arm for arm in ledger.arms if arm.retired is not None), None)
        said = f"every arm was {'finished' if failed is None else 'retired'} before a pull counted"
        if failed is not None:
            said += f"; {failed.name} {str(failed.retired).rstrip('.')}"
        if any(arm.gave_up for arm in ledger.arms) and allocator.store.directory is not None:  # the store remembers
            said += f"; once the cause is fixed, retries={allocator.settings.retries + 3} lets them be tried again"
        raise RisingBanditsError(f"{said}.")
    kept = ledger.recommend()
    if kept in ready:
        state = ledger.arm(kept)
        ready[kept].catch_up(state.last, Name(len(state.rewards), state.last_pull))
