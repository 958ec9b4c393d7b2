"""Standard error: the one progress bar, if that is a terminal, and lines that a command says only once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Advance = Callable[[str, int], None]  # told (label, finished runs of that label) after each run, by one thread
_said: ContextVar[set[str] | None] = ContextVar("said", default=None)


@contextmanager
def progress_bar(what: str, total: int) -> Iterator[Advance]:
    """A bar for the duration of the context; every call moves it by one run and shows the label."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:  # older versions of Rich print an empty line for a bar that is disabled
        yield lambda _label, _finished: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda label, _finished: bar.update(task, advance=1, description=f"{what}: {label}" if what else label)


@contextmanager
def each_said_once() -> Iterator[None]:
    """Inside, no line is said twice."""
    before = _said.set(set())
    try:
        yield
    finally:
        _said.reset(before)


def teller() -> Callable[[str], None]:
    """What says a line unless it was said before: by this teller or, inside `each_said_once`, by any.

    Any thread may call it; what was said is looked up here, as a thread of its own would not know of the context.
    """
    known = _said.get()
    said: set[str] = set() if known is None else known

    def say(line: str) -> None:
        if line not in said:
            said.add(line)
            print(line, file=sys.stderr, flush=True)

    return say
