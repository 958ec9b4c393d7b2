"""Files of an arm that is a command: its state between pulls, its checkpoints and the lock that guards them.

The lock is a file that the command inherits, open: the system holds it for as long as any process of the command
lives, even if the run that started it was killed. So no two commands ever work on one arm's files. Without such locks
a command must leave its checkpoints under the names of pulls, so that one that has lost its pull harms no other.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from risingbandits._core import platform
from risingbandits._core.platform import KILL, is_gone, locked, worker_name
from risingbandits._core.processes import Trace, alive, end_all, end_group
from risingbandits.allocation.arms._checkpoints import Checkpoints
from risingbandits.allocation.arms.base import ArmInUse

_GRACE = 5.0  # seconds between asking a process to end and ending it
_PATIENCE = 30.0  # seconds to wait for a command that was killed, or that another run is ending
_POLL = 0.02
_NOTE_LENGTH = 1024  # bytes; names of hosts have at most 255


class ArmFolder(Checkpoints):
    """The files of one arm below ``base``; nothing is made before they are locked."""

    def __init__(self, base: Path, arm: str) -> None:
        super().__init__(base, arm)
        self.state = self.path / "state"
        self.lock_file = self.path / "lock"

    def lock(self, mark: str = "none", stopped: Callable[[], bool] = lambda: False) -> int:
        """An open file that holds the arm; to be inherited by the command with that mark, then closed here.

        If the run that started the present holder is gone, its command is ended first; otherwise the holder is waited
        for, until ``stopped``: it may have been killed and take a while to end.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.lock_file, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            self._end_orphans(handle)
            end = time.monotonic() + _PATIENCE
            while not locked(handle):
                if stopped() or time.monotonic() >= end:
                    raise ArmInUse(self._in_use(handle))
                time.sleep(_POLL)
            self.sign(handle, mark)
        except BaseException:
            os.close(handle)
            raise
        return handle

    def sign(self, handle: int, mark: str, child: int | None = None) -> None:
        """Record who holds the lock, for a later run that finds it held: this run, then the command ``child``."""
        command = {} if child is None else {"group": child, "command": worker_name(child)}
        note = json.dumps({"run": worker_name(), "mark": mark, **command}).encode()
        # One write of one length: a kill at any moment leaves the old note or the new one, never none.
        platform.write_at_start(handle, note.ljust(_NOTE_LENGTH))

    def _read(self, handle: int) -> tuple[str, Trace]:
        """The present or last holder of the lock: the run, empty if unknown, and how to recognise its command."""
        try:
            note = json.loads(platform.read_at_start(handle, 2 * _NOTE_LENGTH))
            # The run may have been killed before it could write down whom it had started.
            group = int(note.get("group", 0))
            group = 0 if is_gone(str(note.get("command", ""))) else group
            run = str(note["run"])
            return run, Trace(str(note["mark"]), self.lock_file, group, run=int(run.split(":")[1]))
        except (ValueError, TypeError, LookupError, AttributeError):
            return "", Trace("none", self.lock_file)

    def _end_orphans(self, handle: int) -> None:
        """End what is left of the command of a dead run."""
        run, trace = self._read(handle)
        if not run or not is_gone(run):
            return
        for step in (signal.SIGTERM, KILL):
            end = time.monotonic() + _GRACE
            if trace.session > 1:
                end_group(trace.session, step)
            left = end_all(trace, _GRACE, step)
            while not (free := locked(handle)) and time.monotonic() < end:
                time.sleep(_POLL)
            if free and not left:
                return

    def _in_use(self, handle: int) -> str:
        names = alive(self._read(handle)[1])
        return (
            f"a command of arm {self.arm!r} is still running{': ' if names else ''}{', '.join(names)}; "
            f"its files are in {self.path}."
        )
