"""Which policy to use for an objective, and how many arms to open, if nothing else is known."""

from __future__ import annotations

import math

from risingbandits._core.errors import check_choice, check_positive_int
from risingbandits.policies.auto import Auto
from risingbandits.policies.base import OBJECTIVES

_ENOUGH = 20  # rounds for each arm above which all are opened


def few_of(n_arms: int, horizon: int | None) -> int:
    """How many arms to open by default: all if there are more than 20 rounds per arm, otherwise sqrt(T) / 3.

    All without a horizon.

    >>> few_of(50, 500), few_of(50, 2_500), few_of(2, 30), few_of(50, None)
    (8, 50, 2, 50)
    """
    if horizon is None or horizon > _ENOUGH * n_arms:
        return n_arms
    return min(n_arms, math.ceil(math.sqrt(horizon) / 3))


def recommended_policy(objective: str = "cumulative", n_arms: int | None = None, horizon: int | None = None) -> Auto:
    """The policy to use for an objective if nothing else is known: `Auto`.

    Parameters
    ----------
    objective : {"cumulative", "best-arm"}
        Earn while learning, or find the arm to keep.
    n_arms, horizon : int, optional
        Number of arms and total number of pulls. The policy is told when a run starts, so they may be omitted.

    Examples
    --------
    >>> policy = recommended_policy("best-arm")
    >>> policy, policy.chosen(50, 200)
    (Auto(objective='best-arm'), ScoutedHalving())
    """
    for name, value in (("n_arms", n_arms), ("horizon", horizon)):
        if value is not None:
            check_positive_int(name, value)
    return Auto(check_choice("objective", objective, OBJECTIVES))
