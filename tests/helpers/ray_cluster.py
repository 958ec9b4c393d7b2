"""Ray for the tests: small, quiet, short-lived, with a folder of its own; nothing of it outlives the context."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from programs import until

ray: Any = pytest.importorskip("ray", reason="Ray is not installed: pip install 'risingbandits[ray]'")

_STORE = 80 * 2**20  # bytes of the object store of a node, the least that Ray allows is 75 MB
_SYSTEM = {  # a dead node is noticed within seconds instead of half a minute
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_failure_threshold": 6,
}
_ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}


class Nodes:
    """A cluster of several nodes on this machine, each with a raylet of its own, to which this process is connected."""

    def __init__(self, workers: int, cpus: int, folder: str) -> None:
        from ray.cluster_utils import Cluster

        self.cpus = cpus
        head = {"num_cpus": cpus, "object_store_memory": _STORE, "include_dashboard": False, "temp_dir": folder}
        self.cluster: Any = _patiently(
            lambda: Cluster(initialize_head=True, head_node_args={**head, "_system_config": _SYSTEM})
        )
        self.workers: list[Any] = []
        try:
            for _ in range(workers):
                self.add()
            with _ray_warnings():
                ray.init(address=self.cluster.address, log_to_driver=False, logging_level="ERROR")
        except BaseException:
            self.close()
            raise

    def add(self) -> None:
        """One more node."""
        settings = {"num_cpus": self.cpus, "object_store_memory": _STORE}
        self.workers.append(_patiently(lambda: self.cluster.add_node(**settings)))

    def kill_one_at_work(self, at_work: Callable[[], set[int]]) -> bool:
        """End a node, not the head, with all its processes, without a word to the others, in the middle of something.

        ``at_work`` gives the processes that have begun something and not ended it. They are stopped before they are
        looked at, so that what they do is certainly lost.
        """
        for node in self.workers:
            raylet = node.all_processes["raylet"][0].process.pid
            processes = [raylet, *children(raylet)]
            _signal(processes, signal.SIGSTOP)
            if at_work() & set(processes):
                _signal(processes, signal.SIGKILL)
                self.workers.remove(node)
                self.cluster.remove_node(node, allow_graceful=False)
                return True
            _signal(processes, signal.SIGCONT)
        return False

    def wait_for(self, alive: int) -> None:
        """Until so many nodes are known to be alive."""
        until(lambda: self.alive == alive)

    def heal(self, workers: int) -> None:
        """As many nodes as at the start."""
        while len(self.workers) < workers:
            self.add()

    @property
    def alive(self) -> int:
        return sum(node["Alive"] for node in ray.nodes())

    def close(self) -> None:
        with _ray_warnings():
            ray.shutdown()
            self.cluster.shutdown()


def _patiently(start: Callable[[], Any], tries: int = 5) -> Any:
    """Start a node. Ray gives up after 30 s, which a busy machine may need; what it has begun is ended."""
    for left in reversed(range(tries)):
        before = children(os.getpid())
        try:
            return start()
        except Exception as error:
            if not left or "timed out during startup" not in str(error):
                raise
            _signal([process for process in children(os.getpid()) if process not in before], signal.SIGKILL)
    return None


def _signal(processes: list[int], number: signal.Signals) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, number)


def children(process: int) -> list[int]:
    """The processes that a process has started."""
    return [
        int(child) for path in Path(f"/proc/{process}/task").glob("*/children") for child in path.read_text().split()
    ]


@contextmanager
def nodes(workers: int = 2, cpus: int = 2) -> Iterator[Nodes]:
    """A head node and ``workers`` more."""
    folder = tempfile.mkdtemp(prefix="rb-ray-")  # short: paths of sockets end at 107 characters
    Path(folder, "ray").mkdir()  # where Ray notes, without making the folder, which cluster it has started last
    # Taken now: folders of tests join the path while the tests are collected, most of them after this file was read.
    path = os.pathsep.join(filter(None, sys.path))
    environment = {**_ENVIRONMENT, "RAY_TMPDIR": folder, "PYTHONPATH": path}
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    made: Nodes | None = None
    try:
        made = Nodes(workers, cpus, folder)
        yield made
    finally:
        if made is not None:
            made.close()
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _ray_warnings() -> Iterator[None]:
    """Ray leaves log files to the garbage collector and announces changes; neither is ours to mend."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        warnings.filterwarnings("ignore", category=FutureWarning, module="ray")
        warnings.filterwarnings("ignore", category=DeprecationWarning, module="ray")
        yield
