"""What policies that watch for changes share: forced exploration in turn, and what `explain` says of it.

Of every ``period`` rounds the first K belong to the arms, one each, whatever their indexes are, so that a change of an
arm that nobody would pull is noticed too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from risingbandits._core.jit import interpreted, kernel
from risingbandits._core.types import Floats, Mask
from risingbandits.policies.explanation import Moment

_ROUNDING_SLACK = 1e-9  # 15 / 0.1 is meant to be 150
NEVER = 0  # a period without forced exploration


def period(n_arms: int, share: float) -> int:
    """floor(K / share), the rounds of which the first K are forced.

    >>> period(3, 0.1)
    30
    """
    return NEVER if share == 0.0 else math.floor(n_arms / share + _ROUNDING_SLACK)


@kernel
def arm_due(t: int, every: int, n_arms: int, available: Mask) -> int:
    """The arm that round t = 1, 2, ... belongs to, if it is available; -1 where the indexes decide."""
    if every == NEVER:
        return -1
    arm = t % every - 1
    if arm < 0 or arm >= n_arms or (available is not None and not available[arm]):
        return -1
    return arm


def why_next(at: Moment, every: int, t: int, otherwise: str) -> str:
    """That an arm is forced in round t, that it was forgotten, or ``otherwise``."""
    if interpreted(arm_due)(t, every, at.pulls.size, None) == at.arm:
        return "its turn: forced exploration, so that changes are noticed"
    return forgotten(at) or otherwise


def forgotten(at: Moment) -> str:
    """That the arm has no reward since its last restart; empty where it has, or never had one."""
    lost = at.pulls[at.arm] > 0 and math.isinf(at.parts["value"][at.arm])
    return "not pulled since it was found to have changed" if lost else ""


def parts(index: dict[str, Floats], restarts: Any) -> dict[str, Floats]:
    """The columns of an index, and how often each arm was found to have changed."""
    return {**index, "changes": np.asarray(restarts, dtype=np.float64)}
