"""Policies that watch for changes, straight from the definitions: every reward is kept, every test done in full."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from reference_index import Clipped, Floats, kl_bound


class Restarting(Clipped):
    """Rewards of each arm since its last restart, and the round of that restart."""

    def __init__(self, n_arms: int, horizon: int) -> None:
        super().__init__(n_arms, horizon)
        self.kept: list[list[float]] = [[] for _ in range(n_arms)]
        self.since = [0] * n_arms
        self.found: list[tuple[int, int]] = []  # (round, arm) of every change found

    def tell(self, arm: int, reward: float, rng: Any) -> None:
        t = self.t
        super().tell(arm, reward, rng)
        self.kept[arm].append(float(self.rewards[-1]))
        if self.changed(self.kept[arm]):
            self.found.append((t, arm))
            for other in range(self.n_arms):
                if other == arm or self.restarts_all():
                    self.kept[other] = []
                    self.since[other] = t

    def changed(self, own: list[float]) -> bool:
        raise NotImplementedError

    def restarts_all(self) -> bool:
        return False

    def counts(self) -> Floats:
        return np.array([float(len(own)) for own in self.kept])

    def averages(self) -> Floats:
        return np.array([sum(own) / max(len(own), 1) for own in self.kept])

    def forced(self, t: int, share: float) -> int | None:
        """The arm of a round of forced exploration."""
        if share == 0:
            return None
        place = t % math.floor(self.n_arms / share + 1e-9)
        return place - 1 if 1 <= place <= self.n_arms else None


class CUSUMUCB(Restarting):
    M, eps, xi = 100, 0.05, 2.0
    h: float | None = None
    alpha: float | None = None

    def ask(self, rng: Any) -> int:
        alpha = math.sqrt(math.log(self.horizon) / self.horizon) if self.alpha is None else self.alpha
        if rng.random() < alpha:
            return int(rng.random() * self.n_arms)
        counts = self.counts()
        width = np.sqrt(self.xi * math.log(max(counts.sum(), 1)) / np.maximum(counts, 1))
        return int(np.argmax(np.where(counts == 0, np.inf, self.averages() + width)))

    def changed(self, own: list[float]) -> bool:
        h = math.log(self.horizon) if self.h is None else self.h
        level = sum(own[: self.M]) / self.M
        rise = fall = 0.0
        for y in own[self.M :]:
            rise = max(0.0, rise + (y - level - self.eps))
            fall = max(0.0, fall + (level - y - self.eps))
            if rise >= h or fall >= h:
                return True
        return False


class MUCB(Restarting):
    w = 200
    b: float | None = None
    gamma: float | None = None

    def threshold(self) -> float:
        return math.sqrt(self.w * math.log(2 * self.n_arms * self.horizon**2) / 2) if self.b is None else self.b

    def ask(self, rng: Any) -> int:
        gamma = self.gamma
        if gamma is None:
            cost = 2 * self.threshold() + 3 * math.sqrt(self.w)
            gamma = min(1.0, math.sqrt(self.n_arms * cost / (2 * self.horizon)))
        elapsed = self.t - self.since[0]
        forced = self.forced(elapsed, gamma)
        if forced is not None:
            return forced
        counts = self.counts()
        width = np.sqrt(2 * math.log(elapsed) / np.maximum(counts, 1))
        return int(np.argmax(np.where(counts == 0, np.inf, self.averages() + width)))

    def changed(self, own: list[float]) -> bool:
        last = own[-self.w :]
        half = self.w // 2
        return len(last) == self.w and abs(math.fsum(last[half:]) - math.fsum(last[:half])) > self.threshold()

    def restarts_all(self) -> bool:
        return True


def divergence(p: Floats, q: float) -> Floats:
    """kl(p, q) of two coins, with 0 log 0 = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        lower = np.where(p > 0, p * np.log(p / q), 0.0)
        return lower + np.where(p < 1, (1 - p) * np.log((1 - p) / (1 - q)), 0.0)


class GLRKLUCB(Restarting):
    c = 3.0
    restart = "local"
    every = 1
    alpha: float | None = None
    delta: float | None = None
    changes = 1

    def events(self) -> int:
        """K U where a change restarts one arm, U where it restarts all."""
        return self.changes * (1 if self.restarts_all() else self.n_arms)

    def ask(self, rng: Any) -> int:
        share = min(1.0, 0.1 * math.sqrt(self.events() * math.log(self.horizon) / self.horizon))
        forced = self.forced(self.t, share if self.alpha is None else self.alpha)
        if forced is not None:
            return forced
        logs = np.log([self.t - since for since in self.since])
        f: Any = logs + self.c * np.log(np.maximum(1.0, logs))
        return int(np.argmax(kl_bound(self.counts(), self.averages(), f)))

    def changed(self, own: list[float]) -> bool:
        n = len(own)
        if n % self.every:
            return False
        delta = 1 / math.sqrt(self.events() * self.horizon) if self.delta is None else self.delta
        return statistic(own) >= math.log(3 * n**1.5 / delta)

    def restarts_all(self) -> bool:
        return self.restart == "global"


def statistic(own: list[float]) -> float:
    """The highest of s kl(mean of the first s, mean of all) + (n - s) kl(mean of the others, mean of all)."""
    n, sums = len(own), np.cumsum(own)
    s = np.arange(1, n)
    mean = float(sums[-1]) / n
    if not s.size or not 0 < mean < 1:
        return 0.0
    first = np.clip(sums[s - 1] / s, 0, 1)
    others = np.clip((sums[-1] - sums[s - 1]) / (n - s), 0, 1)
    return float(np.max(s * divergence(first, mean) + (n - s) * divergence(others, mean)))
