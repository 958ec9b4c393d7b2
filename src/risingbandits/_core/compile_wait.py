"""Around the making of machine code: no garbage collection meanwhile, and a line for those who wait."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from numba.core import event

MESSAGE = "risingbandits: compiling for this machine; later runs find the machine code in the cache."
_PATIENCE = 2.0  # seconds of compiling before a word is said
_PAUSE = 1.0  # seconds without a step of the compiler that are something else


def compiled_inside(context: Callable[[], AbstractContextManager[None]], dispatcher: Any) -> Any:
    """The same function of Numba's, which is compiled, loaded or put into the cache inside a context."""
    make = getattr(dispatcher, "_compile_for_args", None)
    if make is None:  # compilation is disabled
        return dispatcher

    def make_inside(*arguments: Any, **named: Any) -> Any:
        with context():
            return make(*arguments, **named)

    dispatcher._compile_for_args = make_inside  # called for new types of arguments, never afterwards
    return dispatcher


@contextmanager
def no_collections() -> Iterator[None]:
    """Without garbage collections, which would take an eighth of the time that compiling takes."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def announced() -> Iterator[None]:
    """Inside, one line on standard error says what is going on when compiling takes longer than two seconds."""
    with event.install_listener("numba:run_pass", _Waiting()):
        yield


class _Waiting(event.Listener):
    """Counts the time between neighbouring steps of the compiler, of which only one runs at a time."""

    def __init__(self) -> None:
        self.spent = 0.0
        self.last = time.perf_counter()

    def on_start(self, step: Any) -> None:
        now = time.perf_counter()
        if now - self.last < _PAUSE:
            before, self.spent = self.spent, self.spent + now - self.last
            if before < _PATIENCE <= self.spent:
                print(MESSAGE, file=sys.stderr, flush=True)
        self.last = now

    on_end = on_start
