"""Arms in processes of this machine: for learners that would block one another in threads, without a cluster."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError, check_positive_int, missing
from risingbandits.allocation.cluster._placement import Placed, Resources
from risingbandits.allocation.cluster._remote_arms import ArmLost, RemoteArms, RemoteProcess
from risingbandits.allocation.pull import Pull

_LOOK = 0.2  # seconds between looks at whether a process is to be started still
_CHILD = "import sys; from risingbandits.allocation.cluster._process_child import serve; serve(int(sys.argv[1]))"


class ProcessArms(RemoteArms):
    """Arms whose learners live in processes of this machine, for ``Allocator.run(arms=...)``.

    A process is a new Python, not a fork, so that threads of frameworks are safe. It ends when the calling process
    does, however that ends.

    Parameters
    ----------
    arms : mapping of names to functions without arguments
        Each makes a learner, in the process that will keep it, as for `RayArms`.
    folder : path, optional
        Where checkpoints are kept. By default the folder of the allocator's store; without one, learners that have to
        make room are trained again.
    processes : int, optional
        The largest number of live processes; the number of processors by default. If there are more arms, the one that
        has been idle longest makes a checkpoint and leaves. A new process takes about a second to start, more with
        large libraries.
    checkpoint_every : int
        As for `RayArms`.

    Examples
    --------
    >>> class Learner:
    ...     steps = 0
    ...     def pull(self, pull):
    ...         self.steps += 1
    ...         return self.steps / 10
    >>> from risingbandits import Allocator
    >>> with ProcessArms({"a": lambda: Learner()}) as arms, Allocator(["a"], budget=3) as allocator:
    ...     allocator.run(arms=arms, progress=False)
    ...     allocator.rewards("a")
    [0.1, 0.2, 0.3]
    """

    def __init__(
        self,
        arms: Mapping[str, Callable[[], Any]],
        folder: str | Path | None = None,
        *,
        processes: int | None = None,
        checkpoint_every: int = 1,
    ) -> None:
        super().__init__(arms, folder, checkpoint_every)
        self._processes = os.cpu_count() or 1 if processes is None else check_positive_int("processes", processes)
        _cloudpickle()

    def _room_for(self, name: str) -> tuple[Mapping[str, Resources], Resources]:
        return {"here": {"processes": float(self._processes)}}, {"processes": 1.0}

    def _start(self, name: str, placed: Placed[RemoteProcess]) -> bool:
        process = _Child(name, self._make[name], self.folder, self._settings_of(name))
        try:
            while not process.has_answered(_LOOK):
                self._check_not_stopped(name)
            placed.light, placed.stoppable = process.answer()
        except ArmLost:
            process.kill()
            self._check_not_stopped(name)
            return False
        except BaseException:
            process.kill()
            raise
        with self._changed:
            placed.process = process
        return True


class _Child:
    """A process and the connection to it; one call at a time, except for `stop` and `kill`."""

    def __init__(self, name: str, make: Callable[[], Any], folder: Path | None, settings: dict[str, Any]) -> None:
        try:
            recipe = _cloudpickle().dumps(make)
        except Exception as error:  # whatever a part of it raises
            raise RisingBanditsError(f"what makes arm {name!r} cannot be sent to a process: {error}.") from None
        self._name = name
        self._here, there = Pipe()
        path = os.pathsep.join(part for part in sys.path if part)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CHILD, str(there.fileno())],
            pass_fds=[there.fileno()],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
        )
        there.close()
        self._sending = threading.Lock()
        self._send((name, recipe, folder, settings))

    def pull(self, pull: Pull) -> Any:
        self._send(("pull", pull))
        return self.answer()

    def told(self, pull: Pull) -> None:
        self._send(("told", pull))

    def keep(self) -> Any:
        self._send(("keep", None))
        return self.answer()

    def stop(self) -> None:
        self._send(("stop", None))

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def has_answered(self, seconds: float) -> bool:
        """Whether it has answered, or has ended, within ``seconds``."""
        return self._here.poll(seconds)

    def answer(self) -> Any:
        """What the process says next; an exception of the learner is raised here."""
        try:
            kind, value = self._here.recv()
        except (EOFError, OSError):
            code = self._process.wait()
            raise ArmLost(f"the process of arm {self._name!r} was lost: it ended with code {code}.") from None
        if kind == "error":
            raise value
        return value

    def _send(self, message: Any) -> None:
        with self._sending, suppress(OSError):  # it has ended: whatever waits for its answer is told
            self._here.send(message)


def _cloudpickle() -> Any:
    """What sends functions that have no name, such as lambdas, to other processes."""
    try:
        import cloudpickle
    except ImportError:
        raise missing("cloudpickle", "arms in processes", "processes") from None
    return cloudpickle
