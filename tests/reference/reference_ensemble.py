"""CommitEnsemble straight from its definition: blocks kept, evidence as a multivariate normal density, no sums."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from reference_commit import Reference, commit_value
from reference_noise import Guard, arm_variance, pairs, pooled_variance

Floats = npt.NDArray[np.float64]
STEEP = 2  # first rewards of an arm, which say nothing of its noise
FAMILIES = ("exponential", "hyperbolic", "square root", "fourth root", "broken line")
EXPONENTS = {"hyperbolic": 1.0, "square root": 0.5, "fourth root": 0.25}


def rise(family: str, x: float) -> float:
    """The curve of a family after x paces."""
    if family == "exponential":
        return 1 - math.exp(-x)
    if family == "broken line":
        return min(x, 1.0)
    return float(1 - (1 + x) ** -EXPONENTS[family])


@lru_cache(maxsize=100_000)
def rises(family: str, tau: float, pulls: tuple[float, ...]) -> Floats:
    """The curve of pace tau at these pulls."""
    return np.array([rise(family, pull / tau) for pull in pulls])


def integral(family: str, x: float, tau: float) -> float:
    """The integral of the curve of pace tau from 0 to x pulls, as it stands in the definition."""
    if family == "exponential":
        return x + tau * (math.exp(-x / tau) - 1)
    if family == "hyperbolic":
        return x - tau * math.log(1 + x / tau)
    if family == "broken line":
        return x**2 / (2 * tau) if x <= tau else x - tau / 2
    p = EXPONENTS[family]
    return float(x - tau * ((1 + x / tau) ** (1 - p) - 1) / (1 - p))


def average_rise(family: str, tau: float, n: float, remaining: float) -> float:
    """Mean of the curve over the remaining pulls."""
    return (integral(family, n + 0.5 + remaining, tau) - integral(family, n + 0.5, tau)) / remaining


def paces(horizon: int) -> list[float]:
    """0.5, 0.71, 1, 1.41, 2, ... up to four horizons."""
    taus: list[float] = []
    while 0.5 * 2 ** (len(taus) / 2) <= 4 * horizon * (1 + 1e-9):
        taus.append(0.5 * 2 ** (len(taus) / 2))
    return taus


@dataclass
class Component:
    """One shape in one mode: weight and distribution of what is asked for."""

    log_weight: float
    mean: float
    spread: float
    tau: float


def components(
    blocks: list[tuple[float, float, float]], horizon: int, n: float, remaining: float, final: bool = False
) -> list[Component]:
    """All components for blocks (x, y, w); those far below zero are left out."""
    x, y, w = (np.array(column) for column in zip(*blocks, strict=True))
    found = []
    for with_start in (False, True):
        for family in FAMILIES:
            for tau in paces(horizon):
                g = rises(family, tau, tuple(x))
                design = np.column_stack([np.ones_like(g), g]) if with_start else g[:, None]
                size = design.shape[1]
                prior_mean = np.full(size, 0.3 if with_start else 0.5)
                prior_variance = (0.3 if with_start else 0.4) ** 2
                evidence = log_density(y - design @ prior_mean, np.diag(1 / w) + prior_variance * design @ design.T)
                cov = np.linalg.inv(np.eye(size) / prior_variance + (design.T * w) @ design)
                mean = cov @ (prior_mean / prior_variance + design.T @ (w * y))
                ratios = mean / np.sqrt(np.diag(cov))
                if (ratios <= -8).any():
                    continue
                log_weight = float(evidence + log_ndtr(np.minimum(ratios, 8)).sum())
                if ratios[-1] < 3:  # cut b at 0, and carry the start along
                    h = math.exp(-(ratios[-1] ** 2) / 2) / math.sqrt(2 * math.pi) / ndtr(ratios[-1])
                    shrink = max(1e-3, 1 - h * (h + ratios[-1]))
                    slope = cov[:, -1] / cov[-1, -1]
                    mean = mean + slope * math.sqrt(cov[-1, -1]) * h
                    cov = cov - np.outer(slope, slope) * cov[-1, -1] * (1 - shrink)
                ahead = rise(family, (n + remaining) / tau) if final else average_rise(family, tau, n, remaining)
                asked = np.array([1.0, ahead]) if with_start else np.array([ahead])
                spread = math.sqrt(max(0.0, float(asked @ cov @ asked)))
                found.append(Component(log_weight, float(asked @ mean), spread, tau))
    return found


def log_density(away: Floats, cov: Floats) -> float:
    """Logarithm of the density of a normal vector at this distance from its mean."""
    _, log_determinant = np.linalg.slogdet(2 * math.pi * cov)
    return float(-0.5 * (away @ np.linalg.solve(cov, away) + log_determinant))


def mixture(found: list[Component]) -> tuple[Floats, Floats, Floats, Floats]:
    """Weights, means, spreads and paces of the components that count."""
    logs = np.array([c.log_weight for c in found])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    keep = weights > 1e-5
    mean, spread, tau = (np.array([getattr(c, name) for c in found])[keep] for name in ("mean", "spread", "tau"))
    return weights[keep], mean, np.maximum(spread, 1e-9), tau


def upper_quantile(weights: Floats, means: Floats, spreads: Floats, tail: float) -> float:
    def excess(u: float) -> float:
        return float(weights @ ndtr((means - u) / spreads)) - tail

    return float(brentq(excess, (means - 9 * spreads).min(), (means + 9 * spreads).max(), xtol=1e-13))


@dataclass
class EnsembleReference(Reference):
    """One run with the fixed prior; the loop, the lines and second chances are those of CommitUCB's reference."""

    tail: float = 0.005
    sunk: float = 3.0
    drift: float = 0.005
    straight: float = 0.5
    protect: str = "best"
    guess: bool = False  # nothing is told; then sigma is 1/2
    blocks: dict[int, list[tuple[float, float, float]]] = field(default_factory=dict)
    batches: dict[int, list[int]] = field(default_factory=dict)  # pulls after each batch, 0 first
    bounds: dict[int, tuple[float, float, float, float]] = field(default_factory=dict)  # U, rounds left, straight, E
    chances: list[int] = field(default_factory=list)  # idle arms that deserved one
    contradicted_at: int = -1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.guard = Guard(self.sigma)

    def variance(self, arm: int) -> tuple[float, bool]:
        """Noise of a reward, and whether the line takes it."""
        own = pairs(self.histories[arm][STEEP:])
        if self.guess:
            prior = pooled_variance(self.histories, STEEP)
            found, count = arm_variance(self.histories, arm, STEEP)
            mixed = any(r not in (0.0, 1.0) for rewards in self.histories for r in rewards)
            enough = len(own) > 50 or (mixed and sum(len(pairs(rewards[STEEP:])) for rewards in self.histories) > 12)
        else:
            prior, count = self.sigma**2, float(len(own))
            found, enough = (sum(own) + 4 * prior) / (count + 4), len(own) > 50
        if count <= 50:
            found = max(found, prior)
        return max(1e-12, min(self.sigma**2, found)), enough

    def line(self, arm: int, remaining: int) -> tuple[float, float, float]:
        """Called at the end of each batch: take it in as a block, bound the future, draw the line."""
        n, batches = len(self.histories[arm]), self.batches.setdefault(arm, [0])
        if n > batches[-1]:
            for last in range(batches[-1] + 1, n + 1):
                if last % 5 == 0 and last > 5 and not self.guess and self.sigma > 0:
                    self.guard.look(self.histories[arm][last - 5 : last])
                    if self.guard.contradicted:
                        self.sigma, self.guess = 0.5, True
                        self.contradicted_at = self.rounds
            batches.append(n)
            self.add_block(arm, len(batches) - 1)
        line = self.draw(arm, remaining)
        if self.contradicted_at == self.rounds:
            for other in self.lines:
                self.blocks[other] = []
                for batch in range(1, len(self.batches[other])):
                    self.add_block(other, batch)
                self.lines[other] = self.draw(other, remaining)
            line = self.draw(arm, remaining)
        return line

    def add_block(self, arm: int, batch: int) -> None:
        n0, n = self.batches[arm][batch - 1 : batch + 1]
        x = n0 + (n - n0 + 1) / 2
        weight = (n - n0) / (self.variance(arm)[0] + self.drift**2 * x)
        self.blocks.setdefault(arm, []).append((x, sum(self.histories[arm][n0:n]) / (n - n0), weight))

    def draw(self, arm: int, remaining: int) -> tuple[float, float, float]:
        self.bound(arm, remaining)
        variance, enough = self.variance(arm)
        told = self.sigma
        self.sigma = 1.1 * (math.sqrt(variance) if enough else told)
        line = super().line(arm, remaining)
        self.sigma = told
        return line

    def bound(self, arm: int, remaining: int) -> None:
        n = len(self.histories[arm])
        weights, means, spreads, taus = mixture(components(self.blocks[arm], self.horizon, n, remaining))
        u = upper_quantile(weights, means, spreads, min(self.tail, n / remaining))
        expected = float(weights @ means / weights.sum())
        self.bounds[arm] = u, remaining, float(weights[taus >= 2 * n].sum()), expected

    def deserves(self, idle: int, incumbent: int, remaining: int) -> bool:
        """From a twentieth of the rounds on, an arm whose line promises more than the incumbent should bring."""
        value = commit_value(self.lines[idle][0], self.lines[idle][1], self.cap, remaining)
        worthy = self.rounds + 1 >= self.horizon / 20 and value > self.bounds[incumbent][3]
        if worthy:
            self.chances.append(idle)
        return worthy

    def choose(self, remaining: int) -> tuple[int, int]:
        while True:
            arm, b = self.best(remaining)
            if remaining > 0.97 * self.bounds[arm][1]:
                return arm, b
            self.bound(arm, remaining)

    def best(self, remaining: int) -> tuple[int, int]:
        arms = range(self.n_arms)
        b = max(arms, key=lambda i: (self.lines[i][2], -i))
        v = max(0.0, self.lines[b][2])
        spent = sum(max(0.0, len(r) * v - sum(r)) for i, r in enumerate(self.histories) if i != b)
        spent = min(spent, self.most_sunk())

        def line_value(i: int) -> float:
            return commit_value(self.lines[i][0], self.lines[i][1], self.cap, remaining)

        def value(i: int) -> float:
            lower = min(line_value(i), self.bounds[i][0])
            return lower if lower < self.cap else self.cap + 1e-9 * min(self.lines[i][0], self.bounds[i][0])

        protected = [i for i in arms if i != b and self.bounds[i][2] >= self.straight]
        if protected and self.protect == "best":
            protected = [max(protected, key=lambda i: (self.bounds[i][3], -i))]

        def index(i: int) -> float:
            if i == b:
                return value(b)
            u, s, _ = self.lines[i]
            k0 = 0.0 if u >= v else min(remaining, (v - u) / s) if s > 0 else remaining
            risk = min(self.odds, k0 / len(self.histories[i])) * (max(0.0, v - u) * k0 - s * k0**2 / 2)
            if i not in protected:
                return value(i) - (risk + self.sunk * spent) / remaining
            lead = line_value(i) - (risk + spent) / remaining - line_value(b)
            return max(line_value(i) - (risk + self.sunk * spent) / remaining, value(b) + lead)

        return max(arms, key=lambda i: (index(i), -i)), b

    def recommend(self) -> int:
        """The arm with the highest expected level after all rounds; in a short run the highest level now."""

        def level(arm: int) -> float:
            n = len(self.histories[arm])
            if not n:
                return -math.inf
            if sum(map(len, self.histories)) <= 2_000 * self.n_arms:
                window = math.ceil(n / 4)
                return float(np.mean(self.histories[arm][-window:])) - math.sqrt(self.variance(arm)[0] / window)
            weights, means, _, _ = mixture(
                components(self.blocks[arm], self.horizon, n, max(0, self.horizon - n), final=True)
            )
            return float(weights @ means / weights.sum())

        return max(range(self.n_arms), key=lambda i: (level(i), -i))
