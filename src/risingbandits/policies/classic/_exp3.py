"""What the Exp3 family shares: weights, the draw of an arm and the exponential update.

With weights w and their sum W an arm is drawn with probability ``p = (1 - gamma) w / W + gamma / K``. The reward x of
the arm I multiplies its weight by ``exp(gamma x / (p_I K))``. Exp3.S adds ``share W`` to every weight; Rexp3 restarts
after every ``batch`` rewards.

One uniform number u decides a draw: below gamma it names an arm directly, above it a place in the running sums of the
weights. Only one weight changes per round, so the running sums are moved rather than summed: each move errs by at most
half a unit in the last place of W, and after ``_EXACT_EVERY`` moves all are summed again, so a probability is never
more than 6e-14 from its exact value. The logarithms of the weights are what is kept; the weights are ``exp(logarithm -
shift)``, and an arm whose weight is too small for a float comes back when it earns enough. With a share no weight falls
below ``share W``, and the weights themselves are kept, scaled by powers of two.

The probability with which an arm was asked for is kept until its reward comes, so the estimate x / p is right for late
rewards and masks as well. An unasked reward counts with the arm's present probability.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies._kernels import reward_scale
from risingbandits.policies.base import Kernels, Policy

_EXACT_EVERY = 512
_HIGHEST_LOG = 500.0
_HIGHEST_WEIGHT = 2.0**500
_DOWN = 2.0**-500


class State(NamedTuple):
    """What a policy of the Exp3 family knows."""

    gamma: float  # share of uniform draws
    floor: float  # gamma / K, the least probability
    share: float  # Exp3.S: e alpha / K
    batch: int  # Rexp3: Delta; 0 never restarts
    low: float  # rewards x become (x - low) / width, clipped to [0, 1]
    width: float
    logs: np.ndarray  # (K,) log w
    weights: np.ndarray  # (K,) w = exp(log w - shift)
    cumulated: np.ndarray  # (K,) running sums of the weights; the last is W
    asked: np.ndarray  # (K,) p with which an arm was asked for; 0: not asked for since its last reward
    shift: np.ndarray  # (1,)
    counts: np.ndarray  # (2,) rewards since the restart; moves since the running sums were exact


@kernel
def select(state: State, t: int, available: Mask, rng: Any) -> int:
    place = rng.random()
    if available is not None:
        return _select_among(state, available, place)
    n_arms = state.weights.shape[0]
    if place < state.gamma:
        arm = min(int(place / state.gamma * n_arms), n_arms - 1)
    else:
        target = (place - state.gamma) * (state.cumulated[n_arms - 1] / (1.0 - state.gamma))
        arm = 0
        for i in range(n_arms - 1):
            arm += state.cumulated[i] <= target
    state.asked[arm] = probability(state, arm)
    return arm


@rare_kernel
def _select_among(state: State, available: Any, place: float) -> int:
    """The same draw among the available arms only: gamma / their number, and their weights by the sum of theirs."""
    total = 0.0
    count = 0
    for arm in range(available.shape[0]):
        if available[arm]:
            total += state.weights[arm]
            count += 1
    gamma = state.gamma if total > 0.0 else 1.0  # all weights too small for a float
    chosen = -1
    if place < gamma:
        before = min(int(place / gamma * count), count - 1)
        for arm in range(available.shape[0]):
            if available[arm]:
                if before == 0:
                    chosen = arm
                before -= 1
    else:
        target = (place - gamma) / (1.0 - gamma) * total
        running = 0.0
        for arm in range(available.shape[0]):
            if available[arm] and (chosen < 0 or running <= target):
                chosen = arm
                running += state.weights[arm]
    weight = state.weights[chosen] / total if total > 0.0 else 0.0
    state.asked[chosen] = (1.0 - gamma) * weight + gamma / count
    return chosen


@kernel
def probability(state: State, arm: int) -> float:
    total = state.cumulated[state.weights.shape[0] - 1]
    return (1.0 - state.gamma) * (state.weights[arm] / total) + state.floor


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    x = reward_scale.unit(reward, state.low, state.width)
    chance = state.asked[arm]
    if chance == 0.0:
        chance = probability(state, arm)
    state.asked[arm] = 0.0
    gain = state.floor * x / chance
    if state.share > 0.0:
        _mix(state, arm, gain)
    else:
        _grow(state, arm, gain)
    state.counts[0] += 1
    if state.counts[0] == state.batch:
        _restart(state)


@kernel
def _grow(state: State, arm: int, gain: float) -> None:
    """w_I *= exp(gain)."""
    log = state.logs[arm] + gain
    state.logs[arm] = log
    state.counts[1] += 1
    if log - state.shift[0] > _HIGHEST_LOG or state.counts[1] == _EXACT_EVERY:
        _sum_anew(state)
    else:
        weight = math.exp(log - state.shift[0])
        change = weight - state.weights[arm]
        state.weights[arm] = weight
        for i in range(state.weights.shape[0]):
            state.cumulated[i] += change if i >= arm else 0.0


@rare_kernel
def _sum_anew(state: State) -> None:
    """Weights relative to the highest one, and exact running sums."""
    highest = -math.inf
    for arm in range(state.logs.shape[0]):
        highest = max(highest, state.logs[arm])
    running = 0.0
    for arm in range(state.logs.shape[0]):
        state.weights[arm] = math.exp(state.logs[arm] - highest)
        running += state.weights[arm]
        state.cumulated[arm] = running
    state.shift[0] = highest
    state.counts[1] = 0


@rare_kernel
def _mix(state: State, arm: int, gain: float) -> None:
    """w_I *= exp(gain), then every w += share W with the W from before."""
    n_arms = state.weights.shape[0]
    extra = state.share * state.cumulated[n_arms - 1]
    state.weights[arm] *= math.exp(gain)
    running = 0.0
    for i in range(n_arms):
        state.weights[i] += extra
        running += state.weights[i]
        state.cumulated[i] = running
    if running > _HIGHEST_WEIGHT:
        for i in range(n_arms):
            state.weights[i] *= _DOWN
            state.cumulated[i] *= _DOWN


@rare_kernel
def _restart(state: State) -> None:
    for arm in range(state.weights.shape[0]):
        state.logs[arm] = 0.0
        state.weights[arm] = 1.0
        state.cumulated[arm] = arm + 1.0
    state.shift[0] = 0.0
    state.counts[0] = 0
    state.counts[1] = 0


def new_state(n_arms: int, gamma: float, low: float, width: float, share: float = 0.0, batch: int = 0) -> State:
    """Equal weights."""
    return State(
        gamma=float(gamma),
        floor=float(gamma) / n_arms,
        share=float(share),
        batch=int(batch),
        low=float(low),
        width=float(width),
        logs=np.zeros(n_arms),
        weights=np.ones(n_arms),
        cumulated=np.arange(1.0, n_arms + 1.0),
        asked=np.zeros(n_arms),
        shift=np.zeros(1),
        counts=np.zeros(2, dtype=np.int64),
    )


def exploration(n_arms: int, rounds: float) -> float:
    """gamma = min(1, sqrt(K log K / ((e - 1) rounds))), tuned for ``rounds`` rounds."""
    return min(1.0, math.sqrt(n_arms * math.log(n_arms) / ((math.e - 1.0) * rounds)))


class Exp3Policy(Policy):
    """Base of the family: subclasses say how they are tuned."""

    kernels = Kernels(select=select, update=update)
    randomised = True

    def _tuned(self, n_arms: int, rounds: int) -> dict[str, Any]:
        """``gamma`` for these numbers of arms and rounds, and ``share`` or ``batch`` if there is one."""
        raise TypeError(f"{type(self).__name__} does not define _tuned.")

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        low, width = reward_scale.low_and_width(self.reward_range)
        return new_state(n_arms, low=low, width=width, **self._tuned(n_arms, horizon or 1))

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        """The chance of each arm if all are available."""
        weights = state.weights / state.weights.sum()
        return {"probability": (1.0 - state.gamma) * weights + state.gamma / len(weights)}
