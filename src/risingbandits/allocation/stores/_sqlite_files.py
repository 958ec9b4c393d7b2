"""Checks of a store's file before it is opened, and the lock for creating it."""

from __future__ import annotations

import errno
import math
import os
import sqlite3
import stat
import struct
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.platform import MOUNTS, file_system, holder, locked, write_at_start
from risingbandits.allocation.stores.base import StoreBusy

APPLICATION_ID = 0x52424E44  # "RBND"
_HEADER = 100  # bytes of the shortest database
_LOOK_AFTER = 0.02  # seconds until it is looked again, by name, whether a file is still there
_PATH_ONLY = getattr(os, "O_PATH", 0)  # a handle whose closing releases no locks (see `check_file`); Linux has it
_PAUSE = 0.01  # seconds between looks at a lock
_NETWORK = {"9p", "afs", "beegfs", "ceph", "cifs", "glusterfs", "gpfs", "lustre", "nfs", "nfs4", "smb3", "smbfs"}
_NETWORK |= {f"fuse.{kind}" for kind in ("ceph", "gcsfuse", "glusterfs", "rclone", "s3fs", "sshfs")}


def check_file(path: Path) -> None:
    """Raise an error for a file that is not a store, or is cut short; it is only read.

    Through SQLite, which is told that the file does not change, so that it makes none beside it. An ordinary ``open``
    must not be used: closing the file again would release the locks of every connection that this process has to it
    (that is what POSIX says), and another process would then delete the log that they write to.
    """
    log = path.with_name(path.name + "-wal")
    try:
        there = path.stat()
        if stat.S_ISDIR(there.st_mode) or not os.access(path, os.R_OK):
            what = errno.EISDIR if stat.S_ISDIR(there.st_mode) else errno.EACCES
            raise RisingBanditsError(f"{path} cannot be read: {os.strerror(what)}.")
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            known = connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            pages = (connection.execute(f"PRAGMA page_{what}").fetchone()[0] for what in ("size", "count"))
            whole = there.st_size >= math.prod(pages)
    except OSError as error:
        raise RisingBanditsError(f"{path} cannot be read: {error.strerror}.") from error
    except (sqlite3.Error, UnicodeDecodeError) as error:
        known, whole = "malformed" in str(error) and there.st_size >= _HEADER, False
    if not known:
        plan = " It is a plan: the store is the .db file beside it." if Path(path).suffix == ".toml" else ""
        raise RisingBanditsError(f"{path} is not a store of risingbandits.{plan}")
    # A checkpoint that was interrupted leaves a short file, which the log completes.
    if not whole and not (log.exists() and log.stat().st_size > 0):
        raise RisingBanditsError(f"{path} is cut short or damaged: SQLite cannot read its {there.st_size:,} bytes.")


def check_file_system(path: Path, mounts: Path = MOUNTS) -> None:
    """Raise an error if ``path`` is on a network file system: SQLite's log needs memory shared by all processes."""
    kind = file_system(path.parent, mounts)
    if kind in _NETWORK:
        raise RisingBanditsError(
            f"{path} lies on a network file system ({kind}), where SQLite can lose data: keep the store on a local "
            'disk or in PostgreSQL (store="postgresql://...").'
        )


@contextmanager
def alone(path: Path, patience: float) -> Iterator[int]:
    """Hold a lock file, waiting for it for ``patience`` seconds; the open file."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        end = time.monotonic() + patience
        while not locked(file):
            if time.monotonic() >= end:
                raise StoreBusy(f"{path} has been held for too long{holder([path])}; nothing was made.")
            time.sleep(_PAUSE)
        yield file
    finally:
        os.close(file)


class InUse:
    """The files that this process has open: whether they are still where they were.

    Attributes
    ----------
    log : tuple or None
        Which file the write-ahead log is, once this process has written to it.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.log: tuple[int, int] | None = None
        self._file: tuple[int, int] | None = None
        self._name = name
        self._place, self._log_place = str(path), f"{path}-wal"
        self._handle = -1
        self._changed = -1  # when the file was last renamed, linked or written to
        self._looked = -_LOOK_AFTER

    def remember(self, file: os.stat_result) -> None:
        """The connections are to this file."""
        self._file = file.st_dev, file.st_ino
        if _PATH_ONLY and self._handle < 0:
            with suppress(OSError):
                self._handle = os.open(self._place, _PATH_ONLY)

    def close(self) -> None:
        """Close the file, and forget the log, which SQLite removes with the last connection."""
        self.log = None
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def check(self) -> None:
        """Raise an error if a file has been deleted or replaced: what is written to it would be lost."""
        if self._file is None:
            return
        now = time.monotonic()
        if self._handle >= 0 and now - self._looked < _LOOK_AFTER:  # by name takes twice as long
            there = os.fstat(self._handle)
            if there.st_ctime_ns == self._changed and there.st_nlink > 0:  # neither renamed nor deleted since
                return
        try:
            there = os.stat(self._place)
            if (there.st_dev, there.st_ino) == self._file:
                if self.log is not None:
                    self._check_log()
                self._changed, self._looked = there.st_ctime_ns, now
                return
            what = "replaced by another file"
        except FileNotFoundError:
            what = "deleted or renamed"
        except OSError as error:
            what = f"taken away ({error.strerror})"
        raise RisingBanditsError(f"{self._name} was {what} while it was in use: nothing more is kept in it.")

    def _check_log(self) -> None:
        """The same for the log."""
        try:
            there = os.stat(self._log_place)
            same = (there.st_dev, there.st_ino) == self.log
        except OSError:
            same = False
        if not same:
            raise RisingBanditsError(
                f"{self._log_place} was removed while {self._name} was in use: nothing more is kept in it. Close it, "
                "which saves what was kept until then."
            )


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
        write_at_start(file, data + _SUM.pack(crc32(data)))
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
