"""Orders for the workers of a test: to stop at a place, to wait in the middle of a pull, to ask for nothing.

An order is a file. Of those who come to a place, the first one takes the order to stop there.
"""

from __future__ import annotations

import functools
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

from risingbandits.allocation.arms._checkpointed import Checkpointed
from risingbandits.allocation.arms._checkpoints import Checkpoints

_PAUSE = 0.002  # seconds between looks at a file
_watched: list[Orders] = []  # those that the files of this process follow


class Orders:
    """The orders of a test, as the processes of one worker read them.

    - ``stop-<place>``: whoever comes there first stops, and its worker with it, by SIGSTOP. ``stopped`` names the arm
      and the processes, the worker first.
    - ``wait-<worker>-<arm>-<n>``: where the worker makes this pull it waits in the middle of it until the file is gone,
      and says so in ``waits-<worker>``.
    - ``hold-<worker>``: the worker asks for no pull until the file is gone; ``held-<worker>`` repeats what is in it.
    """

    def __init__(self, folder: Path, worker: int) -> None:
        self.folder, self.worker = folder, worker
        self._transactions: AbstractContextManager[object] = nullcontext()  # nothing is written to the store inside

    def __reduce__(self) -> tuple[type[Orders], tuple[Path, int]]:
        return Orders, (self.folder, self.worker)  # for a process of an arm

    def visit(self, place: str, arm: str) -> None:
        """Stop, if somebody is to stop here."""
        order = self.folder / f"stop-{place}"
        if not order.exists():
            return
        try:
            order.rename(self.folder / f"taken-{os.getpid()}")
        except FileNotFoundError:  # another process was faster
            return
        inner = [os.getpid()] if os.getpid() != self.worker else []
        note = self.folder / f"taken-{os.getpid()}"
        note.write_text(" ".join(map(str, [arm, self.worker, *inner])))
        with self._transactions:
            note.rename(self.folder / "stopped")
            if inner:
                os.kill(self.worker, signal.SIGSTOP)
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)  # this thread does nothing before it stops

    def wait(self, arm: str, n: int) -> None:
        """Wait, if this worker is to wait in this pull."""
        order = self.folder / f"wait-{self.worker}-{arm}-{n}"
        while order.exists():
            (self.folder / f"waits-{self.worker}").touch()
            time.sleep(_PAUSE)

    def hold(self) -> None:
        """Wait, if this worker is to ask for nothing."""
        with suppress(FileNotFoundError):
            while True:
                (self.folder / f"held-{self.worker}").write_text((self.folder / f"hold-{self.worker}").read_text())
                time.sleep(_PAUSE)

    def watch_allocator(self, allocator: Any) -> None:
        """Places in a worker: it has asked for a pull, it has looked whether it still has one, it tells one."""
        ask, holds, tell = allocator.ask, allocator.holds, allocator.tell
        self._transactions = allocator._session.lock

        def ask_and_visit(*words: Any) -> Any:
            self.hold()
            if (pull := ask(*words)) is not None:
                self.visit("asked", pull.arm)
            return pull

        def look_and_visit(pull: Any) -> Any:
            found = holds(pull)
            self.visit("looked", pull.arm)
            return found

        def visit_and_tell(pull: Any, *words: Any) -> Any:
            self.visit("tell", pull.arm)
            return tell(pull, *words)

        allocator.ask, allocator.holds, allocator.tell = ask_and_visit, look_and_visit, visit_and_tell

    def watch_files(self) -> None:
        """Places in any process: a checkpoint is written, a pull is told, checkpoints are to be removed."""
        if _watched:
            return
        _watched.append(self)
        around(Checkpoints, "write", after=lambda files: self.visit("written", files.arm))
        around(Checkpoints, "tidy", before=lambda files: self.visit("tidy", files.arm))
        around(Checkpoints, "drop", before=lambda files: self.visit("drop", files.arm))
        around(Checkpointed, "told", before=lambda arm: self.visit("told", arm.name))


def around(
    owner: type, name: str, before: Callable[[Any], None] | None = None, after: Callable[[Any], None] | None = None
) -> None:
    """Have a method of a class call functions of its object before and after it does its work."""
    method = getattr(owner, name)

    @functools.wraps(method)
    def watched(itself: Any, *words: Any, **settings: Any) -> Any:
        if before is not None:
            before(itself)
        answer = method(itself, *words, **settings)
        if after is not None:
            after(itself)
        return answer

    setattr(owner, name, watched)
