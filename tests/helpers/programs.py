"""Programs in processes of their own, for tests."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

__all__ = ["PATIENCE", "program", "until"]

PATIENCE = 120.0  # seconds; a busy machine is slow, and a test that passes never waits this long


@contextmanager
def program(words: Sequence[str], **settings: Any) -> Iterator[subprocess.Popen[str]]:
    """A process that can be interrupted and that never outlives the block; ``settings`` are those of Popen."""
    with _heard():
        process = subprocess.Popen(words, text=True, **settings)
    with process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def _heard() -> Iterator[None]:
    """Where this process ignores SIGINT or SIGHUP, as in the background or under nohup, its children would too."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP)}
    for number, handler in before.items():
        if handler is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def until(condition: Callable[[], object], complaint: Callable[[], object] | None = None) -> None:
    """Wait until ``condition`` holds. If it never does, ``complaint`` says more about it."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, complaint() if complaint else "nothing happened for two minutes"
        time.sleep(0.005)
