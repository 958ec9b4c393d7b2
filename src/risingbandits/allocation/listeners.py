"""Listeners: functions that are called for every pull that counts, such as loggers; they cannot affect the run.

A listener is called in the process that told, after the tell is kept in the store. So it is called at most once for a
pull: what is told twice counts once, and a resumed run does not repeat earlier calls. If a process is killed between
the two, that call is lost; `retell` makes up for it from the store.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from risingbandits._core.errors import RisingBanditsError, check_positive_int, shown
from risingbandits.allocation.budget import ExactSum
from risingbandits.allocation.stores.reader import open_reader

log = logging.getLogger("risingbandits")


class Told(NamedTuple):
    """A pull that counts, as a listener sees it.

    Examples
    --------
    >>> Told("svm", n=3, reward=0.8, cost=1.0, told=7, spent=7.0).arm
    'svm'
    """

    arm: str
    n: int  #: number of this pull of the arm, from 1
    reward: float  #: as told; a loss if direction="minimize"
    cost: float
    told: int  #: pulls of all arms that count, including this one
    spent: float  #: of the budget, including this one: pulls, cost or seconds
    config: Mapping[str, Any] = {}  #: of the arm, where that is known


Listener = Callable[[Told], object]

#: ``new_told((arm, n, ...))`` with all seven fields: half the time of ``Told(...)``.
new_told: Callable[[tuple[Any, ...]], Told] = partial(tuple.__new__, Told)


class Listeners:
    """What an allocator was given as ``on_tell``: called one at a time, from any thread.

    Parameters
    ----------
    given : callable or sequence of callables
        Each is called with a `Told`.

    Notes
    -----
    If one raises an exception, a warning names it, once; the pull still counts, and the listener is called again for
    the next one.

    Examples
    --------
    >>> heard = []
    >>> Listeners(heard.append).call(Told("a", 1, 0.5, 1.0, 1, 1.0))
    >>> heard[0].reward
    0.5
    """

    def __init__(self, given: Listener | Sequence[Listener]) -> None:
        found: Any = [given] if callable(given) else given
        if isinstance(found, str) or not isinstance(found, Sequence) or not all(callable(one) for one in found):
            raise RisingBanditsError(f"on_tell must be a function of a Told, or several, got {shown(given)}.")
        self.all: list[Listener] = list(found)
        self._failed: set[int] = set()  # listeners that were complained about, by their place
        self._pid, self._lock = os.getpid(), threading.RLock()

    def call(self, told: Told) -> None:
        """Call all listeners for a pull that is in the store."""
        if os.getpid() != self._pid:  # a fork: the parent's lock may be held by a thread that is not here
            self._pid, self._lock = os.getpid(), threading.RLock()
        with self._lock:
            for place, listener in enumerate(self.all):
                try:
                    listener(told)
                except Exception as error:
                    self._complain(place, told, error)

    def _complain(self, place: int, told: Told, error: Exception) -> None:
        log.debug("a listener, pull %d of %s", told.n, told.arm, exc_info=True)
        if place not in self._failed:
            self._failed.add(place)
            what = getattr(self.all[place], "__qualname__", type(self.all[place]).__qualname__)
            log.warning(
                "on_tell: %s failed with %s: %s; pull %d of %s still counts, and this warning is not repeated.",
                what,
                type(error).__name__,
                " ".join(str(error).split()),
                told.n,
                told.arm,
            )


def retell(store: str | Path, on_tell: Listener | Sequence[Listener], after: int = 0) -> int:
    """Call listeners for what a store holds, in its order; returns how many pulls count in it.

    For runs without listeners, such as those of plans, and for the last tell of a process that was killed.

    Parameters
    ----------
    store : path or "postgresql://..."
        It is only read, and may be in use.
    on_tell : callable, or sequence of callables
        As for `Allocator`; but what one raises is raised here.
    after : int
        The number of pulls that were heard before, ``Told.told`` of the last one; they are skipped.
    """
    listeners = Listeners(on_tell).all
    check_positive_int("after", after, minimum=0)
    with open_reader(store) as reader:
        ledger = reader.ledger()
        in_pulls, costs, number = ledger.settings.budget.pulls is not None, ExactSum(), 0
        for event in reader.events(limit=ledger.last_id):  # later tells reach the listeners of their own process
            if event.kind == "tell":
                number += 1
                costs.add(event.cost or 0.0)
                if number > after:
                    spent = number if in_pulls else costs.value
                    rest = (event.reward, event.cost, number, spent, ledger.arm(event.arm).config)
                    for listener in listeners:
                        listener(new_told((event.arm, event.n, *rest)))
    return number
