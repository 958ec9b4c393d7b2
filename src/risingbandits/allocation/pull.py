"""What `Allocator.ask` gives out, and what it raises if there is nothing to give."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

from risingbandits._core.errors import RisingBanditsError, shown

CHECKPOINT = "checkpoint-"  # how the name of a checkpoint begins
_LONGEST = 120  # of a folder's name; file systems take 255 bytes


def folder_name(arm: str) -> str:
    """The name of an arm as a folder name, unique for each arm.

    >>> folder_name("small net"), folder_name("../x"), folder_name("..")
    ('small%20net', '%2E.%2Fx', '%2E.')
    """
    name = quote(arm, safe="")
    if name.startswith("."):
        name = "%2E" + name[1:]
    if len(name) > _LONGEST:
        name = f"{name[: _LONGEST - 33]}~{hashlib.sha256(arm.encode()).hexdigest()[:32]}"
    return name


def checkpoint_name(n: int, id: int) -> str:
    """The name of the checkpoint that the pull with this id leaves after pull n."""
    return f"{CHECKPOINT}{n}-{id}"


class Saved(NamedTuple):
    """The checkpoint of a pull that counts, as its tell recorded it."""

    n: int
    id: int  #: of the pull
    value: float  #: its reward
    proof: str  #: size in bytes; where durability is "power", also a digest


_PROOF = re.compile(r"\d+( [0-9a-f]{64})?")


def check_proof(value: Any) -> str:
    """``value``, if it can be the proof of a checkpoint."""
    if not isinstance(value, str) or not _PROOF.fullmatch(value):
        raise RisingBanditsError(f"checkpoint must be that of an Outcome, got {shown(value)}.")
    return value


def place_of(arm: str, saved: Saved | None) -> str:
    """Where a checkpoint is, below the folder of checkpoints; "" for None.

    >>> place_of("small net", Saved(7, 23, 0.9, "512"))
    'small%20net/checkpoint-7-23'
    """
    return "" if saved is None else f"{folder_name(arm)}/{checkpoint_name(saved.n, saved.id)}"


class Pull(NamedTuple):
    """A token for one pull of one arm; hand it back with `tell` or `fail`.

    The id is also a fencing token: it names the checkpoint that the pull leaves, so a worker that has lost its pull
    cannot overwrite that of another. The last three fields say what counts so far; whoever makes the pull starts from
    there and from nothing else.

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
    attempt: int = 1  #: 2 when it was given out before and failed or was not told in time; 0 when a pull that counts
    #: is only made again, to get from a checkpoint to the state before the pull with this id
    slot: str = ""  #: where it is made, if given: see ``slots`` of `Allocator.run`
    before: int = 0  #: id of pull n - 1 as it counted; 0 before the first pull of the run
    last: Saved | None = None  #: the newest checkpoint that counts
    best: Saved | None = None  #: the checkpoint with the best value

    def __repr__(self) -> str:
        slot = f", slot={self.slot!r}" if self.slot else ""
        return f"Pull(id={self.id!r}, arm={self.arm!r}, n={self.n!r}, attempt={self.attempt!r}{slot})"


#: ``new_pull((id, arm, ...))`` with all eight fields: half the time of ``Pull(...)``.
new_pull: Callable[[tuple[Any, ...]], Pull] = partial(tuple.__new__, Pull)


def better(best: Saved | None, new: Saved, direction: str) -> Saved:
    """The better of two checkpoints; the newer one if they are equal, so that one file serves as last and best."""
    if best is None:
        return new
    worse = new.value > best.value if direction == "minimize" else new.value < best.value
    return best if worse else new


class NoArmAvailable(RisingBanditsError):
    """There is budget left, but no arm can be pulled now: all are in flight or masked, or the rest is in flight."""


class CannotGoOn(RisingBanditsError):
    """A run cannot go on, through no fault of an arm, as on a full disk: the pull is given back and the run stops."""


class OutOfRange(CannotGoOn):
    """A reward is outside the range that the user gave: the arm is not to blame, and would only do it again."""
