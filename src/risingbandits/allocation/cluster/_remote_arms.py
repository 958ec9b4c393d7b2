"""Arms whose learners live in processes of their own: on a Ray cluster or on this machine.

`RemoteArms` is a mapping of names to arms for `Allocator.run`. A pull is one call to the process that has the learner.
Processes are started when needed; if there is no room, the one that has been idle longest makes a checkpoint and
leaves. If one is lost, its pull fails, and the allocator gives it out again, to a new process that starts from the last
checkpoint. Only the allocator's store says which pulls count.
"""

from __future__ import annotations

import inspect
import logging
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from risingbandits._core.errors import RisingBanditsError, check_choice, check_positive_int, shown
from risingbandits.allocation.arms._checkpoints import Name
from risingbandits.allocation.arms.base import Outcome, as_arm, makes_arm
from risingbandits.allocation.cluster._placement import Placed, Resources, room, who_must_go
from risingbandits.allocation.pull import Pull

if TYPE_CHECKING:
    from risingbandits.allocation.allocator import Allocator

log = logging.getLogger("risingbandits")

_STARTS = 5  # of a process, before the pull has failed
_LAST_SAVE = 60.0  # seconds that learners have to be saved when all is closed
BACKENDS = ("threads", "processes", "ray")


class ArmLost(RisingBanditsError):
    """The process of an arm has ended in the middle of a pull, which must be repeated."""


class RemoteProcess(Protocol):
    """The process of one arm; calls raise `ArmLost` if it has ended, otherwise what the learner raises.

    ``told`` and ``stop`` wait for nothing; for ``keep`` see `Checkpointed`.
    """

    def pull(self, pull: Pull) -> float | Outcome: ...
    def told(self, pull: Pull) -> None: ...
    def keep(self) -> tuple[Name, str] | None: ...
    def stop(self) -> None: ...
    def kill(self) -> None: ...


class RemoteArms(Mapping[str, "RemoteArm"], ABC):
    """Arms in processes; subclasses know where processes can be and how they are started.

    Each of the ``arms`` is a function that makes a learner, called in the process that will keep it.
    """

    def __init__(
        self,
        arms: Mapping[str, Callable[[], Any]],
        folder: str | Path | None,
        checkpoint_every: int,
    ) -> None:
        if not isinstance(arms, Mapping) or not arms or not all(callable(make) for make in arms.values()):
            raise RisingBanditsError(f"arms must map names to functions that make learners, got {shown(arms)}.")
        self._make = dict(arms)
        self.folder = None if folder is None else Path(folder).absolute()
        self._settings: dict[str, Any] = {"every": check_positive_int("checkpoint_every", checkpoint_every)}
        self._allocator: Allocator | None = None
        self._trained: dict[str, int] = {}
        self._stopped: set[str] = set()  # arms whose pulls are to end
        self._placed: dict[str, Placed[RemoteProcess]] = {}
        self._leaving: dict[str, Placed[RemoteProcess]] = {}
        self._changed = threading.Condition()
        self._uses = 0

    # -- where processes are ------------------------------------------------------------------------------------

    @abstractmethod
    def _room_for(self, name: str) -> tuple[Mapping[str, Resources], Resources]:
        """The nodes to choose from with what each has, and what the process of an arm needs of it."""

    @abstractmethod
    def _start(self, name: str, placed: Placed[RemoteProcess]) -> bool:
        """Start the process of an arm at its place. False if place or process was lost before it could start."""

    def _connect(self) -> None:
        """Called before processes are looked for."""

    def _lost_at(self, node: str | None) -> None:
        """Called when a process on a node was lost."""

    # -- a mapping of names to arms -----------------------------------------------------------------------------

    def __getitem__(self, name: str) -> RemoteArm:
        if name not in self._make:
            raise KeyError(name)
        return RemoteArm(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._make)

    def __len__(self) -> int:
        return len(self._make)

    def belong_to(self, allocator: Allocator) -> None:
        """Take what an allocator knows: the folder of its store, earlier pulls, and what checkpoints must survive."""
        self._allocator = allocator
        directory, settings = allocator.store.directory, allocator.settings
        if self.folder is None and directory is not None:
            self.folder = directory.absolute()
        self._trained = {name: len(past) for name, past in settings.warm_start.items()}
        self._settings["flush"] = settings.durability == "power"
        self._settings["timed"] = settings.budget.seconds is not None
        self._settings["direction"] = settings.direction
        self._settings["store"] = allocator.store.identity()

    def _settings_of(self, name: str) -> dict[str, Any]:
        return {**self._settings, "trained": self._trained.get(name, 0)}

    # -- pulls --------------------------------------------------------------------------------------------------

    def pull(self, name: str, pull: Pull) -> float | Outcome:
        """One pull, in the process of the arm."""
        self._stopped.discard(name)
        placed = self._take(name)
        lost = True
        try:
            tries = 1
            while placed.process is None and not self._start(name, placed):
                if tries == _STARTS:
                    raise ArmLost(f"the process of arm {name!r} ended {tries} times before it could start.")
                tries += 1
                self._give_back(name, placed, lost=True)
                placed = self._take(name)
            assert placed.process is not None
            try:
                outcome = placed.process.pull(pull)
            except Exception as error:
                lost = isinstance(error, ArmLost)  # otherwise the learner complains, and the process is there
                raise
            lost = False
            return outcome
        finally:
            self._give_back(name, placed, lost)

    def told(self, name: str, pull: Pull) -> None:
        """A pull counts: the process of the arm, if it is still there, removes what is no longer needed."""
        with self._changed:
            placed = self._placed.get(name)
            if placed is not None and placed.process is not None:
                placed.process.told(pull)

    def stop(self, name: str) -> None:
        """End the running pull of an arm: by the learner's own ``stop``, otherwise by ending its process."""
        with self._changed:
            self._stopped.add(name)
            self._changed.notify_all()
            placed = self._placed.get(name)
            if placed is None or placed.process is None or not placed.busy:
                return
            if placed.stoppable:
                placed.process.stop()
            else:
                placed.process.kill()
                placed.killed = True  # its pull may have ended just before

    def _check_not_stopped(self, name: str) -> None:
        if name in self._stopped:
            raise ArmLost(f"arm {name!r} was stopped.")

    def _take(self, name: str) -> Placed[RemoteProcess]:
        """The arm's place, now busy. Others leave if there is no room."""
        self._connect()
        while True:
            leaving: list[str] = []
            with self._changed:
                self._check_not_stopped(name)
                placed = self._placed.get(name)
                if placed is None and name in self._leaving:
                    self._changed.wait(1.0)
                    continue
                if placed is None:
                    placed, leaving = self._find_place(name)
                    if placed is None:
                        self._changed.wait(1.0)  # until a pull has ended, or nodes have come or gone
                        continue
                self._uses += 1
                placed.busy, placed.used = True, self._uses
                for other in leaving:
                    self._leaving[other] = self._placed.pop(other)
            for other in leaving:
                self._leave(other)
            return placed

    def _find_place(self, name: str) -> tuple[Placed[RemoteProcess] | None, list[str]]:
        """A place for a new process, reserved for it, and which processes must leave first."""
        nodes, needs = self._room_for(name)
        leaving: list[str] = []
        node = room(nodes, self._placed.values(), needs)
        if node is None:
            found = who_must_go(nodes, self._placed, needs)
            if found is None:
                return None, []
            leaving, node = found
        self._placed[name] = Placed(needs, node)
        return self._placed[name], leaving

    def _give_back(self, name: str, placed: Placed[RemoteProcess], lost: bool) -> None:
        with self._changed:
            placed.busy = False
            if lost or placed.killed:
                self._placed.pop(name, None)
                self._lost_at(placed.node)
                if placed.process is not None:  # it may live on behind a broken connection
                    placed.process.kill()
            self._changed.notify_all()

    def _leave(self, name: str) -> None:
        """Let an idle process make a checkpoint and end."""
        process = self._leaving[name].process
        assert process is not None
        self._keep(name, process)
        process.kill()
        with self._changed:
            del self._leaving[name]
            self._changed.notify_all()
        log.debug("%s made room", name)

    def _keep(self, name: str, process: RemoteProcess) -> None:
        """Have an idle learner saved; the store is told what was not saved with its pull."""
        try:
            kept = process.keep()
            if kept is None:
                log.info("%s cannot be saved: it will be trained again from its first pull", name)
            elif kept[1] and self._allocator is not None and not self._allocator.is_closed:
                self._allocator.keep_checkpoint(name, *kept)
        except Exception as error:  # lost, or a learner's own complaint
            log.warning("%s was lost before it was saved: %s", name, first_line(error))

    def close(self) -> None:
        """Save all learners and end their processes."""
        with self._changed:
            placed, self._placed = self._placed, {}
        processes = {name: own.process for name, own in placed.items() if own.process is not None}
        if processes:
            with ThreadPoolExecutor(len(processes)) as pool:
                wait([pool.submit(self._keep, *own) for own in processes.items()], timeout=_LAST_SAVE)
                for process in processes.values():
                    process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class RemoteArm:
    """An arm of this process whose learner is elsewhere."""

    restores_itself = True  # no checkpoints are made of this object

    def __init__(self, arms: RemoteArms, name: str) -> None:
        self.arms, self.name = arms, name

    def pull(self, pull: Pull) -> float | Outcome:
        return self.arms.pull(self.name, pull)

    def told(self, pull: Pull) -> None:
        self.arms.told(self.name, pull)

    def stop(self) -> None:
        self.arms.stop(self.name)


def itself(arm: Any) -> Any:
    """With `functools.partial`: what makes an arm elsewhere that can be sent there as it is."""
    return arm


def first_line(error: BaseException) -> str:
    """The first line of an error."""
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__


@contextmanager
def arms_on(backend: str, arms: Mapping[str, Any], jobs: int) -> Iterator[Mapping[str, Any]]:
    """``arms`` as a backend pulls them, ``jobs`` at a time; its processes end with the context."""
    check_choice("backend", backend, BACKENDS)
    if backend == "threads":
        yield arms
        return
    if hasattr(arms, "belong_to"):
        raise RisingBanditsError(f"backend must be left out for {type(arms).__name__}, which already run elsewhere.")
    if not arms:
        raise RisingBanditsError("arms must be functions that make learners for run, got only names.")
    recipes = {name: recipe(name, arm, backend) for name, arm in arms.items()}
    from risingbandits.allocation.cluster.process_arms import ProcessArms
    from risingbandits.allocation.cluster.ray_arms import RayArms

    processes = max(jobs, os.cpu_count() or 1)
    with ProcessArms(recipes, processes=processes) if backend == "processes" else RayArms(recipes) as remote:
        yield remote


def recipe(name: str, arm: Any, backend: str) -> Any:
    """What makes an arm elsewhere: as given, or something that returns a function of the pull, which has no state.

    >>> recipe("a", lambda: object(), "ray") is None
    False
    """
    if makes_arm(arm):
        return arm
    if hasattr(arm, "pull") or inspect.isgenerator(arm):
        raise RisingBanditsError(
            f"arm {name!r} must be a function that makes it for backend={backend!r}, where another process makes and "
            f"keeps it, got an object: {shown(arm)}."
        )
    return partial(itself, as_arm(arm))
