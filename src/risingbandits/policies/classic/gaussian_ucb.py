"""Gaussian UCB: UCB1 with the width of the noise that there is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from risingbandits._core.jit import kernel
from risingbandits._core.types import Rng
from risingbandits.policies._kernels import noise_estimate, reward_scale, running_means
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.classic import ucb1
from risingbandits.policies.registry import register
from risingbandits.policies.settings import setting, tie_rule

SmoothState: Any = noise_estimate.extended(ucb1.State, __name__)


@kernel
def update_smooth(state: Any, t: int, arm: int, reward: float, rng: Rng) -> None:
    ucb1.update(state, t, arm, reward, rng)
    noise_estimate.widen_roots(state, arm, reward)


@register
class GaussianUCB(Policy):
    r"""Gaussian UCB: mean plus :math:`\sigma \sqrt{4 \log t / N_i}`, for noise of known scale :math:`\sigma`.

    The confidence bound of UCB for :math:`\sigma`-sub-Gaussian rewards with delta_t = t^-2 (Bubeck and Cesa-Bianchi,
    2012, Section 2.2, with alpha = 2). Every arm is pulled once before. It sees the raw reward.

    Use it where means do not change and the noise is known: with little noise it explores far less than `UCB1`. It does
    not ask what arms will become: on ``paper-15arms`` it settles early, in some runs on a poor arm, and does no better.

    Parameters
    ----------
    sigma : float, "smooth" or None
        Sub-Gaussian scale of the noise. None takes the problem's in `simulate` and 1/2, right for any reward
        in [0, 1], elsewhere. "smooth" estimates it, for rewards in [0, 1], from second differences. 0 is greedy.
    ties : {"lowest", "random"}
        Which of several arms with the same index, also of those at infinity.

    References
    ----------
    S. Bubeck, N. Cesa-Bianchi. Regret Analysis of Stochastic and Nonstochastic Multi-armed Bandit Problems. Foundations
    and Trends in Machine Learning 5(1), 2012.

    Examples
    --------
    >>> policy = GaussianUCB(sigma=0.1).reset(n_arms=2)
    >>> for _ in range(300):
    ...     arm = policy.ask()
    ...     policy.tell(arm, [0.2, 0.8][arm])
    >>> policy.pulls.tolist()
    [1, 299]
    """

    name = "gaussian-ucb"
    summary = "mean plus sigma sqrt(4 log t / n)"
    kernels = Kernels(select=ucb1.select, update=ucb1.update)
    kernels_smooth = Kernels(select=ucb1.select, update=update_smooth)

    sigma: float | str | None = setting(None, noise_estimate.check_sigma)
    ties: str = tie_rule()

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        if self.sigma == noise_estimate.SMOOTH:
            plain = ucb1.State(scale=2.0, low=0.0, width=reward_scale.RAW, **running_means.new_fields(n_arms))
            return SmoothState(*plain, smooth=noise_estimate.new_smooth(n_arms))
        scale = 2.0 * noise_estimate.number(self.sigma)
        return ucb1.State(scale=scale, low=0.0, width=reward_scale.RAW, **running_means.new_fields(n_arms))

    def kernels_for(self, n_arms: int) -> Kernels:
        return self.kernels_smooth if self.sigma == noise_estimate.SMOOTH else self.kernels

    def parts(self, state: Any, t: int) -> dict[str, np.ndarray]:
        return running_means.parts(state, state.scale * math.sqrt(math.log(t)))
