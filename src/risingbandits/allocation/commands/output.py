"""What a command prints, in a file that stays small: the start and the end are kept, the middle is left out.

The command writes straight to the file, never through a pipe, so that nothing is lost and nothing blocks or breaks if
the run that started it is killed. The run looks at the size of the file many times a second. When more than the limit
is there, it gives the middle back to the file system as a hole, while the command goes on printing. Between two looks a
command can print some tens of megabytes at most, and only so much more than the limit is on the disk at any time.
When the command has ended, the file is rewritten without the hole, and says at the cut how much is left out.

Not every file system has holes (NFS before 4.2 has none). There the file grows until the command ends and is cut then;
a command that prints `_TOO_MUCH` times the limit is ended.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from risingbandits._core.files import whole

DEFAULT = 16 * 2**20  # bytes
LEAST = 4 * 2**16  # so that the end, half of it, has more than the longest last line

_MUCH, _LITTLE, _NOTHING = 0.002, 0.01, 0.05  # seconds until the next look, by what was printed since the last
_PATIENCE = 10  # looks at which nothing was printed before they become rare
_TOO_MUCH = 64
_KEEP_SIZE, _PUNCH_HOLE = 1, 2  # modes of fallocate
_UNFINISHED = b"\n... the middle is left out ...\n"


class Output:
    """A file that a command prints to; at most about ``limit`` bytes of it are kept."""

    def __init__(self, path: Path, limit: int) -> None:
        self.path, self.limit = path, limit
        self._head = limit // 2
        self._tail = limit - self._head
        self._file: BinaryIO | None = None
        self._size = 0
        self._quiet = 0  # looks since something was printed
        self._gone = self._head  # where the hole ends
        self._holes = True  # whether the file system has them

    def open(self) -> BinaryIO:
        """The file, empty, for the command."""
        made = self.path.open("wb")
        self._file = self.path.open("r+b", buffering=0)
        return made

    def look(self) -> float:
        """Remove the middle of what is there so far; returns the seconds until the next look."""
        assert self._file is not None
        before, self._size = self._size, os.fstat(self._file.fileno()).st_size
        if self._holes and self._size - self._tail - self._gone > self.limit // 8:
            end = self._size - self._tail
            self._holes = _hole(self._file.fileno(), self._gone, end - self._gone)
            if self._holes and self._gone == self._head:  # for who reads it before the end, or if there is none
                with suppress(OSError):
                    os.pwrite(self._file.fileno(), _UNFINISHED, self._head)
            self._gone = end if self._holes else self._gone
        printed = self._size - before
        self._quiet = self._quiet + 1 if printed == 0 else 0
        if self._quiet > _PATIENCE:
            return _NOTHING
        return _LITTLE if printed < self.limit // 8 else _MUCH

    @property
    def is_too_much(self) -> bool:
        """Whether the file has become too large for a file system without holes."""
        return not self._holes and self._size > _TOO_MUCH * self.limit

    def close(self) -> None:
        """The command has ended: the file is made small, and says how much is left out."""
        if self._file is None:
            return
        self.look()
        with self._file as printed:
            self._file = None
            size = os.fstat(printed.fileno()).st_size
            if size <= self.limit:
                return
            with whole(self.path) as temporary, temporary.open("wb") as kept:
                printed.seek(0)
                kept.write(printed.read(self._head))
                kept.write(f"\n... {size - self.limit:,} bytes left out ...\n".encode())
                printed.seek(size - self._tail)
                shutil.copyfileobj(printed, kept)


def _hole(handle: int, start: int, length: int) -> bool:
    """Give a stretch of a file back to the file system, which then reads as zeros; returns whether that worked."""
    fallocate = _fallocate()
    return fallocate is not None and fallocate(handle, _KEEP_SIZE | _PUNCH_HOLE, start, length) == 0


@lru_cache(maxsize=1)
def _fallocate() -> Callable[[int, int, int, int], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    library = ctypes.CDLL(None)
    function = getattr(library, "fallocate64", None) or getattr(library, "fallocate", None)
    if function is not None:
        function.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    return function
