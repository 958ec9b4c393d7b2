"""Rewards as policies for bounded rewards see them: numbers in [0, 1], or coins.

``reward_range = (low, high)`` is mapped onto [0, 1] by one affine map, and what lies outside is clipped. With the
default (0, 1) nothing is mapped, only clipped. Clipping changes means: noise N(0, 0.1^2) around a mean of 0 is seen
with mean 0.040 and around 1 with mean 0.960. A wider range, for instance (-0.5, 1.5), clips nothing but makes all gaps,
seen from the policy, smaller by its width.
"""

from __future__ import annotations

from typing import Any

from risingbandits._core.errors import check_range
from risingbandits._core.jit import kernel
from risingbandits._core.types import Rng


@kernel
def unit(reward: float, low: float, width: float) -> float:
    """(reward - low) / width, clipped to [0, 1]."""
    return min(max((reward - low) / width, 0.0), 1.0)


@kernel
def coin(x: float, rng: Rng) -> int:
    """A Bernoulli(x) draw: 1 with probability x."""
    return 1 if rng.random() < x else 0  # type: ignore[union-attr]


def low_and_width(reward_range: Any) -> tuple[float, float]:
    """The lower end and the width of a range, if it is one."""
    low, high = check_range("reward_range", reward_range)
    return low, high - low
