"""A time limit for every tutorial, so that a build of the site ends with a page or with a clear reason.

A tutorial that takes longer than `LIMIT` is interrupted and fails with a sentence that names it. Where even that does
not help, because compiled code does not listen, the stacks of all threads are printed and the build ends.

A tutorial of `ON_A_CLUSTER` starts Ray. Ray gives up on its own start after 30 seconds, which a busy machine may need:
that is no fault of the page. The start is tried again, and if Ray or the tutorial is too slow all the same, the page
shows that sentence instead of the output, and the site is built.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any

LIMIT = 600  # seconds for one tutorial, as for one test
ON_A_CLUSTER = ("6_cluster.py",)
_UNHEARD = 60  # seconds in which an interrupted tutorial must have ended
_STARTS = 4  # of Ray
_SLOW_START = "timed out during startup"  # what Ray says

_undo: list[Callable[[], None]] = []  # at the end of the tutorial


class TooSlow(Exception):
    """A tutorial, or the cluster that it starts, has used its time."""


def watch(gallery: dict[str, Any], name: str | Path | None, when: str) -> None:
    """Sphinx-Gallery calls this before and after each tutorial; without a name before a folder of them."""
    if name is None:
        return
    if when == "after":
        signal.alarm(0)
        faulthandler.cancel_dump_traceback_later()
        while _undo:
            _undo.pop()()
        return
    tutorial = Path(name).name
    on_a_cluster = tutorial in ON_A_CLUSTER

    def give_up(reason: str) -> None:
        if on_a_cluster:  # Sphinx-Gallery then shows the error on the page and goes on
            gallery["expected_failing_examples"] = {*gallery["expected_failing_examples"], f"tutorials/{tutorial}"}
            print(f"docs/tutorials/{tutorial} is shown without its output: {reason}", file=sys.__stderr__)
        raise TooSlow(reason)

    def interrupt(number: int, frame: object) -> None:
        give_up(f"{tutorial} took longer than {LIMIT} s.")

    if on_a_cluster:
        _start_patiently(give_up)
    signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(LIMIT)
    faulthandler.dump_traceback_later(LIMIT + _UNHEARD, exit=True, file=sys.__stderr__)


def _start_patiently(give_up: Callable[[str], None]) -> None:
    """Have `ray.init` try again where Ray was too slow to start."""
    import ray

    init = ray.init

    @wraps(init)
    def patient(*arguments: Any, **settings: Any) -> Any:
        for _ in range(_STARTS):
            before = _children()
            try:
                return init(*arguments, **settings)
            except Exception as error:
                if _SLOW_START not in str(error):
                    raise
                for process in _children() - before:  # what Ray has begun and left
                    with suppress(ProcessLookupError):
                        os.kill(process, signal.SIGKILL)
        return give_up(f"Ray did not start on this machine in {_STARTS} tries of 30 s when this page was made.")

    ray.init = patient
    _undo.append(lambda: setattr(ray, "init", init))


def _children() -> set[int]:
    """The processes that this one has started; empty where the system does not tell."""
    lists = Path("/proc/self/task").glob("*/children")
    return {int(child) for path in lists for child in path.read_text().split()}
