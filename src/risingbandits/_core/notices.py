"""Lines on standard error that a command says once, however often what it calls has reason to."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_said: ContextVar[set[str] | None] = ContextVar("said", default=None)


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
