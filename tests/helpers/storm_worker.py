"""Workers of a storm: threads that ask, and do all that can be done with a pull, an arm or a run.

Run as ``python storm_worker.py STORE``, like `kill_worker`. A diary has a line before each call of the allocator and
one with its result, each written with one system call. So it says what was acknowledged and what was refused; where
the second line is missing because the worker was killed, nobody knows.
"""

from __future__ import annotations

import json
import logging
import os
import random
import sys
import threading
import time
from pathlib import Path
from typing import Any

import kill_worker
from risingbandits import Allocator, Pull, RisingBanditsError
from risingbandits.allocation import _session as session

LEASE = 0.3  # seconds
THREADS = 3
RANGE = (-1.0, 1.0)  # of rewards
_ROUND = (-1.0, -0.0, 0.0, 1.0)


class Diary:
    """The file that one process writes to."""

    def __init__(self, path: Path) -> None:
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.write(worker=os.getpid())

    def write(self, **words: Any) -> None:
        os.write(self.file, f"{json.dumps(words)}\n".encode())

    def close(self) -> None:
        os.close(self.file)


class Thread:
    """One thread of a worker; all use the same allocator."""

    def __init__(self, name: str, allocator: Allocator, diary: Diary) -> None:
        self.name, self.allocator, self.diary = name, allocator, diary
        self.rng = random.Random(name)
        self.last = 1  # the id of its last pull

    def call(self, method: str, *values: Any) -> Any:
        """The result of a method of the allocator; errors are results, too."""
        self.diary.write(thread=self.name, call=method, values=values)
        try:
            result = getattr(self.allocator, method)(*values)
        except RisingBanditsError as error:
            result = {"error": type(error).__name__, "text": str(error)}
        self.diary.write(thread=self.name, result=result)
        return result

    def work(self) -> None:
        with kill_worker.errors_written_to(self.diary.file):
            while True:
                pull = self.call("ask", 0.02)
                if isinstance(pull, Pull):
                    self.last = pull.id
                    self.pause()
                    self.treat(pull)
                elif self.rng.random() < 0.3:
                    self.extend()
                self.disturb()

    def pause(self) -> None:
        time.sleep(self.rng.expovariate(300.0))

    def treat(self, pull: Pull) -> None:
        """Tell a pull, or do something else with it first or instead."""
        number = self.rng.random()
        if "bad" in pull.arm and number < 0.9:
            self.call("fail", pull, "bad")
        elif number < 0.6:
            self.tell(pull)
        elif number < 0.7:
            if self.call("renew", pull):
                self.tell(pull)
        elif number < 0.8:
            self.call("fail" if number < 0.75 else "release", pull)
        elif number < 0.97:
            self.tell_late(pull, masked=number < 0.88)
        elif number < 0.98:
            time.sleep(1.2 * LEASE)
            self.tell(pull)
        elif number < 0.99:
            time.sleep(0.7 * LEASE)
            self.call("renew", pull)
            time.sleep(0.7 * LEASE)
            self.tell(pull)

    def tell_late(self, pull: Pull, masked: bool) -> None:
        """Tell a pull that was given back: meanwhile it, or its share of the budget, may be given to another."""
        if masked:
            self.call("mask", pull.arm)
        self.call(self.rng.choice(["fail", "release"]), pull)
        self.pause()
        self.tell(pull)
        if masked:
            self.call("unmask", pull.arm)

    def tell(self, pull: Pull | int) -> None:
        reward = self.rng.choice(_ROUND) if self.rng.random() < 0.05 else self.rng.uniform(*RANGE)
        self.call("tell", pull, reward, self.rng.random())

    def disturb(self) -> None:
        """Tell what may be an old pull or one of another worker, mask or unmask an arm, or change the run."""
        number = self.rng.random()
        if number < 0.1:
            self.tell(max(1, self.last - self.rng.randrange(40)))
        elif number < 0.2:
            self.call("mask" if number < 0.13 else "unmask", self.rng.choice(self.allocator.arms))
        elif number < 0.23:
            self.extend()

    def extend(self) -> None:
        """A budget that is nearly spent or too small, or a new arm."""
        number = self.rng.randrange(16)
        if number == 0:
            kind = self.rng.choice(["good", "bad"])
            self.call("extend", None, [f"{kind} {self.name} {self.rng.random()}"])
        else:
            self.call("extend", int(self.allocator.spent) + number)


def work(store: str, path: str) -> None:
    logging.disable()  # failed and expired pulls would be many warnings
    session._SNAPSHOT_FIRST = 100  # events; later workers begin with a snapshot
    diary = Diary(Path(path))
    with kill_worker.errors_written_to(diary.file):
        allocator = Allocator.open(store)
    name = Path(path).name
    for number in range(THREADS):
        thread = Thread(f"{name} {number}", allocator, diary)
        threading.Thread(target=thread.work, daemon=True).start()
    parent = os.getppid()
    while os.getppid() == parent:  # not for ever where the tests are killed themselves
        time.sleep(1.0)


if __name__ == "__main__":
    kill_worker.main(sys.argv[1], work)
