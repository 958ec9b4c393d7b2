"""RAW-UCB: the lowest of the upper bounds over all windows of an arm's last rewards, for arms that fall."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import interpreted, kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies._kernels import argmax, histories, noise, recent_means
from risingbandits.policies._settings import number
from risingbandits.policies.base import Kernels
from risingbandits.policies.registry import register


class State(NamedTuple):
    """What RAW-UCB knows. A window that once gave the lowest bound gives an upper bound until the arm's next pull."""

    scale: float  # sqrt(2 alpha)
    growth: float  # m
    pulls: np.ndarray  # (K,), total, pool, places: running sums of each arm's rewards (recent_means)
    total: np.ndarray
    pool: np.ndarray
    places: np.ndarray
    tight: np.ndarray  # (K,) the mean of the window with the lowest bound when last looked for, +inf without a reward
    root: np.ndarray  # (K,) 1 / sqrt of its size, 0 likewise
    last: np.ndarray  # (1,) the arm pulled last
    noise: np.ndarray  # heard: the same (noise)
    heard: np.ndarray


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    """The arm with the highest index, the lowest number of equals. Arms whose bound is too low are passed over."""
    width = noise.level(state) * (state.scale * math.sqrt(math.log(float(t))))
    first = argmax.first(available)
    if available is None or available[state.last[0]]:
        first = state.last[0]
    chosen = first
    best = _index(state, first, width)
    for arm in range(state.pulls.shape[0]):
        if arm == first or (available is not None and not available[arm]):
            continue
        bound = state.tight[arm] + state.root[arm] * width
        if bound > best or (bound == best and arm < chosen):
            value = _index(state, arm, width)
            if value > best or (value == best and arm < chosen):
                best = value
                chosen = arm
    return chosen


@kernel
def _index(state: State, arm: int, width: float) -> float:
    """The lowest of mean + width / sqrt(h) over the windows h; keeps the window where it is."""
    n = state.pulls[arm]
    if n == 0:
        return math.inf
    best = math.inf
    h = 1
    while h <= n:
        mean = recent_means.mean_of_last(state, arm, h)
        root = 1.0 / math.sqrt(float(h))
        value = mean + root * width
        if value < best:
            best = value
            state.tight[arm] = mean
            state.root[arm] = root
        h = max(h + 1, int(state.growth * h))
    return best


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    noise.add(state, arm, reward)
    recent_means.add(state, arm, reward)
    state.last[0] = arm
    state.tight[arm] = math.inf  # unknown until it is looked for
    state.root[arm] = 0.0


@register
class RAWUCB(noise.NoisePolicy):
    r"""RAW-UCB: upper confidence bounds for arms that fall ("rotting"), with a window that each arm chooses itself.

    With the mean :math:`\hat\mu_i^h` of the last h rewards of arm i and its :math:`N_i` pulls, the index is

    .. math:: \min_{h \le N_i} \Big( \hat\mu_i^h + \sigma \sqrt{2 \alpha \log t / h} \Big), \qquad
              +\infty \text{ before the first pull}

    (Seznec et al., 2020). Where means only fall, the mean of any window lies above the next reward, so that every
    window gives an upper bound and the lowest counts. The efficient form with windows on a geometric grid is by the
    same authors: here every window is m times as long as the one before, rounded down, and at least one longer. Means
    are exact, from running sums, where theirs are older ones; this is our choice. m = 1 is the definition.

    It is **not valid for arms that rise**: there old rewards lie below the next one, no window bounds it, and the
    shortest and the longest windows make an arm look worse than it is. It stands here as a cited relative and as a
    yardstick for arms that fall, for which regret in `simulate` is against the greedy policy.

    Parameters
    ----------
    alpha : float
        Confidence exponent, delta_t = t^-alpha, above 0. Default 1.4, as in the authors' experiments.
    m : float
        Growth of the windows, from 1 on. Default 2: a round costs log2 n steps for each arm that may lead. 1 means all
        windows; a round then costs as many steps as such arms have pulls.
    sigma : float or "auto"
        Sub-Gaussian scale of the noise; "auto" estimates it. By default the problem's in `simulate`, "auto" elsewhere.
        If rewards contradict a number above 0, a warning says so once; the number is kept.

    References
    ----------
    J. Seznec, P. Menard, A. Lazaric, M. Valko. A Single Algorithm for Both Restless and Rested Rotting Bandits. AISTATS
    2020.
    """

    name = "raw-ucb"
    summary = "the lowest bound over all windows of an arm's last rewards, for arms that fall"
    verified = "derived here (with m=1: published definition)"
    kernels = Kernels(select=select, update=update)
    _scratch = frozenset({"pool"})

    alpha: float = number(1.4, above=0.0)
    m: float = number(2.0, minimum=1.0)
    sigma: float | str | None = noise.setting()

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        return State(
            scale=math.sqrt(2.0 * float(self.alpha)),
            growth=float(self.m),
            **recent_means.new_fields(n_arms, capacity),
            tight=np.full(n_arms, np.inf),
            root=np.zeros(n_arms),
            last=np.zeros(1, dtype=np.int64),
            **self._noise_fields(n_arms),
        )

    def _make_room(self, state: Any, capacity: int) -> None:
        histories.make_room(state.pool, self.n_arms, capacity)

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        width = interpreted(noise.level)(state) * (state.scale * math.sqrt(math.log(t)))
        index = interpreted(_index)
        value = np.array([index(state, arm, width) for arm in range(len(state.pulls))])
        known = state.pulls > 0
        return {
            "level": np.where(known, state.tight, np.nan),
            "width": np.where(known, width * state.root, np.nan),
            "value": value,
            "window": np.where(known, np.round(np.where(known, state.root, 1.0) ** -2.0), np.nan),
        }
