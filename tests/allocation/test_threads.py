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


@pytest.mark.parametrize("wait", [60.0, math.inf])
def test_a_waiting_thread_goes_on_when_another_one_tells(place: str, wait: float) -> None:
    with Allocator(["a"], 10, store=place) as allocator, ThreadPoolExecutor(1) as pool:
        held = allocator.ask()
        assert held is not None
        waiting = pool.submit(allocator.ask, wait)
        until(lambda: allocator._session.waiting)
        allocator.tell(held, 0.5)
        assert waiting.result(timeout=PATIENCE) == Pull(3, "a", 2)


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


@pytest.mark.parametrize("forks", [10, pytest.param(300, marks=pytest.mark.slow)])
def test_a_child_that_is_forked_while_a_thread_is_at_work_can_ask_and_tell(place: str, forks: int) -> None:
    """The thread is in the middle of a transaction nearly all the time."""
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
            children = [_forked(allocator) for _ in range(forks)]
            codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        finally:
            done.set()
        working.result(timeout=PATIENCE)
        assert codes == [0] * forks
        assert len({event.worker for event in allocator.store.events() if event.kind == "tell"}) == forks + 1


@pytest.mark.parametrize(
    "delay", [0.05, pytest.param(0.0, marks=pytest.mark.slow), pytest.param(0.15, marks=pytest.mark.slow)]
)
def test_a_child_that_is_forked_while_a_thread_compiles_can_compile(tmp_path: Path, delay: float) -> None:
    """In a program of its own, with an empty compiler cache."""
    words = [sys.executable, "-c", COMPILING, str(tmp_path / "run.db"), str(delay)]
    with program(words, env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}) as process:
        assert process.wait(timeout=PATIENCE) == 0


COMPILING = """
import os, sys, threading, time
from risingbandits import Allocator
from risingbandits import simulate
threading.Thread(target=lambda: simulate(["commit-ucb"], "paper-2arms", 2_000, 1), daemon=True).start()
allocator = Allocator(["a", "b"], 10, store=sys.argv[1])
time.sleep(float(sys.argv[2]))
child = os.fork()
if child == 0:
    simulate(["ucb1"], "paper-2arms", 2_000, 1)
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
