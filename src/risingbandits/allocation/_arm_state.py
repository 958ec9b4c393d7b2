"""What is known about one arm, and about a pull of it that was given out."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from risingbandits.allocation.pull import Pull, Saved


@dataclass(slots=True, eq=False)
class Flight:
    """A pull that was given out and not yet told."""

    id: int
    arm: ArmState
    n: int
    attempt: int
    asked: float
    deadline: float
    worker: str
    slot: str = ""

    @property
    def pull(self) -> Pull:
        """The token."""
        return Pull(self.id, self.arm.name, self.n, self.attempt, self.slot)


LEFT_OUT = "no longer named"  #: why an arm that is no longer declared is retired; declaring it again brings it back
LOST = "lost what it had learnt, "  #: how the reason starts why an arm is retired of which nothing is left


@dataclass(slots=True, eq=False)
class ArmState:
    """What is known about one arm."""

    name: str
    index: int  #: among all arms, as they were added
    limit: int | None  #: of pulls, None: any number
    rewards: array[float]  #: of its pulls in order, those of earlier runs first
    warm: int  #: how many of them are from earlier runs
    config: dict[str, float | str]  #: its hyperparameters
    place: int = -1  #: its number for the policy, which the ledger gives it
    flight: Flight | None = None
    cost: float = 0.0
    failures: int = 0  #: in a row
    attempts: int = 0  #: of its next pull
    last_pull: int = 0  #: id of its last pull that counts, 0 before the first of this run
    last: Saved | None = None  #: its newest checkpoint
    best: Saved | None = None  #: the one with its best value
    ended: bool = False  #: whether it has said that there is no further pull
    masked: bool = False
    retired: str | None = None  #: the reason
    gave_up: bool = False  #: whether that is its failures, which more retries undo

    @property
    def most_pulls(self) -> float:
        """How many pulls it can have in all, as far as is known; infinity if that is not known."""
        return len(self.rewards) if self.ended else math.inf if self.limit is None else self.limit

    @property
    def finished(self) -> bool:
        """Whether it has had its last pull."""
        return self.ended or (self.limit is not None and len(self.rewards) >= self.limit)

    @property
    def state(self) -> str:
        """Waiting for its first pull, in flight, paused between two pulls, finished or retired."""
        if self.flight is not None:
            return "in flight"
        if self.retired is not None:
            return "retired"
        return "finished" if self.finished else "paused" if self.rewards else "waiting"

    @property
    def over(self) -> bool:
        """Whether it gets no further pull: it is finished or retired."""
        return self.finished or self.retired is not None

    @property
    def recommendable(self) -> bool:
        """Whether it has a reward and, in whichever state it is, what gave that is still there and named."""
        return bool(self.rewards) and not (self.retired or "").startswith((LOST, LEFT_OUT))

    @property
    def eligible(self) -> bool:
        """Whether the policy may choose it, once it is not in flight."""
        return not self.masked and not self.over


def recent_mean(arm: ArmState) -> float:
    """The mean of the last quarter of an arm's rewards."""
    last = arm.rewards[-max(1, len(arm.rewards) // 4) :]
    return sum(last) / len(last)


def best_pull(arm: ArmState, direction: str) -> int:
    """The number of the arm's best pull of this run, the newest among equals; 0 if it has had none."""
    own = arm.rewards[arm.warm :]
    if not own:
        return 0
    best = min(own) if direction == "minimize" else max(own)
    return len(arm.rewards) - own[::-1].index(best)


class EligibleArms:
    """One flag per arm: cheap to set (bytes of Python), free to hand to a policy (the same bytes for NumPy).

    >>> arms = EligibleArms([True, True, False])
    >>> arms.put(0, False)
    >>> arms.count, arms.mask()
    (1, array([False,  True, False]))
    """

    __slots__ = ("_array", "_bytes", "count")

    def __init__(self, flags: Iterable[bool]) -> None:
        self._bytes = bytearray(flags)
        self._array: npt.NDArray[np.bool_] = np.frombuffer(self._bytes, dtype=np.bool_)
        self.count = sum(self._bytes)

    def put(self, place: int, flag: bool) -> None:
        """Set one flag."""
        if self._bytes[place] != flag:
            self._bytes[place] = flag
            self.count += 1 if flag else -1

    def mask(self) -> npt.NDArray[np.bool_] | None:
        """For ``Policy.ask``: None if all are set, because policies start a batch only then."""
        return None if self.count == len(self._bytes) else self._array
