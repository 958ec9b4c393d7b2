"""Workers that stop: each runs the arms of a store until its budget is spent, and follows orders on the way.

Run as ``python stop_worker.py``. For every line of input, a JSON list of a kind of arm, a store and a folder of orders,
a worker is forked, whose process number is printed; for a line with a process number its exit code is printed, once it
has ended. Forking spares each worker the start of Python. What a worker complains of stands in ``said-<worker>``.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from nonce_arm import Nonces, made_elsewhere
from risingbandits import Allocator
from risingbandits.allocation import ProcessArms, RayArms
from risingbandits.allocation.cluster import process_arms
from risingbandits.allocation.cluster._process_child import serve
from risingbandits.allocation.commands._command import command_arms
from risingbandits.allocation.commands._plan_file import read_plan
from stop_orders import Orders

ARMS = ["a", "b", "c"]


@contextmanager
def arms_of(kind: str, store: Path, orders: Orders) -> Iterator[Mapping[str, Any]]:
    """The arms of a kind. Of objects the first one is given as it is, the others are made when they are needed."""
    if kind == "objects":
        yield {name: Nonces(name, orders) if name == "a" else partial(Nonces, name, orders) for name in ARMS}
    elif kind in ("commands", "states"):
        yield command_arms(read_plan(store.with_name("plan.toml")))
    else:
        made = {name: partial(made_elsewhere, name, orders) for name in ARMS}
        with RayArms(made) if kind == "ray" else ProcessArms(made, processes=len(ARMS)) as arms:
            yield arms


def work(kind: str, store: Path, folder: Path) -> None:
    """Spend what is left of the budget."""
    orders = Orders(folder, os.getpid())
    orders.watch_files()
    if kind == "forks":
        setattr(process_arms, "subprocess", Nursery())  # noqa: B010
    with Allocator.open(store) as allocator:
        orders.watch_allocator(allocator)
        with arms_of(kind, store, orders) as arms:
            allocator.run(progress=False, arms=arms)


class Nursery:
    """In place of the module subprocess: a process of an arm is a fork, since a new Python takes half a second.

    A process without threads forks it: where there are threads, one may hold a lock that the fork would wait for.
    """

    DEVNULL = subprocess.DEVNULL

    def __init__(self) -> None:
        self._here, there = socket.socketpair()
        self._lock = threading.Lock()
        if os.fork() == 0:
            self._here.close()
            _end_with(partial(_serve_forks, there))
        there.close()

    def ask(self, words: str, descriptors: Sequence[int] = ()) -> int:
        with self._lock:
            socket.send_fds(self._here, [words.encode()], descriptors)
            return int(self._here.recv(20))

    def Popen(self, words: Sequence[str], pass_fds: Sequence[int], **settings: Any) -> Fork:
        return Fork(self, pass_fds[0])


class Fork:
    """A process of an arm."""

    def __init__(self, nursery: Nursery, descriptor: int) -> None:
        self._nursery = nursery
        self.pid = nursery.ask("start", [descriptor])

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        return self._nursery.ask(f"{self.pid}")


def _serve_forks(there: socket.socket) -> None:
    codes: dict[int, int] = {}
    while True:
        words, descriptors, _, _ = socket.recv_fds(there, 20, 1)
        if not words:  # the worker has ended
            return
        if descriptors:
            answer = os.fork()
            if answer == 0:
                there.close()
                _end_with(partial(serve, descriptors[0]))
            os.close(descriptors[0])
        else:
            pid = int(words)
            if pid not in codes:
                codes[pid] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            answer = codes[pid]
        there.send(str(answer).encode())


def _end_with(do: Callable[[], None]) -> None:
    """End this process after ``do``, without going back to where it was forked."""
    code = 1
    try:
        do()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _start(kind: str, store: str, folder: str) -> int:
    child = os.fork()
    if child == 0:
        said = os.open(Path(folder, f"said-{os.getpid()}"), os.O_WRONLY | os.O_CREAT)
        for target in (1, 2):
            os.dup2(said, target)
        _end_with(partial(work, kind, Path(store), Path(folder)))
    return child


def main() -> None:
    """Fork workers until the input ends; those that still live end then."""
    alive = set()
    for line in sys.stdin:
        given = json.loads(line)
        if isinstance(given, list):
            alive.add(answer := _start(*given))
        else:
            answer = os.waitstatus_to_exitcode(os.waitpid(given, 0)[1])
            alive.remove(given)
        print(answer, flush=True)
    for worker in alive:
        os.kill(worker, signal.SIGKILL)


if __name__ == "__main__":
    main()
