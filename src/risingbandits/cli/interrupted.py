"""Ctrl-C from the first moment to the last: one line and exit code 130, never a traceback.

A library that is interrupted while it is loaded may take that for "is not there" and go on; then a second Ctrl-C helps.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from types import FrameType

CODE = 128 + signal.SIGINT
SENTENCE = "Interrupted; no unfinished files were left behind."

_FAREWELL = 3.0  # seconds for threads to end by themselves
_program = _heard = _said = False


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
    if sys.argv[1:2] == ["worker"]:
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
