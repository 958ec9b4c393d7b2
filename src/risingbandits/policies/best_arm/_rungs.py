"""What ASHA and Hyperband share: the settings of successive halving by rungs, and recent means that decide."""

from __future__ import annotations

from typing import Any

from risingbandits._core.errors import check_finite, check_positive_int
from risingbandits._core.jit import kernel
from risingbandits._core.types import Ints
from risingbandits.policies._kernels import histories, recent_means
from risingbandits.policies.base import Policy


@kernel
def recommend(state: Any, t: int, pulls: Ints) -> int:
    return recent_means.best(state, None)


class RungPolicy(Policy):
    """Base of the policies in which one of ``eta`` arms rises to the next rung."""

    objective = "best-arm"

    def __init__(self, eta: int = 3, max_pulls: int | None = None, share: float = 0.1) -> None:
        self.eta = eta
        self.max_pulls = max_pulls
        self.share = share

    def validate(self) -> None:
        check_positive_int("eta", self.eta, minimum=2)
        if self.max_pulls is not None:
            check_positive_int("max_pulls", self.max_pulls)
        check_finite("share", self.share, above=0.0, maximum=1.0)

    def make_room(self, state: Any, capacity: int) -> None:
        histories.make_room(state.pool, self.n_arms, capacity)
