"""Index policies and Thompson sampling straight from their definitions: slow, obvious, without code of the package.

Every reference keeps the whole history and computes everything from it in every round. Where a policy draws random
numbers, its reference draws the same ones in the same order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

TOP = 1.0 - 2.0**-40  # KL bounds above count as 1


class Reference:
    """History of a run; subclasses say which arm comes next."""

    low, high = 0.0, 1.0

    def __init__(self, n_arms: int, horizon: int) -> None:
        self.n_arms, self.horizon = n_arms, horizon
        self.t = 1  # the round to be decided
        self._arms = np.zeros(horizon, dtype=np.int64)
        self._rewards = np.zeros(horizon)

    @property
    def arms(self) -> npt.NDArray[np.int64]:
        """The arms pulled so far."""
        return self._arms[: self.t - 1]

    @property
    def rewards(self) -> Floats:
        """What they earned."""
        return self._rewards[: self.t - 1]

    def ask(self, rng: Any) -> int:
        return int(np.argmax(self.index()))

    def index(self) -> Floats:
        raise NotImplementedError

    def seen(self, reward: float, rng: Any) -> float:
        return reward

    def tell(self, arm: int, reward: float, rng: Any) -> None:
        self._rewards[self.t - 1] = self.seen(reward, rng)
        self._arms[self.t - 1] = arm
        self.t += 1

    def own(self, arm: int) -> Floats:
        """The rewards of one arm, the first pull first."""
        own: Floats = self.rewards[self.arms == arm]
        return own

    def counts_and_means(self, tau: int | None = None) -> tuple[Floats, Floats]:
        last = slice(None) if tau is None else slice(-tau, None)
        arms = self.arms[last]
        counts = np.bincount(arms, minlength=self.n_arms).astype(float)
        sums = np.bincount(arms, weights=self.rewards[last], minlength=self.n_arms)
        return counts, sums / np.maximum(counts, 1.0)


class Clipped(Reference):
    def seen(self, reward: float, rng: Any) -> float:
        return min(max((reward - self.low) / (self.high - self.low), 0.0), 1.0)


def negative_entropy(p: Floats) -> Floats:
    """p log p + (1 - p) log(1 - p), with 0 log 0 = 0."""
    return np.array([sum(x * math.log(x) for x in (q, 1 - q) if x > 0) for q in p.tolist()])


def kl_bound(counts: Floats, means: Floats, f: float) -> Floats:
    """max{q in [m, 1]: N kl(m, q) <= f} by bisection; +inf without pulls, 1 above TOP."""
    constant, others = negative_entropy(means), 1 - means
    limits = f / np.maximum(counts, 1)

    def inside(q: Any) -> Any:  # kl(p, q) = p log p + (1 - p) log(1 - p) - p log q - (1 - p) log(1 - q)
        return constant - means * np.log(q) - others * np.log(1 - q) <= limits

    low, high = means.copy(), np.full_like(means, TOP)
    for _ in range(50):
        middle = 0.5 * (low + high)
        fits = inside(middle)
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return np.where(counts == 0, np.inf, np.where((means >= TOP) | inside(TOP), 1.0, low))


class KLUCB(Clipped):
    c = 3.0

    def index(self) -> Floats:
        counts, means = self.counts_and_means()
        return kl_bound(counts, means, math.log(self.t) + self.c * math.log(max(1.0, math.log(self.t))))


class SWKLUCB(Clipped):
    c = 3.0
    tau = 252

    def index(self) -> Floats:
        counts, means = self.counts_and_means(self.tau)
        log = math.log(min(self.t, self.tau))
        return kl_bound(counts, means, log + self.c * math.log(max(1.0, log)))


class SWUCB(Clipped):
    xi, B = 0.6, 1.0

    def index(self) -> Floats:
        tau = math.ceil(4 * math.sqrt(self.horizon * math.log(self.horizon)))
        counts, means = self.counts_and_means(tau)
        width = self.B * np.sqrt(self.xi * math.log(min(self.t, tau)) / np.maximum(counts, 1))
        return np.where(counts == 0, np.inf, means + width)


class DUCB(Clipped):
    xi, B = 0.6, 1.0
    discount: float | None = None

    def index(self) -> Floats:
        g = 1 - 1 / (4 * math.sqrt(self.horizon)) if self.discount is None else self.discount
        weights = g ** np.arange(self.t - 2, -1, -1.0)
        counts = np.bincount(self.arms, weights=weights, minlength=self.n_arms)
        sums = np.bincount(self.arms, weights=weights * self.rewards, minlength=self.n_arms)
        with np.errstate(divide="ignore", invalid="ignore"):
            width = 2 * self.B * np.sqrt(self.xi * math.log(max(counts.sum(), 1)) / counts)
            return np.where(counts == 0, np.inf, sums / counts + width)


class UCB1(Clipped):
    def index(self) -> Floats:
        counts, means = self.counts_and_means()
        plays = max(counts.sum(), 1)
        return np.where(counts == 0, np.inf, means + np.sqrt(2 * math.log(plays) / np.maximum(counts, 1)))


class GaussianUCB(Reference):
    sigma = 0.1

    def index(self) -> Floats:
        counts, means = self.counts_and_means()
        width = self.sigma * np.sqrt(4 * math.log(self.t) / np.maximum(counts, 1))
        return np.where(counts == 0, np.inf, means + width)


class GaussianThompson(Reference):
    sigma = 0.1

    def ask(self, rng: Any) -> int:
        counts, means = self.counts_and_means()
        draws = means + self.sigma / np.sqrt(np.maximum(counts, 1)) * rng.standard_normal(self.n_arms)
        return int(np.argmax(np.where(counts == 0, np.inf, draws)))


class EpsilonGreedy(Reference):
    epsilon = 0.1
    decay: float | None = None

    def ask(self, rng: Any) -> int:
        epsilon = self.epsilon if self.decay is None else min(1.0, self.decay * self.n_arms / self.t)
        if rng.random() < epsilon:
            return int(rng.random() * self.n_arms)
        counts, means = self.counts_and_means()
        return int(np.argmax(np.where(counts == 0, np.inf, means)))


class RLessUCB(Reference):
    eps, sigma, alpha = 0.25, 0.1, 3.0

    def index(self) -> Floats:
        return np.array([self.index_of(arm) for arm in range(self.n_arms)])

    def index_of(self, arm: int) -> float:
        t = self.t
        r = self.own(arm)
        n = len(r)
        if self.sigma == 0:
            if n < 2:
                return math.inf
            rounds = np.flatnonzero(self.arms == arm) + 1
            return float(r[-1] + (t - rounds[-1]) * (r[-1] - r[-2]) / (rounds[-1] - rounds[-2]))
        h = math.floor(self.eps * n + 1e-12)
        if h == 0:
            return math.inf
        pulls = np.arange(n - h + 1, n + 1)
        estimate = (r[n - h :] + (t - pulls) * (r[n - h :] - r[n - 2 * h : n - h]) / h).mean()
        return float(estimate + self.sigma * (t - n + h - 1) * math.sqrt(10 * self.alpha * math.log(t) / h**3))


class BetaThompson(Clipped):
    """Draws for the arm with most pulls, then for those that an envelope does not rule out, in the policy's order."""

    tau: int | None = None
    forced = 0

    def __init__(self, n_arms: int, horizon: int) -> None:
        super().__init__(n_arms, horizon)
        self.leader = 0

    def seen(self, reward: float, rng: Any) -> float:
        return float(rng.random() < super().seen(reward, rng))

    def tell(self, arm: int, reward: float, rng: Any) -> None:
        super().tell(arm, reward, rng)
        counts = self.counts_and_means(self.tau)[0]
        if counts[arm] >= counts[self.leader]:
            self.leader = arm

    def ask(self, rng: Any) -> int:
        pulls = np.bincount(self.arms, minlength=self.n_arms)
        if pulls.min() < self.forced:
            return int(np.argmin(pulls))
        counts, means = self.counts_and_means(self.tau)
        wins = np.round(counts * means)
        chosen = self.leader
        best = rng.beta(1 + wins[chosen], 1 + counts[chosen] - wins[chosen])
        place, nothing_so_far = rng.random(), 1.0
        for arm in range(self.n_arms):
            if arm == self.leader:
                continue
            s, r = wins[arm], counts[arm] - wins[arm]
            fall = r / (1 - best) - s / best
            log_beta = math.lgamma(1 + s) + math.lgamma(1 + r) - math.lgamma(2 + s + r)
            z = log_beta - s * math.log(best) - r * math.log(1 - best)
            partial = 1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24
            if counts[arm] == 0:
                chance = 1 - best
            elif fall >= 1 and z >= 0:
                chance = 1 / (fall * partial)
            else:
                theta = rng.beta(1 + s, 1 + r)
                if theta > best:
                    chosen, best = arm, theta
                continue
            nothing_so_far *= 1 - chance
            if place < nothing_so_far:
                continue
            if counts[arm] == 0:
                theta = best + (1 - best) * rng.random()
            else:
                x, u = best + rng.standard_exponential() / fall, rng.random()
                ratio = partial * math.exp(-z) * (x / best) ** s * math.exp(fall * (x - best)) if x < 1 else 0.0
                theta = x if x < 1 and u < ratio * ((1 - x) / (1 - best)) ** r else 0.0
            place, nothing_so_far = rng.random(), 1.0
            if theta > best:
                chosen, best = arm, theta
        return chosen


class SWTS(BetaThompson):
    def __init__(self, n_arms: int, horizon: int) -> None:
        super().__init__(n_arms, horizon)
        self.tau = math.ceil(math.sqrt(horizon))


class ETTS(SWTS):
    forced = 20
