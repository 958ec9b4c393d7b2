"""CommitUCB as the page "What is proved" defines it, written from that page alone: slow, plain, all in the open.

Gaussian widths, sigma given, horizon known. Every line that is drawn is kept with what it was drawn from, so that the
lemmas can be looked at one by one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from risingbandits.policies.commit._grid import commit_windows, next_point

TIE = 1e-9


def average(u: float, s: float, rounds: int, cap: float = 1.0) -> float:
    """Mean of min(cap, u + s k) over k = 1..rounds; lines that begin at the cap are ordered by their level."""
    if u >= cap:
        return cap + TIE * min(u, 1e6)
    if cap - u >= s * rounds:
        return u + s * (rounds + 1) / 2
    m = math.floor((cap - u) / s)
    return cap - (m * (cap - u) - s * m * (m + 1) / 2) / rounds


def lines_at(rewards: np.ndarray, z_sigma: float) -> list[tuple[float, float]]:
    """All lines (level, slope) after len(rewards) >= 2 pulls."""
    n = len(rewards)
    sums = np.concatenate([[0.0], np.cumsum(rewards)]).tolist()
    found = []
    for w in commit_windows(n):
        mean = (sums[n] - sums[n - w]) / w
        s = max(0.0, mean + z_sigma / math.sqrt(w)) / (n - (w - 1) / 2 - 1)
        found.append((s * (n - 1), s))
        q = w // 3
        if q >= 1:
            first = (sums[n - w + q] - sums[n - w]) / q
            last = (sums[n] - sums[n - q]) / q
            d = w - q
            e = (q - 1) / (2 * d)
            slope = (last - first) / d
            u = last + slope * (q - 1) / 2 + z_sigma / math.sqrt(q) * math.sqrt((1 + e) ** 2 + e**2)
            s = slope + z_sigma / d * math.sqrt(2 / q)
            if s >= -1e-12:
                found.append((u, max(s, 0.0)))
    return found


@dataclass
class RepairedCommit:
    """One run on given means, shape (K, T)."""

    means: np.ndarray
    sigma: float = 0.0
    rule: str | None = None
    second_chances: bool = False
    z: float | None = None
    growth: float = 1.05
    max_odds: float = 8.0
    share: float = 0.7
    ceiling: bool = True
    choices: list[int] = field(default_factory=list)
    drawn: list[tuple[int, int, int, float, float]] = field(default_factory=list)  # arm, n, rounds left, u, s
    chances: list[tuple[int, int]] = field(default_factory=list)  # round, arm

    def play(self, rng: np.random.Generator | None = None) -> list[int]:
        """The arms of all rounds."""
        n_arms, horizon = self.means.shape
        noise = np.zeros(self.means.shape) if rng is None else self.sigma * rng.standard_normal(self.means.shape)
        self.rewards = self.means + noise
        self.z_used = math.sqrt(2 * math.log(horizon)) if self.z is None else self.z
        self.pulls = [0] * n_arms
        self.last = [0] * n_arms
        self.earned = [0.0] * n_arms
        self.line: list[tuple[float, float]] = [(1.0, 0.0)] * n_arms
        self.low = [-math.inf] * n_arms
        for arm in range(n_arms):
            self._pull(arm, 1)
        just_had = False
        while len(self.choices) < horizon:
            t = len(self.choices) + 1
            left = horizon - t + 1
            arm, incumbent = self._choose(left)
            idle = min(range(n_arms), key=lambda i: self.last[i])
            if (
                self.second_chances
                and arm == incumbent
                and not just_had
                and left > horizon / 4
                and self.last[idle] < t / 2
            ):
                just_had, arm = True, idle
                self.chances.append((t, idle))
            else:
                just_had = False
            self._pull(arm, next_point(self.pulls[arm], self.growth) - self.pulls[arm])
        return self.choices

    def _pull(self, arm: int, count: int) -> None:
        horizon = self.means.shape[1]
        count = min(count, horizon - len(self.choices))
        first = self.pulls[arm]
        self.pulls[arm] += count
        self.choices += [arm] * count
        self.last[arm] = len(self.choices)
        self.earned[arm] += float(self.rewards[arm, first : first + count].sum())
        left = horizon - len(self.choices)
        n = self.pulls[arm]
        if count == 0 or left == 0:
            return
        seen = self.rewards[arm, :n]
        wide = self.z_used * self.sigma
        self.low[arm] = max(float(seen[n - w :].mean()) - wide / math.sqrt(w) for w in commit_windows(n))
        if n == 1:  # no line: V is 1, and among such arms the higher raised reward comes first
            self.line[arm] = (max(1.0, float(seen[0]) + wide), 0.0)
        else:
            lines = lines_at(seen, wide)
            self.line[arm] = min(lines, key=lambda found: (average(found[0], found[1], left), found[0]))
            self.drawn.append((arm, n, left, *self.line[arm]))

    def _choose(self, left: int) -> tuple[int, int]:
        """The arm to play and the incumbent."""
        arms = range(len(self.pulls))
        value = [average(*self.line[i], left) for i in arms]
        b = max(arms, key=lambda i: (self.low[i], -i))
        if self.rule is None:
            return max(arms, key=lambda i: (value[i], -i)), b
        v = max(0.0, self.low[b])
        horizon = self.means.shape[1]
        most = math.inf
        if self.ceiling:
            log = math.log(horizon)
            most = len(self.pulls) * ((self.sigma * horizon) ** (2 / 3) * log ** (1 / 3) + log)
        cost = [0.0 if i == b else max(0.0, self.pulls[i] * v - self.earned[i]) for i in arms]
        odds, lost = [0.0] * len(value), [0.0] * len(value)
        for i in arms:
            u, s = self.line[i]
            if u < v:
                k0 = min(left, (v - u) / s) if s > 0 else left
                odds[i], lost[i] = min(self.max_odds, k0 / self.pulls[i]), (v - u) * k0 - s * k0**2 / 2
        if self.rule == "sunk-cost":
            sunk = min(most, sum(cost))
            index = [value[i] - (0.0 if i == b else (odds[i] * lost[i] + sunk) / left) for i in arms]
            return max(arms, key=lambda i: (index[i], -i)), b
        active = [i for i in arms if i != b and (value[i] > value[b] or self.line[i][0] >= 1.0)]
        eligible = {}
        for i in active:
            spent = self.share * math.sqrt(len(active) * cost[i] * sum(cost[j] for j in active))
            if spent > 0:
                short = max(0.0, v - self.earned[i] / self.pulls[i])
                full = math.inf if v >= 1.0 else spent * (1 + 0.25 * odds[i] + 0.25 * short / (1.0 - v))
                spent = min(most, full)
            if value[i] - (odds[i] * lost[i] + spent) / left > min(1.0, value[b]):
                eligible[i] = value[i] - odds[i] * lost[i] / left
        return (max(eligible, key=lambda i: (eligible[i], -i)) if eligible else b), b
