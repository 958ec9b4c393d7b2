"""What policies for small budgets are measured by: Gaussian UCB on a few arms drawn at random, told the noise level."""

from __future__ import annotations

import math
from typing import Any, Self

from risingbandits import RisingBandit
from risingbandits.policies.few_arms import FewArms

__all__ = ["FewArmsGaussianUCB"]


class FewArmsGaussianUCB(FewArms):
    """Gaussian UCB on ceil(sqrt(T) / 3) random arms, whatever their number."""

    name = "gaussian-ucb on sqrt(T)/3 arms"
    summary = "Gaussian UCB on a few arms, the yardstick for small budgets"

    def __init__(
        self,
        policy: str = "gaussian-ucb",
        max_arms: int | str = "auto",
        order: str = "random",
        settings: Any = None,
        sigma: float | str | None = None,
    ) -> None:
        super().__init__(policy, max_arms, order, settings, sigma)

    def for_problem(self, instance: RisingBandit, horizon: int) -> Self:
        return super().for_problem(instance, horizon).replace(max_arms=math.ceil(math.sqrt(horizon) / 3))
