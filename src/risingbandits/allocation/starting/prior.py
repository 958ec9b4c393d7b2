"""Beliefs about arms before they are pulled, in a unit that is comparable between tasks.

The unit is the normal score: 0 is an average arm of its task, 1 one that is a standard deviation better than average.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from risingbandits._core.errors import RisingBanditsError, check_finite, shown


class Belief(NamedTuple):
    """The belief about one arm."""

    mean: float  #: the score that is expected
    deviation: float  #: its standard deviation
    source: str  #: where that is from: "12 tasks", "settings", "score" or "unknown"


UNKNOWN = Belief(0.0, 1.0, "unknown")


@dataclass(frozen=True)
class Prior:
    """Beliefs about arms by name; nothing is known about others.

    >>> Prior({"adam": Belief(0.8, 0.6, "12 tasks")}, tasks=12, agreement=0.6).of("sgd")
    Belief(mean=0.0, deviation=1.0, source='unknown')
    """

    beliefs: Mapping[str, Belief]
    tasks: int = 0  #: the number of earlier tasks behind them
    agreement: float | None = None  #: mean rank correlation of a task with what the others say about it; None: one task

    def of(self, arm: str) -> Belief:
        """The belief about an arm."""
        return self.beliefs.get(arm, UNKNOWN)

    def about(self, arms: Iterable[str]) -> Prior:
        """The same, for these arms only."""
        return Prior({arm: self.beliefs[arm] for arm in arms if arm in self.beliefs}, self.tasks, self.agreement)

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "beliefs": {arm: list(belief) for arm, belief in self.beliefs.items()},
            "tasks": self.tasks,
            "agreement": self.agreement,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Prior:
        """Read what `to_dict` wrote."""
        beliefs = {}
        for arm, (mean, deviation, source) in plain["beliefs"].items():
            if not isinstance(source, str):
                raise RisingBanditsError(f"the source of a belief must be a string, got {shown(source)}.")
            beliefs[arm] = Belief(check_finite("mean", mean), check_finite("deviation", deviation, minimum=0.0), source)
        return cls(beliefs, int(plain["tasks"]), plain["agreement"])
