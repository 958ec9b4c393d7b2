"""`Allocator.ask`, `tell` and `fail` for asyncio: no task is blocked, and a cancelled ask gives its pull back."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, cast

from risingbandits.allocation.pull import NoArmFree, Pull

if TYPE_CHECKING:
    from risingbandits.allocation.allocator import Allocator

_PAUSES = (0.001, 0.05)  # shortest and longest, in seconds


class AsyncVerbs:
    """The methods of an `Allocator` that wait in threads, while other tasks run."""

    async def aask(self, wait: float | None = None) -> Pull | None:
        """`ask` for asyncio: other tasks run meanwhile."""
        return await _ask(cast("Allocator", self), wait)

    async def atell(self, pull: Pull | int, reward: float, cost: float | None = None) -> bool:
        """`tell` for asyncio."""
        import asyncio

        return await asyncio.to_thread(cast("Allocator", self).tell, pull, reward, cost)

    async def afail(self, pull: Pull | int, reason: str = "") -> None:
        """`fail` for asyncio."""
        import asyncio

        await asyncio.to_thread(cast("Allocator", self).fail, pull, reason)


async def _ask(allocator: Allocator, wait: float | None) -> Pull | None:
    """Ask without blocking the event loop or a thread."""
    import asyncio

    end = time.monotonic() + (0.0 if wait is None else wait)
    pause, longest = _PAUSES
    while True:
        asking = _Asking(allocator)
        try:
            return await asyncio.to_thread(asking.ask)
        except NoArmFree:
            if time.monotonic() >= end:
                raise
        except asyncio.CancelledError:
            asking.cancel()
            raise
        await asyncio.sleep(min(pause, max(0.0, end - time.monotonic())))
        pause = min(2.0 * pause, longest)


class _Asking:
    """One ask in a thread, which may find a pull after the task that wanted it was cancelled."""

    def __init__(self, allocator: Allocator) -> None:
        self._allocator = allocator
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._pull: Pull | None = None

    def ask(self) -> Pull | None:
        if self._cancelled.is_set():  # before the thread had started
            return None
        pull = self._allocator.ask()
        with self._lock:
            self._pull = pull
            cancelled = self._cancelled.is_set()
        if cancelled:
            self._give_back()
        return pull

    def cancel(self) -> None:
        with self._lock:
            self._cancelled.set()
            found = self._pull is not None
        if found:  # in a thread, for the event loop must not wait for the store
            threading.Thread(target=self._give_back, name="risingbandits-release").start()

    def _give_back(self) -> None:
        if self._pull is not None:
            self._allocator.release(self._pull, "its task was cancelled")
