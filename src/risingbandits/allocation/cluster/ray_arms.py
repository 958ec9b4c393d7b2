"""Arms on a Ray cluster: each learner lives in a process of its own, where it stays in memory between its pulls."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from risingbandits._core.errors import RisingBanditsError, check_finite, check_positive_int, shown
from risingbandits._core.ray_connection import connected, import_ray
from risingbandits.allocation.arms._checkpointed import Checkpointed
from risingbandits.allocation.arms._checkpoints import Name
from risingbandits.allocation.arms.base import Outcome
from risingbandits.allocation.cluster._placement import Placed, Resources, room
from risingbandits.allocation.cluster._remote_arms import ArmLost, RemoteArms, RemoteProcess, first_line, itself
from risingbandits.allocation.pull import Pull

if TYPE_CHECKING:
    from risingbandits.allocation.allocator import Allocator
    from risingbandits.allocation.commands._plan_file import Plan

log = logging.getLogger("risingbandits")

_PURPOSE = "RayArms"
_NAMED = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}  # what Ray takes as options of their own
_LOOK = 2.0  # seconds between looks at whether a process can still start
_SUSPICION = 30.0  # seconds for which a node that has lost a process is avoided


class RayArms(RemoteArms):
    """Arms whose learners live on a Ray cluster, for ``Allocator.run(arms=...)``.

    Parameters
    ----------
    arms : mapping of names to functions without arguments
        Each makes a learner, in the process that will keep it: an `Arm`, best with ``save(path)`` and ``load(path)``,
        or a function of the pull, which is taken to have no state. Without ``save``, a learner that is lost or has to
        make room is trained again from its first pull.
    folder : path, optional
        Where checkpoints are kept; with several machines, one that all of them see. By default the folder of the
        allocator's store.
    resources : mapping, optional
        What the process of an arm needs for as long as it lives: ``{"CPU": 1}`` by default, ``{"CPU": 2, "GPU": 0.5,
        "fast-disk": 1}``.
    arm_resources : mapping of names to resources, optional
        For arms that need something else.
    checkpoint_every : int
        Pulls between checkpoints. With more than 1, the pulls since the last checkpoint are repeated, without being
        told, when a learner is lost; one that has to make room is saved first.
    slots : int, optional
        The largest number of processes, placed by Ray, which may have to wait for a node: for clusters that grow. By
        default as many as fit on the nodes now, assuming that no other program uses them.

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
        checkpoint_every: int = 1,
        slots: int | None = None,
    ) -> None:
        super().__init__(arms, folder, checkpoint_every)
        import_ray(_PURPOSE)
        given = _checked("resources", {"CPU": 1.0} if resources is None else resources)
        self._needs = dict.fromkeys(arms, given)
        for name, own in (arm_resources or {}).items():
            if name not in self._needs:
                raise RisingBanditsError(f"arm_resources must name arms, got {shown(name)}.")
            self._needs[name] = _checked("arm_resources", own)
        self._slots = None if slots is None else check_positive_int("slots", slots)
        self._stack = ExitStack()
        self._ray: Any = None
        self._process: Any = None
        self._suspected: dict[str, float] = {}  # nodes that have lost a process, and when

    def belong_to(self, allocator: Allocator) -> None:
        """Take what an allocator knows, and check that every arm fits on some node."""
        super().belong_to(allocator)
        if self.folder is None:
            raise RisingBanditsError("folder must be given, because the store has none of its own, got None.")
        if self._slots is None:
            self._connect()
            nodes = self._alive()
            for name, needs in self._needs.items():
                if room(nodes, (), needs) is None:
                    raise RisingBanditsError(f"arm {name!r} needs {needs}, which no node of the cluster has.")

    def _room_for(self, name: str) -> tuple[Mapping[str, Resources], Resources]:
        if self._slots is not None:
            return {"": {"slots": float(self._slots)}}, {"slots": 1.0}
        needs = self._needs[name]
        return self._nodes(needs), needs

    def _start(self, name: str, placed: Placed[RemoteProcess]) -> bool:
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
        settings = self._settings_of(name)
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
            log.info("%s could not begin on node %s: %s", name, placed.node, first_line(error))
            return False
        with self._changed:
            placed.process = _Handle(self._ray, process, name)
            placed.node = node if self._slots is None else placed.node
        log.debug("%s lives on node %s", name, node)
        return True

    def _alive(self) -> dict[str, Resources]:
        return {node["NodeID"]: node["Resources"] for node in self._ray.nodes() if node["Alive"]}

    def _nodes(self, needs: Resources) -> dict[str, Resources]:
        """The nodes to choose from: not those that have just lost a process, if others will do.

        A dead node is listed as alive until Ray has noticed.
        """
        alive, now = self._alive(), time.monotonic()
        trusted = {node: own for node, own in alive.items() if now - self._suspected.get(node, -math.inf) > _SUSPICION}
        return trusted if room(trusted, (), needs) is not None else alive

    def _lost_at(self, node: str | None) -> None:
        if node:
            self._suspected[node] = time.monotonic()

    # -- the connection -----------------------------------------------------------------------------------------

    def _connect(self) -> None:
        with self._changed:
            if self._ray is None:
                self._ray = self._stack.enter_context(connected(_PURPOSE))
                # In a group of its own, "stop" is handled while a pull runs.
                self._process = self._ray.remote(concurrency_groups={"stop": 1})(_Process)

    def close(self) -> None:
        """Save all learners, end their processes and disconnect from the cluster if it was joined here."""
        if self._ray is not None:
            super().close()
            self._ray = None
            self._stack.close()


class _Handle:
    """The process of an arm, as it is called from here."""

    def __init__(self, ray: Any, process: Any, name: str) -> None:
        self._ray, self._process, self._name = ray, process, name

    def pull(self, pull: Pull) -> Any:
        return self._answer(self._process.pull.remote(pull))

    def told(self, pull: Pull) -> None:
        self._process.told.remote(pull)

    def keep(self) -> Any:
        return self._answer(self._process.keep.remote())

    def stop(self) -> None:
        self._process.stop.options(concurrency_group="stop").remote()

    def kill(self) -> None:
        self._ray.kill(self._process)

    def _answer(self, asked: Any) -> Any:
        try:
            return self._ray.get(asked)
        except self._ray.exceptions.RayTaskError as error:
            raise (error.cause if isinstance(error.cause, Exception) else error) from None
        except self._ray.exceptions.RayError as error:
            raise ArmLost(f"the process of arm {self._name!r} was lost: {first_line(error)}") from None


class _Process:
    """What runs on the cluster: an arm with its checkpoints."""

    def __init__(self, name: str, make: bytes, folder: str, settings: dict[str, Any]) -> None:
        ray = import_ray(_PURPOSE)
        self.arm = Checkpointed(name, ray.cloudpickle.loads(make), Path(folder), make=True, **settings)

    def place(self) -> tuple[str, bool, bool]:
        """The node, whether the learner can leave and come back cheaply, and whether its pulls can be ended."""
        node = import_ray(_PURPOSE).get_runtime_context().get_node_id()
        return node, self.arm.is_light(), self.arm.stop is not None

    def pull(self, pull: Pull) -> float | Outcome:
        return self.arm.pull(pull)

    def told(self, pull: Pull) -> None:
        self.arm.told(pull)

    def keep(self) -> tuple[Name, str] | None:
        return self.arm.keep()

    def stop(self) -> None:
        if self.arm.stop is not None:
            self.arm.stop()


def _checked(name: str, resources: Any) -> dict[str, float]:
    if not isinstance(resources, Mapping):
        raise RisingBanditsError(f"{name} must map kinds such as 'CPU' to amounts, got {shown(resources)}.")
    return {str(kind): check_finite(f"{name}[{kind!r}]", amount, minimum=0.0) for kind, amount in resources.items()}


def commands_on_ray(plan: Plan, resources: dict[str, float] | None) -> RayArms:
    """The arms of a plan. All nodes must see its folders."""
    from risingbandits.allocation.commands._command import command_arms

    makers = {name: partial(itself, arm) for name, arm in command_arms(plan).items()}
    return RayArms(makers, plan.states, resources=resources)


def parse_resources(text: str | None) -> dict[str, float] | None:
    """Resources from a string.

    >>> parse_resources("CPU=2,GPU=0.5")
    {'CPU': 2.0, 'GPU': 0.5}
    """
    if text is None:
        return None
    try:
        pairs = [part.split("=") for part in text.split(",")]
        return {kind.strip(): float(amount) for kind, amount in pairs}
    except ValueError:
        raise RisingBanditsError(f"resources must be like CPU=2,GPU=0.5, got {shown(text)}.") from None
