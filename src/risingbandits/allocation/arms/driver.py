"""Drive an allocator: pull the arms of this process in threads, and ask from asyncio."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from risingbandits._core.errors import RisingBanditsError, check_finite, check_positive_int, shown
from risingbandits.allocation.arms.base import Arm, Outcome
from risingbandits.allocation.arms.checkpoints import Checkpoints
from risingbandits.allocation.pull import NoArmFree, Pull

if TYPE_CHECKING:
    from risingbandits.allocation.allocator import Allocator

__all__ = ["ask_async", "run"]

log = logging.getLogger("risingbandits")

_LOOK = 0.2  # seconds between looks at whether to stop
_REFRESH = 0.1  # seconds between movements of the progress bar
_ASYNC_PAUSES = (0.001, 0.05)  # shortest and longest, in seconds


async def ask_async(allocator: Allocator, wait: float | None) -> Pull | None:
    """Ask without keeping the event loop or a thread waiting."""
    end = time.monotonic() + (0.0 if wait is None else wait)
    pause, longest = _ASYNC_PAUSES
    while True:
        try:
            return await asyncio.to_thread(allocator.ask)
        except NoArmFree:
            if time.monotonic() >= end:
                raise
        await asyncio.sleep(min(pause, max(0.0, end - time.monotonic())))
        pause = min(2.0 * pause, longest)


def run(allocator: Allocator, arms: Mapping[str, Arm], jobs: int, progress: bool) -> None:
    """Pull until the budget is spent."""
    jobs = check_positive_int("jobs", jobs)
    missing = [arm.name for arm in allocator.ledger.arms if arm.retired is None and arm.name not in arms]
    if missing:
        raise RisingBanditsError(f"arms must be functions or Arm objects for run, got only the names {shown(missing)}.")
    crew = _Crew(allocator, arms)
    with crew.heartbeat(), _progress_bar(allocator, progress) as tick:
        if jobs == 1:
            crew.work(tick)
        else:
            _run_threads(crew, jobs, tick)
    crew.complain()


def _run_threads(crew: _Crew, jobs: int, tick: Any) -> None:
    threads = [threading.Thread(target=crew.work, name=f"risingbandits-{i}", daemon=True) for i in range(jobs)]
    for thread in threads:
        thread.start()
    try:
        while any(thread.is_alive() for thread in threads):
            threads[0].join(_REFRESH) if threads[0].is_alive() else time.sleep(_REFRESH)
            tick()
    except KeyboardInterrupt:
        log.warning("interrupted: waiting for the pulls in flight to end")
        crew.stop.set()
        for thread in threads:
            thread.join()
        raise


class _Crew:
    """The workers of one call of `run`."""

    def __init__(self, allocator: Allocator, arms: Mapping[str, Arm]) -> None:
        self.allocator, self.arms = allocator, arms
        self.stop = threading.Event()
        self.checkpoints = Checkpoints(allocator.store.directory)
        self.busy: dict[int, Pull] = {}
        self.error: BaseException | None = None
        self.counted = 0

    def work(self, tick: Any = lambda: None) -> None:
        """Ask, pull and tell until there is nothing more to do."""
        try:
            while not self.stop.is_set():
                pull = self._next()
                if pull is None:
                    return
                self._play(pull)
                tick()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.error = self.error or error
            self.stop.set()

    def _next(self) -> Pull | None:
        while not self.stop.is_set():
            try:
                return self.allocator.ask(wait=_LOOK)
            except NoArmFree:
                ledger = self.allocator.ledger
                if not ledger.in_flight and not ledger.eligible.count and not ledger.finished:
                    raise
        return None

    def _play(self, pull: Pull) -> None:
        arm = self.arms.get(pull.arm)
        if arm is None:
            self.allocator.release(pull, "no function for it in this process")
            raise RisingBanditsError(f"arm {shown(pull.arm)} was added, but has no function in this process.")
        self.busy[pull.id] = pull
        try:
            reward, cost = self._pull(arm, pull)
        except Exception as error:
            log.debug("%s, pull %d", pull.arm, pull.n, exc_info=True)
            self.checkpoints.lost(pull)
            self.allocator.fail(pull, f"{type(error).__name__}: {error}")
        except BaseException:
            self.allocator.release(pull, "interrupted")
            raise
        else:
            if self.allocator.tell(pull, reward, cost):
                self.counted += 1
                self.checkpoints.told(pull)
            else:
                self.checkpoints.lost(pull)
        finally:
            del self.busy[pull.id]

    def _pull(self, arm: Arm, pull: Pull) -> tuple[float, float | None]:
        self.checkpoints.prepare(arm, pull)
        start = time.perf_counter()
        answer = arm.pull(pull)
        seconds = time.perf_counter() - start
        reward, cost = answer if isinstance(answer, Outcome) else (answer, None)
        if cost is None and self.allocator.settings.budget.seconds is not None:
            cost = seconds
        reward = self.allocator.settings.check_reward(reward)
        if cost is not None:
            cost = check_finite("cost", cost, minimum=0.0)
        self.checkpoints.keep(arm, pull)
        return reward, cost

    @contextmanager
    def heartbeat(self) -> Iterator[None]:
        """Renew the leases of the pulls at work, in a thread of its own."""
        done = threading.Event()

        def beat() -> None:
            while not done.wait(self.allocator.settings.lease / 3.0):
                for pull in list(self.busy.values()):
                    try:
                        self.allocator.renew(pull)
                    except RisingBanditsError as error:
                        log.warning("the lease of %s could not be renewed: %s", pull, error)

        thread = threading.Thread(target=beat, name="risingbandits-leases", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def complain(self) -> None:
        """Raise what went wrong."""
        if self.error is not None:
            raise self.error
        ledger = self.allocator.ledger
        if not self.counted and ledger.finished and not ledger.told:
            first = ledger.arms[0]
            raise RisingBanditsError(f"every arm was retired before a pull counted; {first.name} {first.retired}.")


@contextmanager
def _progress_bar(allocator: Allocator, progress: bool) -> Iterator[Any]:
    """A function that moves the bar."""
    if not progress:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    budget = allocator.settings.budget
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(budget.unit, total=budget.amount, note="")
        due = 0.0

        def tick() -> None:
            nonlocal due
            if time.monotonic() >= due:
                due = time.monotonic() + _REFRESH
                ledger = allocator.ledger
                note = f"{ledger.spent:g}/{budget.amount:g}, best {ledger.recommend()}" if ledger.told else ""
                bar.update(task, completed=min(ledger.spent, budget.amount), note=note)

        tick()
        yield tick
        due = 0.0
        tick()
