"""Means of all that each arm earned, ready for indexes of the form mean + width / sqrt(n).

``mean`` is +inf and ``root`` = 1/sqrt(n) is 0 for an arm that was never pulled; ``counts`` and ``total`` are its pulls
and the sum of its rewards.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from risingbandits._core.jit import kernel
from risingbandits._core.types import Floats, Mask


def new_fields(n_arms: int) -> dict[str, Floats]:
    """The four arrays before the first pull."""
    return {
        "counts": np.zeros(n_arms),
        "total": np.zeros(n_arms),
        "mean": np.full(n_arms, np.inf),
        "root": np.zeros(n_arms),
    }


@kernel
def add(state: Any, arm: int, x: float) -> None:
    """One more pull of the arm earned x."""
    n = state.counts[arm] + 1.0
    total = state.total[arm] + x
    state.counts[arm] = n
    state.total[arm] = total
    state.mean[arm] = total / n
    state.root[arm] = 1.0 / math.sqrt(n)


def parts(state: Any, width: float, seen: Mask = None) -> dict[str, Floats]:
    """Level, width and value of indexes mean + width / sqrt(n), for `explain`; ``seen`` arms have a mean."""
    seen = state.counts > 0.0 if seen is None else seen
    level = np.where(seen, state.mean, np.nan)
    widths = np.where(seen, width * state.root, np.nan)
    return {"level": level, "width": widths, "value": np.where(seen, level + widths, np.inf)}
