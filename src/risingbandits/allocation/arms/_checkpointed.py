"""An arm whose pull n always starts where the counted pull n - 1 ended, in any process.

Only the store says which pulls count, and a `Pull` carries what it says. The learner in memory makes pull n if it is
exactly as the counted pull n - 1 left it. Otherwise it comes from the newest checkpoint that counts, and the pulls in
between are made again without being told.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from risingbandits._core.errors import RisingBanditsError
from risingbandits.allocation.arms._checkpoints import (
    Checkpoints,
    Holds,
    LostCheckpoint,
    Name,
    disk_error,
    needed_after,
    needed_before,
)
from risingbandits.allocation.arms.base import Outcome, as_arm, check_direction, makes_arm
from risingbandits.allocation.pull import CannotGoOn, Pull, Saved

if TYPE_CHECKING:
    from risingbandits.allocation.allocator import Allocator

log = logging.getLogger("risingbandits")


class Checkpointed:
    """An arm and its checkpoints.

    ``arm`` is the learner as an object, a function of the pull, which has no state, or (a class or a function without
    arguments, or as ``make`` says) what makes the learner. Only what was made can be made again when it is lost.
    A learner without ``save`` and ``load`` that is lost is trained again from its first pull, without being told. If a
    pull failed, its state is unknown; if it can then neither be loaded nor made again, its pulls fail.

    Checkpoints are kept in ``folder`` after each ``every`` pulls, so that they survive a power failure if ``flush``,
    and belong to the ``store`` of this identity. The learner has already had ``trained`` pulls. If ``timed``, a pull
    without a cost costs the seconds that it took. ``direction`` is the allocator's. ``holds`` says whether a pull is
    still in flight, where the store can be read.
    """

    restores_itself = True

    def __init__(
        self,
        name: str,
        arm: Any,
        folder: Path | None = None,
        every: int = 1,
        trained: int = 0,
        flush: bool = False,
        timed: bool = False,
        make: bool | None = None,
        direction: str | None = None,
        store: str = "",
        holds: Holds | None = None,
    ) -> None:
        self.name, self.given, self.direction, self.holds = name, arm, direction, holds
        self.every, self.trained, self.flush, self.timed, self.store = every, trained, flush, timed, store
        self.held: Name | None = None  # whose state the learner in memory has; None if that is not known
        self._files = None if folder is None else Checkpoints(Path(folder), name, flush, store)
        self._there: set[Name] | None = None  # checkpoints that this process knows of; None before the first look
        self._counted: Name | None = None  # the last pull that was told from here and counts
        self._saved: Saved | None = None  # the checkpoint of the last pull that was made here, if it left one
        self._kept_pulls = trained  # of the last checkpoint
        self._lock = threading.Lock()  # a pull that was given up may still be at work when the next one comes
        self._make: Callable[[], Any] | None = arm if (makes_arm(arm) if make is None else make) else None
        self._arm: Any = None
        self._failure = ""  # why the last pull that was made does not count
        self._out_of_range: tuple[Name | None, Name, float | Outcome] | None = None  # see `refused`
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
            store=allocator.store.identity(),
            holds=allocator.holds,
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
            try:
                again = self._out_of_range is not None and self._out_of_range[:2] == (
                    self.held,
                    Name(pull.n - 1, pull.before),
                )
                if self._out_of_range is not None and again:
                    made, self.held = self._out_of_range[2], Name(pull.n, pull.id)
                else:
                    made = self._made_by(self._at(pull), pull)
                outcome = made if isinstance(made, Outcome) else Outcome(made)
                due = self.held is not None and self.held.n - self._kept_pulls >= self.every
                if self._keeps_itself or outcome.reward is None or not (again or due):
                    return made
                proof = self._save(Name(pull.n, pull.id))
                self._saved = Saved(pull.n, pull.id, outcome.reward, proof) if proof else None
                return outcome._replace(checkpoint=proof) if proof else made
            except Exception as error:
                if said := disk_error(error):
                    raise CannotGoOn(
                        f"pull {pull.n} of arm {self.name!r} could not be made: {said}. It was given back: run again "
                        "once that is mended."
                    ) from error
                raise

    def failed(self, pull: Pull, reason: str) -> tuple[str, bool]:
        """The reason why a pull has failed, with what to do if the arm cannot be pulled again; and whether that is so.

        The object may have learnt from a pull whose reward was refused, or be in an unknown state.
        """
        if self._refused:  # the pull was not made, and the reason says all of it
            return reason, True
        self._failure = reason
        if self._make is not None or self._finds_its_step or (self.held is not None and self.held.n < pull.n):
            return reason, False
        if self._files is not None and self._can_be_saved:  # there is a checkpoint from before its first pull here
            return reason, False
        return self._cannot_go_back(pull.n), True

    def refused(self, pull: Pull, outcome: float | Outcome) -> None:
        """The user's range was too narrow for a reward: if it is corrected, the pull need not be made again."""
        if not self._keeps_itself:
            self._out_of_range = (self.held, Name(pull.n - 1, pull.before), outcome)

    def told(self, pull: Pull) -> None:
        """A pull counts: only its checkpoint, or the newest before it, and the best one are still needed."""
        if self._keeps_itself:
            if callable(told := getattr(self._arm, "told", None)):
                told(pull)
            return
        self._counted = Name(pull.n, pull.id)
        if self._files is None or self._there is None:
            return
        kept = needed_after(pull, self._saved, self.direction) or {self._given_state}
        if pull.attempt > 1:  # whoever had it before may have left something
            self._there = self._files.tidy(pull.n, kept)
        else:
            for name in [name for name in self._there if name.n <= pull.n and name not in kept]:
                self._there.remove(name)
                self._files.drop(name)

    def keep(self) -> tuple[Name, str] | None:
        """Make a checkpoint of the learner in memory, to be recorded by its proof; None if it cannot be saved.

        The proof is empty if there is one already.
        """
        if self.held is None or self._files is None or not self._can_be_saved:
            return None
        if self._there is not None and self.held in self._there:
            return self.held, ""
        return self.held, self._save(self.held)

    def catch_up(self, saved: Saved | None, last: Name) -> None:
        """Restore in the given object what it learnt in its last counted pull, if an earlier process made that.

        Nothing is trained, and no checkpoint is removed: another process may be making the next pull.
        """
        with self._lock:
            is_object = self._make is None and self._can_be_saved and not self._keeps_itself
            if self._files is None or not is_object or self.held == last:
                return
            if saved is not None and Name(saved.n, saved.id) == last and self._files.is_whole(saved):
                self._load(last)
            else:
                log.warning("arm %r is not as pull %d left it, which has no checkpoint.", self.name, last.n)

    def finds(self, saved: Saved) -> bool:
        """Whether a checkpoint is there as it was saved."""
        return self._files is not None and self._files.is_whole(saved)

    def loaded(self, name: Name, saved: Saved | None) -> Any:
        """The learner as a counted pull left it, from memory or from its checkpoint; nothing is trained."""
        with self._lock:
            if self._arm is None:
                self._take_new()
            if not self._keeps_itself and self.held != name:
                if saved is None or Name(saved.n, saved.id) != name or not (self._can_be_saved and self.finds(saved)):
                    said = (
                        f"the checkpoint of its pull {name.n} is missing or damaged"
                        if saved
                        else "it has no checkpoint"
                    )
                    raise RisingBanditsError(f"arm {self.name!r} cannot be loaded: {said}.")
                self._load(name)
            return self._arm if self._make is not None else self.given

    @property
    def can_be_made_again(self) -> bool:
        """Whether the learner can do without a checkpoint, by being trained again."""
        return self._make is not None or self._finds_its_step

    def close(self) -> None:
        """Have the arm give up what it holds between pulls."""
        if callable(close := getattr(self._arm, "close", None)):
            close()

    def look_again(self) -> None:
        """Checkpoints were removed by others."""
        self._there = None

    def is_light(self) -> bool:
        """Whether the learner can be dropped and restored without being trained again."""
        if self._arm is None:
            self._take_new()
        return self._keeps_itself or self._can_be_saved

    # -- the state to start from --------------------------------------------------------------------------------

    def _at(self, pull: Pull) -> Any:
        """The learner as it was after the counted pull before ``pull``."""
        if self._arm is None:
            self._take_new()
        if self._keeps_itself:
            return self._arm
        before = Name(pull.n - 1, pull.before)
        files = self._files if self._can_be_saved else None
        if self.held == before and (files is None or self._there is not None):
            return self._arm
        if files is not None:
            files.claim()
            self._there = files.tidy(pull.n - 1, needed_before(pull) | {self._given_state})
        if self.held != before:
            self._go_back(pull, files)
        if self._make is None and files is not None and self.held == self._given_state:
            self.keep()  # there is no other way back to the state that the object was given in
        if not self._finds_its_step:
            assert self.held is not None
            if (again := before.n - self.held.n) > 0:
                log.info("%s has no checkpoint after pull %d: %d pulls are made again", self.name, before.n, again)
            for n in range(self.held.n + 1, pull.n):
                self._made_by(self._arm, pull._replace(n=n, attempt=0))
                if self.held is None or self.held.n < n:
                    raise RisingBanditsError(
                        f"arm {self.name!r} ended after pull {n - 1} when its pulls were made again, although "
                        f"{pull.n - 1} count."
                    )
        return self._arm

    @property
    def _given_state(self) -> Name:
        """That in which the object was given; its checkpoint is kept until one that counts can replace it."""
        return Name(self.trained, 0)

    def _go_back(self, pull: Pull, files: Checkpoints | None) -> None:
        """Bring the learner to the newest counted state that can be had; the pulls from there are made again."""
        fresh = self._given_state
        counted = self.held is not None and self.held == self._counted and self.held.n < pull.n
        given = self._there is not None and fresh in self._there  # the state that the object was given in
        begins = self._make is not None or self.held == fresh or counted or given
        try:
            start = None if files is None else files.start_of(pull, self.trained, begins, self.holds)
        except LostCheckpoint:
            self._refused = True
            raise
        if start is not None:
            if self._make is not None and self.held != fresh:
                self._take_new()
            self._load(Name(start.n, start.id))
        elif counted or self.held == fresh:
            return
        elif self._make is not None:
            self._take_new()
        elif given:
            self._load(fresh)
        elif not self._finds_its_step:
            self._refused = True
            raise RisingBanditsError(self._cannot_go_back(pull.n))

    # -- the learner --------------------------------------------------------------------------------------------

    def _made_by(self, arm: Any, pull: Pull) -> float | Outcome:
        self.held = None  # an exception leaves a learner in a state that is not known
        began = time.perf_counter()
        try:
            answer: float | Outcome = arm.pull(pull)
        except Exception as error:
            self._failure = f"{type(error).__name__}: {error}".removesuffix(": ")
            raise
        self._failure = ""
        seconds = time.perf_counter() - began
        try:
            check_direction(self.name, arm, self.direction)
        except RisingBanditsError as error:  # its first result has named the metric; it is not to blame
            raise CannotGoOn(str(error)) from None
        if isinstance(answer, Outcome) and answer.reward is None:  # nothing was left to do in this pull
            self.held = Name(pull.n - 1, pull.before)
            return answer
        self.held = Name(pull.n, pull.id)
        if not self.timed or (isinstance(answer, Outcome) and answer.cost is not None):
            return answer
        return answer._replace(cost=seconds) if isinstance(answer, Outcome) else Outcome(answer, seconds)

    def _save(self, name: Name) -> str:
        """Write a checkpoint of the learner in memory; returns its proof, "" if there is nowhere to write it."""
        if self._files is None or not self._can_be_saved:
            return ""
        try:
            proof = self._files.write(*name, self._arm.save)
        except Exception as error:
            self._files.check_disk(error)
            raise
        if self._there is None:
            self._there = set()
        self._there.add(name)
        self._kept_pulls = name.n
        return proof

    def _load(self, name: Name) -> None:
        assert self._files is not None
        self.held = None
        self._arm.load(self._files.at(*name))
        self.held, self._kept_pulls = name, name.n

    def _take(self, arm: Any) -> None:
        check_direction(self.name, arm, self.direction)
        self._arm = as_arm(arm)
        self._can_be_saved = all(callable(getattr(arm, verb, None)) for verb in ("save", "load"))
        self._finds_its_step = bool(getattr(self._arm, "restores_itself", False))
        self._keeps_itself = self._finds_its_step and not self._can_be_saved
        self.held, self._kept_pulls = self._given_state, self.trained
        if callable(kept_by := getattr(arm, "kept_by", None)):  # a command, which has files of its own
            kept_by(self)

    def _take_new(self) -> None:
        assert self._make is not None
        self._take(self._make())

    def _cannot_go_back(self, n: int) -> str:
        """Why pull ``n`` cannot be made: first what had failed, then what to do."""
        cause = f"{self._failure.rstrip('.')}; " if self._failure else ""
        again = " again" if self._failure else ""
        left = f"not as pull {n - 1} left it" if n > 1 else "not as it was given"
        state = "in an unknown state" if self.held is None else left
        way = "a store with a folder" if self._can_be_saved else "save(path) and load(path) and a store with a folder"
        return (
            f"{cause}pull {n} of arm {self.name!r} cannot be made{again}, because its object is {state} and cannot go "
            f"back: give it {way}, or a function that makes it, or, if it depends only on pull.n and not on what it "
            "has learnt, restores_itself = True."
        )
