"""What is shown while a plan runs: a table that changes on a terminal, a line for each pull elsewhere."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from risingbandits.allocation.allocator import Allocator
from risingbandits.allocation.commands.command import Command
from risingbandits.allocation.commands.runner import Watcher
from risingbandits.allocation.status import arms_table, spent

if TYPE_CHECKING:
    from rich.live import Live

__all__ = ["watching"]

_REFRESH = 0.2  # seconds between two pictures of the table


@contextmanager
def watching(allocator: Allocator) -> Iterator[Watcher]:
    """A watcher on standard error; warnings of the package go there, too."""
    watcher: _Lines | _Table
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.live import Live

        with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as live:
            watcher = _Table(allocator, live)
            with _warnings_to(watcher):
                yield watcher
    else:
        watcher = _Lines(allocator)
        with _warnings_to(watcher):
            yield watcher


class _Lines:
    """A line for each pull."""

    def __init__(self, allocator: Allocator) -> None:
        self._allocator = allocator

    def started(self, command: Command) -> None:
        """Nothing: the line comes when it has ended."""

    def told(self, command: Command, reward: float) -> None:
        self.say(f"{command.pull.arm} {command.pull.n}: {reward:g}  ({spent(self._allocator.ledger)})")

    def say(self, sentence: str) -> None:
        print(sentence, file=sys.stderr, flush=True)

    def tick(self) -> None:
        """Nothing: lines stay as they are."""


class _Table:
    """A table of the arms that is drawn again and again."""

    def __init__(self, allocator: Allocator, live: Live) -> None:
        self._allocator, self._live = allocator, live
        self._drawn = 0.0
        self._changed = True

    def started(self, command: Command) -> None:
        self._changed = True

    def told(self, command: Command, reward: float) -> None:
        self._changed = True

    def say(self, sentence: str) -> None:
        from rich.text import Text

        self._live.console.print(Text(sentence))

    def tick(self) -> None:
        now = time.monotonic()
        if self._changed and now >= self._drawn + _REFRESH:
            self._drawn, self._changed = now, False
            self._live.update(arms_table(self._allocator.ledger).rich(), refresh=True)


class _Handler(logging.Handler):
    def __init__(self, watcher: Watcher) -> None:
        super().__init__(logging.WARNING)
        self._watcher = watcher

    def emit(self, record: logging.LogRecord) -> None:
        self._watcher.say(record.getMessage())


@contextmanager
def _warnings_to(watcher: Watcher) -> Iterator[None]:
    logger = logging.getLogger("risingbandits")
    handler = _Handler(watcher)
    before = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False  # or they would be shown twice where the root has a handler
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = before
