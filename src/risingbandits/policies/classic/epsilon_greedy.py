"""Epsilon-greedy: the best mean so far, and now and then any arm."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import kernel
from risingbandits._core.types import Mask, Rng
from risingbandits.policies._kernels import argmax, running_means
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.registry import register
from risingbandits.policies.settings import number, tie_rule


class State(NamedTuple):
    """What epsilon-greedy knows."""

    epsilon: float
    decay: float  # 0: epsilon stays
    random_ties: bool
    counts: np.ndarray  # (K,), total, mean, root: the same (running_means)
    total: np.ndarray
    mean: np.ndarray
    root: np.ndarray


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    n_arms = state.mean.shape[0]
    epsilon = state.epsilon
    if state.decay > 0.0:
        epsilon = min(1.0, state.decay * n_arms / t)
    if rng.random() < epsilon:  # type: ignore[union-attr]
        return _any_arm(n_arms, available, rng)
    if state.random_ties:
        return argmax.highest_line(state.mean, state.root, 0.0, available, rng)
    return argmax.highest_line(state.mean, state.root, 0.0, available, None)


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    running_means.add(state, arm, reward)


@kernel
def _any_arm(n_arms: int, available: Mask, rng: Any) -> int:
    """Each available arm with the same probability."""
    if available is None:
        return int(rng.random() * n_arms)
    free = 0
    for arm in range(n_arms):
        free += available[arm]
    before = int(rng.random() * free)
    chosen = argmax.first(available)
    for arm in range(n_arms):
        if available[arm]:
            if before == 0:
                chosen = arm
            before -= 1
    return chosen


@register
class EpsilonGreedy(Policy):
    r"""Epsilon-greedy: with probability epsilon any arm, otherwise the one with the best mean so far.

    Arms that were never pulled count as best. It sees the raw reward. With ``decay`` epsilon is
    :math:`\min(1, d K / t)` at round t (Auer, Cesa-Bianchi and Fischer, 2002, Figure 3, with
    their c / d^2 as one number).

    A baseline for honesty: simple, and on rising arms it keeps feeding all of them.

    Parameters
    ----------
    epsilon : float
        Probability of a random arm, in [0, 1]. Default 0.1, the customary value.
    decay : float or None
        d of the decaying epsilon, which then replaces ``epsilon``.
    ties : {"lowest", "random"}
        Which of several arms with the same mean, also of those never pulled.

    References
    ----------
    P. Auer, N. Cesa-Bianchi, P. Fischer. Finite-time Analysis of the Multiarmed Bandit Problem. Machine Learning 47,
    2002.

    Examples
    --------
    >>> policy = EpsilonGreedy(epsilon=0.1).reset(n_arms=2, seed=1)
    >>> for _ in range(300):
    ...     arm = policy.ask()
    ...     policy.tell(arm, [0.2, 0.8][arm])
    >>> policy.recommend()
    1
    """

    name = "epsilon-greedy"
    summary = "the best mean so far, sometimes any arm"
    randomised = True
    kernels = Kernels(select=select, update=update)

    epsilon: float = number(0.1, minimum=0.0, maximum=1.0)
    decay: float | None = number(None, above=0.0)
    ties: str = tie_rule()

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        return State(
            epsilon=float(self.epsilon),
            decay=0.0 if self.decay is None else float(self.decay),
            random_ties=self.ties == "random",
            **running_means.new_fields(n_arms),
        )

    def parts(self, state: Any, t: int) -> dict[str, np.ndarray]:
        return {"level": running_means.parts(state, 0.0)["level"]}
