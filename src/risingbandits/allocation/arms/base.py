"""Arms that can be pulled in this process: what `Allocator.run` drives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.allocation.pull import Pull

__all__ = ["Arm", "Outcome", "as_arm"]


class Outcome(NamedTuple):
    """A reward with what it cost. Without a cost a pull counts as the budget says: 1, or the seconds it took."""

    reward: float
    cost: float | None = None


@runtime_checkable
class Arm(Protocol):
    """Something that can be pulled.

    An arm that learns may also have ``save(path)`` and ``load(path)``: `Allocator.run` then keeps a checkpoint after
    each pull beside the store, and a resumed run continues the learner where its last counted pull left it.
    """

    def pull(self, pull: Pull) -> float | Outcome:
        """Train or play once more; the reward, or an `Outcome`."""


class _CallableArm:
    """A function of the pull as an arm."""

    def __init__(self, function: Callable[[Pull], float | Outcome]) -> None:
        self.function = function

    def pull(self, pull: Pull) -> float | Outcome:
        return self.function(pull)


def as_arm(thing: Any) -> Arm:
    """An `Arm` as it is; any function ``f(pull) -> reward`` as an arm.

    >>> as_arm(lambda pull: 0.5).pull(Pull(1, "a", 1))
    0.5
    """
    if isinstance(thing, Arm):
        return thing
    if callable(thing):
        return _CallableArm(thing)
    raise RisingBanditsError(f"an arm must have a method pull(pull) or be a function of the pull, got {shown(thing)}.")
