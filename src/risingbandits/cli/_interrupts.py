"""Ctrl-C at any moment of a command is one line and exit code 130, never a traceback.

Python raises KeyboardInterrupt wherever the program is. In destructors and in functions that C code calls it only
prints that the exception was ignored: there, this program says that it must be interrupted again.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import Any

CODE = 128 + signal.SIGINT
SENTENCE = "Interrupted; no unfinished files were left behind."
LOST = "Please interrupt again: it was lost inside a library."

_FAREWELL = 3.0  # seconds for threads to end by themselves
_program = _heard = _said = False


def heard() -> bool:
    """Whether the program was interrupted."""
    return _heard


def is_program() -> bool:
    """Whether this process is the command ``risingbandits``, and not another program that has called it."""
    return _program


def listen() -> None:
    """Hear SIGINT, unless it is ignored. A run with ``--for`` that has not begun leaves with code 0 if stopped."""
    global _program
    _program = True
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _lost
    if sys.argv[1:2] == ["run"] and any(word.startswith("--for") for word in sys.argv):
        for name in ("SIGTERM", "SIGUSR1"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, lambda number, frame: os._exit(0))


def say() -> None:
    """Tell the user, once. From then on the program is about to end, and nothing interrupts it."""
    global _said
    if _program:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if not (_program and _said):
        _said = True
        print(SENTENCE, file=sys.stderr, flush=True)


def leave(code: int) -> None:
    """End the program. One that was interrupted does not wait for long for its threads."""
    if code != CODE:
        sys.exit(code)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):  # Python's last act is to restore the default, by which another one kills
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    end = time.monotonic() + _FAREWELL
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(max(0.0, end - time.monotonic()))
            if thread.is_alive():
                sys.stdout.flush()
                os._exit(code)
    sys.exit(code)


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _heard
    _heard = True
    raise KeyboardInterrupt


def _lost(ignored: Any) -> None:
    """Called by Python for an exception that nobody can catch."""
    if issubclass(ignored.exc_type, KeyboardInterrupt):
        print(LOST, file=sys.stderr, flush=True)
    else:
        sys.__unraisablehook__(ignored)
