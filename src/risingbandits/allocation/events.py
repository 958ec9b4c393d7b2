"""The entries of a store. They are only ever appended; everything else is computed from them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from risingbandits._core.errors import RisingBanditsError

#: ask, tell and fail of a pull; expire: its lease ended or its process died; renew: its lease was extended; checkpoint:
#: what an arm left later than with a tell, or, without a text, that it gave up its checkpoints; finish: an arm has had
#: its last pull, which the pull that it names has found out, if any; add, retire (with the pull that failed once too
#: often, if that is why), mask and unmask of an arm. Options have others (`Option.kinds`).
KINDS = ("ask", "tell", "fail", "expire", "renew", "checkpoint", "finish", "add", "retire", "mask", "unmask")


class Event(NamedTuple):
    """One entry. ``pull`` is the id of the pull it is about, which is the ``id`` of the event that gave it out."""

    id: int
    time: float  #: unix seconds on the store's host
    kind: str
    arm: str
    pull: int = 0
    n: int = 0
    reward: float | None = None  #: as it was told, before any mapping
    cost: float | None = None  #: of a tell; of an ask, the last event that its decision knew, if others came after it
    text: str = ""  #: the slot of an ask; size and digest of the checkpoint that a pull left, of a tell or checkpoint;
    #: the reason of a fail, expire or retire; a config or the changes of an extend as JSON
    worker: str = ""  #: host, process, start of the process and process namespace of who caused it


#: ``new_event((id, time, ...))`` with all ten fields: half the time of ``Event(...)``.
new_event: Callable[[tuple[Any, ...]], Event] = partial(tuple.__new__, Event)


class WrittenByNewer(RisingBanditsError):
    """A store with valid checksums contains something that this version does not know."""

    def __init__(self, what: str, store: str = "the store") -> None:
        self.what = what
        super().__init__(
            f"{store} was written by a newer version: {what}, which this one does not know; update risingbandits."
        )
