"""The yardstick for small budgets: Gaussian UCB on a few random arms, told nothing."""

from __future__ import annotations

import math
from typing import Any

from risingbandits.policies.few_arms import FewArms


class FewArmsGaussianUCB(FewArms):
    """Gaussian UCB on ceil(sqrt(T) / 3) random arms, for any number of arms; the noise is estimated.

    >>> FewArmsGaussianUCB().new_state(50, 900, 900).inner_pulls.size
    10
    """

    name = "few-arms-ucb"
    summary = "Gaussian UCB on a few arms, the yardstick for small budgets"

    def __init__(
        self,
        policy: str = "gaussian-ucb",
        max_arms: int | str = "auto",
        order: str = "random",
        settings: Any = None,
        sigma: float | str | None = "smooth",
    ) -> None:
        super().__init__(policy, max_arms, order, settings, sigma)

    def _few(self, n_arms: int, horizon: int | None) -> int:
        return n_arms if horizon is None else min(n_arms, math.ceil(math.sqrt(horizon) / 3))
