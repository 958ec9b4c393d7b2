"""Short runs with checkpoints, in processes whose calls fail where `shim.c` says.

Run as ``python fault_worker.py``, with the shim in LD_PRELOAD. A line of input is a `Task` as JSON: a run is forked for
it and its process number printed. The line ``wait NUMBER`` waits for a run; how it ended is printed. Forking spares
each run the start of Python.

A learner draws a new number at every pull. Its checkpoint holds all pulls that it has made, and its rewards spell the
numbers, so a learner that continues from another state than the counted one can be told from the files alone.
"""

from __future__ import annotations

import ctypes
import gc
import json
import logging
import os
import secrets
import signal
import struct
import sys
import traceback
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from risingbandits import Allocator, RisingBanditsError
from risingbandits._core.processes import adopt_orphans
from risingbandits.allocation.commands._command import command_arms
from risingbandits.allocation.commands._plan_file import read_plan
from risingbandits.allocation.pull import Pull
from risingbandits.allocation.settings import as_arguments

ARMS = ("a0", "a1", "a2")
BUDGET = 10  # pulls
SECONDS = 20  # after which a run that hangs is ended
_CONTROL = "qqiiii1024s"
_LARGEST = 10**10  # all drawn numbers are smaller
_COMMAND = Path(__file__).parents[1] / "faults" / "command.sh"


class Action(IntEnum):
    """What happens at a call, as `shim.c` says."""

    FAIL = 1
    BREAK = 2
    FILL = 3
    SHORT = 4
    KILL = 5
    TEAR = 6
    ORPHAN = 7
    STOP = 8


@dataclass(frozen=True)
class Task:
    """What a run is to do.

    Parameters
    ----------
    folder : str
        Where the store is.
    notes : str
        A folder for what the run writes down.
    commands : bool
        Whether the arms are commands instead of objects.
    durability : str
        That of the allocator.
    keep : int or None
        How many arms may have checkpoints.
    below : str
        A path in that folder: calls that concern files below it are counted.
    number : int
        Of the call to hit; 0: none.
    action : Action
        What happens there.
    error : int
        Number of the error of calls that fail.
    tries : int
        How often the same process runs the budget if there is an error.
    takes_over : bool
        Give back the pulls of other workers first, as if their leases had ended.
    pulls : int or None
        After how many pulls to stop.
    """

    folder: str
    notes: str
    commands: bool = False
    durability: str = "process"
    keep: int | None = None
    below: str = "."
    number: int = 0
    action: Action = Action.FAIL
    error: int = 0
    tries: int = 1
    takes_over: bool = False
    pulls: int | None = None

    def as_line(self) -> str:
        """As a line of input."""
        return json.dumps(asdict(self)) + "\n"


def level(arm: str, n: int) -> int:
    """What decides which of two rewards is larger: the same in every run, so that all runs make the same calls."""
    return (7 * n + 3 * int(arm[1:])) % 11


def drawn(reward: float) -> int:
    """The number that was drawn for a reward."""
    return round(reward * 100 * _LARGEST) % _LARGEST


class Learner:
    """Has drawn a number at each pull; ``past`` has a text for every pull, ``n:id:attempt:number``."""

    def __init__(self) -> None:
        self.past: list[str] = []

    def pull(self, pull: Pull) -> float:
        new = secrets.randbits(32)
        self.past.append(f"{pull.n}:{pull.id}:{pull.attempt}:{new}")
        return (level(pull.arm, pull.n) * _LARGEST + new) / (100 * _LARGEST)

    def save(self, path: Path) -> None:
        path.write_text(" ".join(self.past))

    def load(self, path: Path) -> None:
        self.past = path.read_text().split()


class FolderLearner(Learner):
    """Saves a folder with two files."""

    def save(self, path: Path) -> None:
        path.mkdir()
        (path / "first").write_text(" ".join(self.past[:1]))
        (path / "rest").write_text(" ".join(self.past[1:]))

    def load(self, path: Path) -> None:
        self.past = [*(path / "first").read_text().split(), *(path / "rest").read_text().split()]


class Notes(logging.Handler):
    """What a run writes down, each line with one system call: what stands there has happened."""

    def __init__(self, task: Task, shim: ctypes.CDLL) -> None:
        super().__init__()
        self.folder, self._shim = Path(task.notes), shim

    def add(self, name: str, line: str) -> None:
        file = os.open(self.folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(file, f"{line}\n".encode())
        os.close(file)

    def emit(self, record: logging.LogRecord) -> None:
        self.add("said", f"{record.levelname} {record.getMessage()}")

    def mark(self, what: str, pull: Pull) -> None:
        """Note the moment in the log of calls, with the checkpoint of a pull."""
        checkpoint = f"run.db.state/{pull.arm}/checkpoint-{pull.n}-{pull.id}"
        self._shim.note(f"0\trun\tmade\t{what}\t{checkpoint}\t-\n".encode())


class NotedAllocator(Allocator):
    """Writes down which tells were acknowledged."""

    notes: Notes
    left: int | None = None  # pulls until it stops

    def tell(self, pull: Pull | int, reward: float | None = None, *more: Any, **named: Any) -> bool:
        assert isinstance(pull, Pull)
        self.notes.mark("tell", pull)
        counts = super().tell(pull, reward, *more, **named)
        if counts:
            self.notes.add("diary", f"{pull.arm} {pull.n} {pull.id} {reward!r}")
            self.notes.mark("told", pull)
        if self.left is not None:
            self.left -= 1
            if self.left == 0:
                signal.raise_signal(signal.SIGINT)
        return counts


def run(task: Task, notes: Notes) -> None:
    """Spend the budget, or what is left of it."""
    store = Path(task.folder) / "run.db"
    settings: dict[str, Any] = {"durability": task.durability, "policy": "round-robin", "seed": 1}
    arms: dict[str, Any] = dict(zip(ARMS, (Learner(), Learner, FolderLearner), strict=True))
    if task.commands:
        plan = Path(task.notes) / "plan.toml"
        words = ["/bin/sh", str(_COMMAND), "{arm}", "{n}", "{attempt}", "{previous}", "{checkpoint}"]
        named = ", ".join(f'{{name = "{arm}"}}' for arm in ARMS)
        head = f"budget = {BUDGET}\nstore = {json.dumps(str(store))}\n"
        plan.write_text(f"{head}defaults.command = {json.dumps(words)}\narms = [{named}]\n")
        arms = dict(command_arms(read_plan(plan)))
        adopt_orphans()
    given = ARMS if task.commands else arms
    with NotedAllocator(given, BUDGET, store=store, **as_arguments(settings)) as allocator:
        allocator.notes, allocator.left = notes, task.pulls
        if task.takes_over:
            for id in list(allocator.ledger.in_flight):
                allocator.release(id, "given to another worker")
        for attempt in range(task.tries):
            try:
                allocator.run(progress=False, arms=arms, keep=task.keep)
                break
            except RisingBanditsError as error:
                notes.add("ended", json.dumps([type(error).__name__, True, str(error)]))
                if attempt + 1 == task.tries:
                    return
    notes.add("ended", json.dumps(None))


def become(task: Task) -> None:
    """The run, in a child; it never returns."""
    try:
        signal.alarm(SECONDS)
        printed = os.open(f"{task.notes}/printed", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for handle, target in ((os.open(os.devnull, os.O_RDONLY), 0), (printed, 1), (printed, 2)):
            os.dup2(handle, target)
        control = f"{task.notes}/control-{os.getpid()}"
        counted = os.path.normpath(f"{task.folder}/{task.below}").encode()
        values = (0, task.number, task.action, task.error, os.getpid(), 0, counted)
        Path(control).write_bytes(struct.pack(_CONTROL, *values))
        os.environ["FAULT_CONTROL"] = control  # for commands
        shim = ctypes.CDLL(None)
        assert shim.attach(control.encode()) == 0
        notes = Notes(task, shim)
        log = logging.getLogger("risingbandits")
        log.addHandler(notes)
        log.setLevel(logging.INFO)
        try:
            run(task, notes)
        except KeyboardInterrupt:
            notes.add("ended", json.dumps(None))
        except RisingBanditsError as error:
            notes.add("ended", json.dumps([type(error).__name__, True, str(error)]))
        except Exception as error:
            notes.add("ended", json.dumps([type(error).__name__, False, traceback.format_exc()]))
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def warm_up() -> None:
    """Load and compile what the runs use."""
    with Allocator(dict.fromkeys(ARMS, Learner), 6, policy="round-robin") as allocator:
        allocator.run(progress=False)
    gc.collect()
    gc.freeze()


def main() -> None:
    warm_up()
    for line in sys.stdin:
        if line.startswith("wait "):
            _, status = os.waitpid(int(line.split()[1]), os.WUNTRACED)
            stopped = os.WIFSTOPPED(status)
            print("stopped" if stopped else os.waitstatus_to_exitcode(status), flush=True)
            continue
        child = os.fork()
        if child == 0:
            become(Task(**json.loads(line)))
        print(child, flush=True)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
