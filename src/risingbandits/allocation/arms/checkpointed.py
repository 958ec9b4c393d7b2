"""An arm whose pull n always starts where pull n - 1 ended, in any process, and the layout of its checkpoints.

Only the store says which pulls count. If pull n is asked for, n - 1 has been told, and n has not. So the learner that
makes pull n is the one in memory if it has had n - 1 pulls. Otherwise it comes from the last checkpoint up to n - 1,
and the pulls in between are repeated without being told.

The checkpoint of pull n is written before n is told, and the one before it is removed only afterwards. So whenever a
process dies, the state after the last told pull is there.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from risingbandits._core.errors import RisingBanditsError, check_finite, check_positive_int
from risingbandits._core.files import flush, remove, whole
from risingbandits.allocation.arms.base import Outcome, as_arm, check_direction, makes_arm
from risingbandits.allocation.pull import Pull

if TYPE_CHECKING:
    from risingbandits.allocation.allocator import Allocator

log = logging.getLogger("risingbandits")

_LONGEST = 120  # of a folder's name; file systems take 255 bytes


def folder_name(arm: str) -> str:
    """The name of an arm as a folder name, unique for each arm.

    >>> folder_name("small net"), folder_name("../x"), folder_name("..")
    ('small%20net', '%2E.%2Fx', '%2E.')
    """
    name = quote(arm, safe="")
    if name.startswith("."):
        name = "%2E" + name[1:]
    if len(name) > _LONGEST:
        name = f"{name[: _LONGEST - 33]}~{hashlib.sha256(arm.encode()).hexdigest()[:32]}"
    return name


class Checkpoints:
    """The checkpoints of one arm, ``<base>/<arm>/checkpoint-<n>``: files or folders, created when needed."""

    def __init__(self, base: Path, arm: str) -> None:
        self.arm = arm
        self.path = base / folder_name(arm)
        # Version 0.1.0 had two other layouts, beside the store in a folder of its own.
        older = [base, base.with_name(base.name.removesuffix(".state") + ".checkpoints")]
        self._older = [(folder / f"={quote(arm, safe=' ')}", "") for folder in older]
        self._older += [(folder / folder_name(arm), "after-") for folder in older]

    def checkpoint(self, n: int) -> Path:
        """The checkpoint written in pull n and read in pull n + 1."""
        return self.path / f"checkpoint-{n}"

    def until(self, n: int) -> list[int]:
        """The pulls up to n that have checkpoints, in order; those beyond are removed, as their pulls do not count."""
        for folder, prefix in self._older:
            for number, path in _numbered(folder, prefix):
                _move(path, self.checkpoint(number))
        there = sorted(number for number, _ in _numbered(self.path, "checkpoint-"))
        for number in there:
            if number > n:
                remove(self.checkpoint(number))
        return [number for number in there if number <= n]

    def sweep(self) -> None:
        """Remove unfinished files of killed processes. Only for the process that has the arm: no other writes."""
        if self.path.is_dir():
            for name in os.listdir(self.path):
                if name.startswith("checkpoint-") and name.endswith(".tmp"):
                    remove(self.path / name)

    def keep_from(self, n: int) -> None:
        """Remove the checkpoints of pulls before n."""
        for number, path in _numbered(self.path, "checkpoint-"):
            if number < n:
                remove(path)


def _numbered(folder: Path, prefix: str) -> Iterator[tuple[int, Path]]:
    if len(folder.name.encode()) > 255 or not folder.is_dir():
        return
    for name in os.listdir(folder):
        number = name.removeprefix(prefix)
        if name.startswith(prefix) and number.isdecimal():
            yield int(number), folder / name


def _move(old: Path, new: Path) -> None:
    """Move a checkpoint of an older layout to its new place, unless there is a newer one."""
    new.parent.mkdir(parents=True, exist_ok=True)
    if not new.exists():
        try:
            old.rename(new)
        except FileNotFoundError:
            return  # another process was faster
        except OSError:  # on another disk
            with whole(new) as temporary:
                shutil.copytree(old, temporary) if old.is_dir() else shutil.copy2(old, temporary)
    remove(old)


class Checkpointed:
    """An arm and its checkpoints.

    Parameters
    ----------
    name : str
        Name of the arm, after which its folder is named.
    arm : Arm or function
        The learner as an object, a function of the pull, which has no state, or (a class or a function without
        arguments) what makes the learner. Only what was made can be made again when it is lost.
    folder : path, optional
        Where checkpoints are kept, in a folder for each arm; None keeps none.
    every : int, optional
        Pulls between checkpoints; None: only by time, and when `keep` is called.
    seconds : float, optional
        Longest time between two checkpoints, in seconds.
    trained : int
        Pulls that the learner has already had.
    flush : bool
        Whether a checkpoint must survive a power failure, not only the death of processes.
    timed : bool
        Whether a pull without a cost costs the seconds that it took.
    make : bool, optional
        Whether ``arm`` makes the learner; inferred by default.
    direction : str, optional
        The allocator's; an arm that states the opposite direction is refused.

    Notes
    -----
    A learner without ``save`` and ``load`` that is lost is trained again from its first pull, without being told. If a
    pull failed, its state is unknown; if it can then neither be loaded nor made again, its pulls fail.

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
    ...     arm = Checkpointed("a", Counter, Path(folder))
    ...     first = [arm.pull(Pull(1, "a", 1)), arm.pull(Pull(2, "a", 2))]
    ...     again = Checkpointed("a", Counter(), Path(folder)).pull(Pull(3, "a", 2, attempt=2))
    >>> first, again
    ([1.0, 2.0], 2.0)
    """

    restores_itself = True

    def __init__(
        self,
        name: str,
        arm: Any,
        folder: Path | None = None,
        every: int | None = 1,
        seconds: float | None = None,
        trained: int = 0,
        flush: bool = False,
        timed: bool = False,
        make: bool | None = None,
        direction: str | None = None,
    ) -> None:
        self.name, self.given, self.direction = name, arm, direction
        self.every = None if every is None else check_positive_int("checkpoint_every", every)
        self.seconds = None if seconds is None else check_finite("checkpoint_seconds", seconds, minimum=0.0)
        self.trained = check_positive_int("trained", trained, minimum=0)
        self.flush, self.timed = flush, timed
        self.pulls: int | None = None  # of the learner in memory; None if its state is not known
        self._files = None if folder is None else Checkpoints(Path(folder), name)
        self._there: list[int] | None = None  # checkpoints, rising; None before the first look
        self._kept_pulls, self._kept_time = self.trained, time.monotonic()
        self._lock = threading.Lock()  # a pull that was given up may still be at work when the next one comes
        self._make: Callable[[], Any] | None = arm if (makes_arm(arm) if make is None else make) else None
        self._arm: Any = None
        self._failure = ""  # why the last pull that was made does not count
        self._refused = False  # whether a pull was not made because the object could not go back to its start
        if self._make is None:
            self._take(arm)

    @classmethod
    def of(cls, name: str, arm: Any, allocator: Allocator) -> Checkpointed:
        """An arm of an allocator, with checkpoints beside its store; what is one stays as it is."""
        if isinstance(arm, cls):
            return arm
        settings = allocator.settings
        return cls(
            name,
            arm,
            allocator.store.directory,
            trained=len(settings.warm_start.get(name, ())),
            flush=settings.durability == "power",
            timed=settings.budget.seconds is not None,
            direction=settings.direction,
        )

    @property
    def stop(self) -> Callable[[], None] | None:
        """The function that ends the running pull, if the arm has one."""
        stop: Callable[[], None] | None = getattr(self._arm, "stop", None)
        return stop

    def pull(self, pull: Pull) -> float | Outcome:
        """Make pull ``pull.n``, from the state after the pull before it."""
        with self._lock:
            self._refused = False
            arm = self._at(pull.n - 1, pull.slot)
            outcome = self._made_by(arm, pull)
            if not self._keeps_itself and self._due():
                self.keep()
            return outcome

    def failed(self, pull: Pull, reason: str) -> tuple[str, bool]:
        """The reason why a pull has failed, with what to do if the arm cannot be pulled again; and whether that is so.

        The object may have learnt from a pull whose reward was refused, or be in an unknown state.
        """
        if self._refused:  # the pull was not made, and the reason says all of it
            return reason, True
        self._failure = reason
        if self._make is not None or self._finds_its_step or (self.pulls is not None and self.pulls < pull.n):
            return reason, False
        if self._files is not None and self._can_be_saved:  # there is a checkpoint from before its first pull here
            return reason, False
        return self._cannot_go_back(pull.n), True

    def told(self, pull: Pull) -> None:
        """A pull counts: earlier states are no longer needed."""
        if self._keeps_itself:
            if callable(told := getattr(self._arm, "told", None)):
                told(pull)
        elif self._there:
            self._forget(max((n for n in self._there if n <= pull.n), default=0))

    def keep(self) -> bool:
        """Make a checkpoint of the learner in memory. False if it cannot be saved, or has not started."""
        if self.pulls is None or self._files is None or not self._can_be_saved:
            return False
        there = self._there = self._there or []
        if self.pulls not in there:
            self._write(self._files.checkpoint(self.pulls))
            there.append(self.pulls)
        self._kept_pulls, self._kept_time = self.pulls, time.monotonic()
        if len(there) > 2:  # the last pull may not be told yet: if it never is, the state before it is needed
            self._forget(there[-2])
        return True

    def catch_up(self, pulls: int) -> None:
        """Restore in the given object what it learnt in ``pulls`` pulls, if an earlier process left a checkpoint.

        Nothing is trained, and no checkpoint is removed: another process may be making the next pull.
        """
        with self._lock:
            is_object = self._make is None and self._can_be_saved and not self._keeps_itself
            if self._files is None or not is_object or self.pulls is None or self.pulls >= pulls:
                return
            if self._files.checkpoint(pulls).exists():
                self._load(pulls)
            else:
                log.warning("arm %r is as it was given: it has no checkpoint after pull %d.", self.name, pulls)

    def loaded(self, pulls: int) -> Any:
        """The learner as ``pulls`` pulls have left it, from memory or from its checkpoint; nothing is trained."""
        with self._lock:
            if self._arm is None:
                self._take_new()
            if not self._keeps_itself and self.pulls != pulls:
                files = self._files if self._can_be_saved else None
                if files is None or not files.checkpoint(pulls).exists():
                    said = f"it has no checkpoint after pull {pulls}"
                    raise RisingBanditsError(f"arm {self.name!r} cannot be loaded: {said}.")
                self._load(pulls)
            return self._arm if self._make is not None else self.given

    def _write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole(path) as temporary:
            self._arm.save(temporary)
            if not temporary.exists():
                raise RisingBanditsError(f"save(path) of arm {self.name!r} must write a file or a folder at path.")
            if self.flush:
                flush(temporary)

    @property
    def can_be_made_again(self) -> bool:
        """Whether the learner can do without a checkpoint, by being trained again."""
        return self._make is not None or self._finds_its_step

    def look_again(self) -> None:
        """Checkpoints may have been removed by others."""
        if self._files is not None and self._there:
            self._there = [n for n in self._there if self._files.checkpoint(n).exists()]

    def is_light(self) -> bool:
        """Whether the learner can be dropped and restored without being trained again."""
        if self._arm is None:
            self._take_new()
        return self._keeps_itself or self._can_be_saved

    def _due(self) -> bool:
        by_count = self.every is not None and (self.pulls or 0) - self._kept_pulls >= self.every
        return by_count or (self.seconds is not None and time.monotonic() - self._kept_time >= self.seconds)

    def _at(self, pulls: int, slot: str = "") -> Any:
        """The learner as it was after ``pulls`` pulls; pulls that must be repeated are made on this slot."""
        if self._arm is None:
            self._take_new()
        if self._keeps_itself or (self.pulls == pulls and self._there is not None):
            return self._arm
        there = self._there = [] if self._files is None else self._files.until(pulls)
        if self._files is not None and self._can_be_saved:
            self._files.sweep()
        last = there[-1] if there and self._can_be_saved else -1
        if self.pulls is None or self.pulls > pulls or self.pulls < last:
            if self._make is not None and self.pulls != self.trained:
                self._take_new()
            if last >= 0:
                self._load(last)
            elif self._make is None and not self._finds_its_step:
                self._refused = True
                raise RisingBanditsError(self._cannot_go_back(pulls + 1))
        if not self._finds_its_step:
            assert self.pulls is not None
            if (again := pulls - self.pulls) > 0:
                log.info("%s has no checkpoint after pull %d: %d pulls are made again", self.name, pulls, again)
            for n in range(self.pulls + 1, pulls + 1):
                self._made_by(self._arm, Pull(0, self.name, n, slot=slot))
        if self._make is None and not there:
            self.keep()  # there is no other way back to where it is now
        return self._arm

    def _made_by(self, arm: Any, pull: Pull) -> float | Outcome:
        self.pulls = None  # an exception leaves a learner in a state that is not known
        began = time.perf_counter()
        try:
            answer: float | Outcome = arm.pull(pull)
        except Exception as error:
            self._failure = f"{type(error).__name__}: {error}"
            raise
        self._failure = ""
        seconds = time.perf_counter() - began
        self.pulls = pull.n
        if not self.timed or (isinstance(answer, Outcome) and answer.cost is not None):
            return answer
        return Outcome(answer.reward if isinstance(answer, Outcome) else answer, seconds)

    def _take(self, arm: Any) -> None:
        if self.direction is not None:
            check_direction(self.name, arm, self.direction)
        self._arm = as_arm(arm)
        self._can_be_saved = all(callable(getattr(arm, verb, None)) for verb in ("save", "load"))
        self._finds_its_step = bool(getattr(self._arm, "restores_itself", False))
        self._keeps_itself = self._finds_its_step and not self._can_be_saved
        self.pulls = self._kept_pulls = self.trained

    def _take_new(self) -> None:
        assert self._make is not None
        self._take(self._make())

    def _load(self, n: int) -> None:
        assert self._files is not None
        self.pulls = None
        self._arm.load(self._files.checkpoint(n))
        self.pulls = self._kept_pulls = n

    def _forget(self, first: int) -> None:
        """Remove the checkpoints before pull ``first``."""
        assert self._files is not None
        assert self._there is not None
        for n in self._there:
            if n < first:
                remove(self._files.checkpoint(n))
        self._there = [n for n in self._there if n >= first]

    def _cannot_go_back(self, n: int) -> str:
        """Why pull ``n`` cannot be made: first what had failed, then what to do."""
        cause = f"{self._failure.rstrip('.')}; " if self._failure else ""
        again = " again" if self._failure else ""
        state = "in an unknown state" if self.pulls is None else f"beyond pull {self.pulls}"
        way = "a store with a folder" if self._can_be_saved else "save(path) and load(path) and a store with a folder"
        return (
            f"{cause}pull {n} of arm {self.name!r} cannot be made{again}, because its object is {state} and cannot go "
            f"back: give it {way}, or a function that makes it, or, if it depends only on pull.n and not on what it "
            "has learnt, restores_itself = True."
        )
