"""Thompson sampling with a Beta posterior: the classic for coins."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import kernel
from risingbandits._core.types import Mask, Rng
from risingbandits.policies._kernels import reward_scale
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.classic import _thompson, _windows
from risingbandits.policies.registry import register
from risingbandits.policies.settings import unit_range


class State(NamedTuple):
    """What Beta Thompson sampling knows."""

    low: float
    width: float
    held: np.ndarray  # (K + 1, 2) pulls and wins of each arm; the last row is not used
    log_beta: np.ndarray  # (K,), leader: (1,), log_factorials: constants (_thompson)
    leader: np.ndarray
    log_factorials: np.ndarray


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    return _thompson.best_of_draws(state.held, state.log_beta, state.leader, available, rng)  # type: ignore[arg-type]


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    state.held[arm, 0] += 1
    state.held[arm, 1] += reward_scale.coin(reward_scale.unit(reward, state.low, state.width), rng)
    _thompson.refresh(state.held, state.log_beta, state.log_factorials, arm)
    _thompson.follow(state.held, state.leader, arm)


@register
class BetaThompson(Policy):
    r"""Thompson sampling for rewards in [0, 1]: pull the arm with the best draw from its posterior.

    With N_i pulls of arm i, S_i of which were wins, each round draws
    :math:`\theta_i \sim \mathrm{Beta}(1 + S_i, 1 + N_i - S_i)` and pulls the arm with the highest one (Thompson, 1933).
    A reward x in [0, 1] becomes a win with probability x (Agrawal and Goyal, 2012, Algorithm 2). As in `SWTS`, most
    rounds draw for one or two arms only, with exactly the law of drawing for all.

    Use it for means that do not change. On rising arms it weighs the whole past and stays with what was good early.

    Parameters
    ----------
    reward_range : (float, float)
        Range that is mapped onto [0, 1]; what lies outside is clipped. With the default, noise N(mu, 0.1^2) is clipped
        to a mean of 0.040 where mu = 0 and of 0.960 where mu = 1.

    References
    ----------
    W. R. Thompson. On the Likelihood that One Unknown Probability Exceeds Another in View of the Evidence of Two
    Samples. Biometrika 25, 1933.
    S. Agrawal, N. Goyal. Analysis of Thompson Sampling for the Multi-armed Bandit Problem. COLT 2012.

    Examples
    --------
    >>> policy = BetaThompson().reset(n_arms=2, seed=1)
    >>> for _ in range(300):
    ...     arm = policy.ask()
    ...     policy.tell(arm, [0.2, 0.8][arm])
    >>> policy.recommend()
    1
    """

    name = "beta-ts"
    summary = "Thompson sampling with Beta posteriors"
    randomised = True
    draws_on_tell = True
    kernels = Kernels(select=select, update=update)
    scratch = frozenset({"log_factorials"})

    reward_range: tuple[float, float] = unit_range()

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        low, width = reward_scale.low_and_width(self.reward_range)
        return State(
            low=low,
            width=width,
            held=_windows.new_held(n_arms),
            log_beta=np.zeros(n_arms),
            leader=np.zeros(1, dtype=np.int64),
            log_factorials=_thompson.new_log_factorials(),
        )

    def parts(self, state: Any, t: int) -> dict[str, np.ndarray]:
        return _thompson.posterior(state.held[:-1])
