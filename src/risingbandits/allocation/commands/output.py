"""What a command prints, in a file that stays small: the start and the end are kept, the middle is left out.

The command writes straight to the file, never through a pipe, so that nothing is lost and nothing blocks or breaks if
the run that started it is killed. When the command has ended, a file that is too large is cut, and says at the cut how
much is left out. A command that prints `_TOO_MUCH` times the limit is ended.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from risingbandits._core.files import whole

DEFAULT = 16 * 2**20  # bytes
LEAST = 4 * 2**16  # so that the end, half of it, has more than the longest last line
_TOO_MUCH = 64


class Output:
    """A file that a command prints to; at most about ``limit`` bytes of it are kept."""

    def __init__(self, path: Path, limit: int) -> None:
        self.path, self.limit = path, limit

    def open(self) -> BinaryIO:
        """The file, empty, for the command."""
        return self.path.open("wb")

    @property
    def is_too_much(self) -> bool:
        """Whether the command has printed so much that it must be ended."""
        return self.path.stat().st_size > _TOO_MUCH * self.limit

    def close(self) -> None:
        """Make the file small: the command has ended. On a full disk it stays as it is."""
        with suppress(OSError), self.path.open("rb") as printed:
            size = os.fstat(printed.fileno()).st_size
            if size <= self.limit:
                return
            head = self.limit // 2
            with whole(self.path) as temporary, temporary.open("wb") as kept:
                kept.write(printed.read(head))
                kept.write(f"\n... {size - self.limit:,} bytes left out ...\n".encode())
                printed.seek(size - (self.limit - head))
                shutil.copyfileobj(printed, kept)
