"""Ctrl-C from the first moment to the last: one line and exit code 130, never a traceback, and never without effect.

Python raises KeyboardInterrupt wherever the program is. There are places where it gets lost: functions that C code
calls back, destructors and callbacks of weak references, of which Python only prints that an exception was ignored, and
libraries that try to load others and take any exception for "is not there". An interrupt that was lost in one of the
first kind is heard of, one that arrives while something is loaded is suspected; both are sent again, as is any that has
not ended the program after a while.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import Any

CODE = 128 + signal.SIGINT
SENTENCE = "Interrupted; no unfinished files were left behind."

_SOON, _LATER, _LATE = 0.05, 0.5, 10.0  # seconds until it is sent again: lost, perhaps lost, and without effect
_FAREWELL = 3.0  # seconds for threads to end by themselves
_program = _heard = _leaving = _said = False


def heard() -> bool:
    """Whether the program was interrupted."""
    return _heard


def is_program() -> bool:
    """Whether this process is the command ``risingbandits``, and not another program that has called it."""
    return _program


def listen() -> None:
    """Hear SIGINT, unless it is ignored. A worker leaves with code 0 if it is stopped before it has begun."""
    global _program
    _program = True
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _not_lost
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, _send_again)
            atexit.register(_send_no_more)
    if sys.argv[1:2] == ["worker"]:
        for name in ("SIGTERM", "SIGUSR1"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, lambda number, frame: os._exit(0))


def say() -> None:
    """Tell the user, once. From then on the program is about to end, and nothing interrupts it."""
    global _said
    if _program:
        _send_no_more()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if not (_program and _said):
        _said = True
        print(SENTENCE, file=sys.stderr, flush=True)


def leave(code: int) -> None:
    """End the program. One that was interrupted does not wait for long for its threads."""
    _send_no_more()
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
    _again(_LATER if _is_import(frame) else _LATE)
    raise KeyboardInterrupt


def _is_import(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _not_lost(ignored: Any) -> None:
    """Called by Python for an exception that nobody can catch."""
    if issubclass(ignored.exc_type, KeyboardInterrupt):
        _again(_SOON)
    else:
        sys.__unraisablehook__(ignored)


def _again(seconds: float) -> None:
    """Interrupt again after a while, unless it is to be earlier, or the program has ended by then."""
    if not _leaving and hasattr(signal, "setitimer"):
        left = signal.getitimer(signal.ITIMER_REAL)[0]
        signal.setitimer(signal.ITIMER_REAL, min(seconds, left) if left else seconds)


def _send_no_more() -> None:
    global _leaving
    _leaving = True
    if hasattr(signal, "setitimer"):  # Python's last act is to restore the default, by which an alarm kills
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def _send_again(number: int, frame: FrameType | None) -> None:
    # Sent rather than raised: whoever holds interrupts back, as while code is compiled, holds this one back, too.
    if not _leaving:
        signal.raise_signal(signal.SIGINT)
