"""Greedy on the mean of an arm's last rewards."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.errors import check_positive_int
from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Mask, Rng
from risingbandits.policies._kernels import argmax, histories
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.registry import register
from risingbandits.policies.settings import number, or_none, setting, tie_rule

_FLOOR_SLACK = 1e-12  # share n is meant exactly
_NO_LIMIT = 1 << 62


class WindowState(NamedTuple):
    """What the greedy policy knows."""

    window: int  # most pulls in a window
    share: float  # and their share of the arm's pulls
    tally: np.ndarray  # (K, 3) pulls n, pulls h in the window, pulls since the sum was made from scratch
    total: np.ndarray  # (K,) sum over the window
    mean: np.ndarray  # (K,) +inf for an arm never pulled
    flat: np.ndarray  # (K,) zeros: this index has no width
    pool: np.ndarray  # rewards of all arms (histories)
    places: np.ndarray


@kernel
def select_in_window(state: WindowState, t: int, available: Mask, rng: Rng) -> int:
    return argmax.highest_line(state.mean, state.flat, 0.0, available, rng)


@kernel
def update_in_window(state: WindowState, t: int, arm: int, reward: float, rng: Rng) -> None:
    """Move the window of the arm; after as many pulls as it holds, sum it again, so that errors do not add up."""
    n = state.tally[arm, 0] + 1
    old = state.tally[arm, 1]
    start = histories.append(state.pool, state.places, arm, n, reward)
    h = min(max(int(state.share * n + _FLOOR_SLACK), 1), state.window)
    if state.tally[arm, 2] >= h:
        state.tally[arm, 2] = 0
        total = _sum(state.pool, start + n - h + 1, start + n)
    else:
        total = state.total[arm] + (reward if h > old else reward - state.pool[start + n - h])
    state.tally[arm, 0] = n
    state.tally[arm, 1] = h
    state.tally[arm, 2] += 1
    state.total[arm] = total
    state.mean[arm] = total / h


@rare_kernel
def _sum(pool: np.ndarray, first: int, last: int) -> float:
    total = 0.0
    for place in range(first, last + 1):
        total += pool[place]
    return total


@register
class WindowGreedy(Policy):
    r"""Greedy on the mean of each arm's own last pulls.

    The window of an arm with N pulls holds the last :math:`\min(w, \max(1, \lfloor s N \rfloor))` of them; the arm
    with the best mean in its window is pulled, arms that were never pulled first. It sees the raw reward.

    An honest baseline: R-ed-UCB's level without trend and width. It never returns to an arm that
    started low.

    Parameters
    ----------
    window : int or None
        Most pulls in a window, w; None: no limit. Default 100.
    share : float
        Largest share of an arm's pulls in its window, s in (0, 1]. Default 1.
    ties : {"lowest", "random"}
        Which of several arms with the same mean, including unopened ones.

    Examples
    --------
    >>> policy = WindowGreedy(window=5).reset(n_arms=2)
    >>> for _ in range(300):
    ...     arm = policy.ask()
    ...     policy.tell(arm, [0.2, 0.8][arm])
    >>> policy.pulls.tolist()
    [1, 299]
    """

    name = "window-greedy"
    summary = "the best mean over each arm's last pulls"
    verified = "derived here"
    kernels = Kernels(select=select_in_window, update=update_in_window)
    scratch = frozenset({"pool", "flat"})

    window: int | None = setting(100, or_none(check_positive_int))
    share: float = number(1.0, above=0.0, maximum=1.0)
    ties: str = tie_rule()

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> WindowState:
        return WindowState(
            window=_NO_LIMIT if self.window is None else int(self.window),
            share=float(self.share),
            tally=np.zeros((n_arms, 3), dtype=np.int64),
            total=np.zeros(n_arms),
            mean=np.full(n_arms, np.inf),
            flat=np.zeros(n_arms),
            pool=np.empty(histories.places_for(n_arms, capacity)),
            places=histories.new_places(n_arms),
        )

    def make_room(self, state: Any, capacity: int) -> None:
        histories.make_room(state.pool, self.n_arms, capacity)

    def parts(self, state: Any, t: int) -> dict[str, np.ndarray]:
        return {"level": np.where(np.isfinite(state.mean), state.mean, np.nan)}
