"""Ctrl-C while code is compiled.

LLVM calls back into Python. An exception that a signal raises in such a call is printed and lost, and the program runs
on; one raised while the cache is written leaves half a file. SIGINT is therefore held back inside a step of the
compiler and handed over before the next one begins.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from numba.core import event


@contextmanager
def interrupts_between_steps() -> Iterator[None]:
    """Hold SIGINT back; its handler is called before the next step of the compiler, or at the end of the block.

    Only the main thread receives signals: in other threads, or without a handler for SIGINT, nothing is done.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    held: list[FrameType | None] = []

    def hand_over() -> None:
        if held:
            frame = held.pop()
            held.clear()
            handler(signal.SIGINT, frame)

    signal.signal(signal.SIGINT, lambda number, frame: held.append(frame))
    try:
        with event.install_listener("numba:run_pass", _Steps(hand_over)):
            yield
    finally:
        signal.signal(signal.SIGINT, handler)
        hand_over()


class _Steps(event.Listener):
    """Calls ``begin`` before every step of the compiler in the main thread; other threads may compile meanwhile."""

    def __init__(self, begin: Callable[[], None]) -> None:
        self._begin = begin

    def on_start(self, step: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            self._begin()

    def on_end(self, step: Any) -> None:
        pass
