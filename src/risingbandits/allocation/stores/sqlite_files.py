"""What can be said about a store's file without opening it with SQLite, which might write to it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from risingbandits._core.errors import RisingBanditsError
from risingbandits.allocation.stores.base import StoreBusy
from risingbandits.allocation.stores.lock_holders import holder

try:
    import fcntl
except ImportError:  # pragma: no cover - a system without flock
    fcntl = None  # type: ignore[assignment]

APPLICATION_ID = 0x52424E44  # "RBND", in bytes 68 to 71 of the file
_MAGIC = b"SQLite format 3\x00"
_PAUSE = 0.01  # seconds between looks at a lock
_MOUNTS = Path("/proc/mounts")
_FUSE = {f"fuse.{kind}" for kind in ("ceph", "gcsfuse", "glusterfs", "rclone", "s3fs", "sshfs")}
_NETWORK = {
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "glusterfs",
    "gpfs",
    "lustre",
    "nfs",
    "nfs4",
    "smb3",
    "smbfs",
    *_FUSE,
}


def check_file(path: Path) -> None:
    """Raise for a file that is no store, or is cut short; it is only read."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise RisingBanditsError(f"{path} cannot be read: {error.strerror}.") from error
    if len(header) < 100 or header[:16] != _MAGIC or int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise RisingBanditsError(f"{path} is not a store of risingbandits.")
    page = int.from_bytes(header[16:18], "big")
    page = 65536 if page == 1 else page
    pages = int.from_bytes(header[28:32], "big")
    log = path.with_name(path.name + "-wal")
    # A checkpoint that was interrupted leaves a short file, which the log completes.
    if size < page * pages and not (log.exists() and log.stat().st_size > 0):
        raise RisingBanditsError(f"{path} is cut short: it has {size} of {page * pages} bytes.")


def check_file_system(path: Path, mounts: Path = _MOUNTS) -> None:
    """Raise where ``path`` lies on a network file system: SQLite's log needs memory shared by all processes.

    Known only where there is a table of mounts, as on Linux.
    """
    try:
        lines = mounts.read_text(errors="replace").splitlines()
    except OSError:
        return
    parent = os.path.realpath(path.parent)
    best, kind = "", ""
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = fields[1].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        inside = parent == point or parent.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, fields[2]
    if kind in _NETWORK:
        raise RisingBanditsError(
            f"{path} lies on a network file system ({kind}), where SQLite can lose data: keep the store on a local "
            'disk or in PostgreSQL (store="postgresql://...").'
        )


@contextmanager
def alone(path: Path, patience: float) -> Iterator[int]:
    """Hold a lock file, waiting for it for ``patience`` seconds; the open file."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        end = time.monotonic() + patience
        while True:
            try:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise StoreBusy(f"{path} is held for too long{holder([path])}; nothing was made.") from None
            time.sleep(_PAUSE)
        yield file
    finally:
        os.close(file)
