"""Names of processes, and whether the process with a name is certainly gone."""

from __future__ import annotations

import os
import socket
from functools import lru_cache
from pathlib import Path

_PROC = Path("/proc")


def worker_name(pid: int | None = None) -> str:
    """Host, process (this one, or number ``pid``), its start and its process namespace, separated by colons.

    A process number alone is used again after a while, and containers number their own; the start (in clock ticks
    since the machine booted) and the namespace tell them apart. Where there is no /proc both are 0.
    """
    pid = os.getpid() if pid is None else pid
    return f"{_host()}:{pid}:{_start(pid) or 0}:{_namespace()}"


def is_gone(worker: str) -> bool:
    """Whether the process named ``worker`` ran here and has ended. False where that cannot be known."""
    host, _, rest = worker.rpartition(":")[0].rpartition(":")[0].rpartition(":")
    namespace = worker.rpartition(":")[2]
    start = worker.rpartition(":")[0].rpartition(":")[2]
    if host != _host() or namespace != _namespace() or not rest.isdecimal():
        return False
    pid = int(rest)
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:  # exists and belongs to someone else
        return False
    now = _start(pid)
    return now is not None and start.isdecimal() and int(start) != 0 and int(start) != now


@lru_cache(maxsize=1)
def _host() -> str:
    return socket.gethostname().replace(":", "-") or "localhost"


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid").strip("pid:[]") or "0"
    except OSError:
        return "0"


def _start(pid: int) -> int | None:
    """The start of a process; None if it is not known, or if the process has ended and only waits to be reaped."""
    try:
        fields = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        return -1 if fields[0] in (b"Z", b"X") else int(fields[19])
    except (OSError, IndexError, ValueError):
        return None
