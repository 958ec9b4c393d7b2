"""Slow and obvious: policies of weights, sweeps and phases, straight from their definitions.

Each is a generator that yields an arm and is sent its reward. The randomised ones draw from ``rng`` in the same order
as the package: they are then equal in every decision, not only in distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator

import numpy as np
import numpy.typing as npt

from risingbandits import RisingBandit
from risingbandits._core.jit import interpreted
from risingbandits.problems._kernels import draw_reward, mean_at

Floats = npt.NDArray[np.float64]
Play = Generator[int, float, None]
Reference = Callable[[int, int, np.random.Generator], Play]  # (arms, horizon, rng)


def play(reference: Reference, problem: RisingBandit, horizon: int, seed: int) -> list[int]:
    """The arms that the reference pulls in run ``seed`` of the engine."""
    noise_seed, policy_seed = np.random.SeedSequence(seed).spawn(2)
    noise = np.random.default_rng(noise_seed)
    environment = problem.environment(horizon)
    mean, draw = interpreted(mean_at), interpreted(draw_reward)
    pulls = [0] * problem.n_arms
    running = reference(problem.n_arms, horizon, np.random.default_rng(policy_seed))
    arm = next(running)
    arms = []
    for _ in range(horizon):
        pulls[arm] += 1
        arms.append(arm)
        arm = running.send(draw(environment, mean(environment, arm, pulls[arm]), noise))
    return arms


def clip(x: float) -> float:
    return min(max(x, 0.0), 1.0)


def best_of(values: list[float]) -> int:
    return values.index(max(values))


# -- weights -------------------------------------------------------------------------------------------------------


def exp3(gamma: float, share: float = 0.0, batch: int = 0) -> Reference:
    """Exp3; with a share of all weights Exp3.S, with batches Rexp3."""

    def run(n_arms: int, horizon: int, rng: np.random.Generator) -> Play:
        t = 0
        while True:
            if t == 0 or (batch and t % batch == 0):
                logs = [0.0] * n_arms
            highest = max(logs)
            weights = [math.exp(log - highest) for log in logs]
            chances = [(1 - gamma) * weight / math.fsum(weights) + gamma / n_arms for weight in weights]
            assert math.isclose(math.fsum(chances), 1.0)
            u = rng.random()
            if u < gamma:
                arm = int(u / gamma * n_arms)
            else:
                target = (u - gamma) / (1 - gamma) * math.fsum(weights)
                arm = next(i for i in range(n_arms) if math.fsum(weights[: i + 1]) > target)
            x = clip((yield arm))
            t += 1
            logs[arm] += gamma * x / (chances[arm] * n_arms)
            if share:
                extra = share * math.fsum(weights)
                logs = [highest + math.log(math.exp(log - highest) + extra) for log in logs]

    return run


def exp3_default(n_arms: int, horizon: int, rng: np.random.Generator) -> Play:
    return exp3(min(1.0, math.sqrt(n_arms * math.log(n_arms) / ((math.e - 1) * horizon))))(n_arms, horizon, rng)


def exp3_s_default(n_arms: int, horizon: int, rng: np.random.Generator) -> Play:
    gamma = math.sqrt(n_arms * (math.log(n_arms * horizon) + math.e) / ((math.e - 1) * horizon))
    return exp3(min(1.0, gamma), share=math.e / horizon / n_arms)(n_arms, horizon, rng)


def rexp3_default(n_arms: int, horizon: int, rng: np.random.Generator) -> Play:
    batch = math.ceil((n_arms * math.log(n_arms)) ** (1 / 3) * (horizon / n_arms) ** (2 / 3))
    gamma = math.sqrt(n_arms * math.log(n_arms) / ((math.e - 1) * batch))
    return exp3(min(1.0, gamma), batch=batch)(n_arms, horizon, rng)


# -- sweeps --------------------------------------------------------------------------------------------------------


def ser4(
    phi: float | None = None, delta: float | None = None, divisor: float = 2.0, eps: float | None = None
) -> Reference:
    def run(n_arms: int, horizon: int, rng: np.random.Generator) -> Play:
        chance = math.sqrt(1 / (horizon * n_arms * math.log(n_arms * horizon))) if phi is None else phi
        level = 1 / horizon if delta is None else delta
        margin = 1 / (n_arms * horizon) if eps is None else eps
        restart = True
        while True:
            if restart:
                active, tau, means, restart = list(range(n_arms)), 1, [0.0] * n_arms, False
            waiting, played = list(active), []
            while waiting and not restart:
                j = int(rng.random() * len(waiting)) if len(waiting) > 1 else 0
                waiting[0], waiting[j] = waiting[j], waiting[0]
                arm = waiting.pop(0)
                played.append(arm)
                x = clip((yield arm))
                means[arm] = ((tau - 1) * means[arm] + x) / tau
                restart = rng.random() < chance
            if not restart:
                radius = 2 * math.sqrt(math.log(4 * n_arms * tau**2 / level) / (divisor * tau))
                highest = max(means[arm] for arm in played)
                active = [arm for arm in played if highest - means[arm] + margin < radius]
                tau += 1

    return run


def explore_then_commit(m: int | None = None) -> Reference:
    def run(n_arms: int, horizon: int, rng: np.random.Generator) -> Play:
        sums = [0.0] * n_arms
        for _ in range(math.ceil(horizon ** (2 / 3) / n_arms) if m is None else m):
            for arm in range(n_arms):
                sums[arm] += yield arm
        while True:
            yield best_of(sums)

    return run


# -- best-arm identification ---------------------------------------------------------------------------------------


def r_ucbe_estimate(r: list[float], horizon: int, eps: float) -> tuple[float, int]:
    """The estimate of mu(T) from the rewards of an arm, and its window."""
    n = len(r)
    h = math.floor(eps * n + 1e-12)
    if h == 0:
        return -math.inf, 0
    last = range(n - h + 1, n + 1)
    level = math.fsum(r[pull - 1] for pull in last) / h
    return level + math.fsum((horizon - pull) * (r[pull - 1] - r[pull - h - 1]) for pull in last) / h**2, h


def r_ucbe(sigma: float, a: float | None = None, eps: float = 0.25) -> Reference:
    def run(n_arms: int, horizon: int, rng: np.random.Generator) -> Play:
        exploration = 2 * math.log(horizon) if a is None else a
        rewards: list[list[float]] = [[] for _ in range(n_arms)]
        index = [math.inf] * n_arms
        while True:
            arm = best_of(index)
            rewards[arm].append((yield arm))
            estimate, h = r_ucbe_estimate(rewards[arm], horizon, eps)
            if h:
                n = len(rewards[arm])
                index[arm] = estimate + sigma * (horizon - n + h - 1) * math.sqrt(exploration / h**3)

    return run


def rejects(eps: float = 1.0) -> Reference:
    """Successive rejects on the means of the last eps N rewards."""

    def run(n_arms: int, horizon: int, rng: np.random.Generator) -> Play:
        lbar = 0.5 + sum(1 / i for i in range(2, n_arms + 1))
        active = list(range(n_arms))
        rewards: list[list[float]] = [[] for _ in range(n_arms)]
        done = 0
        for j in range(1, n_arms):
            target = max(1, math.ceil((horizon - n_arms) / (lbar * (n_arms + 1 - j))))
            for _ in range(target - done):
                for arm in active:
                    rewards[arm].append((yield arm))
            done = target
            h = max(1, math.floor(eps * target + 1e-12))
            active.remove(min(active, key=lambda arm: (math.fsum(rewards[arm][-h:]) / h, -arm)))
        while True:
            yield active[0]

    return run


def recent_mean(rewards: list[float], share: float) -> float:
    """The mean of the last share of the rewards, at least of one."""
    h = max(1, math.floor(share * len(rewards) + 1e-12))
    return math.fsum(rewards[-h:]) / h if rewards else -math.inf


def successive_halving(eta: int = 3, max_pulls: int | None = None, share: float = 0.1) -> Reference:
    """Rungs share what is left of the budget; the best floor(S / eta) of S arms go on."""

    def run(n_arms: int, horizon: int, rng: np.random.Generator) -> Play:
        active = list(range(n_arms))
        rewards: list[list[float]] = [[] for _ in range(n_arms)]
        rungs = 0
        while n_arms > 1:
            n_arms, rungs = max(1, n_arms // eta), rungs + 1
        while rungs:
            spent, reached = sum(map(len, rewards)), len(rewards[active[0]])
            new = max(1, (horizon - spent) // (len(active) * rungs))
            new = new if max_pulls is None else min(new, max_pulls - reached)
            for _ in range(new):
                for arm in active:
                    rewards[arm].append((yield arm))
            ranked = sorted(active, key=lambda arm: (-recent_mean(rewards[arm], share), arm))
            active, rungs = sorted(ranked[: max(1, len(active) // eta)]), rungs - 1
        while True:
            yield active[0]

    return run


def hyperband(rungs: list[tuple[bool, int, int]], share: float = 0.1) -> Reference:
    """Through rungs (whether a bracket begins, its arms, pulls of each): every arm of a rung until it is there."""

    def run(n_arms: int, horizon: int, rng: np.random.Generator) -> Play:
        rewards: list[list[float]] = [[] for _ in range(n_arms)]
        entered = 0
        active: list[int] = []
        for begins, arms, target in rungs:
            if begins:
                active = [(entered + i) % n_arms for i in range(arms)]
                entered += arms
            else:
                places = sorted(range(len(active)), key=lambda i: (-recent_mean(rewards[active[i]], share), i))
                active = [active[i] for i in sorted(places[:arms])]
            for arm in active:
                while len(rewards[arm]) < target:
                    rewards[arm].append((yield arm))
        while True:
            best = best_of([recent_mean(own, share) for own in rewards])
            rewards[best].append((yield best))

    return run


def asha(eta: int = 3, max_pulls: int | None = None, share: float = 0.1) -> Reference:
    """Jobs one after another: the highest promotion that is due, else a new arm, else the best that can rise."""

    def run(n_arms: int, horizon: int, rng: np.random.Generator) -> Play:
        longest = horizon if max_pulls is None else min(horizon, max_pulls)
        targets = [1]
        while targets[-1] < longest:
            targets.append(min(targets[-1] * eta, longest))
        rewards: list[list[float]] = [[] for _ in range(n_arms)]
        scores: list[list[float]] = [[] for _ in range(n_arms)]  # at the end of every rung that the arm has done
        while True:
            job, waiting = None, None
            for rung in range(len(targets) - 2, -1, -1):
                done = [arm for arm in range(n_arms) if len(scores[arm]) > rung]
                ready = [arm for arm in done if len(scores[arm]) == rung + 1]
                if ready:
                    best = max(ready, key=lambda arm: (scores[arm][rung], -arm))
                    waiting = best if waiting is None else waiting
                    better = sum(scores[arm][rung] > scores[best][rung] for arm in done)
                    if job is None and better < len(done) // eta:
                        job = best
            fresh = next((arm for arm in range(n_arms) if not rewards[arm]), None)
            job = fresh if job is None else job
            job = waiting if job is None else job
            if job is None:
                job = best_of([recent_mean(own, share) for own in rewards])
                rewards[job].append((yield job))
                continue
            while len(rewards[job]) < targets[len(scores[job])]:
                rewards[job].append((yield job))
            scores[job].append(recent_mean(rewards[job], share))

    return run


def sequential_halving(n_arms: int, horizon: int, rng: np.random.Generator) -> Play:
    active = list(range(n_arms))
    phases = math.ceil(math.log2(n_arms))
    for _ in range(phases):
        new = max(1, horizon // (len(active) * phases))
        sums = dict.fromkeys(active, 0.0)
        for _ in range(new):
            for arm in active:
                sums[arm] += yield arm
        ranked = sorted(active, key=lambda arm: (-sums[arm], arm))
        active = sorted(ranked[: math.ceil(len(active) / 2)])
    while True:
        yield active[0]
