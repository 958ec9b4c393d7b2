"""The bounds of CommitUCB(risk=None) summed pull by pull, as the page "What is proved" states them."""

from __future__ import annotations

import math

import numpy as np

from risingbandits.policies.commit._grid import commit_grid, commit_windows
from risingbandits.problems import Curve, Tabulated
from risingbandits.theory.upper_bounds._commit_lines import commit_value


def anchored_line(mean: float, width: float, n: int, w: int) -> tuple[float, float]:
    """Lemma 2: the line from 0 at pull 1 through the mean of the last w of n pulls, raised: level at n and slope."""
    s = max(0.0, mean + width) / (n - 0.5 * (w - 1) - 1.0)
    return s * (n - 1), s


def two_block_line(first: float, last: float, w: int, width: float = 0.0) -> tuple[float, float]:
    """Lemma 1: the line through the means of the first and the last third of a window, raised by z sigma = width."""
    q = w // 3
    distance = w - q
    e = 0.5 * (q - 1) / distance
    slope = (last - first) / distance
    level = last + slope * 0.5 * (q - 1) + width / math.sqrt(q) * math.hypot(1.0 + e, e)
    return level, slope + width / distance * math.sqrt(2.0 / q)


def commit_ceiling(curve: Curve, n: int, horizon: int, z: float = 0.0, sigma: float = 0.0, cap: float = 1.0) -> float:
    """Lemma 6: the smallest commit value of all lines at n, each without noise and raised by twice its width."""
    width, lowest = 2.0 * z * sigma, float(cap)

    def mean(first: int, last: int) -> float:
        sums = curve.prefix_sum([first, last])
        return float(sums[1] - sums[0]) / (last - first)

    for w in commit_windows(n) if n >= 2 else []:
        lines = [anchored_line(mean(n - w, n), width / math.sqrt(w), n, w)]
        if w >= 3:
            q = w // 3
            u, s = two_block_line(mean(n - w, n - w + q), mean(n - q, n), w, width)
            lines.append((u, max(s, 0.0)))
        lowest = min([lowest, *(commit_value(u, s, horizon - n, cap) for u, s in lines)])
    return lowest


def price(best: np.ndarray) -> float:
    """X of Lemma 8."""
    horizon = len(best)
    return math.fsum(pull * (best[pull] - best[pull - 1]) * math.log(horizon / pull) for pull in range(1, horizon))


class ReferenceBound:
    """Of given means, shape (K, T), with intervals of z sigma."""

    def __init__(self, means: np.ndarray, z_sigma: float = 0.0) -> None:
        n_arms, self.horizon = means.shape
        sums = means.sum(axis=1)
        star = int(np.argmax(sums))
        self.best = means[star]
        self.others = [means[arm] for arm in range(n_arms) if arm != star]
        self.grid = [n for n in commit_grid(self.horizon) if n < self.horizon]
        self.ceilings = [
            {n: commit_ceiling(Tabulated(row), n, self.horizon, z_sigma, 1.0) for n in self.grid} for row in self.others
        ]
        self.averages = np.concatenate([[self.best[0]], np.cumsum(self.best) / np.arange(1, self.horizon + 1)])

    def begun(self, pull: int) -> int:
        """n(p), where the batch of pull p >= 2 began."""
        return max(n for n in self.grid if n < pull)

    def sum_form(self) -> float:
        """Theorem 1."""
        excess = []
        for row, ceilings in zip(self.others, self.ceilings, strict=True):
            excess.append(1.0)
            for pull in range(2, self.horizon + 1):
                n = self.begun(pull)
                excess.append(min(1.0, max(0.0, ceilings[n] - row[n])))
        return sum(sorted(excess, reverse=True)[: self.horizon]) + price(self.best)

    def counts(self, m: int) -> list[int]:
        """N_i(m) of every other arm."""
        return [
            next((n for n in self.grid if ceilings[n] < self.averages[m]), self.horizon) for ceilings in self.ceilings
        ]

    def count_form(self) -> tuple[float, list[int]]:
        """Theorem 2 (i), and the counts."""
        spent = next((e for e in range(self.horizon) if sum(self.counts(self.horizon - e)) <= e), self.horizon)
        counts = self.counts(self.horizon - spent)
        top = self.best[-1]
        return sum(
            float(np.maximum(top - row[:n], 0.0).sum()) for row, n in zip(self.others, counts, strict=True)
        ), counts

    def mixed_form(self) -> float:
        """Theorem 2 (ii)."""
        top, least = self.best[-1], math.inf
        for m in range(1, self.horizon + 1):
            total = float(self.best[: m - 1].sum())
            for row, ceilings, count in zip(self.others, self.ceilings, self.counts(m), strict=True):
                for pull in range(1, count + 1):
                    level = 1.0 if pull == 1 else ceilings[self.begun(pull)]
                    total += max(0.0, min(top, level) - row[pull - 1])
            least = min(least, total)
        return least + price(self.best)
