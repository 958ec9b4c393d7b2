"""What the first arms, pulled often, say about the others: how far early levels carry, and how many arms to open.

Arms are compared at equal age. The level of an arm after n pulls is the mean of the last ``share`` of them; sums of
rewards are those of `recent_means`. ``order`` lists the arms in the order in which they are opened; the first of them
are the scouts.
"""

from __future__ import annotations

import math
from typing import Any

from risingbandits._core.jit import kernel, rare_kernel

OPENING = 0.6  # most of the pulls that are left after scouting, for opening arms
_NOISY_SHARE = 0.3  # share of the pulls in a level if noise hides how far apart arms are
_NOISY = 2.0  # that many times the variance of the scouts' levels is such a noise
_ROUNDING = 1e-24  # squared deviations, relative to the squared level, below which levels are all the same
_SCOUTING = 0.2  # share of all pulls for scouts
_LEAST_SCOUTS = 3
_CEIL_SLACK = 1e-9


@kernel
def depth_of(horizon: int) -> int:
    """The age to which scouts are pulled, the square root of the horizon."""
    return max(2, int(math.sqrt(horizon) + _CEIL_SLACK))


@kernel
def scouts_of(horizon: int, n_arms: int) -> int:
    """How many scouts there are."""
    return min(n_arms, max(_LEAST_SCOUTS, int(_SCOUTING * horizon / depth_of(horizon) + _CEIL_SLACK)))


@kernel
def _sum(state: Any, arm: int, n: int) -> float:
    """The sum of the arm's first n rewards."""
    return state.pool[state.places[arm, 0] + n] if n > 0 else 0.0


@kernel
def level(state: Any, arm: int, age: int, share: float) -> float:
    """The level of the arm when it had ``age`` pulls, today's if it has fewer; -inf if it has none."""
    n = min(age, state.pulls[arm])
    if n == 0:
        return -math.inf
    window = max(1, math.ceil(share * n - _CEIL_SLACK))
    return (_sum(state, arm, n) - _sum(state, arm, n - window)) / window


@rare_kernel
def noise(state: Any, scouts: int, depth: int) -> float:
    """The variance of one reward, from second differences of the scouts' rewards; 0 if none has three."""
    squares = 0.0
    count = 0
    for i in range(scouts):
        arm = state.order[i]
        for n in range(3, min(depth, state.pulls[arm]) + 1):
            bend = _sum(state, arm, n) - 3 * _sum(state, arm, n - 1) + 3 * _sum(state, arm, n - 2)
            bend -= _sum(state, arm, n - 3)
            squares += bend * bend / 6.0
            count += 1
    return squares / count if count > 0 else 0.0


@rare_kernel
def spread(state: Any, scouts: int, age: int, share: float) -> float:
    """The variance of the scouts' levels at an age; 0 if they are all the same."""
    mean, count = _mean_level(state, scouts, age, share)
    squares = 0.0
    for i in range(scouts):
        if state.pulls[state.order[i]] > 0:
            squares += (level(state, state.order[i], age, share) - mean) ** 2
    return 0.0 if squares <= _ROUNDING * count * mean * mean else squares / max(1, count - 1)


@rare_kernel
def share_for(state: Any, scouts: int, depth: int, share: float) -> float:
    """The share of the pulls in a level: ``share``, or more if noise hides how far apart the scouts are."""
    hidden = noise(state, scouts, depth) > _NOISY * spread(state, scouts, depth, 0.5)
    return max(share, _NOISY_SHARE) if hidden else share


@kernel
def _mean_level(state: Any, scouts: int, age: int, share: float) -> tuple[float, int]:
    total = 0.0
    count = 0
    for i in range(scouts):
        if state.pulls[state.order[i]] > 0:
            total += level(state, state.order[i], age, share)
            count += 1
    return total / max(1, count), count


@rare_kernel
def agreement(state: Any, scouts: int, age: int, depth: int, share: float) -> float:
    """The correlation of the scouts' levels at an age with those at ``depth``; 0 if either are all the same."""
    early, _ = _mean_level(state, scouts, age, share)
    late, count = _mean_level(state, scouts, depth, share)
    early_squares = late_squares = products = 0.0
    for i in range(scouts):
        arm = state.order[i]
        if state.pulls[arm] > 0:
            x = level(state, arm, age, share) - early
            y = level(state, arm, depth, share) - late
            early_squares += x * x
            late_squares += y * y
            products += x * y
    if early_squares <= _ROUNDING * count * early * early or late_squares <= _ROUNDING * count * late * late:
        return 0.0
    return products / math.sqrt(early_squares * late_squares)


@rare_kernel
def best_scout(state: Any, scouts: int, depth: int, share: float) -> int:
    """The scout with the highest level, the first of equals."""
    best = state.order[0]
    for i in range(1, scouts):
        if level(state, state.order[i], depth, share) > level(state, best, depth, share):
            best = state.order[i]
    return best


@rare_kernel
def affordable(state: Any, scouts: int, age: int, pulls: int) -> int:
    """How many of the first arms, including scouts, ``pulls`` pulls can bring to an age."""
    arms = scouts
    while arms < state.order.shape[0]:
        pulls -= max(0, age - state.pulls[state.order[arms]])
        if pulls < 0:
            break
        arms += 1
    return arms


@rare_kernel
def screening_age(state: Any, scouts: int, depth: int, pulls: int, share: float) -> int:
    """The age at which new arms are first compared: how far levels carry times how far the best stands out is highest.

    What levels say at an age is the least agreement from there on, at least 0: what is lost later was luck. The best of
    M arms stands out by about sqrt(2 log M) spreads.
    """
    carried = 1.0
    highest = -1.0
    chosen = depth
    for age in range(depth, 0, -1):
        if age < depth:
            carried = max(0.0, min(carried, agreement(state, scouts, age, depth, share)))
        value = carried * math.sqrt(math.log(affordable(state, scouts, age, pulls)))
        if value > highest:
            highest = value
            chosen = age
    return chosen


@rare_kernel
def reach(state: Any, active: int, age: int, limit: int, pulls: int) -> int:
    """The highest age from ``age`` to ``limit`` to which ``pulls`` pulls can bring all arms in the race."""
    low, high = age, max(age, limit)
    while low < high:
        middle = high - (high - low) // 2
        if missing(state, active, middle) <= pulls:
            low = middle
        else:
            high = middle - 1
    return low


@rare_kernel
def missing(state: Any, active: int, age: int) -> int:
    """How many pulls the arms in the race lack to reach an age."""
    pulls = 0
    for i in range(active):
        pulls += max(0, age - state.pulls[state.race[i]])
    return pulls


@rare_kernel
def sort(state: Any, active: int) -> None:
    """Put the arms in the race in the order of ``value``, the highest first; of equals the first opened (heapsort)."""
    for root in range(active // 2 - 1, -1, -1):
        _sift(state, root, active)
    for end in range(active - 1, 0, -1):
        state.race[0], state.race[end] = state.race[end], state.race[0]
        _sift(state, 0, end)


@kernel
def _sift(state: Any, root: int, end: int) -> None:
    while 2 * root + 1 < end:
        child = 2 * root + 1
        if child + 1 < end and _before(state, state.race[child], state.race[child + 1]):
            child += 1
        if not _before(state, state.race[root], state.race[child]):
            return
        state.race[root], state.race[child] = state.race[child], state.race[root]
        root = child


@kernel
def _before(state: Any, one: int, other: int) -> bool:
    """Whether one arm comes before the other in the race."""
    if state.value[one] != state.value[other]:
        return state.value[one] > state.value[other]
    return state.turn[one] < state.turn[other]
