"""Names of processes, and whether the process with a name is certainly gone."""

from __future__ import annotations

import os
import socket
from functools import lru_cache
from pathlib import Path

from risingbandits.allocation.stores.clock import boot_id

_PROC = Path("/proc")


def worker_name(pid: int | None = None) -> str:
    """Host, process (this one, or number ``pid``), its start, its process namespace and the machine's boot.

    Process numbers are reused, containers number their own, and copies of a virtual machine share a host name; the
    start (in clock ticks since boot), the namespace and the boot tell them apart. Without /proc the first two are 0.
    """
    pid = os.getpid() if pid is None else pid
    return f"{_host()}:{pid}:{_start(pid) or 0}:{_namespace()}:{_boot()}"


def is_gone(worker: str, one_machine: bool = False) -> bool:
    """Whether the process named ``worker`` ran here and has ended. False if that cannot be known.

    With ``one_machine``, if no other can have this host's name, processes from before its last boot are gone.
    """
    fields = worker.split(":")
    if len(fields) != 5:
        return False
    host, number, start, namespace, boot = fields
    if one_machine and host == _host() and boot != _boot():
        return True
    if (host, namespace, boot) != (_host(), _namespace(), _boot()) or not number.isdecimal():
        return False
    pid = int(number)
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:  # exists and belongs to someone else
        return False
    now = _start(pid)
    return now is not None and start.isdecimal() and int(start) != 0 and int(start) != now


def _boot() -> str:
    return boot_id()[:8]  # it stands in every event


@lru_cache(maxsize=1)
def _host() -> str:
    return socket.gethostname().replace(":", "-") or "localhost"


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid").strip("pid:[]") or "0"
    except OSError:
        return "0"


def _start(pid: int) -> int | None:
    """The start of a process; None if unknown, or if the process has ended and only waits to be reaped."""
    try:
        fields = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        return -1 if fields[0] in (b"Z", b"X") else int(fields[19])
    except (OSError, IndexError, ValueError):
        return None
