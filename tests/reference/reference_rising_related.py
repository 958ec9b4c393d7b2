"""Slow and obvious: algorithms related to R-ed-UCB, by their definitions, from whole histories in every round.

Lines are fitted by NumPy's least squares, windows and sums are made anew, and nothing is shared with the package.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from reference_index import Reference

Floats = npt.NDArray[np.float64]


def line_of(rewards: Floats) -> tuple[float, float]:
    """Slope and intercept of the least-squares line through rewards of pulls 1, 2, ..."""
    numbers = np.arange(1.0, len(rewards) + 1)
    design = np.stack([numbers - numbers.mean(), np.ones_like(numbers)], axis=1)
    (slope, level), *_ = np.linalg.lstsq(design, rewards, rcond=None)
    return float(slope), float(level - slope * numbers.mean())


class CureUCB(Reference):
    """The mean of R-ed-UCB's index over the pulls that are left, each cut at the ceiling."""

    eps, sigma, alpha, bonus_scale, ceiling = 0.25, 0.1, 3.0, 1.0, math.inf

    def index(self) -> Floats:
        return np.array([self.index_of(self.own(arm)) for arm in range(self.n_arms)])

    def index_of(self, r: Floats) -> float:
        n, t = len(r), self.t
        x = n + np.arange(1.0, max(self.horizon - t + 1, 1) + 1)
        if self.sigma == 0:
            if n < 2:
                return math.inf
            return float(np.minimum(r[-1] + (x - n) * (r[-1] - r[-2]), self.ceiling).mean())
        h = math.floor(self.eps * n + 1e-12)
        if h == 0:
            return math.inf
        pulls = np.arange(n - h + 1, n + 1)
        now, before = r[pulls - 1], r[pulls - h - 1]
        estimate = np.mean(now) + np.mean((now - before) / h) * x - np.mean(pulls * (now - before) / h)
        root = math.sqrt(10 * self.alpha * math.log(t) / h**3)
        width = self.bonus_scale * self.sigma * (x - n + h - 1) * root
        return float(np.minimum(estimate + width, self.ceiling).mean())


class TIUCB(Reference):
    omega, sigma = 100, 0.1
    gamma: float | None = None
    c: float | None = None

    def __init__(self, n_arms: int, horizon: int) -> None:
        super().__init__(n_arms, horizon)
        self.since: list[list[float]] = [[] for _ in range(n_arms)]  # rewards since the last change
        self.changes = 0

    def index(self) -> Floats:
        c = 4 * self.sigma if self.c is None else self.c
        index = np.full(self.n_arms, np.inf)
        for arm, rewards in enumerate(self.since):
            n = len(rewards)
            if n >= 2:
                slope, start = line_of(np.array(rewards))
                index[arm] = slope * (n + 1) + start + c * math.sqrt(math.log(self.t) / n)
        return index

    def tell(self, arm: int, reward: float, rng: object) -> None:
        own = self.since[arm]
        own.append(reward)
        m = self.omega // 2
        if len(own) >= 2 * m:
            old, new = np.array(own[-2 * m : -m]), np.array(own[-m:])
            (a, b), (c, d) = line_of(old), line_of(new)
            if abs(c * (m + 1) + d - (a * (2 * m + 1) + b)) > self.gap(m):
                self.since[arm] = own[-m:]
                self.changes += 1
        super().tell(arm, reward, rng)

    def gap(self, m: int) -> float:
        if self.gamma is not None:
            return self.gamma / 2
        numbers = np.arange(1, m + 1)
        spread = np.sum((numbers - numbers.mean()) ** 2)
        variance = sum(1 / m + (x - numbers.mean()) ** 2 / spread for x in (2 * m + 1, m + 1))
        return 2 * self.sigma * math.sqrt(variance * math.log(self.t))


class LinearEE(Reference):
    sigma = 0.5
    m: int | None = None
    chosen: int | None = None

    def ask(self, rng: object) -> int:
        m = self.m
        if m is None:
            m = max(2, min(math.ceil((self.sigma * self.horizon**2 / self.n_arms) ** 0.4), self.horizon // self.n_arms))
        if self.t <= m * self.n_arms:
            return (self.t - 1) % self.n_arms
        if self.chosen is None:
            future = np.arange(m + 1, m + 1 + self.horizon - m * self.n_arms)
            lines = [line_of(self.own(arm)) for arm in range(self.n_arms)]
            self.chosen = int(np.argmax([np.sum(slope * future + start) for slope, start in lines]))
        return self.chosen


class LinearAE(Reference):
    sigma = 0.1
    delta: float | None = None

    def __init__(self, n_arms: int, horizon: int) -> None:
        super().__init__(n_arms, horizon)
        self.waiting = list(range(n_arms))
        self.active = list(range(n_arms))

    def ask(self, rng: object) -> int:
        return self.waiting[0]

    def tell(self, arm: int, reward: float, rng: object) -> None:
        super().tell(arm, reward, rng)
        self.waiting.remove(arm)
        if not self.waiting:
            bounds = [self.bounds(self.own(active)) for active in self.active]
            highest = max(low for low, _ in bounds)
            self.active = [arm for arm, (_, high) in zip(self.active, bounds, strict=True) if high >= highest]
            self.waiting = list(self.active)

    def bounds(self, rewards: Floats) -> tuple[float, float]:
        n, left = len(rewards), self.horizon - (self.t - 1)
        if n < 2:
            return -math.inf, math.inf
        numbers = np.arange(1.0, n + 1)
        future = n + np.arange(1.0, left + 1)
        middle = future.mean() if left else n + 0.5
        # the prediction is a weighted sum of the rewards: its variance is the sum of the squared weights
        weights = 1 / n + (middle - numbers.mean()) * (numbers - numbers.mean()) / np.sum(
            (numbers - numbers.mean()) ** 2
        )
        delta = 1 / self.horizon if self.delta is None else self.delta
        width = self.sigma * math.sqrt(2 * np.sum(weights**2) * math.log(4 * self.n_arms * n**2 / delta))
        value = float(weights @ rewards)
        return value - width, value + width


class RCBE(Reference):
    alpha, sigma = 8 / 3, 0.1

    def __init__(self, n_arms: int, horizon: int) -> None:
        super().__init__(n_arms, horizon)
        self.window = 0
        self.drops = 0
        self.left = 0
        self.open_window()

    def open_window(self) -> None:
        self.window += 1
        self.left = self.length = math.ceil(round(self.window**self.alpha, 9))
        self.active = list(range(self.n_arms))
        self.waiting = list(self.active)
        self.sums = [0.0] * self.n_arms

    def ask(self, rng: object) -> int:
        return self.waiting[0]

    def tell(self, arm: int, reward: float, rng: object) -> None:
        super().tell(arm, reward, rng)
        self.sums[arm] += reward
        self.waiting.remove(arm)
        self.left -= 1
        if self.left == 0:
            self.open_window()
        elif not self.waiting:
            budget = 2 * (1 + 2 * self.sigma * math.sqrt(self.length * math.log(2 * self.n_arms * self.length)))
            kept = [arm for arm in self.active if self.sums[arm] + budget >= max(self.sums)]
            self.drops += len(self.active) - len(kept)
            self.active, self.waiting = kept, list(kept)


class RAWUCB(Reference):
    alpha, sigma, m = 1.4, 0.1, 2.0

    def index(self) -> Floats:
        return np.array([self.index_of(self.own(arm)) for arm in range(self.n_arms)])

    def index_of(self, r: Floats) -> float:
        windows = [1]
        while windows[-1] <= len(r):
            windows.append(max(windows[-1] + 1, math.floor(self.m * windows[-1])))
        if len(windows) == 1:
            return math.inf
        h = np.array(windows[:-1])
        width = self.sigma * math.sqrt(2 * self.alpha * math.log(self.t))
        return float(np.min(np.cumsum(r[::-1])[h - 1] / h + width / np.sqrt(h)))
