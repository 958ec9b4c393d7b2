"""Where runs are played: in threads of this process, or on a Ray cluster, with equal outcomes."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from risingbandits._core.errors import RisingBanditsError, check_choice, check_positive_int, shown

__all__ = ["BACKENDS", "Backend", "Begin", "Threads", "opened"]

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

# begin(label) makes buffers and gives the function that plays an item, usually a run, by its number. One thread uses
# what one call has given. On a cluster `begin` itself travels, so it holds settings and no compiled code.
Begin = Callable[[K], Callable[[int], T]]

BACKENDS = ("threads", "ray")
_BLOCKS_PER_JOB = 4


class Backend(Protocol):
    """Plays items somewhere."""

    @property
    def slots(self) -> int:
        """How many blocks of items it plays at once."""

    def play(self, begin: Begin[K, T], items: Mapping[K, Sequence[int]]) -> Generator[tuple[K, int, T]]:
        """``(label, item, begin(label)(item))`` for the items of all labels, as they are finished, in any order."""


class Threads:
    """Plays in threads of this process, which run at the same time because compiled code needs no interpreter.

    Items are handed out in blocks: few enough to reuse buffers, enough to keep all threads busy.

    Parameters
    ----------
    jobs : int, optional
        Threads; by default one per core.

    Examples
    --------
    >>> sorted(Threads(2).play(lambda label: lambda item: f"{label}{item}", {"a": range(2), "b": [7]}))
    [('a', 0, 'a0'), ('a', 1, 'a1'), ('b', 7, 'b7')]
    """

    def __init__(self, jobs: int | None = None) -> None:
        self.slots = check_positive_int("jobs", (os.cpu_count() or 1) if jobs is None else jobs)

    def play(self, begin: Begin[K, T], items: Mapping[K, Sequence[int]]) -> Generator[tuple[K, int, T]]:
        stop = threading.Event()
        finished: queue.SimpleQueue[tuple[K, int, T] | BaseException] = queue.SimpleQueue()

        def play_block(label: K, block: Sequence[int]) -> None:
            try:
                if stop.is_set():
                    return
                one = begin(label)
                for item in block:
                    if stop.is_set():
                        return
                    finished.put((label, item, one(item)))
            except BaseException as error:  # raised again where the outcomes are read
                finished.put(error)

        with ThreadPoolExecutor(max_workers=self.slots) as pool:
            for label, own in items.items():
                size = max(1, -(-len(own) // (self.slots * _BLOCKS_PER_JOB)))
                for first in range(0, len(own), size):
                    pool.submit(play_block, label, own[first : first + size])
            try:
                for _ in range(sum(len(own) for own in items.values())):
                    outcome = finished.get()
                    if isinstance(outcome, BaseException):
                        raise outcome
                    yield outcome
            finally:
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def opened(backend: str | Backend, jobs: int | None = None, address: str | None = None) -> Iterator[Backend]:
    """A backend by its name, for the time of the context; one that is there already as it is.

    Parameters
    ----------
    backend : "threads", "ray" or Backend
        Where to play.
    jobs : int, optional
        Threads, by default one per core; on Ray the most blocks at once, by default as many as the cluster has cores.
    address : str, optional
        Of the Ray cluster: "auto", "ray://host:10001". None: that of RAY_ADDRESS, else a new Ray on this machine.
    """
    if not isinstance(backend, str) and hasattr(backend, "play"):
        yield backend
        return
    name = check_choice("backend", backend, BACKENDS)
    if name == "threads":
        if address is not None:
            raise RisingBanditsError(f"address is that of a Ray cluster and needs backend 'ray', got {shown(address)}.")
        yield Threads(jobs)
        return
    from risingbandits._core.ray import connected
    from risingbandits.simulation.backends.ray import RayBlocks

    blocks: Any = RayBlocks(jobs)  # checks its arguments before a cluster is started
    with connected(address, "backend 'ray'"):
        yield blocks
