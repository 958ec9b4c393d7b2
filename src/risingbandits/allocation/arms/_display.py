"""What is shown while a budget is spent: a bar, a live table on a terminal, or a line for each pull."""

from __future__ import annotations

import logging
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from risingbandits.allocation.arms._pace import Pace
from risingbandits.allocation.pull import Pull
from risingbandits.allocation.status._progress import progress_of
from risingbandits.allocation.status._status import arms_table, spent

if TYPE_CHECKING:
    from rich.live import Live
    from rich.progress import Progress

    from risingbandits.allocation.allocator import Allocator

log = logging.getLogger("risingbandits")

_REFRESH = 0.2  # seconds between two pictures of the table or the bar
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


@contextmanager
def progress_bar(allocator: Allocator, wanted: bool) -> Iterator[Display]:
    """A bar on standard error, if that is a terminal and the bar is wanted."""
    if not (wanted and sys.stderr.isatty()):
        yield Display()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        display = _Bar(allocator, bar)
        yield display
        display.draw()


@contextmanager
def lines_or_table(allocator: Allocator) -> Iterator[Display]:
    """A table on standard error if that is a terminal, otherwise lines; the package's warnings go there too."""
    with ExitStack() as stack:
        display: Display = _Lines(allocator)
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            live = stack.enter_context(Live(console=Console(stderr=True), auto_refresh=False, transient=True))
            display = _Table(allocator, live)
        handler, before = _Handler(display), log.propagate
        log.addHandler(handler)
        log.propagate = False  # or they would be shown twice where the root has a handler
        try:
            yield display
        finally:
            log.removeHandler(handler)
            log.propagate = before


class _Lines(Display):
    """A line for each pull."""

    def __init__(self, allocator: Allocator) -> None:
        self._allocator = allocator

    def told(self, pull: Pull, reward: float) -> None:
        self.say(f"{pull.arm} {pull.n}: {reward:g}  ({spent(self._allocator.ledger)})")

    def say(self, sentence: str) -> None:
        print(sentence, file=sys.stderr, flush=True)


class _Drawn(Display, ABC):
    """A display that is redrawn when something has changed."""

    _due = 0.0
    _changed = True

    def __init__(self, allocator: Allocator) -> None:
        self._allocator, self._pace = allocator, Pace(allocator.store)

    def progress(self) -> str:
        """How far the run is, with the time left."""
        self._pace.look()
        return str(progress_of(self._allocator.ledger, self._pace, time.time()))

    def started(self, pull: Pull) -> None:
        self._changed = True

    def told(self, pull: Pull, reward: float) -> None:
        self._changed = True

    def tick(self) -> None:
        if time.monotonic() >= self._due + (0.0 if self._changed else _LONGEST):
            self._due, self._changed = time.monotonic() + _REFRESH, False
            self.draw()

    @abstractmethod
    def draw(self) -> None:
        """Show how things stand."""


class _Bar(_Drawn):
    """How much of the budget is spent."""

    def __init__(self, allocator: Allocator, bar: Progress) -> None:
        super().__init__(allocator)
        self._bar = bar
        budget = allocator.settings.budget
        self._task = bar.add_task(budget.unit, total=budget.amount, note="")
        self.tick()

    def say(self, sentence: str) -> None:
        self._bar.console.print(sentence, markup=False, highlight=False)

    def draw(self) -> None:
        ledger = self._allocator.ledger
        amount = ledger.settings.budget.amount  # which may have grown
        note = f"{ledger.spent:g}/{amount:g}, {self.progress()}"
        note += f", best {best}" if (best := ledger.recommend()) else ""
        self._bar.update(self._task, total=amount, completed=min(ledger.spent, amount), note=note)


class _Table(_Drawn):
    """The arms and how they stand."""

    def __init__(self, allocator: Allocator, live: Live) -> None:
        super().__init__(allocator)
        self._live = live

    def say(self, sentence: str) -> None:
        self._live.console.print(sentence, markup=False, highlight=False)

    def draw(self) -> None:
        from rich.console import Group
        from rich.text import Text

        ledger = self._allocator.ledger
        how_far = Text(f"{spent(ledger)}, {self.progress()}", style="bold")
        self._live.update(Group(arms_table(ledger), how_far), refresh=True)


class _Handler(logging.Handler):
    def __init__(self, display: Display) -> None:
        super().__init__(logging.WARNING)
        self._display = display

    def emit(self, record: logging.LogRecord) -> None:
        self._display.say(record.getMessage())
