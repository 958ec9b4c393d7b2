"""The order in which arms are opened: ``order`` lists the arms that are open, then the others as they will follow."""

from __future__ import annotations

from typing import Any

from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Ints, Mask, Records, Rng
from risingbandits.policies._kernels import sweeps

OPEN = -1


@kernel
def planned(state: Any, rng: Rng) -> int:
    """The planned arm, or the next one of the order, which is drawn at the first ask."""
    if state.plan["drawn"][0] == 0:
        sweeps.shuffle(state.order, state.plan["opened"][0], state.order.shape[0], rng)
        state.plan["drawn"][0] = 1
    arm = state.plan["next"][0]
    return state.order[state.plan["opened"][0]] if arm == OPEN else arm


@kernel
def first_closed(state: Any, available: Mask) -> int:
    """The first available unopened arm, -1 if there is none."""
    for place in range(state.plan["opened"][0], state.order.shape[0]):
        if available[state.order[place]]:  # type: ignore[index]
            return state.order[place]
    return -1


@rare_kernel
def enter(order: Ints, plan: Records, arm: int) -> None:
    """The arm is the next one of those that are open."""
    place = plan["opened"][0]
    while order[place] != arm:
        place += 1
    order[place] = order[plan["opened"][0]]
    order[plan["opened"][0]] = arm
    plan["opened"][0] += 1
