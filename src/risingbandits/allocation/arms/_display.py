"""What is shown while a budget is spent: a live table on a terminal, otherwise a line for each pull or nothing."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from risingbandits.allocation.arms._pace import Pace
from risingbandits.allocation.pull import Pull
from risingbandits.allocation.status._progress import progress_of
from risingbandits.allocation.status._status import arms_table, spent

if TYPE_CHECKING:
    from rich.live import Live

    from risingbandits.allocation.allocator import Allocator

log = logging.getLogger("risingbandits")

_REFRESH = 0.2  # seconds between two pictures of the table
_SHARE = 10.0  # times as long as drawing it took, which is a second for 2,000 arms
_LONGEST = 5.0  # seconds until it is drawn again although nothing has changed but the time


class Display:
    """What the driver reports about its work; this one shows nothing. Failures are logged."""

    def started(self, pull: Pull) -> None:
        """A pull is being made."""

    def told(self, pull: Pull, reward: float) -> None:
        """A pull is done and counted."""

    def say(self, sentence: str) -> None:
        """Something that the user should know."""
        log.warning(sentence)

    def tick(self) -> None:
        """Called after each pull and several times a second."""


class Lines(Display):
    """A line on standard error for each pull."""

    def __init__(self, allocator: Allocator) -> None:
        self._allocator = allocator

    def told(self, pull: Pull, reward: float) -> None:
        self.say(f"{pull.arm} {pull.n}: {reward:g}  ({spent(self._allocator.ledger)})")

    def say(self, sentence: str) -> None:
        print(sentence, file=sys.stderr, flush=True)


class _Table(Display):
    """The arms and how they stand, drawn again when something has changed."""

    _due = 0.0
    _changed = True

    def __init__(self, allocator: Allocator, live: Live) -> None:
        self._allocator, self._live, self._pace = allocator, live, Pace(allocator.store, allocator._session.lock)

    def started(self, pull: Pull) -> None:
        self._changed = True

    def told(self, pull: Pull, reward: float) -> None:
        self._changed = True

    def say(self, sentence: str) -> None:
        self._live.console.print(sentence, markup=False, highlight=False)

    def tick(self) -> None:
        if time.monotonic() < self._due + (0.0 if self._changed else _LONGEST):
            return
        began, self._changed = time.monotonic(), False
        from rich.console import Group
        from rich.text import Text

        ledger = self._allocator.ledger
        self._pace.look()
        how_far = Text(f"{spent(ledger)}, {progress_of(ledger, self._pace, time.time())}", style="bold")
        self._live.update(Group(arms_table(ledger), how_far), refresh=True)
        now = time.monotonic()
        self._due = now + max(_REFRESH, _SHARE * (now - began))


@contextmanager
def table_or(otherwise: Display, allocator: Allocator) -> Iterator[Display]:
    """A table on standard error if that is a terminal, which is gone at the end; ``otherwise`` if it is none."""
    if not sys.stderr.isatty():
        yield otherwise
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as live:
        yield _Table(allocator, live)


@contextmanager
def warnings_in(display: Display) -> Iterator[None]:
    """Inside, the package's warnings are said by the display, and nowhere else."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            display.say(record.getMessage())

    handler, before = Handler(logging.WARNING), log.propagate
    log.addHandler(handler)
    log.propagate = False  # or they would be shown twice where the root has a handler
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = before
