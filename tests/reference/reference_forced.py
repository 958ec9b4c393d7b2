"""Thompson sampling in a window and after forced pulls, straight from the definitions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from reference_index import BetaThompson, Reference


class WindowGaussianThompson(Reference):
    """The last ``tau`` rounds; None: all of them."""

    tau: int | None = None
    forced = 0
    sigma = 0.1

    def ask(self, rng: Any) -> int:
        pulls = np.bincount(self.arms, minlength=self.n_arms)
        if pulls.min() < self.forced:
            return int(np.argmin(pulls))
        counts, means = self.counts_and_means(self.tau)
        draws = means + self.sigma / np.sqrt(np.maximum(counts, 1)) * rng.standard_normal(self.n_arms)
        return int(np.argmax(np.where(counts == 0, np.inf, draws)))


class SWGaussianThompson(WindowGaussianThompson):
    def __init__(self, n_arms: int, horizon: int) -> None:
        super().__init__(n_arms, horizon)
        self.tau = math.ceil(math.sqrt(horizon))


class ETGaussianThompson(WindowGaussianThompson):
    forced = 20


class ETSWGaussianThompson(SWGaussianThompson):
    forced = 20


class ETBetaThompson(BetaThompson):
    forced = 20
