"""CORRAL and regret balancing with arms as base learners, straight from their definitions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq

from reference_index import Clipped


class Corral(Clipped):
    eta: float | None = None
    gamma: float | None = None

    def __init__(self, n_arms: int, horizon: int) -> None:
        super().__init__(n_arms, horizon)
        self.p = np.full(n_arms, 1 / n_arms)
        self.rho = np.full(n_arms, 2.0 * n_arms)
        self.rates: Any = None
        self.restarts = 0

    def mixed(self) -> Any:
        gamma = 1 / self.horizon if self.gamma is None else self.gamma
        return (1 - gamma) * self.p + gamma / self.n_arms

    def ask(self, rng: Any) -> int:
        sums = np.cumsum(self.mixed())
        return min(int(np.searchsorted(sums, rng.random(), side="right")), self.n_arms - 1)

    def loss(self, arm: int) -> float:
        return 1.0 - float(self.rewards[-1])

    def tell(self, arm: int, reward: float, rng: Any) -> None:
        super().tell(arm, reward, rng)
        if self.rates is None:
            self.rates = np.full(self.n_arms, math.sqrt(self.n_arms / self.horizon) if self.eta is None else self.eta)
        losses = np.zeros(self.n_arms)
        losses[arm] = self.loss(arm) / self.mixed()[arm]
        inverse = 1 / self.p + self.rates * losses
        pole = float(np.min(inverse / self.rates))

        def excess(x: float) -> float:
            return float(np.sum(1 / (inverse - self.rates * x)) - 1)

        x = 0.0
        if losses[arm] > 0 and excess(0.0) < 0:
            high = min(float(losses[arm]), pole * (1 - 1e-13))
            x = brentq(excess, 0.0, high, xtol=1e-15, rtol=1e-15) if excess(high) > 0 else high
        self.p = 1 / (inverse - self.rates * x)
        mixed = self.mixed()
        for i in range(self.n_arms):
            if 1 / mixed[i] > self.rho[i]:
                self.rho[i] = 2 / mixed[i]
                self.rates[i] *= math.exp(1 / math.log(self.horizon))
                self.restarts += 1


class RegretBalancing(Clipped):
    c, delta = 1.0, 0.05
    d: Any = 1.0

    def __init__(self, n_arms: int, horizon: int) -> None:
        super().__init__(n_arms, horizon)
        self.active = list(range(n_arms))

    def claim(self, arm: int) -> float:
        claims = np.broadcast_to(self.d, self.n_arms)
        return float(claims[arm]) * math.sqrt(len(self.own(arm)))

    def ask(self, rng: Any) -> int:
        return min(self.active, key=lambda arm: (self.claim(arm), arm))

    def tell(self, arm: int, reward: float, rng: Any) -> None:
        super().tell(arm, reward, rng)
        seen = [i for i in self.active if len(self.own(i))]
        highest = max(self.average(i) - self.width(i) for i in seen)
        for i in seen:
            if self.average(i) + self.claim(i) / len(self.own(i)) + self.width(i) < highest:
                self.active.remove(i)

    def average(self, arm: int) -> float:
        own = self.own(arm)
        return float(np.cumsum(own)[-1] / len(own))

    def width(self, arm: int) -> float:
        n = len(self.own(arm))
        return self.c * math.sqrt(math.log(self.n_arms * max(math.log(n), 1.0) / self.delta) / n)
