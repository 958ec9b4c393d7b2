"""Runs of `fault_worker` with a fault in one call, and restarts until the budget is spent."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import fault_worker
from fault_worker import Action, Task

SHIM = Path(__file__).parents[1] / "faults" / "shim.c"


class Call(NamedTuple):
    """A line of the log of calls. Number 0 is no call: "tell" and "told" are when a tell began and when it returned."""

    number: int
    who: str  # "run" or "command"
    made: str  # "made" or "not made", where it fails or the run is killed before
    kind: str
    path: str  # below the folder; for "tell" and "told" that of the checkpoint
    to: str  # where a name is changed or added


@dataclass(frozen=True)
class Variant:
    """A kind of run."""

    name: str
    commands: bool = False
    durability: str = "process"
    keep: int | None = None


@dataclass(frozen=True)
class Fault:
    """What happens at a call.

    Parameters
    ----------
    action : Action
        What happens.
    error : int
        Number of the error of calls that fail.
    tries : int
        How often the same process goes on after an error.
    below : str
        Only calls below this path are counted.
    pulls : int
        How many pulls another worker makes while the run is stopped.
    """

    name: str
    action: Action
    error: int = 0
    tries: int = 1
    below: str = "."
    pulls: int = 0

    @property
    def kills(self) -> bool:
        """Whether the run does not survive it."""
        return self.action in (Action.KILL, Action.TEAR, Action.ORPHAN)

    @property
    def is_error(self) -> bool:
        """Whether calls fail."""
        return self.action in (Action.FAIL, Action.BREAK, Action.FILL)

    def is_for(self, variant: Variant) -> bool:
        """Whether it can happen to a kind of run."""
        if self.action == Action.ORPHAN:
            return variant.commands
        return self.action != Action.STOP or variant.keep is None  # arms give up checkpoints while the store is locked

    def fits(self, variant: Variant, call: Call) -> bool:
        """Whether it can happen at a call of such a run."""
        if self.action == Action.SHORT:
            return call.kind == "write"
        if self.action == Action.ORPHAN:
            return call.who == "command"
        return call.kind == "remove" or not (self.action == Action.STOP and variant.commands)  # before, it has a lock


FAULTS = {
    fault.name: fault
    for fault in (
        Fault("EIO", Action.FAIL, errno.EIO),
        Fault("ENOSPC", Action.FAIL, errno.ENOSPC),
        Fault("EIO, then the same process goes on", Action.FAIL, errno.EIO, tries=3),
        Fault("the disk breaks", Action.BREAK, errno.EIO),
        Fault("the disk is full", Action.FILL, errno.ENOSPC),
        Fault("the disk of the checkpoints is full", Action.FILL, errno.ENOSPC, below="run.db.state"),
        Fault("a short write", Action.SHORT),
        Fault("killed before", Action.KILL),
        Fault("killed in the middle or after", Action.TEAR),
        Fault("killed without its command", Action.ORPHAN),
        # Below this path the run does not hold the lock of the store.
        Fault("stopped while another worker makes its pull", Action.STOP, below="run.db.state", pulls=1),
        Fault("stopped while another worker makes 4 pulls", Action.STOP, below="run.db.state", pulls=4),
    )
}


VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("objects"),
        Variant("power", durability="power"),
        Variant("keep", keep=2),
        Variant("commands", commands=True),
        Variant("commands-power", commands=True, durability="power"),
        Variant("keep-power", durability="power", keep=2),
    )
}


class Ending(NamedTuple):
    """The error with which a run ended."""

    kind: str
    is_ours: bool  # whether it is a RisingBanditsError
    text: str


class Case:
    """One store and what its runs have written down."""

    def __init__(self, forks: Forks, folder: Path, variant: Variant) -> None:
        self.forks, self.variant = forks, variant
        self.folder, self.notes = folder / "run", folder / "notes"
        for path in (self.folder, self.notes):
            path.mkdir(parents=True)
        self._pids: list[int] = []

    def start(self, **task: Any) -> int:
        """Start a run; its process."""
        settings = {name: getattr(self.variant, name) for name in ("commands", "durability", "keep")}
        pid = int(self.forks.ask(Task(str(self.folder), str(self.notes), **settings, **task).as_line()))
        self._pids.append(pid)
        return pid

    def wait(self, pid: int) -> str:
        """Wait until a run has ended or stopped: "stopped", or its exit code, negative for a signal."""
        return self.forks.ask(f"wait {pid}\n")

    def run(self, **task: Any) -> str:
        """Make a run; how its process ended."""
        return self.wait(self.start(**task))

    def run_with(self, fault: Fault, number: int) -> str:
        """Make a run with a fault, and let another one go on while it is stopped; how the processes ended."""
        task = {"action": fault.action, "error": fault.error, "tries": fault.tries, "below": fault.below}
        pid = self.start(number=number, **task)
        ended = self.wait(pid)
        if ended == "stopped":
            other = self.run(takes_over=True, pulls=fault.pulls)
            os.kill(pid, signal.SIGCONT)
            ended = self.wait(pid) if other == "0" else f"{other} of another worker"
        return ended

    def calls(self, run: int = 0) -> list[Call]:
        """The calls of a run, and when it told."""
        lines = (self.notes / f"control-{self._pids[run]}.log").read_text().splitlines()
        return [Call(int(number), *words) for number, *words in (line.split("\t") for line in lines)]

    def call(self, number: int, run: int = 0) -> Call | None:
        """The call with a number, if a run has made it."""
        return next((call for call in self.calls(run) if call.number == number), None)

    def all_calls(self) -> list[Call]:
        """The calls of all runs."""
        return [call for run in range(len(self._pids)) for call in self.calls(run)]

    def lines(self, name: str) -> list[str]:
        """What the runs have written down under a name."""
        path = self.notes / name
        return path.read_text().splitlines() if path.exists() else []

    def warnings(self) -> list[str]:
        """What the runs have warned of."""
        return [line for line in self.lines("said") if line.startswith("WARNING")]

    def endings(self) -> list[Ending | None]:
        """How the runs have ended that were not killed; None: well."""
        found = [json.loads(line) for line in self.lines("ended")]
        return [None if one is None else Ending(*one) for one in found]


class Forks:
    """A process that forks runs; ``known`` are the calls of a kind of run, where they were counted."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.known: dict[tuple[Variant, str], list[Call]] = {}

    def ask(self, line: str) -> str:
        """Send a line; the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the process that forks has ended"
        return answer.strip()


def find_compiler() -> str | None:
    """The C compiler of the system."""
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


def build_shim(compiler: str, to: Path) -> Path:
    """Compile the shim into a folder."""
    shim = to / "shim.so"
    words = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-o", str(shim), str(SHIM), "-ldl"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return shim


@contextmanager
def forked_runs(shim: Path) -> Iterator[Forks]:
    """What forks runs until the end of the block."""
    words = [sys.executable, fault_worker.__file__]
    environment = {**os.environ, "LD_PRELOAD": str(shim)}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as process:
        yield Forks(process)
        process.kill()
