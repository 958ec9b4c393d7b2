"""ET-TS: every arm a number of times, then SW-TS."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from risingbandits._core.errors import check_positive_int
from risingbandits._core.jit import kernel
from risingbandits._core.types import Mask, Rng
from risingbandits.policies.base import Kernels
from risingbandits.policies.classic import _thompson, beta_ts
from risingbandits.policies.explanation import Moment
from risingbandits.policies.registry import register


class State(NamedTuple):
    """What SW-TS knows, and the forced pulls."""

    low: float
    width: float
    ring: np.ndarray
    held: np.ndarray
    log_beta: np.ndarray
    leader: np.ndarray
    log_factorials: np.ndarray
    forced: int  # Gamma
    pulls: np.ndarray  # (K + 1,) pulls of each arm; how many arms have fewer than Gamma


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    n_arms = state.log_beta.shape[0]
    if state.pulls[n_arms] > 0:
        fewest = state.forced
        chosen = -1
        for arm in range(n_arms):
            if state.pulls[arm] < fewest and (available is None or available[arm]):
                fewest = state.pulls[arm]
                chosen = arm
        if chosen >= 0:
            return chosen
    return _thompson.select(state, t, available, rng)  # type: ignore[arg-type]


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    state.pulls[arm] += 1
    if state.pulls[arm] == state.forced:
        state.pulls[state.log_beta.shape[0]] -= 1
    beta_ts.update_in_window(state, t, arm, reward, rng)  # type: ignore[arg-type]


@register
class ETTS(beta_ts.SWTS):
    r"""ET-TS: pull every arm Gamma times in turn, then continue as SW-TS.

    The forced pulls, :math:`\Gamma` of each arm, bring slowly rising arms to where they can be judged (Fiandri et al.,
    2025); afterwards :math:`\theta_i \sim \mathrm{Beta}(1 + S_i, 1 + N_i - S_i)` over the last :math:`\tau` rounds
    decides, see `SWTS`. An arm that is not available catches up on its forced pulls when it is.

    Use it when a number of pulls is known after which the best arms lead. The forced pulls cost K Gamma rounds whatever
    they show. The settings that are not listed are those of `SWTS`.

    Parameters
    ----------
    forced : int
        Forced pulls of each arm, Gamma. The paper sets it by the problem; the default 100 is ours.

    References
    ----------
    M. Fiandri, A. M. Metelli, F. Trovo. Thompson Sampling-like Algorithms for Stochastic Rising Bandits. 2025.

    Examples
    --------
    >>> policy = ETTS(forced=2, tau=100).reset(n_arms=2, seed=1)
    >>> [(arm := policy.ask(), policy.tell(arm, [0.2, 0.8][arm]))[0] for _ in range(4)]
    [0, 1, 0, 1]
    """

    name = "et-ts"
    summary = "forced pulls of every arm, then SW-TS"
    kernels = Kernels(select=select, update=update)

    def why_next(self, at: Moment) -> str:
        n = int(at.pulls[at.arm])
        return f"forced pull {n + 1} of {self.forced}" if n < self.forced else super().why_next(at)

    def __init__(
        self,
        forced: int = 100,
        tau: int | None = None,
        beta: float = 0.5,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        self.forced = forced
        self.tau = tau
        self.beta = beta
        self.reward_range = reward_range

    def validate(self) -> None:
        super().validate()
        check_positive_int("forced", self.forced, minimum=0)

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        pulls = np.zeros(n_arms + 1, dtype=np.int64)
        pulls[n_arms] = n_arms if self.forced > 0 else 0
        return State(**self.window_fields(n_arms, horizon), forced=int(self.forced), pulls=pulls)
