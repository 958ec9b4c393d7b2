"""Workers that stop, die or lose their server in the middle of a transaction, and what the others see of it."""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from programs import PATIENCE, program, until
from risingbandits import Allocator, NoArmAvailable, RisingBanditsError
from risingbandits._core.platform import worker_name
from risingbandits.allocation import StoreBusy
from risingbandits.allocation import _session as session
from risingbandits.allocation.stores.base import open_store
from servers import PostgresServer

HOLDER = """
import os, subprocess, sys, time
from risingbandits.allocation.stores import _postgres as postgres
postgres._LONGEST_TURN = 3
from risingbandits.allocation.stores.base import open_store
store = open_store(sys.argv[1])
store.begin(0)
if sys.argv[2] == "fork" and os.fork() == 0:
    time.sleep(600)
print(os.getpid(), flush=True)
time.sleep(600)
"""


@contextmanager
def holder(place: str, how: str = "alone") -> Iterator[int]:
    """A process in the middle of a transaction, in a group of its own that ends with the block."""
    with program([sys.executable, "-c", HOLDER, place, how], stdout=-1, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def test_a_stopped_worker_is_waited_for_no_longer_than_asked(place: str) -> None:
    with Allocator(["a", "b"], 10, store=place) as allocator:
        first = allocator.ask()
        assert first is not None
        with holder(place) as pid:
            os.kill(pid, signal.SIGSTOP)
            said = f"by process {pid} .*, which is stopped" if "://" not in place else "by another worker"
            with pytest.raises(StoreBusy, match=f"has been held .*{said}.*; nothing was written"):
                allocator.ask(wait=1.0)
            if "://" in place:  # the server ends a transaction that stands still
                assert allocator.ask(wait=math.inf) is not None
        assert allocator.tell(first, 0.5)
        assert allocator.spent == 1


def test_a_thread_is_not_kept_waiting_by_another_one_that_waits(place: str) -> None:
    with Allocator(["a", "b"], 10, store=place) as allocator, ThreadPoolExecutor(1) as pool:
        with holder(place) as pid:
            os.kill(pid, signal.SIGSTOP)
            begun = threading.Event()
            session_lock = allocator._session.lock

            def ask() -> object:
                begun.set()
                return allocator.ask(wait=math.inf)

            patient = pool.submit(ask)
            begun.wait()
            until(lambda: not _free(session_lock) or patient.done())
            with pytest.raises(StoreBusy):
                allocator.ask(wait=0.0)
        assert patient.result(timeout=PATIENCE) is not None


def _free(lock: Any) -> bool:
    got: bool = lock.acquire(blocking=False)
    if got:
        lock.release()
    return got


def test_a_killed_worker_whose_child_lives_is_not_waited_for(place: str) -> None:
    with Allocator(["a", "b"], 10, store=place) as allocator, holder(place, "fork") as pid:
        os.kill(pid, signal.SIGKILL)
        assert allocator.ask(wait=PATIENCE) is not None


def test_a_restart_of_the_server_is_ridden_out(postgres: PostgresServer) -> None:
    place = f"{postgres.address}&schema=restart"
    with Allocator(["a"], 10, store=place) as allocator, ThreadPoolExecutor(1) as pool:
        held = allocator.ask()
        assert held is not None
        waiting = pool.submit(allocator.ask, math.inf)
        until(lambda: allocator._session.waiting)
        postgres.stop()
        try:
            telling = ThreadPoolExecutor(1).submit(allocator.tell, held, 0.25)
            with pytest.raises(RisingBanditsError, match="cannot be reached"):
                open_store(place)
        finally:
            postgres.start()
        assert telling.result(timeout=PATIENCE)
        pull = waiting.result(timeout=PATIENCE)
        assert pull is not None
        assert (pull.arm, pull.n) == ("a", 2)
        assert allocator.rewards("a") == [0.25]


def test_a_commit_that_was_kept_before_the_connection_was_lost_is_not_repeated(postgres: PostgresServer) -> None:
    with Allocator(["a"], 10, store=f"{postgres.address}&schema=unsure") as allocator:
        store = allocator.store
        commit = store.commit

        def commit_and_lose() -> None:
            commit()
            store.commit = commit  # type: ignore[method-assign]
            store._writer.close()  # type: ignore[attr-defined]
            commit()

        store.commit = commit_and_lose  # type: ignore[method-assign]
        pull = allocator.ask()
        assert pull is not None
        assert list(allocator.ledger.in_flight) == [pull.id]
        store.commit = commit_and_lose  # type: ignore[method-assign]
        assert allocator.tell(pull, 0.5)
        assert [event.kind for event in store.events()] == ["ask", "tell"]


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_any_isolation_level_of_the_database_will_do(postgres: PostgresServer, level: str) -> None:
    option = f"-c default_transaction_isolation='{level}'".replace(" ", "\\ ").replace("-c\\ ", "-c ")
    encoded = option.replace(" ", "%20").replace("=", "%3D").replace("\\", "%5C").replace("'", "")
    place = f"{postgres.address}&schema=level_{level[:3]}&options={encoded}"

    def work() -> int:
        with Allocator.open(place) as own:
            shown = own.store._read("SHOW default_transaction_isolation")  # type: ignore[attr-defined]
            assert shown == [(level,)]
            return sum(own.tell(pull, 0.5) for pull in own)

    Allocator(["a", "b", "c"], 60, store=place).close()
    with ThreadPoolExecutor(3) as pool:
        assert sum(pool.map(lambda _: work(), range(3))) == 60


def test_a_live_worker_keeps_its_pull_though_another_machine_has_its_name(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of a virtual machine has the same host name, and other processes."""
    host, _, start, namespace, _ = worker_name().split(":")
    monkeypatch.setattr(session, "worker_name", lambda: f"{host}:{2**22 + 5}:{start}:{namespace}:0badb007")
    with Allocator(["a"], 10, store=place) as there:
        assert there.ask() is not None
    monkeypatch.undo()
    with Allocator.open(place) as here:
        if "://" in place:
            with pytest.raises(NoArmAvailable):
                here.ask(wait=1.5)
        else:  # a file is on one machine, which was started anew
            pull = here.ask(wait=1.5)
            assert pull is not None
            assert pull.attempt == 2
