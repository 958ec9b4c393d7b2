"""Thompson sampling with coins: the arm whose draw theta_i ~ Beta(1 + s_i, 1 + n_i - s_i) is highest, exactly in law,
with far fewer than K draws.

The arm that was pulled most is drawn first; its theta is the value b to beat. Another arm only matters if its own theta
exceeds b. Its density h is log-concave, so above b and beyond its mode it lies below the exponential that touches it,

    h(x) <= h(b) exp(-fall (x - b)),      fall = -(log h)'(b) = (n - s) / (1 - b) - s / b > 0,

whose mass above b is at most ``chance = h(b) / fall``. Rejection sampling from this envelope, restricted to what
exceeds b, needs no draw at all with probability 1 - chance: then theta <= b, whatever it is. Otherwise x = b + Exp(1) /
fall is theta with probability h(x) / envelope(x), and else theta <= b again. That is the law of theta on (b, 1),
without its distribution function. To spare the exponential in h(b) = e^-z, e^z is replaced by the sum of its first
terms, which is lower and so makes the envelope higher, and the acceptance smaller by the same factor. The events "no
draw needed" of all arms are decided by one uniform number, compared with the running product of 1 - chance. An arm that
is not pulled yet exceeds b with probability 1 - b and is then uniform; an arm whose mode is above b, or whose envelope
has a mass above 1, is drawn directly.

``held`` has a row per arm: n and s, whole numbers, and one more row; ``log_beta`` holds log B(1 + s, 1 + n - s).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Floats, Ints, Mask
from risingbandits.policies import _reasons as reasons
from risingbandits.policies._kernels import argmax, reward_scale
from risingbandits.policies.base import Policy
from risingbandits.policies.classic import _windows
from risingbandits.policies.explanation import Moment

_TABLE = 4096
_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


def new_log_factorials() -> Floats:
    """log n! for n = 0, ..., a table of constants."""
    return np.array([math.lgamma(n + 1.0) for n in range(_TABLE)])


@kernel
def log_factorial(table: Floats, n: int) -> float:
    """From the table, or by Stirling's series (error below 1e-20)."""
    if n < table.shape[0]:
        return table[n]
    x = float(n)
    return (x + 0.5) * math.log(x) - x + _HALF_LOG_TWO_PI + (1.0 - 1.0 / (30.0 * x * x)) / (12.0 * x)


@kernel
def refresh(held: Ints, log_beta: Floats, table: Floats, arm: int) -> None:
    """The arm's n or s have changed."""
    n = held[arm, 0]
    s = held[arm, 1]
    log_beta[arm] = log_factorial(table, s) + log_factorial(table, n - s) - log_factorial(table, n + 1)


@kernel
def follow(held: Ints, leader: Ints, arm: int) -> None:
    """Let the pulled arm be drawn first from now on if no other has more pulls."""
    if held[arm, 0] >= held[leader[0], 0]:
        leader[0] = arm


@kernel
def best_of_draws(held: Ints, log_beta: Floats, leader: Ints, available: Mask, rng: np.random.Generator) -> int:
    """The available arm with the highest draw."""
    chosen = leader[0]
    if available is not None and not available[chosen]:
        chosen = argmax.first(available)
    first = chosen
    best = _draw(held, chosen, rng)
    place = rng.random()
    product = 1.0
    rest, log_best, log_rest = _to_beat(best)
    for arm in range(log_beta.shape[0]):
        if arm == first or (available is not None and not available[arm]):
            continue
        n = float(held[arm, 0])
        s = float(held[arm, 1])
        slope = (n - s) * best - s * rest  # fall = slope / (b (1 - b))
        z = log_beta[arm] - s * log_best - (n - s) * log_rest
        pruned = n == 0.0 or (slope >= best * rest and z >= 0.0)
        if pruned:
            partial = 1.0 + z * (1.0 + z * (1.0 / 2.0 + z * (1.0 / 6.0 + z * (1.0 / 24.0))))
            product *= best if n == 0.0 else 1.0 - best * rest / (slope * partial)
            if product > place:
                continue
            if n == 0.0:
                theta = best + rest * rng.random()
            else:
                theta = _draw_above(best, s, n - s, slope / (best * rest), partial * math.exp(-z), rng)
            place = rng.random()
            product = 1.0
        else:
            theta = _draw(held, arm, rng)
        if theta > best:
            chosen = arm
            best = theta
            rest, log_best, log_rest = _to_beat(best)
    return chosen


@kernel
def _to_beat(best: float) -> tuple[float, float, float]:
    """1 - b, log b and log(1 - b); NaN for the b at which there is no envelope, so that arms are drawn directly."""
    rest = 1.0 - best
    if best > 0.0 and rest > 0.0:
        return rest, math.log(best), math.log(rest)
    return rest, math.nan, math.nan


@rare_kernel
def _draw(held: Ints, arm: int, rng: np.random.Generator) -> float:
    return rng.beta(1.0 + held[arm, 1], 1.0 + held[arm, 0] - held[arm, 1])


@rare_kernel
def _draw_above(best: float, s: float, r: float, fall: float, share: float, rng: np.random.Generator) -> float:
    """A draw from the envelope above ``best`` if it is accepted, else 0; ``share`` is h(b) over the envelope at b."""
    x = best + rng.standard_exponential() / fall
    accept = rng.random()
    if x >= 1.0:
        return 0.0
    ratio = s * math.log(x / best) + r * math.log((1.0 - x) / (1.0 - best)) + fall * (x - best)
    return x if accept < share * math.exp(ratio) else 0.0


@kernel
def select(state: Any, t: int, available: Mask, rng: np.random.Generator) -> int:
    return best_of_draws(state.held, state.log_beta, state.leader, available, rng)


class CoinPolicy(Policy):
    """Base of the policies that draw from Beta posteriors of coins."""

    randomised = True
    _draws_on_tell = True
    _scratch = frozenset({"log_factorials"})

    def _coin_fields(self, n_arms: int) -> dict[str, Any]:
        """The fields of the state that all of them have, at the start."""
        low, width = reward_scale.low_and_width(self.reward_range)
        return {
            "low": low,
            "width": width,
            "held": _windows.new_held(n_arms),
            "log_beta": np.zeros(n_arms),
            "leader": np.zeros(1, dtype=np.int64),
            "log_factorials": new_log_factorials(),
        }

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        """Mean and standard deviation of the posterior of each arm."""
        a = 1.0 + state.held[:-1, 1]
        b = 1.0 + state.held[:-1, 0] - state.held[:-1, 1]
        mean = a / (a + b)
        return {"level": mean, "width": np.sqrt(mean * (1.0 - mean) / (a + b + 1.0))}

    def _why_next(self, at: Moment) -> str:
        return reasons.drew_best(at)
