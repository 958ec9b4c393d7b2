"""FEWA, wSWA and AdSwitch from their definitions: every reward is kept, every test done in full."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from reference_index import Clipped, Reference


class FEWA(Reference):
    alpha, noise = 4.0, 0.1

    def ask(self, rng: Any) -> int:
        own = [self.own(arm) for arm in range(self.n_arms)]
        kept = list(range(self.n_arms))
        for h in range(self.t):
            if h > 0:
                means = {arm: float(own[arm][-h:].mean()) for arm in kept}
                width = 2 * self.noise * math.sqrt(2 * self.alpha * math.log(self.t) / h)
                kept = [arm for arm in kept if means[arm] >= max(means.values()) - width]
            exhausted = [arm for arm in kept if len(own[arm]) == h]
            if exhausted:
                return exhausted[0]
        raise AssertionError("some arm has no longer window")


class WSWA(Reference):
    alpha, noise = 0.2, 0.1

    def ask(self, rng: Any) -> int:
        length, begun = 1, 0
        while self.t - 1 >= begun + length:
            begun += length
            length *= 2
        window = math.ceil(
            self.alpha * (16 * self.noise**2 * length**2 / self.n_arms**2 * math.log(math.sqrt(2) * length)) ** (1 / 3)
        )
        window = max(1, window)
        arms, rewards = self.arms[begun:], self.rewards[begun:]
        own = [rewards[arms == arm] for arm in range(self.n_arms)]
        short = [arm for arm in range(self.n_arms) if len(own[arm]) < window]
        if short:
            return min(short, key=lambda arm: (len(own[arm]), arm))
        return int(np.argmax([r[-window:].mean() for r in own]))


class AdSwitch(Clipped):
    c1, every = 16.1, 1

    def __init__(self, n_arms: int, horizon: int) -> None:
        super().__init__(n_arms, horizon)
        self.log, self.episode, self.begun, self.evictions = math.log(horizon), 1, 0, 0
        self.bad: dict[int, tuple[float, float]] = {}
        self.obligations: list[list[tuple[int, int]]] = [
            [] for _ in range(n_arms)
        ]  # rewards needed, from which round on

    def stretch(self, arm: int, first: int, last: int) -> Any:
        """The rewards of an arm in rounds first to last, counted from 0."""
        return self.rewards[first : last + 1][self.arms[first : last + 1] == arm]

    def last_pull(self, arm: int) -> int:
        rounds = np.flatnonzero(self.arms == arm)
        return int(rounds[-1]) if rounds.size else -1

    def ask(self, rng: Any) -> int:
        wanted = [arm for arm in range(self.n_arms) if arm not in self.bad or self.obligations[arm]]
        return min(wanted, key=lambda arm: (self.last_pull(arm), arm))

    def tell(self, arm: int, reward: float, rng: Any) -> None:
        t = self.t
        super().tell(arm, reward, rng)
        for bad in self.bad:
            kept = [(n, s) for n, s in self.obligations[bad] if len(self.stretch(bad, s, t - 1)) < n]
            self.obligations[bad] = kept
        if t % self.every == 0:
            if self.changed(t - 1):
                self.episode, self.begun, self.bad = self.episode + 1, t, {}
            else:
                self.evict(t - 1)
        for bad in sorted(self.bad):
            i = 1
            while 2.0**-i >= self.bad[bad][1] / 16:
                chance = 2.0**-i * math.sqrt(self.episode / (self.n_arms * self.horizon * self.log))
                if rng.random() < chance:
                    self.obligations[bad].append((math.floor(2 ** (2 * i + 1) * self.log), t))
                i += 1

    def radius(self, n: int) -> float:
        return math.sqrt(2 * self.log / n)

    def changed(self, now: int) -> bool:
        for arm in range(self.n_arms):
            own = self.stretch(arm, self.begun, now)
            n = len(own)
            sums = np.concatenate([[0.0], np.cumsum(own)])
            last = [((sums[n] - sums[i]) / (n - i), self.radius(n - i)) for i in range(n)]
            if arm in self.bad:
                level, gap = self.bad[arm]
                if any(abs(mean - level) > gap / 4 + radius for mean, radius in last):
                    return True
                continue
            ends = np.arange(1, n + 1)
            lengths = ends[:, None] - np.arange(n)[None, :]
            inside = lengths > 0
            means = np.where(inside, (sums[1:, None] - sums[None, :-1]) / np.maximum(lengths, 1), np.nan)
            radii = np.sqrt(2 * self.log / np.maximum(lengths, 1))
            for mean, radius in last:
                if np.any(np.abs(means[inside] - mean) > radii[inside] + radius):
                    return True
        return False

    def evict(self, now: int) -> None:
        good = [arm for arm in range(self.n_arms) if arm not in self.bad]
        for arm in good:
            for s in range(self.begun, now + 1):
                means = {other: own.mean() for other in good if len(own := self.stretch(other, s, now))}
                n = len(self.stretch(arm, s, now))
                if n < 2 or arm not in means:
                    continue
                gap = max(means.values()) - means[arm]
                if gap > math.sqrt(self.c1 * self.log / (n - 1)):
                    self.bad[arm] = float(means[arm]), float(gap)
                    self.obligations[arm] = []
                    self.evictions += 1
                    break
