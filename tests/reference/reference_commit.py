"""CommitUCB straight from its definition: everything recomputed from the histories at every decision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import brentq

from reference_noise import Guard, estimated
from risingbandits import RisingBandit
from risingbandits._core.jit import interpreted
from risingbandits.problems._kernels import draw_reward, mean_at


def kl(p: float, q: float) -> float:
    """Bernoulli divergence."""
    first = p * math.log(p / q) if p > 0 else 0.0
    return first + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)


def kl_width(mean: float, x: float) -> float:
    """d with kl(mean, mean + d) = x, by root finding."""
    top = 1.0 - 2.0**-40
    if mean >= top or kl(mean, top) <= x:
        return 1.0 - mean
    return float(brentq(lambda q: kl(mean, q) - x, mean, top, xtol=1e-15, rtol=1e-14)) - mean


def commit_value(u: float, s: float, cap: float, remaining: int) -> float:
    """The average, term by term."""
    if u >= cap:
        return cap + 1e-9 * min(u, 1e6)
    return float(np.mean(np.minimum(cap, u + s * np.arange(1, remaining + 1))))


def windows(n: int) -> list[int]:
    """All, then 0.7 of the last one, rounded down, down to a tenth of n."""
    found = []
    w = n
    while w >= 1 and w >= 0.1 * n:
        found.append(w)
        w = min(w - 1, math.floor(0.7 * w))
    return found


def grid(horizon: int, growth: float) -> list[int]:
    """1, then larger by the factor, rounded down, and by 1 at least."""
    points = [1]
    while points[-1] < horizon:
        points.append(max(points[-1] + 1, math.floor(growth * points[-1])))
    return [n for n in points if n <= horizon]


@dataclass
class Reference:
    """One run; the settings have the names and defaults of the definition."""

    n_arms: int
    horizon: int
    sigma: float
    rule: str | None
    widths: str = "gaussian"
    cap: float = 1.0
    growth: float = 1.05
    recheck: float = 0.0
    share: float = 0.7
    odds: float = 8.0
    confidence: float | None = None
    histories: list[list[float]] = field(default_factory=list)
    lines: dict[int, tuple[float, float, float]] = field(default_factory=dict)
    last_pull: dict[int, int] = field(default_factory=dict)
    rounds: int = 0

    def __post_init__(self) -> None:
        self.histories = [[] for _ in range(self.n_arms)]
        failures = float(self.horizon)
        if self.confidence is not None:  # each anchored line may fail in one way, each two-block line in two
            lines = [w for n in grid(self.horizon, self.growth) if n >= 2 for w in windows(n)]
            failures = self.n_arms * (len(lines) + 2 * len([w for w in lines if w >= 3])) / self.confidence
        self.z = math.sqrt(2 * math.log(failures))

    def most_sunk(self) -> float:
        """The ceiling P of what past exploration may count for."""
        log = math.log(self.horizon)
        return float(
            self.cap * self.n_arms * ((self.sigma / self.cap * self.horizon) ** (2 / 3) * log ** (1 / 3) + log)
        )

    def half_width(self, block: Sequence[float], mean: float) -> float:
        """Above ``mean``; for the width below, give 1 - mean."""
        w, level = len(block), self.z**2 / 2
        width = self.z * self.sigma / math.sqrt(w)
        if self.widths == "gaussian":
            return width
        return min(width, kl_width(mean, level / w))

    def mean(self, block: Sequence[float]) -> float:
        mean = sum(block) / len(block)
        return mean if self.widths == "gaussian" else min(max(mean, 0.0), 1.0)

    def line(self, arm: int, remaining: int) -> tuple[float, float, float]:
        r = self.histories[arm]
        n = len(r)
        candidates: list[tuple[float, float, float]] = []
        levels = []
        for w in windows(n):
            window = r[n - w :]
            m = self.mean(window)
            levels.append(m - self.half_width(window, 1 - m))
            if n == 1:  # no line
                candidates.append((self.cap, max(self.cap, m + self.half_width(window, m)), 0.0))
                continue
            s = max(0.0, m + self.half_width(window, m)) / (n - (w - 1) / 2 - 1)
            candidates.append((commit_value(s * (n - 1), s, self.cap, remaining), s * (n - 1), s))
            q = w // 3
            if q >= 1:
                old, new = window[:q], window[w - q :]
                m1, m2 = self.mean(old), self.mean(new)
                down, up = self.half_width(old, 1 - m1), self.half_width(new, m2)
                d = w - q
                e = (q - 1) / (2 * d)
                slope = (m2 - m1) / d
                u = m2 + slope * (q - 1) / 2 + math.sqrt(((1 + e) * up) ** 2 + (e * down) ** 2)
                s = slope + math.sqrt(up**2 + down**2) / d
                if s >= -1e-12 * self.cap:
                    s = max(s, 0.0)
                    candidates.append((commit_value(u, s, self.cap, remaining), u, s))
        _, u, s = min(candidates)
        return u, s, max(levels)

    def choose(self, remaining: int) -> tuple[int, int]:
        """The arm to play and the incumbent."""
        arms = range(self.n_arms)
        pulls = [len(r) for r in self.histories]
        earned = [sum(r) for r in self.histories]
        u, s, lo = ({i: self.lines[i][k] for i in arms} for k in range(3))
        values = {i: commit_value(u[i], s[i], self.cap, remaining) for i in arms}
        b = max(arms, key=lambda i: (lo[i], -i))
        v = max(0.0, lo[b])
        cost = {i: 0.0 if i == b else max(0.0, pulls[i] * v - earned[i]) for i in arms}
        if self.rule is None:
            return max(arms, key=lambda i: (values[i], -i)), b

        def climb(i: int) -> tuple[float, float]:
            if u[i] >= v:
                return 0.0, 0.0
            k0 = min(remaining, (v - u[i]) / s[i]) if s[i] > 0 else remaining
            return min(self.odds, k0 / pulls[i]), (v - u[i]) * k0 - s[i] * k0**2 / 2

        if self.rule == "sunk-cost":
            sunk = min(sum(cost.values()), self.most_sunk())
            index = {i: values[i] - (0.0 if i == b else (climb(i)[0] * climb(i)[1] + sunk) / remaining) for i in arms}
            return max(arms, key=lambda i: (index[i], -i)), b
        active = [i for i in arms if i != b and (values[i] > values[b] or u[i] >= self.cap)]
        eligible = {}
        for i in active:
            odds, lost = climb(i)
            e = self.share * math.sqrt(len(active) * cost[i] * sum(cost[j] for j in active))
            penalty = odds * lost
            if e > 0:
                shortfall = max(0.0, v - earned[i] / pulls[i])
                shared = e * (1 + 0.25 * odds + 0.25 * shortfall / (self.cap - v)) if v < self.cap else math.inf
                penalty += min(shared, self.most_sunk())
            if values[i] - penalty / remaining > min(self.cap, values[b]):
                eligible[i] = values[i] - odds * lost / remaining
        return (max(eligible, key=lambda i: (eligible[i], -i)) if eligible else b), b

    def deserves(self, idle: int, incumbent: int, remaining: int) -> bool:
        """Whether an idle arm may have a second chance."""
        return True

    def play(self, problem: RisingBandit, seed: int) -> list[int]:
        """All arms of a run with the noise of the engine's run ``seed``."""
        noise = np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[0])
        environment = problem.environment(self.horizon)
        mean, draw = interpreted(mean_at), interpreted(draw_reward)
        arms: list[int] = []

        def pull(arm: int, count: int) -> None:
            for _ in range(min(count, self.horizon - self.rounds)):
                n = len(self.histories[arm]) + 1
                self.histories[arm].append(draw(environment, mean(environment, arm, n), noise))
                self.rounds += 1
                self.last_pull[arm] = self.rounds
                arms.append(arm)
            self.lines[arm] = self.line(arm, max(1, self.horizon - self.rounds))

        for arm in range(min(self.n_arms, self.horizon)):
            pull(arm, 1)

        def next_point(arm: int) -> int:
            n = len(self.histories[arm])
            return max(n + 1, math.floor(self.growth * n)) - n

        second_chance = False
        while self.rounds < self.horizon:
            remaining = self.horizon - self.rounds
            arm, b = self.choose(remaining)
            if arm == b and self.recheck > 0 and remaining > self.horizon / 4 and not second_chance:
                idle = [i for i in range(self.n_arms) if self.last_pull[i] < (self.rounds + 1) / 2]
                worthy = [i for i in idle if self.deserves(i, b, remaining)]
                if worthy:
                    arm = min(worthy, key=lambda i: self.last_pull[i])
                    pull(arm, next_point(arm))
                    second_chance = True
                    continue
            second_chance = False
            pull(arm, next_point(arm))
        return arms


@dataclass
class Watched(Reference):
    """The same with a sigma that the rewards may contradict, or with none: then it is estimated."""

    told: float = 0.0
    drawn_by: float = 0.0  # the noise level when all lines were drawn
    drawn: dict[int, int] = field(default_factory=dict)
    contradicted_at: int = -1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.told, self.drawn_by = self.sigma, max(1e-9, self.sigma)
        self.guard = Guard(self.sigma) if self.sigma > 0 else None

    def line(self, arm: int, remaining: int) -> tuple[float, float, float]:
        own = self.histories[arm]
        for last in range(self.drawn.get(arm, 0) + 1, len(own) + 1):
            if self.guard and 5 < last <= 500 and last % 5 == 0 and self.contradicted_at < 0:
                self.guard.look(own[last - 5 : last])
                if self.guard.contradicted:
                    self.contradicted_at = self.rounds
        self.drawn[arm] = len(own)
        if not self.guard or self.guard.contradicted:
            self.sigma = max(self.told, 1e-9, math.sqrt(estimated(self.histories)))
        if abs(self.sigma - self.drawn_by) > 0.05 * self.drawn_by:
            self.drawn_by = self.sigma
            self.lines = {other: super(Watched, self).line(other, remaining) for other in self.lines}
        return super().line(arm, remaining)
