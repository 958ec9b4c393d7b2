"""Runs on a Ray cluster, in blocks large enough to be worth a task; lost blocks are played again.

The settings of the runs are sent once, the numbers of a block's runs with each task. The outcomes come back to this
process, the only one that writes files. A block's machine code comes from Numba's disk cache on its node, or is made
there.
"""

from __future__ import annotations

import hashlib
import math
import platform
import time
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_positive_int
from risingbandits._core.jit import NUMBA_VERSION
from risingbandits._core.ray_connection import connected, import_ray
from risingbandits._version import __version__
from risingbandits.simulation._backends import Backend, Begin

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

LEAST_SECONDS = 0.1  # a task costs Ray about a millisecond: one per cent
_MOST_SECONDS = 2.0  # what a lost block costs, and how often progress is seen
_BLOCKS_PER_SLOT = 4  # so that no slot is idle for long while the last blocks are played
_WATCHED = 1000  # blocks, the oldest, among which the next finished one is looked for
_PURPOSE = "backend 'ray'"
_RETRIES = 5  # of a block whose worker or node is lost; one that kills every worker ends the study
_DECIDING = ("_core", "policies", "problems", "simulation", "lab/benchmark", "lab/paper", "lab/related")


class _Block(NamedTuple, Generic[K]):
    """Items for one task, which may stop after ``limit`` seconds."""

    label: K
    items: Sequence[int]
    limit: float


class _Played(NamedTuple):
    """What a task gives back: the outcomes of its first items and the seconds of one, the first not counted."""

    outcomes: list[Any]
    seconds: float


class RayBlocks(Backend):
    """Plays on the Ray cluster that the program is connected to.

    It measures how long an item takes: the first blocks, one per slot, end 0.1 s after their first item, which may have
    to be compiled. The others take 0.1 to 2 s, or one item if that takes longer.

    At most ``jobs`` blocks are played at once, by default as many as the cluster has cores.
    """

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = None if jobs is None else check_positive_int("jobs", jobs)

    @property
    def slots(self) -> int:
        cores = int(import_ray(_PURPOSE).cluster_resources().get("CPU", 1))
        return max(1, cores if self.jobs is None else min(self.jobs, cores))

    def play(self, begin: Begin[K, T], items: Mapping[K, Sequence[int]]) -> Generator[tuple[K, int, T]]:
        ray = import_ray(_PURPOSE)
        task = ray.remote(num_cpus=1, max_retries=_RETRIES)(play_block)
        # As bytes: arrays that Ray shares are read-only, which is another type to Numba and compiled again.
        work = [ray.put(ray.cloudpickle.dumps(begin))]  # in a list, the reference itself travels
        stamp = program_stamp()
        pieces = max(1, self.slots // max(1, len(items)))
        waiting = deque(
            _Block(label, piece, LEAST_SECONDS) for label, own in items.items() for piece in _pieces(own, pieces)
        )
        playing: dict[Any, _Block[K]] = {}
        try:
            while waiting or playing:
                while waiting and (self.jobs is None or len(playing) < self.jobs):
                    block = waiting.popleft()
                    playing[task.remote(work, *block, stamp)] = block
                (done,), _ = ray.wait(list(islice(playing, _WATCHED)), num_returns=1)
                label, own, _ = playing.pop(done)
                outcomes, seconds = _result(ray, done)
                for item, outcome in zip(own, outcomes, strict=False):
                    yield label, item, outcome
                rest = own[len(outcomes) :]
                if rest:
                    cut = _cut(rest, seconds, -(-self.slots // pieces))
                    waiting.extend(_Block(label, block, math.inf) for block in cut)
        finally:
            for unfinished in playing:
                ray.cancel(unfinished, force=True)


@contextmanager
def ray_backend(jobs: int | None) -> Iterator[RayBlocks]:
    """The backend "ray" of `simulate`."""
    blocks = RayBlocks(jobs)  # checks its arguments before a cluster is started
    with connected(_PURPOSE):
        yield blocks


def _pieces(items: Sequence[int], count: int) -> list[Sequence[int]]:
    """Items in ``count`` pieces of equal length, or one shorter; in fewer pieces if there are fewer items."""
    size = max(1, -(-len(items) // count))
    return [items[first : first + size] for first in range(0, len(items), size)]


def _cut(items: Sequence[int], seconds: float, slots: int) -> list[Sequence[int]]:
    """Blocks of items that take ``seconds`` each: even across slots, but neither too short nor too long.

    >>> [len(block) for block in _cut(range(100), seconds=0.01, slots=2)]
    [15, 15, 15, 15, 15, 15, 10]
    >>> [len(block) for block in _cut(range(30), seconds=0.01, slots=2)]
    [10, 10, 10]
    """
    least = math.ceil(LEAST_SECONDS / seconds)
    most = max(least, int(_MOST_SECONDS / seconds))
    count = len(items) // min(max(-(-len(items) // (slots * _BLOCKS_PER_SLOT)), least), most)
    return _pieces(items, max(1, count))


def _result(ray: Any, reference: Any) -> _Played:
    try:
        return cast(_Played, ray.get(reference))
    except ray.exceptions.RayTaskError as error:
        raise (error.cause if isinstance(error.cause, RisingBanditsError) else error) from None
    except ray.exceptions.RayError as error:
        reason = " ".join(str(error).split())
        raise RisingBanditsError(f"a block of runs was lost {_RETRIES + 1} times on the cluster: {reason}") from error


# -- in the processes of the cluster ----------------------------------------------------------------------------


def play_block(work: list[Any], label: Hashable, items: Sequence[int], limit: float, stamp: str) -> _Played:
    """Play items until all are played, or ``limit`` seconds have passed since the first was done."""
    if program_stamp() != stamp:
        raise RisingBanditsError(
            f"node {platform.node()} must have the program and the versions of NumPy and Numba that the study is "
            f"started with, got {_versions()} or other sources."
        )
    one = _player(work[0], label)
    outcomes = [one(items[0])]
    start = time.perf_counter()
    for item in items[1:]:
        outcomes.append(one(item))
        if time.perf_counter() - start >= limit:
            break
    return _Played(outcomes, max(time.perf_counter() - start, 1e-6) / max(1, len(outcomes) - 1))


@lru_cache(maxsize=1)
def _work(reference: Any) -> Begin[Any, Any]:
    """The settings, read once by each process."""
    ray = import_ray(_PURPOSE)
    try:
        return cast("Begin[Any, Any]", ray.cloudpickle.loads(ray.get(reference)))
    except ModuleNotFoundError as error:
        raise RisingBanditsError(
            f"node {platform.node()} has no module {error.name!r}, in which a policy or a problem is defined; connect "
            "with ray.init(runtime_env={'working_dir': '.'}) to send the files of this folder along."
        ) from None


@lru_cache(maxsize=1)
def _player(reference: Any, label: Hashable) -> Callable[[int], Any]:
    """The buffers, made once for consecutive blocks of a label."""
    return _work(reference)(label)


def _versions() -> str:
    python = platform.python_version()
    return f"risingbandits {__version__}, Python {python}, NumPy {np.__version__}, Numba {NUMBA_VERSION}"


@cache
def program_stamp() -> str:
    """A hash of what decides outcomes: the versions and the sources of the package."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256(_versions().encode())
    for name in _DECIDING:
        path = package / name
        for file in sorted([*path.rglob("*.py"), *path.rglob("*.toml")]) if path.is_dir() else [path]:
            digest.update(f"{file.relative_to(package).as_posix()};".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()
