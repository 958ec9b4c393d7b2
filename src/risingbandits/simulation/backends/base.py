"""Where runs are played: in threads of this process ("local"), or on a Ray cluster, with equal outcomes."""

from __future__ import annotations

import os
import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import TypeVar

from risingbandits._core.errors import RisingBanditsError, check_choice, check_positive_int, shown
from risingbandits._core.importing import imports_its_own
from risingbandits._core.progress import Advance

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

# begin(label) makes buffers and gives the function that plays an item, usually a run, by its number. One thread uses
# what one call has given. On a cluster `begin` itself travels, so it holds settings and no compiled code.
Begin = Callable[[K], Callable[[int], T]]

BACKENDS = ("local", "ray")
_BLOCKS_PER_JOB = 4


class Backend(ABC):
    """Plays items somewhere."""

    @property
    @abstractmethod
    def slots(self) -> int:
        """How many blocks of items it plays at a time."""

    @abstractmethod
    def play(self, begin: Begin[K, T], items: Mapping[K, Sequence[int]]) -> Generator[tuple[K, int, T]]:
        """``(label, item, begin(label)(item))`` for the items of all labels, as they are finished, in any order."""

    def play_all(
        self, begin: Begin[str, T], labels: Sequence[str], runs: range, progress: Advance | None = None
    ) -> dict[str, list[T]]:
        """``begin(label)(run)`` for all labels and runs; the outcomes in the order of the runs."""
        outcomes: dict[str, dict[int, T]] = {label: {} for label in labels}
        playing = self.play(begin, dict.fromkeys(labels, runs))
        with closing(playing):  # an interrupted caller stops the players at once
            for label, run, outcome in playing:
                outcomes[label][run] = outcome
                if progress is not None:
                    progress(label, len(outcomes[label]))
        return {label: [own[run] for run in runs] for label, own in outcomes.items()}


class Threads(Backend):
    """Plays in threads of this process, which run at the same time because compiled code needs no interpreter.

    Items are handed out in blocks: few enough to reuse buffers, enough to keep all threads busy.

    By default there is one thread for each core. While a module with a policy of its own is imported, everything is
    played in the importing thread: others would wait for that module, and the module for them.

    Examples
    --------
    >>> sorted(Threads(2).play(lambda label: lambda item: f"{label}{item}", {"a": range(2), "b": [7]}))
    [('a', 0, 'a0'), ('a', 1, 'a1'), ('b', 7, 'b7')]
    """

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = check_positive_int("jobs", (os.cpu_count() or 1) if jobs is None else jobs)

    @property
    def slots(self) -> int:
        return self.jobs

    def play(self, begin: Begin[K, T], items: Mapping[K, Sequence[int]]) -> Generator[tuple[K, int, T]]:
        if imports_its_own():
            yield from _one_after_another(begin, items)
            return
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

        pool = ThreadPoolExecutor(max_workers=self.slots)
        interrupted = True
        try:
            for label, own in items.items():
                size = max(1, -(-len(own) // (self.slots * _BLOCKS_PER_JOB)))
                for first in range(0, len(own), size):
                    pool.submit(play_block, label, own[first : first + size])
            for _ in range(sum(len(own) for own in items.values())):
                outcome = finished.get()
                if isinstance(outcome, BaseException):
                    raise outcome
                yield outcome
            interrupted = False
        except Exception:
            interrupted = False
            raise
        finally:
            stop.set()
            # After an interrupt, also while blocks are handed out, the caller does not wait for runs in progress.
            pool.shutdown(wait=not interrupted, cancel_futures=True)


def _one_after_another(begin: Begin[K, T], items: Mapping[K, Sequence[int]]) -> Iterator[tuple[K, int, T]]:
    for label, own in items.items():
        one = begin(label)
        for item in own:
            yield label, item, one(item)


@contextmanager
def backend_for(backend: str | Backend, jobs: int | None = None, address: str | None = None) -> Iterator[Backend]:
    """A backend by its name, for the duration of the context; a backend object is used as it is.

    ``jobs`` and ``address`` are those of `simulate`.
    """
    if isinstance(backend, Backend):
        yield backend
        return
    name = check_choice("backend", backend, BACKENDS)
    if name == "local":
        if address is not None:
            raise RisingBanditsError(f"address is that of a Ray cluster and needs backend 'ray', got {shown(address)}.")
        yield Threads(jobs)
        return
    from risingbandits._core.ray_connection import connected
    from risingbandits.simulation.backends.ray import RayBlocks

    blocks = RayBlocks(jobs)  # checks its arguments before a cluster is started
    with connected(address, "backend 'ray'"):
        yield blocks
