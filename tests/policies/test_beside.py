"""Several workers with OpenByValue, beside a plain reference."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from reference_beside import SlowBeside
from risingbandits.policies import Auto, OpenByValue

WORKERS, SEEDS = (2, 4), range(6)


@cache
def cases_of(workers: int, seed: int) -> frozenset[str]:
    """Play both, which must agree; the cases of the rule that came up."""
    rng = np.random.default_rng([seed, workers])
    n_arms, horizon = int(rng.integers(4, 12)), int(rng.integers(60, 100))
    tops, paces, starts = rng.uniform(0.2, 0.9, n_arms), rng.uniform(1, 30, n_arms), rng.integers(0, 8, n_arms)
    starts *= seed % 3 == 0  # in some runs all arms begin flat
    sigma = (0.0, 0.03)[seed % 2]
    policy = OpenByValue(order="given").reset(n_arms, horizon)
    slow = SlowBeside(n_arms, horizon)
    free, counts = np.ones(n_arms, bool), np.zeros(n_arms, int)
    running: list[int] = []
    for _ in range(2 * horizon - workers):
        if len(running) < workers and counts.sum() + len(running) < horizon:
            policy.expect_workers(len(running) + 1)
            slow.workers = len(running) + 1
            arm = policy.ask(free)
            assert (counts.sum(), arm) == (counts.sum(), slow.answer(free.tolist()))
            free[arm] = False
            running.append(arm)
        elif running:
            arm = running.pop(int(rng.integers(len(running))))
            free[arm] = True
            counts[arm] += 1
            age = max(0, counts[arm] - starts[arm])
            reward = float(tops[arm] * age / (age + paces[arm]) + sigma * rng.standard_normal())
            policy.tell(arm, reward)
            slow.take(arm, reward)
    return frozenset(slow.seen)


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_worker_beside_others_decides_like_the_reference(workers: int, seed: int) -> None:
    assert cases_of(workers, seed)


def test_every_case_comes_up() -> None:
    seen = frozenset[str]().union(*(cases_of(workers, seed) for workers in WORKERS for seed in SEEDS))
    assert seen == {"planned", "no open arm", "waits", "own incumbent", "opens", "tries"}


def test_one_worker_is_told_nothing_new() -> None:
    runs = []
    for told in (False, True):
        policy = Auto("cumulative").reset(8, 100, seed=3)
        arms = []
        for n in range(100):
            if told:
                policy.expect_workers(1)
            arms.append(policy.ask(np.ones(8, bool)))
            policy.tell(arms[-1], (arms[-1] * 3 % 8) / 8 * n / (n + 9))
        runs.append(arms)
    assert runs[0] == runs[1]
