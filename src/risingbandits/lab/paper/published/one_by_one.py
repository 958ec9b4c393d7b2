"""What the published program does differently from the paper's definitions, as options; no default uses them.

The program published with the 2022 version of the paper deviates from the definitions in several places. Those about
R-ed-UCB are here, so that the reproduction can show what they change; its noise, Beta(2 mu/(1 - mu), 2), is
`risingbandits.problems.Beta()`.
"""

from __future__ import annotations

import math
from typing import Any

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.jit import kernel
from risingbandits._core.types import Rng
from risingbandits.policies.base import Kernels
from risingbandits.policies.rising import red_ucb
from risingbandits.policies.rising.red_ucb import REdUCB


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

    def kernels_for(self, n_arms: int, horizon: int | None = None) -> Kernels:
        return Kernels(select=red_ucb.select, update=red_ucb.update if self.refresh else _update_without_refresh)

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> red_ucb.State:
        state: red_ucb.State = super().new_state(n_arms, horizon, capacity)
        state.line[:, 0] = self.first_index
        return state
