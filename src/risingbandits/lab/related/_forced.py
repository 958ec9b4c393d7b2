"""Forced pulls: every arm a number of times in turn, before a policy decides. Shared by all that begin so.

A state with forced pulls has two more fields at its end: ``forced``, their number Gamma, and ``pulls``, the pulls of
each arm and, last, how many arms have fewer than Gamma. The arm with the fewest pulls is next, the lowest number of
equals, so that an arm which was not available catches up when it is.
"""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from risingbandits._core.jit import bound_kernel, kernel
from risingbandits._core.types import Ints, Mask, Rng
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.explanation import Moment
from risingbandits.policies.settings import integer

FIELDS = ("forced", "pulls")

inner_select: Any = None
inner_update: Any = None


def _select(state: Any, t: int, available: Mask, rng: Rng) -> int:
    if state.pulls[state.pulls.shape[0] - 1] > 0:
        due = arm_due(state.pulls, state.forced, available)
        if due >= 0:
            return due
    return inner_select(state, t, available, rng)


def _update(state: Any, t: int, arm: int, reward: float, rng: Rng) -> None:
    state.pulls[arm] += 1
    if state.pulls[arm] == state.forced:
        state.pulls[state.pulls.shape[0] - 1] -= 1
    inner_update(state, t, arm, reward, rng)


@kernel
def arm_due(pulls: Ints, forced: int, available: Mask) -> int:
    """The available arm with the fewest pulls below ``forced``; -1 if there is none."""
    fewest = forced
    due = -1
    for arm in range(pulls.shape[0] - 1):
        if pulls[arm] < fewest and (available is None or available[arm]):
            fewest = pulls[arm]
            due = arm
    return due


@cache
def forced_kernels(kernels: Kernels) -> Kernels:
    """The same after forced pulls."""
    select = bound_kernel(_select, inner_select=kernels.select)
    return kernels._replace(select=select, update=bound_kernel(_update, inner_update=kernels.update))


def extended(state_class: Any, module: str) -> Any:
    """The state with forced pulls, a class that its module must keep as ``State``."""
    return namedtuple("State", (*state_class._fields, *FIELDS), module=module)


@dataclass(eq=False, repr=False)
class ForcedPulls(Policy):
    """Base of the policies that begin with forced pulls, beside the one that they go on as."""

    forced: int = integer(100, minimum=0)

    def with_forced_pulls(self, state: Any, state_class: Any, n_arms: int) -> Any:
        """The state of the policy that they go on as, extended."""
        pulls = np.zeros(n_arms + 1, dtype=np.int64)
        pulls[n_arms] = n_arms if self.forced > 0 else 0
        return state_class(*state, forced=int(self.forced), pulls=pulls)

    def why_next(self, at: Moment) -> str:
        n = int(at.pulls[at.arm])
        return f"forced pull {n + 1} of {self.forced}" if n < self.forced else super().why_next(at)
