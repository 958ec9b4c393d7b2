"""Arms on a Ray cluster: each learner lives in a process of its own, where it stays in memory between its pulls.

`RayArms` is a mapping of names to arms for `Allocator.run`. A pull is one call of the process that has the learner.
Processes are started when they are needed; when the cluster is full, the one that has been idle longest makes a
checkpoint and goes. One that is lost, with its node or alone, fails its pull, which the allocator gives out again, to a
new process that begins with the last checkpoint. The store of the allocator alone says which pulls count.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from risingbandits._core.errors import RisingBanditsError, check_finite, check_positive_int, shown
from risingbandits._core.ray_connection import connected, import_ray
from risingbandits.allocation.arms.base import Outcome
from risingbandits.allocation.arms.checkpointed import Checkpointed
from risingbandits.allocation.cluster.placement import Placed, Resources, room, who_must_go
from risingbandits.allocation.cluster.switching import Switching
from risingbandits.allocation.pull import Pull

if TYPE_CHECKING:
    from risingbandits.allocation.allocator import Allocator

log = logging.getLogger("risingbandits")

_PURPOSE = "RayArms"
_NAMED = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}  # what Ray takes as options of their own
_LOOK = 2.0  # seconds between looks at whether a process can still start
_STARTS = 5  # of a process, before the pull has failed
_SUSPICION = 30.0  # seconds for which a node that has lost a process is avoided
_LAST_SAVE = 60.0  # seconds that learners have to be saved when all is closed


class ArmLost(RisingBanditsError):
    """The process of an arm has ended in the middle of a pull; the pull is to be made again."""


class RayArms(Mapping[str, "_Remote"]):
    """Arms whose learners live on a Ray cluster, for ``Allocator.run(arms=...)``.

    Parameters
    ----------
    arms : mapping of names to functions without arguments
        Each makes a learner, in the process that will keep it: an `Arm`, best with ``save(path)`` and ``load(path)``,
        or a function of the pull, which is taken to have no state. Without ``save`` a learner that is lost or has to
        make room is trained again from its first pull.
    folder : path, optional
        Where checkpoints are kept; on a cluster of several machines one that all of them see. By default the folder
        that belongs to the store of the allocator.
    resources : mapping, optional
        What the process of an arm needs for as long as it lives: ``{"CPU": 1}`` by default, ``{"CPU": 2, "GPU": 0.5,
        "fast-disk": 1}``.
    arm_resources : mapping of names to resources, optional
        For arms that need something else.
    checkpoint_every : int or None
        Pulls between checkpoints. With more than 1 the pulls since the last checkpoint are made again, without being
        told, when a learner is lost. None: by time only, and when the learner has to make room.
    checkpoint_seconds : float, optional
        Seconds after which a checkpoint is made even so, at the end of a pull.
    slots : int, optional
        At most so many processes, placed by Ray, which may have to wait for a node: for clusters that grow. By default
        as many as the nodes have room for now, on the assumption that nobody else uses them.
    address : str, optional
        Of the cluster, as for `simulate`.

    Examples
    --------
    >>> class Learner:  # doctest: +SKIP
    ...     def pull(self, pull): ...  # train a bit more, return the score
    ...     def save(self, path): ...
    ...     def load(self, path): ...
    >>> arms = RayArms({"small": lambda: Learner(2), "large": lambda: Learner(64)})  # doctest: +SKIP
    >>> with Allocator(list(arms), budget=200, store="study.db") as allocator, arms:  # doctest: +SKIP
    ...     allocator.run(jobs=2, arms=arms)
    """

    def __init__(
        self,
        arms: Mapping[str, Callable[[], Any]],
        folder: str | Path | None = None,
        *,
        resources: Resources | None = None,
        arm_resources: Mapping[str, Resources] | None = None,
        checkpoint_every: int | None = 1,
        checkpoint_seconds: float | None = None,
        slots: int | None = None,
        address: str | None = None,
    ) -> None:
        if not isinstance(arms, Mapping) or not arms or not all(callable(make) for make in arms.values()):
            raise RisingBanditsError(f"arms must map names to functions that make learners, got {shown(arms)}.")
        import_ray(_PURPOSE)
        self._make = dict(arms)
        self.folder = None if folder is None else Path(folder).absolute()
        given = _checked("resources", {"CPU": 1.0} if resources is None else resources)
        self._needs = dict.fromkeys(arms, given)
        for name, own in (arm_resources or {}).items():
            if name not in self._needs:
                raise RisingBanditsError(f"arm_resources must name arms, got {shown(name)}.")
            self._needs[name] = _checked("arm_resources", own)
        Checkpointed("", list, None, checkpoint_every, checkpoint_seconds)  # checks both
        self._settings: dict[str, Any] = {"every": checkpoint_every, "seconds": checkpoint_seconds}
        self._trained: dict[str, int] = {}
        self._stopped: set[str] = set()  # arms whose pulls are to end
        self._slots = None if slots is None else check_positive_int("slots", slots)
        self._address = address
        self._stack = ExitStack()
        self._ray: Any = None
        self._process: Any = None
        self._placed: dict[str, Placed[Any]] = {}
        self._leaving: dict[str, Placed[Any]] = {}
        self._suspected: dict[str, float] = {}  # nodes that have lost a process, and when
        self._changed = threading.Condition()
        self._uses = 0
        self._pulled: set[str] = set()  # arms that pulls were asked of
        self._switching = Switching(log.warning)

    # -- a mapping of names to arms -----------------------------------------------------------------------------

    def __getitem__(self, name: str) -> _Remote:
        if name not in self._make:
            raise KeyError(name)
        return _Remote(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._make)

    def __len__(self) -> int:
        return len(self._make)

    def belong_to(self, allocator: Allocator) -> None:
        """Take what an allocator knows: the folder of its store, earlier pulls, and what checkpoints must survive."""
        directory = allocator.store.directory
        if self.folder is None and directory is not None:
            self.folder = directory.absolute()
        self._trained = {name: len(past) for name, past in allocator.settings.warm_start.items()}
        self._settings["flush"] = allocator.settings.durability == "power"
        self._settings["timed"] = allocator.settings.budget.seconds is not None
        if self.folder is None:
            raise RisingBanditsError("folder must be given, because the store has none of its own, got None.")
        if self._slots is None:
            self._connect()
            nodes = self._alive()
            for name, needs in self._needs.items():
                if room(nodes, (), needs) is None:
                    raise RisingBanditsError(f"arm {name!r} needs {needs}, which no node of the cluster has.")

    # -- pulls --------------------------------------------------------------------------------------------------

    def pull(self, name: str, pull: Pull) -> float | Outcome:
        """One pull, in the process of the arm."""
        self._stopped.discard(name)
        self._pulled.add(name)
        began = time.monotonic()
        placed = self._take(name)
        lost = True
        try:
            tries = 1
            while placed.process is None and not self._start(name, placed):
                if tries == _STARTS:
                    raise ArmLost(f"the process of arm {name!r} ended {tries} times before it could begin.")
                tries += 1
                self._give_back(name, placed, lost=True)
                placed = self._take(name)
            assert placed.process is not None
            ready = time.monotonic()
            try:
                outcome: float | Outcome = self._ray.get(placed.process.pull.remote(pull))
            except self._ray.exceptions.RayTaskError as error:
                lost = False
                raise (error.cause if isinstance(error.cause, Exception) else error) from None
            except self._ray.exceptions.RayError as error:
                raise ArmLost(f"the process of arm {name!r} was lost: {_first_line(error)}") from None
            lost = False
            self._switching.pulled(ready - began, time.monotonic() - ready)
            return outcome
        finally:
            self._give_back(name, placed, lost)

    def stop(self, name: str) -> None:
        """End the pull of an arm that is at work: by the learner's own ``stop``, or else by ending its process."""
        with self._changed:
            self._stopped.add(name)
            self._changed.notify_all()
            placed = self._placed.get(name)
            if placed is not None and placed.process is not None:
                if placed.stoppable:
                    placed.process.stop.options(concurrency_group="stop").remote()
                else:
                    self._ray.kill(placed.process)

    def _check_not_stopped(self, name: str) -> None:
        if name in self._stopped:
            raise ArmLost(f"arm {name!r} was stopped.")

    def _take(self, name: str) -> Placed[Any]:
        """The arm's place on the cluster, now at work. Others go if there is no room."""
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

    def _find_place(self, name: str) -> tuple[Placed[Any] | None, list[str]]:
        """A place for a new process, kept for it, and who must go first."""
        needs = self._needs[name]
        if self._slots is not None:
            nodes: dict[str, Resources] = {"": {"slots": float(self._slots)}}
            needs = {"slots": 1.0}
        else:
            nodes = self._nodes(needs)
        leaving: list[str] = []
        node = room(nodes, self._placed.values(), needs)
        if node is None:
            found = who_must_go(nodes, self._placed, needs)
            if found is None:
                return None, []
            leaving, node = found
        self._placed[name] = Placed(needs, node)
        return self._placed[name], leaving

    def _start(self, name: str, placed: Placed[Any]) -> bool:
        """Start the process of an arm at its place. False if place or process was lost before it could begin."""
        if self.folder is None:
            raise RisingBanditsError("folder must be given, got None.")
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        needs = self._needs[name]
        options: dict[str, Any] = {_NAMED[kind]: needs[kind] for kind in needs if kind in _NAMED}
        options["resources"] = {kind: amount for kind, amount in needs.items() if kind not in _NAMED}
        options.setdefault("num_cpus", 0)
        if placed.node:
            # Soft: if the node is lost meanwhile, the process starts on another one.
            options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(placed.node, soft=True)
        make = self._ray.cloudpickle.dumps(self._make[name])
        settings = {**self._settings, "trained": self._trained.get(name, 0)}
        process = self._process.options(max_restarts=0, **options).remote(name, make, str(self.folder), settings)
        begun = process.place.remote()
        while not self._ray.wait([begun], timeout=_LOOK)[0]:
            if name in self._stopped or (placed.node and placed.node not in self._alive()):
                self._ray.kill(process)
                self._check_not_stopped(name)
                return False
        try:
            node, placed.light, placed.stoppable = self._ray.get(begun)
        except self._ray.exceptions.RayTaskError as error:
            raise (error.cause if isinstance(error.cause, Exception) else error) from None
        except self._ray.exceptions.RayError as error:
            log.info("%s could not begin on node %s: %s", name, placed.node, _first_line(error))
            return False
        with self._changed:
            placed.process = process
            placed.node = node if self._slots is None else placed.node
        log.debug("%s lives on node %s", name, node)
        return True

    def _alive(self) -> dict[str, Resources]:
        return {node["NodeID"]: node["Resources"] for node in self._ray.nodes() if node["Alive"]}

    def _nodes(self, needs: Resources) -> dict[str, Resources]:
        """The nodes to choose from: not those that have just lost a process, if others have what it takes.

        A node that is gone is among the living until Ray has noticed.
        """
        alive, now = self._alive(), time.monotonic()
        trusted = {node: own for node, own in alive.items() if now - self._suspected.get(node, -math.inf) > _SUSPICION}
        return trusted if room(trusted, (), needs) is not None else alive

    def _give_back(self, name: str, placed: Placed[Any], lost: bool) -> None:
        with self._changed:
            placed.busy = False
            if lost:
                self._placed.pop(name, None)
                if placed.node:
                    self._suspected[placed.node] = time.monotonic()
                if placed.process is not None:  # it may live on behind a broken connection
                    self._ray.kill(placed.process)
            self._changed.notify_all()

    def _leave(self, name: str) -> None:
        """Let an idle process make a checkpoint and end."""
        process = self._leaving[name].process
        assert process is not None
        try:
            if not self._ray.get(process.keep.remote()):
                log.info("%s cannot be saved: it will be trained again from its first pull", name)
        except self._ray.exceptions.RayError as error:
            log.warning("%s was lost before it was saved: %s", name, _first_line(error))
        self._ray.kill(process)
        with self._changed:
            del self._leaving[name]
            self._changed.notify_all()
        log.debug("%s made room", name)
        self._switching.made_room(len(self._pulled), len(self._placed))

    # -- the connection -----------------------------------------------------------------------------------------

    def _connect(self) -> None:
        with self._changed:
            if self._ray is None:
                self._ray = self._stack.enter_context(connected(self._address, _PURPOSE))
                # In a group of its own, "stop" is heard while a pull is at work.
                self._process = self._ray.remote(concurrency_groups={"stop": 1})(_Process)

    def close(self) -> None:
        """Save all learners, end their processes and leave the cluster if it was joined here."""
        if self._ray is None:
            return
        with self._changed:
            placed, self._placed = list(self._placed.values()), {}
        processes: list[Any] = [own.process for own in placed if own.process is not None]
        saved = [process.keep.remote() for process in processes]
        if saved:
            self._ray.wait(saved, num_returns=len(saved), timeout=_LAST_SAVE)
        for process in processes:
            self._ray.kill(process)
        self._ray = None
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Remote:
    """An arm of this process whose learner is elsewhere."""

    restores_itself = True  # no checkpoints are made of this object

    def __init__(self, arms: RayArms, name: str) -> None:
        self.arms, self.name = arms, name

    def pull(self, pull: Pull) -> float | Outcome:
        return self.arms.pull(self.name, pull)

    def stop(self) -> None:
        self.arms.stop(self.name)


class _Process:
    """What runs on the cluster: an arm with its checkpoints."""

    def __init__(self, name: str, make: bytes, folder: str, settings: dict[str, Any]) -> None:
        ray = import_ray(_PURPOSE)
        self.arm = Checkpointed(name, ray.cloudpickle.loads(make), Path(folder), make=True, **settings)

    def place(self) -> tuple[str, bool, bool]:
        """The node, whether the learner can go and come back cheaply, and whether its pulls can be ended."""
        node = import_ray(_PURPOSE).get_runtime_context().get_node_id()
        return node, self.arm.is_light(), self.arm.stop is not None

    def pull(self, pull: Pull) -> float | Outcome:
        return self.arm.pull(pull)

    def keep(self) -> bool:
        return self.arm.keep()

    def stop(self) -> None:
        if self.arm.stop is not None:
            self.arm.stop()


def _checked(name: str, resources: Any) -> dict[str, float]:
    if not isinstance(resources, Mapping):
        raise RisingBanditsError(f"{name} must map kinds such as 'CPU' to amounts, got {shown(resources)}.")
    return {str(kind): check_finite(f"{name}[{kind!r}]", amount, minimum=0.0) for kind, amount in resources.items()}


def _first_line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__
