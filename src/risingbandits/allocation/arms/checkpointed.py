"""An arm whose pull n always begins where pull n - 1 ended, whatever was lost in between.

The store alone says which pulls count. That pull n is asked for means that n - 1 is told, and that n is not. So the
learner that makes pull n is the one in memory if it has had n - 1 pulls; otherwise it comes from the last checkpoint
that is not beyond n - 1, and the pulls in between are made again without being told.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from risingbandits._core.errors import RisingBanditsError, check_finite, check_positive_int
from risingbandits.allocation.arms.base import Arm, Outcome, as_arm
from risingbandits.allocation.commands.folders import folder_name
from risingbandits.allocation.pull import Pull

__all__ = ["RestoredArm"]


class RestoredArm:
    """An arm and its checkpoints.

    Parameters
    ----------
    name : str
        Of the arm; that of its folder.
    make : function without arguments
        Makes the learner: an `Arm`, or a function of the pull, which is taken to have no state of its own.
    folder : path
        Where checkpoints are kept, in a folder for each arm.
    every : int, optional
        Pulls after which a checkpoint is made; None: only by time, and when `keep` is called.
    seconds : float, optional
        Seconds after which one is made at the latest.
    trained : int
        Pulls that the learner has had when it is made.
    flush : bool
        Whether a checkpoint is to survive a loss of power, not only of processes.

    Notes
    -----
    A learner without ``save`` and ``load`` is trained again from its first pull when it is lost.

    Examples
    --------
    >>> class Counter:
    ...     count = 0
    ...     def pull(self, pull):
    ...         self.count += 1
    ...         return float(self.count)
    ...     def save(self, path):
    ...         _ = path.write_text(str(self.count))
    ...     def load(self, path):
    ...         self.count = int(path.read_text())
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     arm = RestoredArm("a", Counter, Path(folder))
    ...     first = [arm.pull(Pull(1, "a", 1)), arm.pull(Pull(2, "a", 2))]
    ...     again = RestoredArm("a", Counter, Path(folder)).pull(Pull(3, "a", 2, attempt=2))
    >>> first, again
    ([1.0, 2.0], 2.0)
    """

    def __init__(
        self,
        name: str,
        make: Callable[[], Any],
        folder: Path,
        every: int | None = 1,
        seconds: float | None = None,
        trained: int = 0,
        flush: bool = False,
    ) -> None:
        self.name, self.make = name, make
        self.folder = Path(folder) / folder_name(name)
        self.every = None if every is None else check_positive_int("checkpoint_every", every)
        self.seconds = None if seconds is None else check_finite("checkpoint_seconds", seconds, minimum=0.0)
        self.flush = flush
        self.trained = check_positive_int("trained", trained, minimum=0)
        self.pulls: int | None = None  # of the learner in memory; None if its state is not known
        self._arm: Arm | None = None
        self._fresh: Any = None  # a learner that was made and not yet used
        self._kept_pulls, self._kept_time = 0, time.monotonic()
        self._there: list[int] = []  # checkpoints since the learner was restored, rising

    def pull(self, pull: Pull) -> float | Outcome:
        """Make pull ``pull.n``, from the state after the pull before it."""
        arm = self._at(pull.n - 1)
        self.pulls = None  # an exception leaves a learner that nobody knows
        outcome = arm.pull(pull)
        self.pulls = pull.n
        if self._due():
            self.keep()
        return outcome

    def keep(self) -> bool:
        """Make a checkpoint of the learner in memory. False if it cannot be saved, or has not begun."""
        if self.pulls is None or not _can_be_saved(self._arm):
            return False
        path = self._checkpoint(self.pulls)
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            temporary = self.folder / f"{uuid4().hex}.tmp"
            try:
                self._arm.save(temporary)  # type: ignore[union-attr]
                if not temporary.exists():
                    raise RisingBanditsError(f"save(path) of arm {self.name!r} must write a file or a folder at path.")
                if self.flush:
                    _flush(temporary)
                temporary.rename(path)
            finally:
                _remove(temporary)
        self._kept_pulls, self._kept_time = self.pulls, time.monotonic()
        # The last pull may not be told yet. If it never is, the state before it is needed.
        before = [n for n in self._there if n < self.pulls]
        for n in before[:-1]:
            _remove(self._checkpoint(n))
        self._there = [*before[-1:], self.pulls]
        return True

    def is_light(self) -> bool:
        """Whether the learner can be dropped and restored without being trained again."""
        self._fresh = self._made()
        return not isinstance(self._fresh, Arm) or _can_be_saved(self._fresh)

    def _due(self) -> bool:
        assert self.pulls is not None
        by_count = self.every is not None and self.pulls - self._kept_pulls >= self.every
        return by_count or (self.seconds is not None and time.monotonic() - self._kept_time >= self.seconds)

    def _at(self, pulls: int) -> Arm:
        """The learner as it was after so many pulls."""
        if self._arm is not None and self.pulls == pulls:
            return self._arm
        self.pulls = None
        there = self._checkpoints()
        self._there = kept = [n for n in there if n <= pulls]
        for n in there[len(kept) :]:  # of a pull that was not told in time
            _remove(self._checkpoint(n))
        made: Any = self._made()
        self._fresh = None
        arm = self._arm = as_arm(made)
        if not isinstance(made, Arm):  # a function of the pull
            self.pulls = pulls
            return arm
        begin = self.trained
        if kept and _can_be_saved(made):
            begin = kept[-1]
            made.load(self._checkpoint(begin))  # type: ignore[attr-defined]
        self._kept_pulls = begin
        for n in range(begin + 1, pulls + 1):
            arm.pull(Pull(0, self.name, n))
        self.pulls = pulls
        return arm

    def _made(self) -> Any:
        return self.make() if self._fresh is None else self._fresh

    def _checkpoint(self, pulls: int) -> Path:
        return self.folder / f"after-{pulls}"

    def _checkpoints(self) -> list[int]:
        """Pulls after which there are checkpoints, rising."""
        numbers = (path.name.removeprefix("after-") for path in self.folder.glob("after-*"))
        return sorted(int(number) for number in numbers if number.isdecimal())


def _can_be_saved(arm: Any) -> bool:
    return callable(getattr(arm, "save", None)) and callable(getattr(arm, "load", None))


def _flush(path: Path) -> None:
    for file in [path] if path.is_file() else [inner for inner in path.rglob("*") if inner.is_file()]:
        with file.open("rb") as open_file:
            os.fsync(open_file.fileno())


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
