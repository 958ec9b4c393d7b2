"""Everything that not all systems have: this boot, its clock, names of processes, locks, forks; with fall-backs.

The clock of a store tells the time of day, but only moves forward, at the pace of the machine. Leases and budgets in
seconds are differences of its times, so adjusting the wall clock must not move it.
"""

from __future__ import annotations

import importlib
import os
import signal
import socket
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError, hide_password

_fcntl: Any = None
with suppress(ImportError):  # Windows has none
    _fcntl = importlib.import_module("fcntl")
_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", None)  # unlike `monotonic` it also counts the hours of a closed laptop

# Seconds since this machine was started, the same for all its processes.
since_boot: Callable[[], float] = time.monotonic if _BOOT_CLOCK is None else partial(time.clock_gettime, _BOOT_CLOCK)
_PROC = Path("/proc")
MOUNTS = _PROC / "mounts"
KILL: signal.Signals = getattr(signal, "SIGKILL", signal.SIGTERM)  # what nothing survives, or ends a process on Windows
_LONGEST_COMMAND = 80  # characters of a command


@lru_cache(maxsize=1)
def boot_id() -> str:
    """An identity of this boot of this machine or, if that is not known, of the machine."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"{uuid.getnode():012x}"


class Clock:
    """The time of day when it was created, plus the time passed since.

    Attributes
    ----------
    offset : float
        From the time since the machine was started to the time of day. Clocks with one offset agree.
    """

    def __init__(self) -> None:
        self.offset = time.time() - since_boot()

    def __call__(self) -> float:
        return since_boot() + self.offset


def worker_name(pid: int | None = None) -> str:
    """Host, process (this one, or number ``pid``), its start, its process namespace and the machine's boot.

    Process numbers are reused, containers number their own, and copies of a virtual machine share a host name; the
    start (in clock ticks since boot), the namespace and the boot tell them apart. What is not known is 0.
    """
    pid = os.getpid() if pid is None else pid
    host, namespace, boot = _place()
    return f"{host}:{pid}:{_start(pid) or 0}:{namespace}:{boot}"


def is_gone(worker: str, one_machine: bool = False) -> bool:
    """Whether the process named ``worker`` ran here and has ended. False if that cannot be known.

    With ``one_machine``, if no other can have this host's name, processes from before its last boot are gone.
    """
    fields = worker.split(":")
    if len(fields) != 5:
        return False
    host, number, start, namespace, boot = fields
    here = _place()
    if one_machine and host == here[0] and boot != here[2]:
        return True
    if (host, namespace, boot) != here or not number.isdecimal():
        return False
    pid = int(number)
    if os.name == "nt":  # where asking would be an interrupt
        return psutil() is not None and not psutil().pid_exists(pid)
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:  # exists and belongs to someone else
        return False
    now = _start(pid)
    return now is not None and start.isdecimal() and int(start) != 0 and int(start) != now


def _place() -> tuple[str, str, str]:
    """The host, the namespace of its processes, and the boot: what a number of a process is unique in."""
    try:
        namespace = os.readlink("/proc/self/ns/pid").strip("pid:[]") or "0"
    except OSError:
        namespace = "0"
    return socket.gethostname().replace(":", "-") or "localhost", namespace, boot_id()[:8]  # it stands in every event


def _start(pid: int) -> int | None:
    """The start of a process; None if unknown, -1 if the process has ended and only waits to be reaped."""
    try:
        fields = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        return -1 if fields[0] in (b"Z", b"X") else int(fields[19])
    except (OSError, IndexError, ValueError):
        return None


@lru_cache(maxsize=1)
def psutil() -> Any:
    """The library that knows processes where there is no /proc; None if there is one, or if it is not installed."""
    if _PROC.exists():
        return None
    try:
        return importlib.import_module("psutil")
    except ImportError:
        return None


def at_fork(before: Callable[[], None], in_parent: Callable[[], None], in_child: Callable[[], None]) -> None:
    """Have functions called around every fork, where the system forks."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=before, after_in_parent=in_parent, after_in_child=in_child)


def has_locks() -> bool:
    """Whether the system has locks on files that processes inherit (flock), as Windows has not."""
    return _fcntl is not None


def locked(handle: int, shared: bool = False) -> bool:
    """Lock an open file, exclusively or shared, if it is free; returns whether it was.

    A process inherits the lock, and it ends with the last that has it. Without such locks every file is free.
    """
    if _fcntl is None:
        return True
    try:
        _fcntl.flock(handle, (_fcntl.LOCK_SH if shared else _fcntl.LOCK_EX) | _fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise RisingBanditsError(
            f"the folder must be on a file system with locks (flock), and here they fail: {error.strerror}."
        ) from error
    return True


def write_at_start(handle: int, data: bytes) -> None:
    """Write to the start of an open file, in one call where the system has one."""
    if hasattr(os, "pwrite"):
        os.pwrite(handle, data, 0)
    else:
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, data)


def read_at_start(handle: int, length: int) -> bytes:
    """The first bytes of an open file."""
    if hasattr(os, "pread"):
        return os.pread(handle, length, 0)
    os.lseek(handle, 0, os.SEEK_SET)
    return os.read(handle, length)


def file_system(folder: Path, mounts: Path = MOUNTS) -> str:
    """The kind of file system that a folder is on, such as "ext4"; empty if unknown."""
    try:
        lines = mounts.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    inside = os.path.realpath(folder)
    best, kind = "", ""
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = fields[1].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        if (inside == point or inside.startswith(point.rstrip("/") + "/")) and len(point) >= len(best):
            best, kind = point, fields[2]
    return kind


def holder(files: Sequence[Path]) -> str:
    """The process that holds a lock on one of the files, as the end of a sentence; empty if unknown."""
    inodes = set()
    for file in files:
        with suppress(OSError):
            inodes.add(str(os.stat(file).st_ino))
    try:
        lines = (_PROC / "locks").read_text().splitlines()
    except OSError:
        return ""
    for line in lines:  # 1: FLOCK  ADVISORY  WRITE 7391 08:01:131103 0 EOF
        fields = line.split()
        if len(fields) == 8 and fields[3] == "WRITE" and fields[5].rpartition(":")[2] in inodes:
            pid = int(fields[4])
            if pid not in (-1, 0, os.getpid()):
                return f" by process {pid}{_described(pid)}"
    return ""


def _described(pid: int) -> str:
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        state = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""
    command = "".join(letter if letter.isprintable() else " " for letter in hide_password(words))[:_LONGEST_COMMAND]
    return f" ({command}){', which is stopped' if state in 'Tt' else ''}"
