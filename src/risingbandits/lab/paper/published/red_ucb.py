"""R-ed-UCB as in the published program, and single deviations of it as options, to show what each changes."""

from __future__ import annotations

import math
from typing import Any

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.jit import kernel
from risingbandits._core.types import Mask
from risingbandits.lab.paper.published._first_rounds import in_turn
from risingbandits.policies._kernels import argmax, noise
from risingbandits.policies.base import Kernels
from risingbandits.policies.rising import red_ucb
from risingbandits.policies.rising.red_ucb import REdUCB


@kernel
def _highest(state: Any, t: int, available: Mask, rng: Any, largest: float) -> int:
    """The arm with the highest index, whose bonus is at most ``largest``."""
    n_arms = state.line.shape[0]
    if t <= 2 * n_arms:
        return in_turn(t, n_arms, available)
    root = math.sqrt(math.log(t - 1.0))
    best = -math.inf
    chosen = argmax.first(available)
    ties = 0
    for arm in range(n_arms):
        if available is None or available[arm]:
            value = state.line[arm, 0] + min(largest, (state.line[arm, 2] * t - state.line[arm, 3]) * root)
            best, chosen, ties = argmax.among_ties(value, best, arm, chosen, ties, rng)
    return chosen


@kernel
def select(state: Any, t: int, available: Mask, rng: Any) -> int:
    return _highest(state, t, available, rng, math.inf)


@kernel
def select_clipped(state: Any, t: int, available: Mask, rng: Any) -> int:
    return _highest(state, t, available, rng, 1.0)


@kernel
def update(state: Any, t: int, arm: int, reward: float, rng: Any) -> None:
    """The sums of the definition, then the program's estimate from them, which stays until the next pull.

    With D_u = r(N-u) - r(N-u-h) the definition's estimate at t = N is a/h + sum u D_u / h^2 = P + Q N, the program's is
    a/h + sum (h-u) D_u / h^2; sum D_u / h^2 is Q.
    """
    h = state.tally[arm, 1]  # the window of this pull
    red_ucb.update(state, t, arm, reward, rng)
    if h > 0:
        n = state.tally[arm, 0]
        level, slope = state.line[arm, 4], state.line[arm, 1]
        mirrored = 2.0 * level + h * slope - (state.line[arm, 0] + slope * n)
        state.line[arm, 0] = mirrored + (t + 1 - n) * slope
        state.line[arm, 1] = 0.0


class ProgramREdUCB(REdUCB):
    r"""R-ed-UCB as in the published program.

    What is different from the definition (`risingbandits.policies.REdUCB`): all arms are pulled twice in turn; an arm
    with an empty window, h = 0, has index 1 instead of :math:`+\infty`; the rewards of the window are extrapolated with
    mirrored weights, so that the estimate at the arm's own N-th pull is
    :math:`\frac1h \sum_{u=0}^{h-1} ( r(N-u) + (h-u) \frac{r(N-u) - r(N-u-h)}{h} )`, where the definition has u for
    h - u; the extrapolation to round t is renewed only when the arm is pulled; :math:`\alpha = 4` and
    :math:`\log(t-1)`; ties at random.

    Parameters
    ----------
    sigma : float
        Scale of the noise; the program has 0.1, whatever the noise is.
    eps : float
        Share of an arm's pulls in its window; the program has 1/4, and 1/32 in its experiment with learners.
    clip_bonus : bool
        Whether the bonus is never above 1, as in that experiment. Every arm's bonus is then 1 for thousands of rounds,
        and noise decides: after 32 pulls a window is one reward long, and an arm whose last reward was better than the
        one before is extrapolated from two coin tosses, and pulled for good.
    """

    name = "red-ucb-program"
    summary = "R-ed-UCB as in the published program"
    kernels = Kernels(select=select, update=update)
    randomised = True
    _guard = noise.UNCHECKED  # the program has this number whatever the noise is

    def __init__(self, sigma: float = 0.1, eps: float = 0.25, clip_bonus: bool = False) -> None:
        super().__init__(eps=eps, sigma=sigma, alpha=4.0, ties="random")
        self.clip_bonus = clip_bonus

    def _kernels_for(self, n_arms: int, horizon: int | None = None) -> Kernels:
        return Kernels(select=select_clipped, update=update) if self.clip_bonus else self.kernels

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        state = super()._new_state(n_arms, horizon, capacity)
        state.line[:, 0] = 1.0
        return state


@kernel
def _update_without_refresh(state: Any, t: int, arm: int, reward: float, rng: Any) -> None:
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

    def _validate(self) -> None:
        super()._validate()
        if math.isnan(self.first_index):
            raise RisingBanditsError(f"first_index must be a number or infinite, got {self.first_index!r}.")

    def _kernels_for(self, n_arms: int, horizon: int | None = None) -> Kernels:
        return Kernels(select=red_ucb.select, update=red_ucb.update if self.refresh else _update_without_refresh)

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> red_ucb.State:
        state: red_ucb.State = super()._new_state(n_arms, horizon, capacity)
        state.line[:, 0] = self.first_index
        return state
