"""Everything that a command has started, including what has left its process group: found, ended, or named.

Where there is /proc, a process belongs to a command if

- it is in the command's session, or
- it has the command's mark, an environment variable that is different for every pull, or
- it holds the arm's lock as the command's run took it, which the command inherits, or
- its parent belongs to the command.

A process that has a session of its own, an empty environment, no files and a parent that has ended is none of these.
It is found only where this process takes orphans in (`adopt_orphans`), as ``risingbandits run`` does: then the system
makes it a child of this process. It belongs to one of the commands that were at work when it began, and is ended as
soon as all of those have ended.

Without /proc, psutil, where it is installed, knows sessions, marks and parents, but no locks. Without both, only the
process group is ended.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from risingbandits._core.platform import KILL, psutil

MARK = "RISINGBANDITS_MARK"
# Held while a command is started or processes are looked through: no new command is taken for an orphan, and none
# inherits the lock of another's arm.
STARTING = threading.Lock()

_PROC = "/proc"
_POLL = 0.005  # seconds between looks at what was killed
_LOOK = 0.2  # seconds between looks at a child where the system cannot wait for it without reaping it
_SET_CHILD_SUBREAPER = 36  # of prctl
_at_work: dict[int, int] = {}  # commands of this process and when they began
_adopting: float | None = None  # since when orphans are taken in, in clock ticks


class Process(NamedTuple):
    """A process; ``start`` is in clock ticks since the machine was started, or since 1970 by psutil."""

    pid: int
    state: str
    parent: int
    session: int
    start: int

    @property
    def named(self) -> str:
        """Its number and command, for messages."""
        try:
            words = Path(_PROC, str(self.pid), "cmdline").read_text(errors="replace").replace("\0", " ")
        except OSError:
            words = " ".join(_from_psutil(self.pid, "cmdline") or ())
        text = "".join(letter if letter.isprintable() else "?" for letter in words).strip()
        return f"{self.pid} ({text[:80]})" if text else str(self.pid)


class Trace(NamedTuple):
    """How what belongs to a command is known; ``session`` is 0 and ``start`` is 0 where they are not known.

    ``run`` is the process that took the lock for the command. Another one may have it by now, with a command that must
    be left alone.
    """

    mark: str
    lock: Path
    session: int = 0
    start: int = 0
    run: int = 0


def adopt_orphans() -> bool:
    """Adopt what commands leave behind from now on; returns whether the system can do that.

    Only for a process that starts nothing but commands: whatever else it started and lost would be ended as well. The
    first process of a container is none, as it is given the orphans of others, too.
    """
    global _adopting
    if not sys.platform.startswith("linux") or os.getpid() == 1:
        return False
    import ctypes

    with suppress(OSError, AttributeError):
        if ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0:
            _adopting = time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK") - 1.0
    return _adopting is not None


def begun(pid: int) -> int:
    """Note that a command has been started, by the holder of `STARTING`; when it began."""
    process = _process(pid)  # which may have ended already
    _at_work[pid] = 0 if process is None else process.start
    return _at_work[pid]


def ended(pid: int) -> None:
    """A command has been reaped."""
    _at_work.pop(pid, None)


def end_all(trace: Trace, seconds: float, number: signal.Signals = KILL) -> list[str]:
    """Send a signal to all that belongs to a command and wait, for so long, until it has ended; what is left, named."""
    if _leaves_nothing(trace.session):
        return []
    end = time.monotonic() + seconds
    told: set[int] = set()
    while True:
        with STARTING:
            left = list(_belonging(trace))
            for process in left:
                if process.pid not in told:
                    with suppress(ProcessLookupError, PermissionError):
                        os.kill(process.pid, number)
        told.update(process.pid for process in left)
        if not left or time.monotonic() >= end:
            return [process.named for process in left]
        time.sleep(_POLL)


def wait_for(process: subprocess.Popen[bytes], done: threading.Event) -> None:
    """Wait until a child has ended, without reaping it; then set ``done``."""
    if hasattr(os, "waitid"):
        with suppress(ChildProcessError):
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    elif os.name == "nt":  # where its number is not given to another as long as it is open here
        process.wait()
    else:  # macOS before Python 3.13
        words = ["ps", "-o", "stat=", "-p", str(process.pid)]
        while (state := subprocess.run(words, capture_output=True, text=True).stdout.strip()) and state[0] != "Z":
            time.sleep(_LOOK)
    done.set()


def end_group(group: int, number: signal.Signals) -> None:
    """Send a signal to a process group, if it is there and ours; where there are no groups, to its first process."""
    with suppress(ProcessLookupError, PermissionError):
        (os.killpg if hasattr(os, "killpg") else os.kill)(group, number)


def alive(trace: Trace) -> list[str]:
    """What belongs to a command, named."""
    with STARTING:
        return [process.named for process in _belonging(trace)]


def _leaves_nothing(command: int) -> bool:
    """Whether a finished command has left nothing behind, if that is quick to see: this process has no orphans.

    Looking through all processes takes milliseconds.
    """
    if _adopting is None or list(_at_work) != [command]:
        return False
    try:
        threads = [Path(_PROC, "self", "task", thread, "children") for thread in os.listdir(f"{_PROC}/self/task")]
        children = {int(child) for thread in threads for child in thread.read_bytes().split()}
    except OSError:  # the system does not tell, or a thread has ended
        return False
    process = _process(command)
    return process is not None and process.state == "Z" and children == {command}


def _belonging(trace: Trace) -> Iterator[Process]:
    """The living processes of a command. Orphans of this process that have ended are reaped on the way."""
    mark = f"{MARK}={trace.mark}".encode()
    lock = _identity(trace.lock)
    ours, own_session = os.getpid(), _session(0)
    rest = {process.pid: process for process in _processes() if process.pid != ours}
    # Commands that have ended but were not reaped yet do not count: when two end at once, each looks after the orphans.
    others = [start for pid, start in _at_work.items() if pid != trace.session and _runs(rest.get(pid))]
    found: dict[int, Process] = {}
    for process in rest.values():
        # What this process starts for itself stays in its session; a command and all that it starts have others.
        orphan = (
            _adopting is not None
            and process.parent == ours
            and process.session != own_session
            and process.start >= _adopting
            and process.pid not in _at_work
        )
        if process.state in "ZX":
            if orphan:
                with suppress(ChildProcessError):
                    os.waitpid(process.pid, os.WNOHANG)
        elif (
            (trace.session and process.session == trace.session)
            or (orphan and all(process.start < start for start in others))
            or (process.start >= trace.start and (_has_mark(process, mark) or _has_lock(process, lock, trace.run)))
        ):
            found[process.pid] = process
    while children := [one for one in rest.values() if one.parent in found and one.pid not in found]:
        found.update((child.pid, child) for child in children)
    return (process for process in found.values() if process.state not in "ZX")


def _runs(process: Process | None) -> bool:
    return process is not None and process.state not in "ZX"


def _processes() -> Iterator[Process]:
    known = psutil()
    try:
        pids = known.pids() if known else [int(name) for name in os.listdir(_PROC) if name.isdecimal()]
    except OSError:
        return
    for pid in pids:
        if (process := _process(pid)) is not None:
            yield process


def _process(pid: int) -> Process | None:
    try:
        with open(f"{_PROC}/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return Process(pid, fields[0].decode(), int(fields[1]), int(fields[3]), int(fields[19]))
    except (OSError, IndexError, ValueError):  # has ended, or there is no /proc
        found = _from_psutil(pid, "as_dict", ["status", "ppid", "create_time"])
    if found is None:
        return None
    with suppress(OSError):
        start = int(found["create_time"] * (os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100))
        return Process(pid, "Z" if found["status"] == "zombie" else "R", found["ppid"], _session(pid), start)
    return None


def _session(pid: int) -> int:
    """The session of a process; without sessions each process is one of its own."""
    return os.getsid(pid) if hasattr(os, "getsid") else pid or os.getpid()


def _from_psutil(pid: int, method: str, *arguments: object) -> Any:
    """What psutil says about a process; None if it is not used, or the process has ended or is another user's."""
    known = psutil()
    if known is None:
        return None
    try:
        return getattr(known.Process(pid), method)(*arguments)
    except known.Error:
        return None


def _has_mark(process: Process, mark: bytes) -> bool:
    try:
        with open(f"{_PROC}/{process.pid}/environ", "rb") as file:
            return mark in file.read().split(b"\0")
    except OSError:  # has ended, or is another user's
        known: dict[str, str] = _from_psutil(process.pid, "environ") or {}
        return MARK in known and f"{MARK}={known[MARK]}".encode() == mark


def _has_lock(process: Process, lock: tuple[int, int] | None, run: int) -> bool:
    """Whether a process has the lock, as ``run`` took it, not only the file: who waits for it has that open, too."""
    folder = f"{_PROC}/{process.pid}"
    with suppress(OSError):
        for handle in os.listdir(f"{folder}/fd"):
            if lock is not None and _identity(Path(folder, "fd", handle)) == lock:
                with suppress(OSError), open(f"{folder}/fdinfo/{handle}", "rb") as file:
                    # "lock: 1: FLOCK ADVISORY WRITE 4711 ...": who took it, 0 in a container if that one has ended.
                    if any(b"FLOCK" in line and int(line.split()[5]) in (run, 0) for line in file):
                        return True
    return False


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
