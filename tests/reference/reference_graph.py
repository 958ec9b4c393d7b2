"""Arms that make each other rise, straight from the definitions: slow, obvious, from the whole history."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from reference_index import Floats, Reference
from risingbandits import RisingBandit

Matrix = Sequence[Sequence[int]]


def triggers_of(matrix: Matrix, arms: Sequence[int], arm: int) -> int:
    """How many of the pulled ``arms`` have made ``arm`` rise."""
    return sum(matrix[pulled][arm] for pulled in arms)


def play(ask: Callable[[], int], tell: Callable[[int, float], None], problem: RisingBandit, matrix: Matrix, seed: int,
         horizon: int) -> tuple[list[int], list[float]]:  # fmt: skip
    """The arms pulled and the means they had, with the noise of run ``seed`` of the engine: Gaussian or none."""
    noise = np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[0])
    arms: list[int] = []
    means = []
    for _ in range(horizon):
        arm = ask()
        arms.append(arm)
        mean = problem.curves[arm](triggers_of(matrix, arms, arm))
        means.append(mean)
        tell(arm, mean + problem.sigma * noise.standard_normal() if problem.sigma else mean)
    return arms, means


def best_from_here(means: Floats, matrix: Matrix) -> float:
    """The most that any order of pulls gets, by deciding on the next pull."""
    n_arms, horizon = means.shape

    @cache
    def to_come(pulls: tuple[int, ...]) -> float:
        if sum(pulls) == horizon:
            return 0.0
        values = []
        for arm in range(n_arms):
            after = tuple(n + (other == arm) for other, n in enumerate(pulls))
            at = sum(n * matrix[other][arm] for other, n in enumerate(after))
            values.append(float(means[arm, at - 1]) + to_come(after))
        return max(values)

    return to_come((0,) * n_arms)


class GraphREdUCB(Reference):
    """The index of R-ed-UCB with trigger counts, pair by pair."""

    eps, sigma, alpha = 0.25, 0.1, 3.0
    matrix: Matrix

    def index(self) -> Floats:
        return np.array([self.index_of(arm) for arm in range(self.n_arms)])

    def index_of(self, arm: int) -> float:
        t, r = self.t, self.own(arm)
        pulled = self.arms.tolist()
        m = [triggers_of(self.matrix, pulled[: place + 1], arm) for place in np.flatnonzero(self.arms == arm)]
        n = len(r)
        if self.sigma == 0:
            return math.inf if n < 2 else float(r[-1] + (t - m[-1]) * (r[-1] - r[-2]) / (m[-1] - m[-2]))
        h = math.floor(self.eps * n + 1e-12)
        if h == 0:
            return math.inf
        lines = [r[l] + (t - m[l]) * (r[l] - r[l - h]) / (m[l] - m[l - h]) for l in range(n - h, n)]  # noqa: E741
        return math.fsum(lines) / h + self.sigma * (t - m[n - h]) * math.sqrt(10 * self.alpha * math.log(t) / h**3)
