"""Two policies over the same runs: how much more one loses, and how certain that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.stats import half_width
from risingbandits.policies.objectives import Objective

if TYPE_CHECKING:
    from risingbandits.simulation.result import Result


@dataclass(frozen=True)
class Comparison:
    """The difference between two policies, run by run.

    Attributes
    ----------
    a, b : str
        The labels.
    measure : str
        What is compared at the horizon, the measure of the objective: "regret", or "simple regret".
    difference : float
        Mean over the runs of what ``a`` has minus what ``b`` has: below 0 ``a`` is better.
    low, high : float
        Its paired Student-t interval: that of the mean of the differences, run by run. It assumes that the mean of the
        differences is normal, which fails if they are few and mostly 0, as simple regrets may be.
    level : float
        The confidence of the interval.
    runs, less, equal : int
        All runs, and those in which ``a`` has less than ``b`` or just as much.
    """

    a: str
    b: str
    measure: str
    difference: float
    low: float
    high: float
    level: float
    runs: int
    less: int
    equal: int

    @property
    def decided(self) -> bool:
        """Whether 0 lies outside the interval."""
        return self.low > 0.0 or self.high < 0.0

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {**vars(self), "decided": self.decided}

    def __str__(self) -> str:
        ends = f"{four_digits(self.low)} to {four_digits(self.high)}"
        verdict = "" if self.decided else " The interval contains 0: these runs cannot tell them apart."
        return (
            f"{self.a} has {four_digits(abs(self.difference))} {'less' if self.difference < 0 else 'more'} "
            f"{self.measure} than {self.b}: difference {four_digits(self.difference)}, {100 * self.level:.4g} % "
            f"interval {ends} (paired Student t, {self.runs} runs); less in {self.less}, equal in {self.equal}."
            f"{verdict}"
        )


def compare(
    result: Result, a: str, b: str, level: float, objective: Objective, other: Result | None = None
) -> Comparison:
    """See `Result.compare`."""
    if not (isinstance(level, float) and 0.0 < level < 1.0):
        raise RisingBanditsError(f"level must lie between 0 and 1, got {level!r}.")
    if other is None and a == b:
        raise RisingBanditsError(f"a and b must be two policies, got {a!r} twice.")
    result.mean(a), (other or result).mean(b)  # check the labels
    first = objective.regret(result, a)
    second = objective.regret(other or result, b)
    why = _unpaired(result, other) if other is not None else ""
    if not why and len(first) != len(second):
        why = f"{a} has {len(first)} runs and {b} {len(second)}"
    if why:
        raise RisingBanditsError(f"the runs of a and b must be paired, with the same noise in both: {why}.")
    if len(first) < 2:
        raise RisingBanditsError("compare needs at least 2 runs of each policy, got 1.")
    differences = first - second
    differences[np.abs(differences) <= 1e-9 * np.maximum(np.abs(first), np.abs(second))] = 0.0  # rounding of sums
    mean, half = float(differences.mean()), float(half_width(differences, level))
    less, equal = int((differences < 0.0).sum()), int((differences == 0.0).sum())
    return Comparison(a, b, objective.measure, mean, mean - half, mean + half, level, len(first), less, equal)


def _unpaired(one: Result, other: Result) -> str:
    """Why run i of one result does not meet the same noise as run i of the other; empty if it does."""
    for name in ("problem", "horizon", "seed", "noise"):
        if getattr(one, name) != getattr(other, name):
            return f"{name} is {getattr(one, name)!r} here and {getattr(other, name)!r} there"
    if one.oracle[-1] != other.oracle[-1] or not np.array_equal(one.final_means, other.final_means):
        return f"{one.problem} has other curves here than there"
    return ""


def four_digits(value: float) -> str:
    """Four significant digits, and no minus before zero."""
    text = f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0.0 else text
