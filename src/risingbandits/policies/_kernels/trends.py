"""The estimate of R-ed-UCB and similar policies: a line through the last two windows of an arm, updated in O(1).

The state that these kernels work on has the fields ``eps``, ``width``, ``line``, ``tally``, ``sums``, ``pool`` and
``places`` of R-ed-UCB's.
"""

from __future__ import annotations

import math
from typing import Any

from risingbandits._core.jit import kernel
from risingbandits.policies._kernels import histories

FLOOR_SLACK = 1e-12  # eps n is meant exactly: 0.1 * 30 must give a window of 3


@kernel
def line_through_windows(state: Any, arm: int, n: int, reward: float) -> None:
    """The four numbers of the index, from sums over the last two windows of h rewards.

    a and b are the sums of the last h rewards and of the h before, c = sum l r(l) over the last h and
    d = sum l r(l-h) over the same l: estimate (a + (t (a-b) - (c-d)) / h) / h, width (t - N + h - 1) sqrt(log t / h^3).
    The sums follow the recurrences of the paper's appendix on the efficient update. Where the window keeps its size,
    r(n-h) passes from the new to the old half and r(n-2h) leaves; where it grows, r(n-2h+1) comes back. Both cases
    are one formula, because the processor would mispredict a branch here every few rounds.
    """
    start = histories.append(state.pool, state.places, arm, n, reward)
    h = state.tally[arm, 1]
    if h > 0:
        sums = state.sums
        grows = sums[arm, 6] > 0.0
        passing = 0.0 if grows else state.pool[start + n - h]
        leaving = state.pool[start + n - 2 * h + grows]
        old = leaving if grows else -leaving
        a = sums[arm, 0] + (reward - passing)
        b = sums[arm, 1] + (passing + old)
        c = sums[arm, 2] + (n * reward - (n - h) * passing)
        d = sums[arm, 3] + (n * passing + (n - h) * old) + (b if grows else 0.0)
        sums[arm, 0] = a
        sums[arm, 1] = b
        sums[arm, 2] = c
        sums[arm, 3] = d
        inverse = sums[arm, 4]
        width = sums[arm, 5]
        state.line[arm, 0] = a * inverse - (c - d) * (inverse * inverse)
        state.line[arm, 1] = (a - b) * (inverse * inverse)
        state.line[arm, 2] = width
        state.line[arm, 3] = width * (n - h + 1)
        state.line[arm, 4] = a * inverse
    _prepare_next_window(state, arm, n + 1, h)


@kernel
def _prepare_next_window(state: Any, arm: int, n: int, h: int) -> None:
    """The window of pull n, its 1/h and its width: the division and the root are done long before they are needed."""
    next_h = int(state.eps * n + FLOOR_SLACK)
    if next_h > 0:
        inverse = 1.0 / next_h
        state.tally[arm, 1] = next_h
        state.sums[arm, 4] = inverse
        state.sums[arm, 5] = state.width * inverse * math.sqrt(inverse)
        state.sums[arm, 6] = float(next_h - h)
