"""Random round robin with a rising bar, and its hybrid with bounds, slow and obvious."""

from __future__ import annotations

import math

import numpy as np

from reference_phases import Play, Reference, best_of


def drawn(n_arms: int, rng: np.random.Generator) -> tuple[list[int], float]:
    """The order of the arms, and the number that decides where m is guessed."""
    order = list(range(n_arms))
    for place in range(n_arms):
        other = place + int(rng.random() * (n_arms - place))
        order[place], order[other] = order[other], order[place]
    return order, rng.random()


def level(rewards: list[float], window: int) -> float:
    last = rewards[-window:]
    return math.fsum(last) / len(last) if last else -math.inf


def slope(rewards: list[float], window: int) -> float:
    """Between the last two windows, from 0 to f(n) / n, which is all that concave curves leave."""
    now = level(rewards, window)
    steepest = max(now, 0.0) / len(rewards)
    if len(rewards) < 2 * window:
        return steepest
    before = level(rewards[:-window], window)
    return min(steepest, max(0.0, (now - before) / window))


def guess(rewards: list[list[float]], horizon: int, window: int, luck: float, said: list[str]) -> float:
    """A power of 2 times the highest level, at most the highest that an arm could come to."""
    lower = max(level(own, window) for own in rewards)
    upper = max(level(own, window) + (horizon - len(own)) * slope(own, window) for own in rewards)
    scales = [lower]
    while scales[-1] * 2 <= upper * (1 + 1e-9):
        scales.append(scales[-1] * 2)
    said.append(f"guess {int(luck * len(scales))} of {len(scales)}")
    return scales[int(luck * len(scales))]


def barred(
    rewards: list[list[float]], order: list[int], m: float, tau: int, alpha: float, window: int, said: list[str]
) -> Play:
    """One arm after another while it is above the bar; in the end the best level."""
    for arm in order:
        s = 0
        while True:
            rewards[arm].append((yield arm))
            s += 1
            if level(rewards[arm], window) < m * (s / tau) ** alpha:
                said.append("given up")
                break
    while True:
        arm = best_of([level(own, window) for own in rewards])
        said.append("all given up")
        rewards[arm].append((yield arm))


def ptrr(said: list[str], alpha: float = 1.0, m: float | None = None, window: int = 1) -> Reference:
    def run(n_arms: int, horizon: int, rng: np.random.Generator) -> Play:
        order, luck = drawn(n_arms, rng)
        rewards: list[list[float]] = [[] for _ in range(n_arms)]
        if m is not None:
            yield from barred(rewards, order, m, horizon - n_arms, alpha, window, said)
            return
        looks = horizon // (2 * n_arms)
        for _ in range(looks):
            for arm in range(n_arms):
                rewards[arm].append((yield arm))
        tau = horizon - n_arms * looks - n_arms
        scaled = guess(rewards, horizon, window, luck, said) * tau / horizon
        yield from barred(rewards, order, scaled, tau, alpha, window, said)

    return run


def hybrid(
    said: list[str],
    alpha: float = 1.0,
    first: int | None = None,
    m: float | None = None,
    window: int = 1,
) -> Reference:
    def run(n_arms: int, horizon: int, rng: np.random.Generator) -> Play:
        order, luck = drawn(n_arms, rng)
        rewards: list[list[float]] = [[] for _ in range(n_arms)]
        stage = horizon // 2 if first is None else first
        for _ in range(stage):
            lows, highs, index = [], [], []
            for own in rewards:
                if len(own) < 2 * window:
                    low, high = -math.inf, math.inf
                else:
                    left = horizon - len(own)
                    now, rise = level(own, window), slope(own, window)
                    low, high = now, now + left * rise
                lows.append(low)
                highs.append(high)
                index.append(high - low)
            best = best_of(lows)
            if lows[best] > max(highs[:best] + highs[best + 1 :]):
                said.append("committed")
                while True:
                    yield best
            arm = best_of(index)
            rewards[arm].append((yield arm))
        tau = horizon - stage - n_arms
        top = guess(rewards, horizon, window, luck, said) if m is None else m
        yield from barred(rewards, order, top * tau / horizon, tau, alpha, window, said)

    return run
