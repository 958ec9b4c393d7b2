"""The published program's policies in the plainest Python: whole histories, bounds kept in lists, roots by bisection.

``time`` counts the rewards seen so far, as the program does. Draws are made in the order in which the compiled policies
make them, so that decisions can be compared one by one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

_NEAR = 1e-10


def _one_of_the_best(values: list[float], rng: np.random.Generator) -> int:
    best = max(values)
    chosen, ties = -1, 0
    top = -math.inf
    for arm, value in enumerate(values):  # every new best begins anew, so that the same numbers are drawn
        if value > top:
            top, chosen, ties = value, arm, 1
        elif value == top:
            ties += 1
            if rng.random() * ties < 1.0:
                chosen = arm
    assert values[chosen] == best
    return chosen


def _coin(reward: float, rng: np.random.Generator) -> int:
    return int(rng.random() < min(max(reward, 0.0), 1.0))


def _bound(mean: float, limit: float) -> float:
    """The largest q in [mean, 1 - 1e-10] whose divergence from the mean is at most the limit."""
    mean = min(max(mean, _NEAR), 1.0 - _NEAR)

    def divergence(q: float) -> float:
        return mean * math.log(mean / q) + (1 - mean) * math.log((1 - mean) / (1 - q))

    low, high = mean, 1.0 - _NEAR
    if divergence(high) <= limit:
        return high
    for _ in range(200):
        middle = (low + high) / 2
        if divergence(middle) <= limit:
            low = middle
        else:
            high = middle
    return low


class ProgramReference(ABC):
    """Arms, rounds, and the rewards of each arm."""

    def __init__(self, n_arms: int, horizon: int) -> None:
        self.n_arms, self.horizon = n_arms, horizon
        self.time = 0
        self.rewards: list[list[float]] = [[] for _ in range(n_arms)]
        self.bounds = [0.0] * n_arms
        self.start()

    def start(self) -> None:  # noqa: B027
        """What a policy needs besides, if anything."""

    @abstractmethod
    def ask(self, rng: np.random.Generator) -> int: ...

    @abstractmethod
    def observe(self, arm: int, reward: float, rng: np.random.Generator) -> None: ...

    def tell(self, arm: int, reward: float, rng: np.random.Generator) -> None:
        self.rewards[arm].append(reward)
        self.observe(arm, reward, rng)
        self.time += 1


class REdUCB(ProgramReference):
    eps = 1 / 4
    largest = math.inf  # bonus
    clipped = 0  # how often the bonus was above it

    def start(self) -> None:
        self.estimates = [0.0] * self.n_arms

    def ask(self, rng: np.random.Generator) -> int:
        if self.time < 2 * self.n_arms:
            return self.time % self.n_arms
        return _one_of_the_best(self.bounds, rng)

    def observe(self, arm: int, reward: float, rng: np.random.Generator) -> None:
        time = self.time + 1  # the program counts this reward first
        for k in range(self.n_arms):
            x = self.rewards[k]
            n = len(x)
            h = int(self.eps * n)
            if h == 0:
                self.bounds[k] = 1.0
                continue
            if k == arm:
                level = sum(x[-h:]) / h
                differences = [x[n - 1 - u] - x[n - 1 - u - h] for u in range(h)]
                own = level + sum((h - u) * d for u, d in enumerate(differences)) / h**2
                self.estimates[k] = own + (time + 1 - n) * sum(differences) / h**2
            width = 0.1 * (time + 1 - n + h - 1) * math.sqrt(10 * math.log(time**4) / h**3)
            self.clipped += width > self.largest
            self.bounds[k] = self.estimates[k] + min(self.largest, width)


class IMDBREdUCB(REdUCB):
    """As in the experiment with learners."""

    eps, largest = 1 / 32, 1.0


class KLUCB(ProgramReference):
    def ask(self, rng: np.random.Generator) -> int:
        return self.time if self.time < self.n_arms else _one_of_the_best(self.bounds, rng)

    def observe(self, arm: int, reward: float, rng: np.random.Generator) -> None:
        if self.time >= self.n_arms:
            limit = math.log(self.horizon) + 3 * math.log(math.log(self.horizon))
            self.bounds = [_bound(sum(x) / self.time, limit / self.time) for x in self.rewards]


class _Windowed(ProgramReference):
    tau: int

    def start(self) -> None:
        self.coins: list[int] = []
        self.ones, self.zeros = [0] * self.n_arms, [0] * self.n_arms

    def count(self, arm: int, reward: float, rng: np.random.Generator) -> None:
        self.coins.append(_coin(reward, rng))
        self.ones[arm] += self.coins[-1]
        self.zeros[arm] += 1 - self.coins[-1]
        if self.time > self.tau:
            self.ones[arm] -= self.coins[self.time - self.tau]
            self.zeros[arm] -= 1 - self.coins[self.time - self.tau]


class SWUCB(_Windowed):
    def start(self) -> None:
        super().start()
        self.tau = math.floor(4 * math.sqrt(self.horizon * math.log(self.horizon)))

    def ask(self, rng: np.random.Generator) -> int:
        return self.time if self.time < self.n_arms else _one_of_the_best(self.bounds, rng)

    def observe(self, arm: int, reward: float, rng: np.random.Generator) -> None:
        self.count(arm, reward, rng)
        if self.time >= self.n_arms:
            for k in range(self.n_arms):
                n = self.ones[k] + self.zeros[k]
                self.bounds[k] = self.ones[k] / n + math.sqrt(0.6 * math.log(min(self.time, self.tau)) / n)


class SWKLUCB(_Windowed):
    tau = 252

    def ask(self, rng: np.random.Generator) -> int:
        for k in range(self.n_arms):
            if self.ones[k] + self.zeros[k] == 0:
                return k
        return _one_of_the_best(self.bounds, rng)

    def observe(self, arm: int, reward: float, rng: np.random.Generator) -> None:
        self.count(arm, reward, rng)
        if self.time >= self.n_arms:
            rounds = min(self.time, self.tau)
            limit = math.log(rounds) + 3 * math.log(math.log(rounds))
            for k in range(self.n_arms):
                n = self.ones[k] + self.zeros[k]
                sure = limit < 0 or self.ones[k] == n
                self.bounds[k] = 1.0 if sure else _bound(self.ones[k] / n, limit / n)


class Rexp3(ProgramReference):
    def start(self) -> None:
        spread = self.n_arms * math.log(self.n_arms)
        self.batch = math.ceil(spread ** (1 / 3) * 100 - 1e-9)
        self.gamma = min(1.0, math.sqrt(spread / ((math.e - 1) * self.batch)))
        self.phase = 0
        self.weights = self.odds = [1.0] * self.n_arms
        self.before: tuple[int, int] | None = None  # arm and coin of the round before

    def ask(self, rng: np.random.Generator) -> int:
        if self.phase == 0 or self.time > self.phase * self.batch:
            self.phase += 1
            self.weights = [1.0] * self.n_arms
        elif self.before is not None:
            arm, coin = self.before
            self.weights[arm] *= math.exp(self.gamma * coin / self.odds[arm] / self.n_arms)
        others = [sum(w for j, w in enumerate(self.weights) if j != k) for k in range(self.n_arms)]
        shares = [w / rest for w, rest in zip(self.weights, others, strict=True)]
        self.odds = [(1 - self.gamma) * share + self.gamma / self.n_arms for share in shares]
        place = rng.random() * sum(self.odds)
        for arm, odds in enumerate(self.odds):
            place -= odds
            if place < 0:
                return arm
        return self.n_arms - 1

    def observe(self, arm: int, reward: float, rng: np.random.Generator) -> None:
        self.before = arm, _coin(reward, rng)


class Ser4(ProgramReference):
    def start(self) -> None:
        self.phi = math.sqrt(self.horizon / (self.horizon * self.n_arms * math.sqrt(self.n_arms * self.horizon)))
        self.begin()

    def begin(self) -> None:
        self.tau, self.place = 1, 0
        self.means, self.coins = [0.0] * self.n_arms, [0] * self.n_arms

    def ask(self, rng: np.random.Generator) -> int:
        if self.place < self.n_arms:
            return self.place
        return int(np.argmax(self.now()))

    def now(self) -> list[float]:
        return [
            (self.tau - 1) * mean / self.tau + coin / self.tau
            for mean, coin in zip(self.means, self.coins, strict=True)
        ]

    def observe(self, arm: int, reward: float, rng: np.random.Generator) -> None:
        coin = _coin(reward, rng)
        if self.place < self.n_arms:
            self.place += 1
        else:
            self.means, self.tau, self.place = self.now(), self.tau + 1, 0
            if rng.random() < self.phi:
                self.begin()
        self.coins[arm] = coin
