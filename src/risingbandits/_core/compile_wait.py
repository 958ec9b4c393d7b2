"""While machine code is made: no garbage collection, no forks, and a line on the terminal if it takes long."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from risingbandits._core.platform import at_fork
from risingbandits._core.progress import teller

try:
    from numba.core import event
    from numba.core.compiler_lock import global_compiler_lock
except ImportError:  # the extra `fast` is not installed: nothing is compiled
    HAS_NUMBA = False
else:
    HAS_NUMBA = True

MESSAGE = "risingbandits: compiling for this machine; later runs find the machine code in the cache."
WITHOUT_NUMBA = (
    "risingbandits: Numba is not installed, so simulations run in plain Python with equal results, "
    "some 50 to 500 times slower: pip install 'risingbandits[fast]'."
)
_PATIENCE = 2.0  # seconds of compiling before a message
_PAUSE = 1.0  # seconds without a step of the compiler that do not count as compiling
_FORK_PATIENCE = 60.0  # seconds for which a fork waits for another thread that compiles
_fork = threading.local()  # ``held``: whether the forking thread has the compiler's lock


def compiled_inside(context: Callable[[], AbstractContextManager[None]], dispatcher: Any) -> Any:
    """The same Numba function, compiled, loaded or cached inside a context."""
    make = dispatcher._compile_for_args

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
    """Inside, one line on standard error says what is going on if compiling takes longer than two seconds.

    Without Numba a line says so. A command that comes here several times says it once.
    """
    if not HAS_NUMBA:
        teller()(WITHOUT_NUMBA)
        yield
        return
    waiting = _Waiting()
    with each_step(begins=waiting.count, ends=waiting.count):
        yield


@contextmanager
def each_step(begins: Callable[[], None], ends: Callable[[], None] | None = None) -> Iterator[None]:
    """Inside, functions are called when a step of the compiler begins and ends, in any thread."""

    class Steps(event.Listener):
        def on_start(self, step: Any) -> None:
            begins()

        def on_end(self, step: Any) -> None:
            if ends is not None:
                ends()

    with event.install_listener("numba:run_pass", Steps()):
        yield


class _Waiting:
    """Counts the time between neighbouring steps of the compiler, of which only one runs at a time."""

    def __init__(self) -> None:
        self.say = teller()
        self.spent = 0.0
        self.last = time.perf_counter()

    def count(self) -> None:
        now = time.perf_counter()
        if now - self.last < _PAUSE:
            before, self.spent = self.spent, self.spent + now - self.last
            if before < _PATIENCE <= self.spent:
                self.say(MESSAGE)
        self.last = now


# A child that is forked while another thread compiles would wait for ever for a lock that is never released.


def _hold_compiler() -> None:
    _fork.held = global_compiler_lock._lock.acquire(timeout=_FORK_PATIENCE)


def _release_compiler() -> None:
    if _fork.held:
        global_compiler_lock._lock.release()


def _renew_compiler_lock() -> None:
    if _fork.held:
        global_compiler_lock._lock.release()
    else:
        global_compiler_lock._lock = threading.RLock()


if HAS_NUMBA:
    at_fork(_hold_compiler, _release_compiler, _renew_compiler_lock)
