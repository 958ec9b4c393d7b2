"""Bernoulli KL upper confidence bounds: the arm with the highest one, without finding any of them.

The bound of an arm with n pulls that earned s in all is the largest q with ``g(q) = n kl(s/n, q) <= f``, where

    g(q) = h - s log q - (n - s) log(1 - q),      h = s log(s/n) + (n - s) log(1 - s/n).

g is convex and rises from s/n on, so the bound is a concave function of f, and each of its tangents lies above it: a
tangent taken at any q > s/n is a line ``a + b f`` that stays above the bound of the arm for all later f, until the
arm's n or s change. A round looks for the two highest lines. The arm i of the highest one is the right arm if its bound
exceeds the level q of the second one, and that is so iff g_i(q) < f: one test, two logarithms. If it fails, the tangent
at q replaces the line of arm i, and the search goes on. Since both logarithms of the last level are kept, an arm gets
its new line after a pull for two more; an arm whose mean exceeds the level needs none before it is tested.

Levels are tested with a margin of 1e-11. Bounds that are closer than this, and those of equal arms above all, are
solved to the last bit and compared, the lowest arm first. A bound above `TOP` counts as 1.

``arms`` has a row per arm: n, s, h, a, b. ``level`` holds the last level q tested, log q, log(1 - q).
"""

from __future__ import annotations

import math

import numpy as np

from risingbandits._core.entry_points import EntryPoint
from risingbandits._core.jit import interpreted, kernel, rare_kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies._kernels import argmax

TOP = 1.0 - 2.0**-40
_MARGIN = 1e-11
_N, _S, _H, _A, _B = 0, 1, 2, 3, 4
_LONGEST_TABLE = 1 << 22
_STEPS = 200  # Newton's method takes less than 50


def new_arms(n_arms: int) -> Floats:
    """No arm was seen: all bounds are infinite."""
    arms = np.zeros((n_arms, 5))
    arms[:, _A] = np.inf
    return arms


def new_level() -> Floats:
    return np.array([0.5, math.log(0.5), math.log(0.5)])


@kernel
def threshold(t: int, c: float) -> float:
    """f = log t + c log(max(1, log t))."""
    first = math.log(float(t))
    return first + c * math.log(max(1.0, first))


def new_thresholds(rounds: int, c: float) -> Floats:
    """f of the rounds below ``rounds``, a table that all runs of a simulation share."""
    table = np.zeros(min(rounds, _LONGEST_TABLE))
    _fill_thresholds.run(5e-7 * table.size, table, c)
    return table


def _fill(table: Floats, c: float) -> None:
    for t in range(1, table.shape[0]):
        table[t] = threshold(t, c)


_fill_thresholds = EntryPoint(_fill, share=1.0)


@kernel
def tabulated_threshold(table: Floats, t: int, c: float) -> float:
    if t < table.shape[0]:
        return table[t]
    return threshold(t, c)


@kernel
def set_arm(arms: Floats, level: Floats, arm: int, n: float, s: float, f: float) -> None:
    """The arm has n pulls that earned s in all, each in [0, 1]; no later f is below this one."""
    arms[arm, _N] = n
    arms[arm, _S] = s
    if n == 0.0:
        arms[arm, _A] = math.inf
        arms[arm, _B] = 0.0
        return
    arms[arm, _H] = math.nan
    if n * level[0] > s + 1e-6 * n:
        _take_tangent(arms, arm, level[0], level[1], level[2], f)
    else:
        arms[arm, _A] = 1.0
        arms[arm, _B] = 0.0


@kernel
def _entropy(arms: Floats, arm: int) -> float:
    """h, computed when it is needed for the first time after a change of the arm (until then NaN)."""
    h = arms[arm, _H]
    if math.isnan(h):
        n = arms[arm, _N]
        s = arms[arm, _S]
        rest = n - s
        mean = s * (1.0 / n)
        rest_mean = rest * (1.0 / n)
        h = s * math.log(mean) if mean > 0.0 else 0.0  # the mean, since the smallest s > 0 has mean 0
        h += rest * math.log(rest_mean) if rest_mean > 0.0 else 0.0
        arms[arm, _H] = h
    return h


@kernel
def best_arm(arms: Floats, level: Floats, f: float, available: Mask, rng: Rng) -> int:
    """The available arm with the highest bound."""
    if rng is not None:
        return best_arm_of(arms, (f,), available, rng)
    for _ in range(2 * arms.shape[0] + 8):
        best = -math.inf
        second = -math.inf
        chosen = argmax.first(available)
        for arm in range(arms.shape[0]):
            if available is not None and not available[arm]:
                continue
            value = arms[arm, _A] + arms[arm, _B] * f
            better = value > best
            second = best if better else max(second, value)
            chosen = arm if better else chosen
            best = value if better else best
        q = second + _MARGIN
        if best == math.inf or arms[chosen, _N] * q <= arms[chosen, _S]:
            return chosen
        if q >= TOP:
            break
        level[0] = q
        level[1] = math.log(q)
        level[2] = math.log(1.0 - q)
        if _take_tangent(arms, chosen, q, level[1], level[2], f) <= f:
            return chosen
        if arms[chosen, _A] + arms[chosen, _B] * f > second - _MARGIN:
            break
    return best_arm_of(arms, (f,), available, rng)


@kernel
def _take_tangent(arms: Floats, arm: int, q: float, log_q: float, log_rest: float, f: float) -> float:
    """Give the arm the tangent at q > s/n, or 1 if that is lower; return g(q)."""
    n = arms[arm, _N]
    s = arms[arm, _S]
    g = _entropy(arms, arm) - s * log_q - (n - s) * log_rest
    slope = q * (1.0 - q) / (n * q - s)
    intercept = q - slope * g
    capped = intercept + slope * f > 1.0
    arms[arm, _A] = 1.0 if capped else intercept
    arms[arm, _B] = 0.0 if capped else slope
    return g


@kernel
def _solved(arms: Floats, arm: int, f: float) -> float:
    """The bound of the arm, whose line is from now on the tangent there."""
    value = bound(arms, arm, f)
    if value < TOP and arms[arm, _N] * value > arms[arm, _S]:
        _take_tangent(arms, arm, value, math.log(value), math.log(1.0 - value), f)
    return value


@kernel
def _own(thresholds: Floats | tuple[float], arm: int) -> float:
    return thresholds[min(arm, len(thresholds) - 1)]


@kernel
def _line(arms: Floats, arm: int, f: float) -> float:
    return arms[arm, _A] + arms[arm, _B] * f


@rare_kernel
def best_arm_of(arms: Floats, thresholds: Floats | tuple[float], available: Mask, rng: Rng) -> int:
    """The available arm with the highest bound, where each arm has an f of its own, which may fall as well as rise.

    ``thresholds`` has one f for each arm, or one for all. The arm with the highest line is solved for first, so that
    the lines of most others rule them out. Arms that are equal to it, of which 0/1 rewards in a short window have some
    in most rounds, are not solved for again.
    """
    likely = argmax.first(available)
    for arm in range(arms.shape[0]):
        higher = _line(arms, arm, _own(thresholds, arm)) > _line(arms, likely, _own(thresholds, likely))
        if higher and (available is None or available[arm]):
            likely = arm
    n, s, f = arms[likely, _N], arms[likely, _S], _own(thresholds, likely)
    sure = _solved(arms, likely, f)
    best = -math.inf
    chosen = likely
    ties = 0
    for arm in range(arms.shape[0]):
        if available is not None and not available[arm]:
            continue
        own = _own(thresholds, arm)
        if arm != likely and _line(arms, arm, own) < sure - _MARGIN:
            continue
        value = sure
        if arms[arm, _N] == n and arms[arm, _S] == s and own == f:
            for column in range(_H, _B + 1):
                arms[arm, column] = arms[likely, column]
        else:
            value = _solved(arms, arm, own)
        if rng is not None:
            best, chosen, ties = argmax.among_ties(value, best, arm, chosen, ties, rng)
        elif value > best:
            best = value
            chosen = arm
    return chosen


@kernel
def bound(arms: Floats, arm: int, f: float) -> float:
    """max{q in [s/n, 1]: n kl(s/n, q) <= f}, by Newton's method from above; +inf for n = 0, 1 above `TOP`."""
    n = arms[arm, _N]
    s = arms[arm, _S]
    if n == 0.0:
        return math.inf
    h = _entropy(arms, arm)
    mean = s / n
    if mean >= TOP or h - s * math.log(TOP) - (n - s) * math.log(1.0 - TOP) <= f:
        return 1.0
    q = min(mean + math.sqrt(0.5 * f / n), TOP)  # kl(p, q) >= 2 (p - q)^2
    for _ in range(_STEPS):
        if not n * q > s:
            return mean
        g = h - s * math.log(q) - (n - s) * math.log(1.0 - q)
        lower = q - (g - f) * q * (1.0 - q) / (n * q - s)
        if not lower < q:
            return q
        q = lower
    return q


def parts(arms: Floats, f: float | Floats) -> dict[str, Floats]:
    """Mean, width and bound of every arm, for `explain`; no mean where nothing was seen. ``f`` may be one for each."""
    seen = arms[:, _N] > 0
    level = np.where(seen, arms[:, _S] / np.where(seen, arms[:, _N], 1.0), np.nan)
    solve = interpreted(bound)
    value = np.array([solve(arms, arm, own) for arm, own in enumerate(np.broadcast_to(f, len(arms)).tolist())])
    return {"level": level, "width": value - level, "value": value}
