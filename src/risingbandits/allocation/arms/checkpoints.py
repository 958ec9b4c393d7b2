"""Checkpoints of arms that learn, so that a resumed run continues them where their last counted pull left them."""

from __future__ import annotations

import logging
import shutil
import uuid
from pathlib import Path
from urllib.parse import quote

from risingbandits.allocation.arms.base import Arm
from risingbandits.allocation.pull import Pull

__all__ = ["Checkpoints"]

log = logging.getLogger("risingbandits")


class Checkpoints:
    """The learners' states after their pulls, in ``directory/<arm>/<n>``; None keeps none.

    The state after pull n is written before pull n is told, and the one before it is deleted only afterwards. So
    whenever a process dies, the state after the last told pull is there.
    """

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._at: dict[str, int | None] = {}  # after which pull each arm's object is; None: unknown, a pull failed

    def prepare(self, arm: Arm, pull: Pull) -> None:
        """Bring the arm's object to the state after pull n - 1."""
        before = pull.n - 1
        at = self._at.get(pull.arm, 0)
        if at != before:
            path = self._path(pull.arm, before)
            if path is not None and hasattr(arm, "load") and path.exists():
                arm.load(path)
            elif at is not None and not getattr(arm, "restores_itself", False):
                log.warning("%s: pull %d follows, but its learner is after pull %d", pull.arm, pull.n, at)
        self._at[pull.arm] = None

    def keep(self, arm: Arm, pull: Pull) -> None:
        """Write the state after a pull."""
        path = self._path(pull.arm, pull.n)
        if path is not None and hasattr(arm, "save"):
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
            try:
                arm.save(temporary)
                if path.is_dir():
                    shutil.rmtree(path)  # of an attempt that was not told
                temporary.replace(path)
            finally:
                _remove(temporary)
        self._at[pull.arm] = pull.n

    def told(self, pull: Pull) -> None:
        """The pull counts: the state before it is not needed any more."""
        path = self._path(pull.arm, pull.n - 1)
        if path is not None:
            _remove(path)

    def lost(self, pull: Pull) -> None:
        """The pull failed, or another worker's counted: the object is not where the allocation is."""
        self._at[pull.arm] = None

    def _path(self, arm: str, n: int) -> Path | None:
        # A quoted name has no separators; the leading "=" keeps "." and ".." from being what they are.
        return None if self._directory is None else self._directory / ("=" + quote(arm, safe=" ")) / str(n)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
