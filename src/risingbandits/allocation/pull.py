"""What `Allocator.ask` gives out, and what it raises if there is nothing to give."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from risingbandits._core.errors import RisingBanditsError


class Pull(NamedTuple):
    """A token for one pull of one arm; hand it back with `tell` or `fail`.

    Examples
    --------
    >>> Pull(id=7, arm="svm", n=3)
    Pull(id=7, arm='svm', n=3, attempt=1)
    >>> Pull(id=8, arm="svm", n=4, slot="cuda:0")
    Pull(id=8, arm='svm', n=4, attempt=1, slot='cuda:0')
    """

    id: int  #: unique in the store, rising
    arm: str
    n: int  #: 1 is the arm's first pull
    attempt: int = 1  #: 2 when this pull was given out before and failed or was not told in time
    slot: str = ""  #: where it is made, if given: see ``slots`` of `Allocator.run`

    def __repr__(self) -> str:
        slot = f", slot={self.slot!r}" if self.slot else ""
        return f"Pull(id={self.id!r}, arm={self.arm!r}, n={self.n!r}, attempt={self.attempt!r}{slot})"


#: ``new_pull((id, arm, n, attempt, slot))``: half the time of ``Pull(...)``.
new_pull: Callable[[tuple[Any, ...]], Pull] = partial(tuple.__new__, Pull)


class NoArmFree(RisingBanditsError):
    """There is budget left, but no arm can be pulled now: all are in flight or masked, or the rest is in flight."""
