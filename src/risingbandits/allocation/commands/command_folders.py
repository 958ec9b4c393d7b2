"""Files of an arm that is a command: its state between pulls, its checkpoints and the lock that guards them.

The lock is a file that the command inherits, open: the system holds it for as long as any process of the command
lives, even if the run that started it was killed. So no two commands ever work on one arm's files.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError
from risingbandits.allocation.arms.checkpointed import Checkpoints
from risingbandits.allocation.arms.processes import is_gone, worker_name

_GRACE = 5.0  # seconds between asking a process to end and ending it
_POLL = 0.02
_NOTE_LENGTH = 1024  # bytes; names of hosts have at most 255


class ArmInUse(RisingBanditsError):
    """A command of this arm is still running somewhere."""


class ArmFolder(Checkpoints):
    """The files of one arm below ``base``; nothing is made before they are locked."""

    def __init__(self, base: Path, arm: str) -> None:
        super().__init__(base, arm)
        self.state = self.path / "state"
        self._lock = self.path / "lock"

    def lock(self) -> int:
        """An open file that holds the arm; to be inherited by the command, then closed here.

        Where the run that started the present holder is gone, its command is ended first.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        handle = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if not (locked(handle) or self._end_orphan(handle)):
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
                if locked(handle):
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


def locked(handle: int, shared: bool = False) -> bool:
    """Lock an open file, for oneself or together with others, if nobody has it; whether that was so."""
    try:
        import fcntl
    except ImportError:
        raise RisingBanditsError("commands as arms need a system with flock, such as Linux or macOS.") from None
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
