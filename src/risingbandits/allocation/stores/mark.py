"""The mark beside an SQLite store: which event was acknowledged last.

If a write-ahead log is cut or removed, the last events are lost, and SQLite opens the store as if they had never been
told. The mark, kept in the lock file, remembers that they were.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

_RECORD = struct.Struct("<8sqId40s")
_SUM = struct.Struct("<I")
_MAGIC = b"rb-mark1"


class Mark(NamedTuple):
    """The last acknowledged event, and the clock by which it was written."""

    id: int
    checksum: int
    offset: float  #: of the store's clock, valid until the machine is rebooted
    boot: str  #: of the machine


def write_mark(file: int, id: int, checksum: int, offset: float, boot: bytes) -> None:
    """Write a `Mark` to an open file, atomically."""
    data = _RECORD.pack(_MAGIC, id, checksum, offset, boot)
    try:
        os.pwrite(file, data + _SUM.pack(crc32(data)), 0)
    except OSError:  # such as a full disk: the event itself is kept
        return


def read_mark(path: Path) -> Mark | None:
    """The mark in a file; None without a trustworthy one."""
    try:
        data = path.read_bytes()[: _RECORD.size + _SUM.size]
        magic, id, checksum, offset, boot = _RECORD.unpack(data[: _RECORD.size])
        if magic != _MAGIC or _SUM.unpack(data[_RECORD.size :])[0] != crc32(data[: _RECORD.size]):
            return None
        return Mark(id, checksum, offset, boot.rstrip(b"\0").decode())
    except (OSError, struct.error, UnicodeDecodeError):
        return None
