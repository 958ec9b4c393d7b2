"""Threads, tasks and child processes that share one allocator."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from programs import PATIENCE, program, until
from risingbandits import Allocator
from risingbandits.allocation import Pull
from risingbandits.allocation.arms._pace import Pace


@pytest.mark.parametrize("wait", [60.0, math.inf])
def test_a_waiting_thread_goes_on_when_another_one_tells(place: str, wait: float) -> None:
    with Allocator(["a"], 10, store=place) as allocator, ThreadPoolExecutor(1) as pool:
        held = allocator.ask()
        assert held is not None
        waiting = pool.submit(allocator.ask, wait)
        until(lambda: allocator._session.waiting)
        allocator.tell(held, 0.5)
        assert waiting.result(timeout=PATIENCE) == Pull(3, "a", 2, before=1)


def test_threads_that_iterate_over_one_allocator_spend_its_budget(place: str) -> None:
    def work() -> int:
        told = 0
        for pull in allocator:
            told += allocator.tell(pull, pull.n / (pull.n + 5))
        return told

    with Allocator(["a", "b", "c"], 200, store=place) as allocator, ThreadPoolExecutor(4) as pool:
        counts = [pool.submit(work) for _ in range(4)]
        assert sum(count.result(timeout=PATIENCE) for count in counts) == 200
        assert allocator.finished


def test_a_thread_whose_arm_is_given_back_or_added_by_another_goes_on(place: str) -> None:
    with Allocator(["a"], 10, store=place) as allocator, ThreadPoolExecutor(1) as pool:
        held = allocator.ask()
        assert held is not None
        waiting = pool.submit(allocator.ask, math.inf)
        until(lambda: allocator._session.waiting)
        allocator.add("b")
        other = waiting.result(timeout=PATIENCE)
        assert other is not None
        assert other.arm == "b"
        waiting = pool.submit(allocator.ask, math.inf)
        until(lambda: allocator._session.waiting)
        allocator.release(held)
        assert waiting.result(timeout=PATIENCE) == Pull(waiting.result().id, "a", 1, 2)  # type: ignore[union-attr]


_AT_A_TIME = 10


@pytest.mark.parametrize("forks", [10, pytest.param(300, marks=pytest.mark.slow)])
def test_a_child_that_is_forked_while_a_thread_is_at_work_can_ask_and_tell(place: str, forks: int) -> None:
    """The thread is in the middle of a transaction nearly all the time.

    On a busy machine children begin faster than they end, so only so many are there at a time: more than the server
    takes would be refused and wait, and each fork waits for a thread that waits for its turn behind all of them.
    """
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            pull = allocator.ask(wait=PATIENCE)
            assert pull is not None
            allocator.tell(pull, 0.5)

    with Allocator(["a", "b", "c"], 10**6, store=place) as allocator, ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        until(lambda: allocator.spent > 5)
        try:
            codes = []
            for _ in range(0, forks, _AT_A_TIME):
                children = [_forked(allocator) for _ in range(_AT_A_TIME)]
                codes += [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        finally:
            done.set()
        working.result(timeout=PATIENCE)
        assert codes == [0] * forks
        assert len({event.worker for event in allocator.store.events() if event.kind == "tell"}) == forks + 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "steps", [1, pytest.param(10, marks=pytest.mark.slow), pytest.param(25, marks=pytest.mark.slow)]
)
def test_a_child_that_is_forked_while_a_thread_compiles_can_compile(tmp_path: Path, steps: int) -> None:
    """In a program of its own, with an empty compiler cache; the fork comes after so many functions were begun."""
    words = [sys.executable, "-c", COMPILING, str(tmp_path / "run.db"), str(steps)]
    with program(words, env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}) as process:
        assert process.wait(timeout=PATIENCE) == 0


COMPILING = """
import os, sys, threading
from numba.core import event
from risingbandits.allocation.arms._pace import Pace
from risingbandits import Allocator, simulate
allocator = Allocator(["a", "b"], 10, store=sys.argv[1])
begun = threading.Semaphore(0)
class Begun(event.Listener):
    def on_start(self, step):
        begun.release()
    def on_end(self, step):
        pass
event.register("numba:compile", Begun())
thread = threading.Thread(target=lambda: simulate(["red-ucb"], "paper-2arms", horizon=2_000, runs=1), daemon=True)
thread.start()
for _ in range(int(sys.argv[2])):
    begun.acquire()
child = os.fork()
if child == 0:
    simulate(["round-robin"], "paper-2arms", horizon=2_000, runs=1)
    allocator.tell(allocator.ask(wait=60), 0.5)
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_threads_may_fork_at_once(place: str) -> None:
    with Allocator(["a", "b", "c"], 10**6, store=place) as allocator, ThreadPoolExecutor(4) as pool:
        children = list(pool.map(lambda _: _forked(allocator), range(12)))
        assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 12
        assert allocator.spent == 12
        assert allocator.ask(wait=PATIENCE) is not None


def _forked(allocator: Allocator) -> int:
    child = os.fork()
    if child == 0:
        signal.alarm(int(PATIENCE))  # a child that hangs is ended
        with suppress(BaseException):
            pull = allocator.ask(wait=PATIENCE)
            if pull is not None and allocator.tell(pull, 0.5):
                os._exit(0)
        os._exit(1)
    return child


@pytest.mark.parametrize("seconds", [0.0, 1e-4, 1e-3, 1e-2])
def test_a_cancelled_task_gives_its_pull_back(place: str, seconds: float) -> None:
    async def ask_and_give_up() -> list[Pull | None]:
        got: list[Pull | None] = []
        for _ in range(10):
            with suppress(TimeoutError):
                got.append(await asyncio.wait_for(allocator.aask(wait=PATIENCE), seconds))
        return got

    with Allocator(["a", "b", "c"], 10**6, store=place) as allocator:
        kept = {pull.id for pull in asyncio.run(ask_and_give_up()) if pull is not None}
        until(lambda: set(allocator.ledger.in_flight) == kept)
        assert all(arm.retired is None for arm in allocator.ledger.arms)


def test_a_look_at_how_long_pulls_take_disturbs_no_other_thread(place: str) -> None:
    with Allocator(["a", "b"], 1_000, store=place) as allocator, ThreadPoolExecutor(1) as pool:
        [pull, *_] = [allocator.ask() for _ in range(2)]
        assert pull is not None
        pace = Pace(allocator.store, allocator._session.lock)
        looks = pool.submit(lambda: [allocator.holds(pull) for _ in range(1_500)])
        while not looks.done():
            pace.look()
        assert all(looks.result())
