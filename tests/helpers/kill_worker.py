"""Workers that are to be killed: they ask and tell for ever and write down every tell that was acknowledged.

Run as ``python kill_worker.py STORE``: for every line of input, the name of a diary, a worker is forked, whose process
number is printed. Forking spares each worker the start of Python, so that kills hit asks and tells.
A line of a diary is written with one system call after its tell has returned: what stands in it was acknowledged.
A worker that fails writes why, so that nobody waits for it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from risingbandits import Allocator, NoArmAvailable


def reward(arm: str, n: int) -> float:
    """What pull n of an arm gives, the same whoever makes it."""
    return (n * (3 + len(arm)) % 17) / 17.0


def work(store: str, diary: str) -> None:
    file = os.open(diary, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with errors_written_to(file):
        ask_and_tell(store, file)


@contextmanager
def errors_written_to(file: int) -> Iterator[None]:
    try:
        yield
    except BaseException:
        os.write(file, traceback.format_exc().encode())
        raise


def ask_and_tell(store: str, file: int) -> None:
    allocator = Allocator.open(store)
    os.write(file, b"ready\n")
    parent = os.getppid()
    while os.getppid() == parent:  # not for ever where the tests are killed themselves
        try:
            pull = allocator.ask(wait=1.0)
        except NoArmAvailable:
            continue
        if pull is None:
            os.write(file, b"end\n")
            return
        time.sleep(0.0002)  # work; about half of the kills hit an ask or a tell
        if allocator.tell(pull, reward(pull.arm, pull.n)):
            os.write(file, f"{pull.id} {pull.arm} {pull.n}\n".encode())


def warm_up(allocator: Allocator) -> None:
    """Compile and load all that the workers use, before they are forked: a kill is to hit an ask or a tell."""
    trial = Allocator(allocator.arms, 10, policy=allocator.settings.policy.replace())
    for pull in [trial.ask(), trial.ask()]:  # the second one while an arm is busy
        assert pull is not None
        trial.tell(pull, 0.5)
    allocator.explain()


def main(store: str, work: Callable[[str, str], None]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead are not waited for
    with Allocator.open(store) as allocator:
        warm_up(allocator)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            work(store, line.rstrip("\n"))
            os._exit(0)
        print(child, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], work)
