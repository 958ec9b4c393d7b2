"""The queue of processes that want to write to an SQLite store: a lock file beside it.

SQLite lets waiting processes sleep and try again, so that some wait long while others go ahead. A lock of the operating
system wakes the next one at once. It only orders the waiting: that one process writes at a time is SQLite's business.
"""

from __future__ import annotations

import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - a system without flock
    fcntl = None  # type: ignore[assignment]


class WriteLock:
    """A lock file. Where it cannot be made, `acquire` returns at once."""

    def __init__(self, path: Path) -> None:
        self._file = -1
        if fcntl is not None:
            try:
                self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            except OSError:
                self._file = -1

    def acquire(self) -> None:
        """Wait until this process may write."""
        if self._file >= 0:
            fcntl.flock(self._file, fcntl.LOCK_EX)

    def release(self) -> None:
        """Let the next process write."""
        if self._file >= 0:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file, which also releases the lock."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
