"""Which process holds a lock, for messages."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from risingbandits.allocation.stores.base import hide_password

_PROC = Path("/proc")
_LONGEST = 80  # characters of a command


def holder(files: Sequence[Path]) -> str:
    """The process that holds a lock on one of the files, as the end of a sentence; empty if unknown."""
    inodes = set()
    for file in files:
        with contextlib.suppress(OSError):
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
    command = "".join(letter if letter.isprintable() else " " for letter in hide_password(words))[:_LONGEST]
    return f" ({command}){', which is stopped' if state in 'Tt' else ''}"
