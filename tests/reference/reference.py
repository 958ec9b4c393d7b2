"""Slow and obvious: every index straight from its definition, nothing kept between rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from risingbandits import Policy, RisingBandit
from risingbandits._core.jit import interpreted
from risingbandits.problems._kernels import draw_reward, mean_at

Index = Callable[[Sequence[float], int], float]


def red_ucb_index(rewards: Sequence[float], t: int, eps: float = 0.25, sigma: float = 0.1, alpha: float = 3.0) -> float:
    """The index of an arm with these rewards so far, at round t: the sums of the definition, term by term."""
    n = len(rewards)
    r = [math.nan, *rewards]  # r[l] is the reward of pull l
    if sigma == 0.0:
        if n < 2:
            return math.inf
        level = r[n]
        trend = (t - n) * (r[n] - r[n - 1])
        width = 0.0
    else:
        h = math.floor(eps * n + 1e-12)
        if h == 0:
            return math.inf
        window = range(n - h + 1, n + 1)
        level = math.fsum(r[pull] for pull in window) / h
        trend = math.fsum((t - pull) * (r[pull] - r[pull - h]) / h for pull in window) / h
        width = sigma * (t - n + h - 1) * math.sqrt(10.0 * alpha * math.log(t) / h**3)
    return level + trend + width


def play_index(index: Index, problem: RisingBandit, horizon: int, seed: int) -> list[int]:
    """The arms that an index policy pulls, ties to the lowest arm, with the noise of run ``seed`` of the engine."""
    noise = np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[0])
    environment = problem.environment(horizon)
    mean, draw = interpreted(mean_at), interpreted(draw_reward)
    histories: list[list[float]] = [[] for _ in range(problem.n_arms)]
    arms = []
    for t in range(1, horizon + 1):
        values = [index(history, t) for history in histories]
        arm = values.index(max(values))
        histories[arm].append(draw(environment, mean(environment, arm, len(histories[arm]) + 1), noise))
        arms.append(arm)
    return arms


def play_policy(policy: Policy, problem: RisingBandit, horizon: int, seed: int) -> list[int]:
    """The arms that a policy pulls by ask and tell in the same run."""
    noise_seed, policy_seed = np.random.SeedSequence(seed).spawn(2)
    noise = np.random.default_rng(noise_seed)
    environment = problem.environment(horizon)
    mean, draw = interpreted(mean_at), interpreted(draw_reward)
    policy = policy.clone().reset(problem.n_arms, horizon, policy_seed)
    arms = []
    for _ in range(horizon):
        arm = policy.ask()
        policy.tell(arm, draw(environment, mean(environment, arm, int(policy.pulls[arm]) + 1), noise))
        arms.append(arm)
    return arms
