"""What the published program does differently from the paper's definitions, as options; no default uses them.

The program published with the 2022 version of the paper deviates from the definitions in several places. Those about
R-ed-UCB are here, so that the reproduction can show what they change; its noise, Beta(2 mu/(1 - mu), 2), is
`risingbandits.problems.Beta()`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_finite
from risingbandits._core.jit import kernel
from risingbandits._core.types import Mask, Rng
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.rising import red_ucb
from risingbandits.policies.rising.red_ucb import REdUCB

__all__ = ["ClippedBonusUCB", "PublishedREdUCB"]


@kernel
def _update_without_refresh(state: Any, t: int, arm: int, reward: float, rng: Rng) -> None:
    """Update, then fix the extrapolated estimate at round t + 1; only the width grows until the next pull."""
    red_ucb.update(state, t, arm, reward, rng)
    if state.tally[arm, 1] > 0 and state.line[arm, 0] < math.inf:
        state.line[arm, 0] += state.line[arm, 1] * (t + 1)
        state.line[arm, 1] = 0.0


class PublishedREdUCB(REdUCB):
    """R-ed-UCB with deviations of the published program from the paper, each an option.

    Not registered: it exists to show what the deviations do. For anything else use `REdUCB`.

    Parameters
    ----------
    first_index : float
        Index of an arm while its window is empty (h = 0). The paper has +inf, the program 1.
    refresh : bool
        Whether the extrapolation to round t moves on while the arm is not pulled, as in the paper. The program has
        False: only a pull renews it.
    eps, sigma, alpha, ties
        As for `REdUCB`; the program has alpha = 4.

    Examples
    --------
    >>> PublishedREdUCB(first_index=1.0, refresh=False, alpha=4.0)
    PublishedREdUCB(first_index=1.0, refresh=False, alpha=4.0)
    """

    name = "red-ucb-published"
    kernels_without_refresh = Kernels(select=red_ucb.select, update=_update_without_refresh)

    def __init__(
        self,
        first_index: float = math.inf,
        refresh: bool = True,
        eps: float = 0.25,
        sigma: float | None = None,
        alpha: float = 3.0,
        ties: str = "lowest",
    ) -> None:
        super().__init__(eps=eps, sigma=sigma, alpha=alpha, ties=ties)
        self.first_index = first_index
        self.refresh = refresh

    def validate(self) -> None:
        super().validate()
        if math.isnan(self.first_index):
            raise RisingBanditsError(f"first_index must be a number or infinite, got {self.first_index!r}.")

    def kernels_for(self, n_arms: int) -> Kernels:
        return self.kernels if self.refresh else self.kernels_without_refresh

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> red_ucb.State:
        state: red_ucb.State = super().new_state(n_arms, horizon, capacity)
        state.line[:, 0] = self.first_index
        return state


class State(NamedTuple):
    """What `ClippedBonusUCB` knows."""

    eps: float
    width: float  # sigma sqrt(10 alpha)
    pulls: np.ndarray  # (K,)
    window: np.ndarray  # (K,) h
    line: np.ndarray  # (K, 2): the extrapolation to round t is line[0] + t line[1]
    sums: np.ndarray  # (K, T + 1) prefix sums of the rewards
    ranks: np.ndarray  # (K, T + 1) prefix sums of l times the l-th reward


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    """The arm with the highest index, the lowest number where several have it."""
    best = -math.inf
    chosen = 0 if available is None else int(np.argmax(available))
    root = math.sqrt(math.log(t))
    for arm in range(state.pulls.shape[0]):
        if available is not None and not available[arm]:
            continue
        value = math.inf
        h = state.window[arm]
        if h > 0:
            bonus = state.width * (t - state.pulls[arm] + h - 1) * root / (h * math.sqrt(h))
            value = state.line[arm, 0] + t * state.line[arm, 1] + min(1.0, bonus)
        if value > best:
            best = value
            chosen = arm
    return chosen


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    """Keep the reward and draw the arm's line anew."""
    n = state.pulls[arm] + 1
    state.pulls[arm] = n
    sums, ranks = state.sums[arm], state.ranks[arm]
    sums[n] = sums[n - 1] + reward
    ranks[n] = ranks[n - 1] + n * reward
    h = int(state.eps * n)
    state.window[arm] = h
    if h > 0:
        new, old = sums[n] - sums[n - h], sums[n - h] - sums[n - 2 * h]
        new_rank = ranks[n] - ranks[n - h]
        old_rank = ranks[n - h] - ranks[n - 2 * h] + h * old
        state.line[arm, 0] = new / h - (new_rank - old_rank) / (h * h)
        state.line[arm, 1] = (new - old) / (h * h)


class ClippedBonusUCB(Policy):
    """R-ed-UCB with ``min(1, bonus)``, as in the published program of the IMDB experiment.

    With rewards in [0, 1] and sigma = 0.1 every arm's bonus is at the ceiling for thousands of rounds, so that noise
    decides: the arm whose last few rewards rose is extrapolated, and pulled for good. For simulations only, because
    its room is that of the horizon.

    Parameters
    ----------
    eps : float
        Window as a share of the pulls; 1/32 in the IMDB experiment.
    sigma : float
        The published 0.1, though 0/1 rewards have 1/2.
    alpha : float
        Confidence exponent; 4 in the published program.
    """

    name = "red-ucb-clipped"
    summary = "R-ed-UCB with the bonus clipped to 1, as in the published program of the IMDB study"
    kernels = Kernels(select=select, update=update)
    scratch = frozenset({"sums", "ranks"})
    needs_horizon = True

    def __init__(self, eps: float = 1 / 32, sigma: float = 0.1, alpha: float = 4.0) -> None:
        self.eps = eps
        self.sigma = sigma
        self.alpha = alpha

    def validate(self) -> None:
        check_finite("eps", self.eps, above=0.0, below=0.5)
        check_finite("sigma", self.sigma, minimum=0.0)
        check_finite("alpha", self.alpha, above=0.0)

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        room = max(capacity, horizon or 1) + 1
        return State(
            eps=float(self.eps),
            width=float(self.sigma) * math.sqrt(10.0 * self.alpha),
            pulls=np.zeros(n_arms, dtype=np.int64),
            window=np.zeros(n_arms, dtype=np.int64),
            line=np.zeros((n_arms, 2)),
            sums=np.zeros((n_arms, room)),
            ranks=np.zeros((n_arms, room)),
        )
