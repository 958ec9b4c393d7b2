"""What a further worker tries while others have the arms that would be tried first, if pulls are few.

The worker cannot have the arms in flight, so its incumbent is the surest of the free arms, and a trial costs what that
one would earn. How arms learn, how far apart they are and how noisy they are is known from all arms, including those in
flight. Each worker has its share of the remaining rounds.
"""

from __future__ import annotations

from typing import Any

from risingbandits._core.jit import kernel, rare_kernel
from risingbandits.policies.commit import _opening, _trials


@rare_kernel
def decide(state: Any, available: Any) -> int:
    """The arm of a worker that cannot have the planned one."""
    plan = state.plan
    first = plan["incumbent"][0]
    closed = _opening.first_closed(state, available)
    b = _surest_free(state, available)
    if b == _trials.NOBODY or (first == _trials.NOBODY and closed >= 0):
        return max(0, closed)
    if first == _trials.NOBODY or _trials.waits(state):
        return b
    age, level, ceiling = plan["age"][0], plan["level"][0], plan["ceiling"][0]
    behind = 0.0 if b == first else max(0.0, -_trials.expected(state, b))
    plan["incumbent"][0], plan["age"][0], plan["behind"][0] = b, state.counts[b], behind
    plan["level"][0] = _trials.level(state, b, state.counts[b])
    # It may be young: it learns like the first one, and ends as far behind as believed.
    plan["ceiling"][0] = max(_trials.rises_to(state, b), ceiling - behind)
    chosen = _best(state, available, b, closed)
    plan["incumbent"][0], plan["age"][0], plan["behind"][0] = first, age, 0.0
    plan["level"][0], plan["ceiling"][0] = level, ceiling
    return chosen


@kernel
def _surest_free(state: Any, available: Any) -> int:
    """The free open arm with the highest level that is sure, the first of equals; NOBODY if none is free."""
    b = _trials.NOBODY
    best = 0.0
    for place in range(state.plan["opened"][0]):
        arm = state.order[place]
        if available[arm]:
            value = _trials.sure_level(state, arm)
            if b == _trials.NOBODY or value > best:
                best = value
                b = arm
    return b


@kernel
def _best(state: Any, available: Any, b: int, closed: int) -> int:
    """The free arm, ``closed`` among them, whose best trial gains most; the incumbent of this worker if none gains."""
    chosen = b
    most = 0.0
    for place in range(state.plan["opened"][0]):
        arm = state.order[place]
        if arm != b and available[arm]:
            _, value, price = _trials.best_trial(state, arm)
            if value - price > most:
                most = value - price
                chosen = arm
    if closed >= 0:
        _, value, price = _trials.best_trial(state, _trials.NOBODY)
        if value - price > most:
            chosen = closed
    return chosen
