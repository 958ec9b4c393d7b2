"""Ctrl-C at any moment of a command is one line and exit code 130: never a traceback, and never without effect.

Python raises KeyboardInterrupt wherever the program is. It gets lost in destructors, callbacks and functions that C
code calls, of which Python only prints that an exception was ignored, and in libraries that take any exception in an
import for "is not there". There, the interrupt is sent again.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import Any

CODE = 128 + signal.SIGINT
SENTENCE = "Interrupted; no unfinished files were left behind."

_SOON, _LATER = 0.05, 0.5  # seconds until it is sent again: lost, and perhaps lost
_FAREWELL = 3.0  # seconds for threads to end by themselves
_program = _heard = _leaving = _said = False


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
        sys.unraisablehook = _not_lost
    if sys.argv[1:2] == ["run"] and any(word.startswith("--for") for word in sys.argv):
        for name in ("SIGTERM", "SIGUSR1"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, lambda number, frame: os._exit(0))


def say() -> None:
    """Tell the user, once. From then on the program is about to end, and nothing interrupts it."""
    global _leaving, _said
    if _program:
        _leaving = True
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if not (_program and _said):
        _said = True
        print(SENTENCE, file=sys.stderr, flush=True)


def leave(code: int) -> None:
    """End the program. One that was interrupted does not wait for long for its threads."""
    global _leaving
    _leaving = True
    if code != CODE:
        sys.exit(code)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):  # Python's last act is to restore the default, by which one sent again kills
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
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    if frame is not None:
        _again(_LATER)
    raise KeyboardInterrupt


def _not_lost(ignored: Any) -> None:
    """Called by Python for an exception that nobody can catch."""
    if issubclass(ignored.exc_type, KeyboardInterrupt):
        _again(_SOON)
    else:
        sys.__unraisablehook__(ignored)


def _again(seconds: float) -> None:
    """Interrupt again after a while, unless the program is about to end by then."""

    def send() -> None:
        time.sleep(seconds)
        if not _leaving and hasattr(signal, "pthread_kill"):  # which also wakes a thread that sleeps
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        elif not _leaving:
            _thread.interrupt_main()

    _thread.start_new_thread(send, ())  # not a Thread: its locks may be held where the interrupt has arrived
