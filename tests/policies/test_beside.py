"""Several workers with OpenByValue, beside a plain reference."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from reference_beside import SlowBeside
from risingbandits.policies import Auto, OpenByValue

SEEN: Counter[str] = Counter()


@pytest.mark.parametrize("workers", [2, 4])
@pytest.mark.parametrize("seed", range(6))
def test_a_worker_beside_others_decides_like_the_reference(workers: int, seed: int) -> None:
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
    SEEN.update(slow.seen)


def test_every_case_has_come_up() -> None:
    if not SEEN:
        pytest.skip("the runs of the reference were not played")
    assert {"planned", "no open arm", "waits", "own incumbent", "opens", "tries"} == set(SEEN)


def test_one_worker_is_told_nothing_new() -> None:
    runs = []
    for told in (False, True):
        policy = Auto().reset(8, 100, seed=3)
        arms = []
        for n in range(100):
            if told:
                policy.expect_workers(1)
            arms.append(policy.ask(np.ones(8, bool)))
            policy.tell(arms[-1], (arms[-1] * 3 % 8) / 8 * n / (n + 9))
        runs.append(arms)
    assert runs[0] == runs[1]
