"""Files of an arm that is a command: its state between pulls, its checkpoints and the lock that guards them.

The lock is a file that the command inherits, open: the system holds it for as long as any process of the command
lives, even if the run that started it was killed. So no two commands ever work on one arm's files.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from risingbandits._core.errors import RisingBanditsError
from risingbandits.allocation.arms.processes import is_gone, worker_name

__all__ = ["ArmFolder", "ArmInUse", "folder_name"]

_LONGEST = 120  # of a folder's name; file systems take 255 bytes
_GRACE = 5.0  # seconds between asking a process to end and ending it
_POLL = 0.02
_NOTE_LENGTH = 1024  # bytes; names of hosts have at most 255


class ArmInUse(RisingBanditsError):
    """A command of this arm is still running somewhere."""


def folder_name(arm: str) -> str:
    """The name of an arm as that of one folder, different for different arms, whatever they are called.

    >>> folder_name("small net"), folder_name("../x"), folder_name("..")
    ('small%20net', '%2E.%2Fx', '%2E.')
    """
    name = quote(arm, safe="")
    if name.startswith("."):
        name = "%2E" + name[1:]
    if len(name) > _LONGEST:
        name = f"{name[: _LONGEST - 33]}~{hashlib.sha256(arm.encode()).hexdigest()[:32]}"
    return name


class ArmFolder:
    """The files of one arm below ``base``; nothing is made before they are `locked`."""

    def __init__(self, base: Path, arm: str) -> None:
        self.arm = arm
        self.path = base / folder_name(arm)
        self.state = self.path / "state"
        self._lock = self.path / "lock"

    def checkpoint(self, n: int) -> Path:
        """What the command writes in pull n, and reads in pull n + 1."""
        return self.path / f"checkpoint-{n}"

    def begin(self, n: int) -> None:
        """Make the folders, and remove what an earlier attempt at pull n has left of its checkpoint."""
        self.state.mkdir(parents=True, exist_ok=True)
        _remove(self.checkpoint(n))

    def keep_from(self, n: int) -> None:
        """Remove the checkpoints of pulls before n: the next pull needs only the last one."""
        for path in self.path.glob("checkpoint-*"):
            number = path.name.removeprefix("checkpoint-")
            if number.isdecimal() and int(number) < n:
                _remove(path)

    def lock(self) -> int:
        """An open file that holds the arm; to be inherited by the command, then closed here.

        Where the run that started the present holder is gone, its command is ended first.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        handle = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if not (_try(handle) or self._end_orphan(handle)):
                raise ArmInUse(f"a command of arm {self.arm!r} is still running; its files are in {self.path}.")
            self._note(handle, {})
        except BaseException:
            os.close(handle)
            raise
        return handle

    def sign(self, handle: int, child: int) -> None:
        """Write down who holds the lock, for a later run that finds it held."""
        self._note(handle, {"group": child, "command": worker_name(child)})

    def _note(self, handle: int, command: dict[str, Any]) -> None:
        # One write of one length: a kill at any moment leaves the old note or the new one, never none.
        os.pwrite(handle, json.dumps({"run": worker_name(), **command}).encode().ljust(_NOTE_LENGTH), 0)

    def _end_orphan(self, handle: int) -> bool:
        """End the command of a run that is gone; whether the lock was got so."""
        try:
            note = json.loads(os.pread(handle, 2 * _NOTE_LENGTH, 0))
            if not is_gone(str(note["run"])):
                return False
            # The run may have been killed before it could write down whom it had started.
            group = int(note.get("group", 0))
            group = 0 if is_gone(str(note.get("command", ""))) else group
        except (ValueError, TypeError, KeyError, AttributeError):
            return False
        for step in (signal.SIGTERM, signal.SIGKILL):
            if group > 1:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(group, step)
            for pid in self._holders():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, step)
            end = time.monotonic() + _GRACE
            while time.monotonic() < end:
                if _try(handle):
                    return True
                time.sleep(_POLL)
        return False

    def _holders(self) -> list[int]:
        """Processes that were given this arm's folder and have its lock open, where /proc tells; never this one."""
        mark = f"RISINGBANDITS_STATE={self.state}".encode()
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # has ended, or is another user's
                if mark not in (place / "environ").read_bytes().split(b"\0") or int(place.name) == os.getpid():
                    continue
                if any(os.path.samefile(link, self._lock) for link in (place / "fd").iterdir() if link.exists()):
                    found.append(int(place.name))
        return found


def _try(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
