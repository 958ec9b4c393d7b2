"""The one progress bar: on standard error, and only if that is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[str, int], None]  # told (label, finished runs of that label) after each run, by one thread


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
