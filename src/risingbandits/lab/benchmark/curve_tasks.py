"""Real learning curves as tasks of a bandit: an arm is a training run, and a pull reveals its next value.

After its end an arm keeps its final value, the mean of the last 5 % of its curve. For best-arm identification,
it cannot be pulled beyond its end, and only budgets that do not see every curve to its end count.
"""

from __future__ import annotations

import hashlib
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from risingbandits._core.types import Floats, Ints
from risingbandits.policies import Objective

BUDGETS = (2, 5, 10, 20, 50)  # pulls for each arm
_FINAL_SHARE = 0.05  # of a curve, whose mean is what the arm is worth in the end

Features = Mapping[str, npt.NDArray[Any]]
"""What is known about the arms before they are pulled: by name, a value for each arm."""


@dataclass(frozen=True)
class CurveTask:
    """The arms of one task."""

    name: str  # unique within its benchmark
    source: str  # the benchmark whose curves these are, even if the task was made from them
    observed: Floats  # (K, L + 1) the values that are seen; the last column is that of all later pulls
    truth: Floats  # (K, L + 1) those that count
    features: Features = field(default_factory=dict)  # (K,) arrays: what is known about the arms before they are pulled
    seconds: Floats | None = None  # (K, L) what each pull took, if recorded; missing after the end of a run
    shuffled: bool = True  # whether the arms are played in random orders; if not, their order is the point

    @property
    def n_arms(self) -> int:
        return len(self.observed)

    @property
    def length(self) -> int:
        """Pulls that the longest curve has."""
        return int(self.observed.shape[1]) - 1

    @property
    def finals(self) -> Floats:
        """What each arm is worth in the end."""
        last: Floats = self.truth[:, -1]
        return last

    @cached_property
    def digest(self) -> str:
        """A hash of what determines how it is played."""
        found = hashlib.sha256(repr((self.name, self.source, self.shuffled)).encode())
        for values in (self.observed, self.truth):
            found.update(repr(values.shape).encode())
            found.update(np.ascontiguousarray(values).tobytes())
        return found.hexdigest()

    def budgets(self, objective: str, per_arm: Sequence[int] = BUDGETS) -> tuple[int, ...]:
        """Numbers of pulls that it is played with; fewer than all curves have, unless rewards are summed."""
        longest = math.inf if Objective.get(objective).sums_rewards else self.length
        return tuple(pulls * self.n_arms for pulls in per_arm if pulls < longest)

    def order(self, number: int) -> Ints:
        """The arms in an order of their own for every number; 0 is the order they have."""
        if number == 0 or not self.shuffled:
            return np.arange(self.n_arms)
        return np.random.default_rng([number, zlib.crc32(self.name.encode())]).permutation(self.n_arms)

    def listed(self, order: Ints, name: str | None = None) -> CurveTask:
        """The same arms, or some of them, in another order."""
        return replace(
            self,
            name=self.name if name is None else name,
            observed=self.observed[order],
            truth=self.truth[order],
            features=of_arms(self.features, order),
            seconds=None if self.seconds is None else self.seconds[order],
        )


def of_arms(features: Features, arms: Any) -> Features:
    """The features of some arms."""
    return {name: values[arms] for name, values in features.items()}


def seen_is_true(name: str, source: str, curves: Floats, features: Features | None = None) -> CurveTask:
    """A task whose observed values are those that count."""
    values = with_final(curves)
    return CurveTask(name, source, values, values, features or {})


def with_final(curves: Floats) -> Floats:
    """The curves with one more value, that of all later pulls: the mean of the last 5 %, at least of one value."""
    return np.concatenate([curves, final_of(curves)[..., None]], axis=-1)


def final_of(curves: Floats) -> Floats:
    """The mean of the last 5 % of a curve, at least of one value.

    >>> final_of(np.arange(60.0)).item(), final_of(np.arange(10.0)).item()
    (58.0, 9.0)
    """
    last = max(1, int(_FINAL_SHARE * curves.shape[-1]))
    mean: Floats = curves[..., -last:].mean(axis=-1)
    return mean


def read_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an npz file."""
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}
