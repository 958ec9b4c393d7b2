"""Two workers on one store of which one stops for longer than its lease, again and again, and what must hold then.

The learners draw numbers at random, so the rewards that count must spell the last checkpoint. The events are read
without the library.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import stop_worker
from nonce_arm import nonce_of, write_plan
from programs import until
from risingbandits import Allocator, Execution
from stop_worker import ARMS

_IN_WORKER = ["asked", "tell", "told"]
_IN_LEARNER = ["tidy", "load", "make", "save", "written", "drop"]
PLACES = {
    "objects": [*_IN_WORKER, *_IN_LEARNER],
    "commands": [*_IN_WORKER, "tidy", "looked", "make", "save"],
    "states": ["asked", "looked", "make", "save", "tell"],
    "processes": [*_IN_WORKER, *_IN_LEARNER],
    "ray": [*_IN_WORKER, *_IN_LEARNER],
}
# What another worker has done with the pull, or with the next one where it is told, when the first worker goes on:
# nothing, though the lease has ended; it makes it; it has told it; it has told three.
MOMENTS = ["lapsed", "making", "told", "later"]
_MORE = 4  # pulls that count, by which a worker shows that it goes on: one of every arm, at least


class Stop(NamedTuple):
    """One stop of a worker and, at places of a learner, of the process or command that it is in."""

    place: str
    moment: str
    first: str = "both"  #: who goes on first, where both have stopped: "worker" or "inner", before that moment
    others_next: bool = False  #: whether the other worker makes the next pulls, or the one that had stopped


class Tell(NamedTuple):
    """A pull that counts."""

    n: int
    id: int
    nonce: int


class Parent:
    """The process that forks workers."""

    def __init__(self) -> None:
        command = [sys.executable, stop_worker.__file__]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, question: Any) -> int:
        """A new worker, or the exit code of one."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """End it, and the workers that are left."""
        self._process.communicate()


class Events:
    """The events of a store."""

    def __init__(self, store: Path) -> None:
        self._store = store

    def read(self, what: str, *values: Any) -> list[Any]:
        with closing(sqlite3.connect(self._store)) as connection:
            return connection.execute(f"SELECT {what}", values).fetchall()

    def are_locked(self) -> bool:
        """Whether somebody who is in no hurry is writing to the store."""
        with closing(sqlite3.connect(self._store, timeout=0.1, isolation_level=None)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return True
            connection.execute("ROLLBACK")
        return False

    def number(self, kind: str, arm: str = "%", worker: int | str = "%", n: int | str = "%") -> int:
        """How many there are."""
        where = "kind = ? AND arm LIKE ? AND worker LIKE ? AND n LIKE ?"
        return int(self.read(f"count(*) FROM events WHERE {where}", kind, arm, f"%:{worker}:%:%:%", n)[0][0])

    def has(self, arm: str, worker: int) -> bool:
        """Whether a worker has a pull of an arm, as far as the store knows."""
        what = "kind, worker FROM events WHERE arm = ? AND kind != 'renew' ORDER BY id DESC LIMIT 1"
        return any(kind == "ask" and f":{worker}:" in who for kind, who in self.read(what, arm))

    def told(self, arm: str) -> list[Tell]:
        """The pulls of an arm that count, in the order in which they were told."""
        rows = self.read("n, pull, reward FROM events WHERE kind = 'tell' AND arm = ? ORDER BY id", arm)
        return [Tell(n, id, nonce_of(reward)) for n, id, reward in rows]


class Campaign:
    """The workers, which stop where and when they are told to."""

    def __init__(self, parent: Parent, kind: str, folder: Path, lease: float) -> None:
        self.parent, self.kind, self.lease = parent, kind, lease
        self.store, self.orders = folder / "run.db", folder / "orders"
        self.orders.mkdir()
        if kind in ("commands", "states"):
            write_plan(folder, "state" if kind == "states" else "checkpoint", ARMS, self.orders)
        Allocator(
            ARMS,
            10**6,
            store=self.store,
            policy="round-robin",
            reward_range=(0.0, 1.0),
            execution=Execution(lease=lease),
        ).close()
        self.events = Events(self.store)
        self.last: Stop | None = None
        self.stopped: list[int] = []  # processes
        self._holds = 0
        self.workers = [self._start(), self._start()]

    def _start(self) -> int:
        return self.parent.ask([self.kind, str(self.store), str(self.orders)])

    # -- stops --------------------------------------------------------------------------------------------------

    def make(self, stop: Stop) -> None:
        """One stop: it is over when a worker has gone on from what counts and all chains are whole."""
        self.last = stop
        arm = self._stop_at(stop.place)
        worker = self.stopped[0]
        other = next(each for each in self.workers if each != worker)
        self.hold(other)
        if stop.first == "inner":
            self._go_on(self.stopped[1:])
        # Without the process of an arm the worker goes on only where it has lost the pull that is made there.
        leaves = stop.first == "worker" and stop.moment != "lapsed" and self.events.has(arm, worker)
        time.sleep(1.1 * self.lease)
        order = self._reach(stop, arm, other)
        self.hold(worker)
        self._go_on(self.stopped[:1] if leaves else self.stopped)
        self.wait(lambda: self.is_held(worker))
        order.unlink(missing_ok=True)
        with self.at_rest():
            self.check()
            self._go_on_with(other if stop.others_next else worker)
        self._go_on(self.stopped)

    def _go_on_with(self, worker: int) -> None:
        """One of the workers makes some pulls of every arm."""
        before = self.events.number("tell", worker=worker)
        self.free(worker)
        self.wait(lambda: self.events.number("tell", worker=worker) >= before + _MORE)
        self.hold(worker)
        self.wait(lambda: self.is_held(worker))
        self.check()

    def _stop_at(self, place: str) -> str:
        """Stop whoever comes to a place first; the arm whose pull it makes."""
        (self.orders / f"stop-{place}").touch()
        note = self.orders / "stopped"
        self.wait(note.exists)
        arm, *processes = note.read_text().split()
        note.unlink()
        self.stopped = [int(process) for process in processes]
        self.wait(lambda: all(_state(process) == "T" for process in self.stopped))
        while self.events.are_locked():  # the process of an arm has stopped its worker in the middle of a transaction
            os.kill(self.stopped[0], signal.SIGCONT)
            os.kill(self.stopped[0], signal.SIGSTOP)
        return arm

    def _reach(self, stop: Stop, arm: str, other: int) -> Path:
        """Wait for the moment at which the worker goes on; what keeps the other one waiting in its pull."""
        n = self.events.number("tell", arm) + 1
        order, waits = self.orders / f"wait-{other}-{arm}-{n}", self.orders / f"waits-{other}"
        if stop.moment == "lapsed":
            return order
        is_locked = self._is_locked(arm)
        if stop.moment != "later" and not is_locked:
            waits.unlink(missing_ok=True)
            order.touch()
        self.free(other)
        if is_locked:  # it can only wait for the lock, which the stopped command or its worker has
            self.wait(lambda: self.events.number("ask", arm, other, n))
        elif stop.moment == "later":
            self.wait(lambda: self.events.number("tell", arm) >= n + 2)
        else:
            self.wait(waits.exists)
        self.hold(other)
        if stop.moment == "told" and not is_locked:
            order.unlink()
            self.wait(lambda: self.is_held(other))
        return order

    def stop_anywhere(self, worker: int, seconds: float) -> None:
        """Stop a worker after so long, wherever it is, and let it go on when the lease has ended."""
        time.sleep(seconds)
        self.stopped = [worker]
        os.kill(worker, signal.SIGSTOP)
        time.sleep(1.5 * self.lease)
        before = self.events.number("tell", worker=worker)
        self._go_on(self.stopped)
        self.wait(lambda: self.events.number("tell", worker=worker) > before)
        with self.at_rest():
            self.check()

    def _go_on(self, processes: Sequence[int]) -> None:
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)
        self.stopped = [process for process in self.stopped if process not in processes]

    def wait(self, condition: Callable[[], object]) -> None:
        """Wait until ``condition`` holds, but not for workers that have ended."""

        def has_ended() -> bool:
            return any(_state(worker) in "ZX" for worker in self.workers)

        until(lambda: condition() or has_ended(), self.said)
        assert not has_ended(), self.said()

    def hold(self, worker: int) -> None:
        """Have a worker ask for nothing; the number tells this order from those before it."""
        self._holds += 1
        new = self.orders / "new"
        new.write_text(str(self._holds))
        new.rename(self.orders / f"hold-{worker}")

    def free(self, worker: int) -> None:
        (self.orders / f"hold-{worker}").unlink(missing_ok=True)

    def is_held(self, worker: int) -> bool:
        held = self.orders / f"held-{worker}"
        return held.exists() and held.read_text() == (self.orders / f"hold-{worker}").read_text()

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """No worker does anything inside."""
        for worker in self.workers:
            self.hold(worker)
        self.wait(lambda: all(self.is_held(worker) for worker in self.workers))
        yield
        for worker in self.workers:
            self.free(worker)

    def _is_locked(self, arm: str) -> bool:
        """Whether somebody has the lock of a command's files."""
        path = self._folder(arm) / "lock"
        if not path.exists():
            return False
        with path.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    # -- what must hold -----------------------------------------------------------------------------------------

    def check(self) -> None:
        """No arm is blamed, and what counts is what the files say."""
        for kind in ("fail", "retire"):
            assert self.events.number(kind) == 0, self.said()
        for arm in ARMS:
            tells = self.events.told(arm)
            assert [tell.n for tell in tells] == list(range(1, len(tells) + 1)), f"arm {arm}: a gap\n{self.said()}"
            if self.kind == "states":
                self._check_state(arm, tells)
            else:
                self._check_checkpoints(arm, tells)

    def _check_checkpoints(self, arm: str, tells: list[Tell]) -> None:
        """The last checkpoint that counts, and the best one, hold exactly what was told."""
        for name, saved in _needed(tells).items():
            path = self._folder(arm) / name
            assert path.exists(), f"{path} is missing\n{self.said()}"
            found = [int(line) for line in path.read_text().splitlines()]
            assert found == [tell.nonce for tell in tells[: saved.n]], f"{path} is another chain\n{self.said()}"

    def _check_state(self, arm: str, tells: list[Tell]) -> None:
        """All that was told is there, in order. What was tried in vain stands before what was tried after it."""
        lines = (self._folder(arm) / "state" / "chain").read_text().splitlines() if tells else []
        found = [Tell(*map(int, line.replace("-", " ").split())) for line in lines]
        names = [(tell.n, tell.id) for tell in found]
        assert names == sorted(set(names)), f"arm {arm}: who had lost a pull has changed the folder\n{self.said()}"
        assert set(tells) <= set(found), f"arm {arm}: what counts is not in the folder\n{self.said()}"

    def _folder(self, arm: str) -> Path:
        return self.store.with_name("run.db.state") / arm

    # -- the end ------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """The workers spend what is left, then one more does; it leaves nothing but what is needed."""
        with self.at_rest():
            self._allow(2 * len(ARMS))
        self._join()
        self._allow(2 * len(ARMS))
        self.workers = [self._start()]
        self._join()
        self.check()
        for arm in ARMS if self.kind != "states" else ():
            left = {path.name for path in self._folder(arm).iterdir()} - {"lock", "state"}
            extra = left - set(_needed(self.events.told(arm)))
            assert not extra, f"arm {arm} keeps {extra}\n{self.said()}"

    def _allow(self, more: int) -> None:
        """Change the budget, so that so many pulls are left."""
        with Allocator.open(self.store) as allocator:
            allocator.extend(budget=self.events.number("tell") + more)

    def _join(self) -> None:
        workers, self.workers = self.workers, []
        assert [self.parent.ask(worker) for worker in workers] == [0] * len(workers), self.said()

    def said(self) -> str:
        """The stop, what workers have complained of, and what happened last."""
        said = [f"{path.name}: {path.read_text()[-2000:]}" for path in self.orders.glob("said-*")]
        last = self.events.read("* FROM events WHERE kind != 'renew' ORDER BY id DESC LIMIT 20")
        files = [path.name for path in self.orders.iterdir()]
        return "\n".join([f"{self.last} {self.workers} {self.stopped} {files}", *said, *map(str, reversed(last))])

    def close(self) -> None:
        for process in [*self.stopped, *self.workers]:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def _needed(tells: list[Tell]) -> dict[str, Tell]:
    """The checkpoints that are needed: of the last pull and of the best one."""
    best = max(tells, key=lambda tell: (tell.nonce, tell.n), default=None)
    return {f"checkpoint-{tell.n}-{tell.id}": tell for tell in (*tells[-1:], best) if tell is not None}


def _state(process: int) -> str:
    """The letter for what a process is doing: T where it has stopped, Z or X where it has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "X"


@contextmanager
def campaign(parent: Parent, kind: str, folder: Path, lease: float) -> Iterator[Campaign]:
    """Stops inside; at the end the budget is spent, and all that ended is looked at."""
    made = Campaign(parent, kind, folder, lease)
    try:
        yield made
        made.finish()
    finally:
        made.close()


def drawn(kind: str, stops: int) -> list[Stop]:
    """Stops at random, at every place and every moment before any comes again."""
    rng = np.random.default_rng(stops)
    cases = list(itertools.product(PLACES[kind], MOMENTS))
    found: list[Stop] = []
    while len(found) < stops:
        for i in rng.permutation(len(cases)):
            place, moment = cases[i]
            first = ("both", "inner", "worker")[int(rng.integers(3))]
            found.append(Stop(place, moment, first, others_next=bool(rng.integers(2))))
    return found[:stops]
