"""Where runs are played: in threads of this process ("local"), or where a plugin plays them, with equal outcomes."""

from __future__ import annotations

import os
import queue
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from types import FrameType
from typing import Any, TypeVar

from risingbandits._core.errors import check_choice, check_positive_int
from risingbandits._core.plugins import load, plugins
from risingbandits._core.progress import Advance

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

# begin(label) makes buffers and gives the function that plays an item, usually a run, by its number. One thread uses
# what one call has given. On a cluster `begin` itself travels, so it holds settings and no compiled code.
Begin = Callable[[K], Callable[[int], T]]

LOCAL = "local"
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


def imports_its_own() -> bool:
    """Whether this thread is importing a module that has kernels or classes of its own, for which threads would wait.

    To compile a kernel, and to find a class that the machine code in the cache knows, Numba imports their module. Any
    other thread then waits until the import is done, and the import for whoever waits for that thread.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        known: dict[str, Any] = frame.f_globals
        importing = getattr(known.get("__spec__"), "_initializing", False)
        if frame.f_code.co_name == "<module>" and importing and _defines(known):
            return True
        frame = frame.f_back
    return False


def _defines(module: dict[str, Any]) -> bool:
    """Whether the module has classes or kernels that are not imported from others."""
    found = (value for value in list(module.values()) if isinstance(value, type) or hasattr(value, "py_func"))
    return any(value.__module__ == module["__name__"] for value in found)


@contextmanager
def backend_for(backend: str | Backend, jobs: int | None = None) -> Iterator[Backend]:
    """A backend by its name, for the duration of the context; a backend object is used as it is.

    ``jobs`` are those of `simulate`.
    """
    if isinstance(backend, Backend):
        yield backend
        return
    added = {} if backend == LOCAL else {name: at for plugin in plugins() for name, at in plugin.backends.items()}
    name = check_choice("backend", backend, (LOCAL, *sorted(added)))
    if name != LOCAL:
        with load(added[name])(jobs) as players:
            yield players
        return
    yield Threads(jobs)
