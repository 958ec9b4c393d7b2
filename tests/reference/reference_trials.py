"""OpenByValue straight from its description: lists of rewards, everything recomputed when it is needed.

Only where arms are opened in the given order and all are available.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from reference_noise import Guard


def positive_part(mean: float, deviation: float) -> float:
    if deviation <= 0:
        return max(0.0, mean)
    z = mean / deviation
    return mean * math.erfc(-z / math.sqrt(2)) / 2 + deviation * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


@dataclass
class SlowOpenByValue:
    """Asks and tells like the policy; ``branches`` counts what its decisions came to."""

    n_arms: int
    horizon: int | None
    prior: float = 0.15
    sigma: float | None = None
    beliefs: list[tuple[float, float]] | None = None  # mean and deviation of normal scores
    curves: dict[int, list[float]] = field(default_factory=dict)  # in the order of opening
    planned: list[int] = field(default_factory=list)
    spread: float = 0.0
    trust: float = 1.0
    needed: int = 0
    guard: Guard | None = None
    branches: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.spread = self.prior
        self.guard = Guard(self.sigma) if self.sigma else None

    # -- what is measured -----------------------------------------------------------------------------------------

    @property
    def left(self) -> int:
        played = sum(map(len, self.curves.values()))
        return played if self.horizon is None else self.horizon - played

    @property
    def noise(self) -> float:
        if self.sigma is not None and not (self.guard and self.guard.contradicted):
            return self.sigma**2
        bends = np.concatenate([np.diff(curve, 2) for curve in self.curves.values()])
        found = min(0.25, float(np.mean(bends**2)) / 6) if bends.size else 0.0
        return max((self.sigma or 0.0) ** 2, found)

    def window(self, n: int) -> int:
        return min(n, max(math.ceil(n / 4), self.needed))

    def level(self, arm: int, n: int) -> float:
        return float(np.mean(self.curves[arm][:n][-self.window(n) :]))

    def sure(self, arm: int) -> float:
        n = len(self.curves[arm])
        favour = 0.4 * self.spread * self.trust * self.beliefs[arm][0] / n if self.beliefs else 0.0
        return self.level(arm, n) + favour - 0.75 * math.sqrt(self.noise / self.window(n))

    def ahead(self, arm: int, b: int) -> float:
        n = len(self.curves[arm])
        return self.level(arm, n) - self.level(b, min(n, len(self.curves[b])))

    def noise_at(self, n: int, b: int) -> float:
        return self.noise * (1 / self.window(n) + 1 / self.window(min(n, len(self.curves[b]))))

    # -- what is believed -----------------------------------------------------------------------------------------

    def trusted(self, arm: int) -> tuple[float, float]:
        """What is believed of an arm as far as beliefs are trusted: mean and variance; 0 and 1 if not at all."""
        assert self.beliefs is not None
        mean, deviation = self.beliefs[arm]
        return self.trust * mean, 1 - self.trust**2 * (1 - deviation**2)

    def leads(self, b: int) -> list[float]:
        return [self.ahead(arm, b) / (0.8 * self.spread) for arm in self.curves]

    def confirmed(self, b: int) -> float:
        """The slope of leads over beliefs, as if a pair had shown 1 before."""
        assert self.beliefs is not None
        means = np.array([self.beliefs[arm][0] for arm in self.curves])
        means -= means.mean()
        leads = np.array(self.leads(b))
        return float(np.clip((1 + means @ (leads - leads.mean())) / (1 + means @ means), 0, 1))

    def standing(self, b: int) -> float:
        """The normal score of the incumbent: the mean of what open arms say by their precisions, and its error."""
        trusted = [self.trusted(arm) for arm in self.curves]
        weights = [1 / square for _, square in trusted]
        scores = [mean - lead for (mean, _), lead in zip(trusted, self.leads(b), strict=True)]
        return float(np.average(scores, weights=weights)) + 1 / math.sqrt(sum(weights))

    def before(self, arm: int | None, b: int) -> tuple[float, float]:
        """Mean and variance of how far an arm was believed to end ahead before it was opened."""
        if self.beliefs is None:
            return -0.6 * self.spread, 0.64 * self.spread**2
        mean, square = self.trusted(len(self.curves) if arm is None else arm)
        return 0.8 * self.spread * (mean - self.standing(b)), 0.64 * self.spread**2 * square

    def variance(self, arm: int | None, n: int, b: int) -> float:
        prior = self.before(arm, b)[1]
        if n == 0:
            return prior
        noise = self.noise_at(n, b)
        if self.beliefs is None:
            return prior * noise / (prior + noise) + (self.spread / (2 * n)) ** 2
        noise += (self.spread / n) ** 2
        return prior * noise / (prior + noise)

    def expected(self, arm: int | None, b: int) -> float:
        typical, prior = self.before(arm, b)
        if arm is None:
            return typical
        noise = self.noise_at(len(self.curves[arm]), b)
        if self.beliefs is not None:
            noise += (self.spread / len(self.curves[arm])) ** 2
        trust = prior / (prior + noise)
        return typical + (self.ahead(arm, b) - typical) * trust

    def ceiling(self, b: int) -> float:
        """The level that the incumbent will have in the rounds that others take from it."""
        older = len(self.curves[b])
        today = self.level(b, older)
        rise = max(0.0, today - self.level(b, max(1, older // 2)))
        return today + rise + max(0.0, self.prior / 4 - self.moved(b))

    def moved(self, b: int) -> float:
        today = self.level(b, len(self.curves[b]))
        return max([abs(today - self.curves[b][0]), *(abs(self.ahead(i, b)) for i in self.curves if i != b)])

    def gain(self, arm: int | None, b: int) -> float:
        """Of the best trial of an open arm, or of one more."""
        n = 0 if arm is None else len(self.curves[arm])
        copy, older, ceiling = self.curves[b], len(self.curves[b]), self.ceiling(b)
        mean, now = self.expected(arm, b), self.variance(arm, n, b)
        if arm is not None and mean + 2 * math.sqrt(now) < 0:
            self.count("hopeless")
            return 0.0
        lengths, k = [], 1
        while k < self.left:
            lengths.append(min(k, older - n) if n < older else k)
            if n + lengths[-1] == older or (n >= older and k >= n):
                break
            k = max(lengths[-1] + 1, int(1.7 * lengths[-1]))
        gains = []
        for k in lengths:
            left = self.left - k
            earned = copy[n : n + k] if n + k <= older else [self.level(b, older)] * k
            lost = sum(ceiling - reward for reward in earned)
            catching_up = max(0.0, sum(ceiling - reward for reward in copy[n + k :]))
            narrowed = math.sqrt(max(0.0, now - self.variance(arm, n + k, b)))
            value = positive_part(left * mean - catching_up, left * narrowed)
            share = 1 / (3 * len(self.curves)) if arm is None else 1.0
            gains.append(share * value - max(0.0, lost - k * min(mean, 0.0) / 2))
        return max(gains, default=0.0)

    # -- what is decided ------------------------------------------------------------------------------------------

    def count(self, branch: str, taken: bool = True) -> None:
        self.branches[branch] = self.branches.get(branch, 0) + taken

    def ask(self) -> int:
        newest = next(reversed(self.curves), 0)
        if len(self.curves.get(newest, [])) == 1 and self.curves[newest][0] < self.prior / 4:
            self.count("second look")
            return newest
        if len(self.curves) < min(2, self.n_arms):
            return len(self.curves)
        if not self.planned:
            self.planned = self.decide()
        return self.planned.pop()

    def tell(self, arm: int, reward: float) -> None:
        curve = self.curves.setdefault(arm, [])
        curve.append(reward)
        if self.guard and len(curve) % 5 == 0 and 5 < len(curve) <= 500:
            self.guard.look(curve[-5:])

    def decide(self) -> list[int]:
        """The next pulls."""
        self.needed = math.ceil(4 * self.noise / self.spread**2)
        b = max(self.curves, key=self.sure)  # of equals the one opened first
        others = {arm: len(curve) for arm, curve in self.curves.items() if arm != b}
        squares = [max(0.0, self.ahead(arm, b) ** 2 - self.noise_at(n, b)) for arm, n in others.items()]
        self.spread = max(0.05 * self.prior, math.sqrt((self.prior**2 + sum(squares)) / len(self.curves)))
        if self.beliefs is not None:
            self.trust = self.confirmed(b)
        hold = 10 if self.horizon is None else max(2, 2 * self.horizon ** (1 / 3))
        chosen, age = b, len(self.curves[b])
        flat = self.moved(b) < self.prior / 4 and age < 2 * hold
        self.count("flat", flat)
        if not flat and (len(self.curves) > 2 or age >= hold):
            gains = {arm: self.gain(arm, b) for arm in others}
            if len(self.curves) < self.n_arms:
                gains[len(self.curves)] = self.gain(None, b)
            best = max(gains, key=lambda arm: gains[arm], default=b)
            if gains.get(best, 0.0) > 0:
                chosen = best
        n = len(self.curves.get(chosen, []))
        self.count("open" if n == 0 else "incumbent" if chosen == b else "older" if n >= age else "trial")
        self.count("wide window", n > 0 and self.window(n) > math.ceil(n / 4))
        return [chosen] * max(1, int(1.05 * n) - n)

    def recommend(self) -> int:
        return max(self.curves, key=self.sure, default=0)
