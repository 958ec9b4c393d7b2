"""Crossing curves are as their recipe says."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from risingbandits.lab.benchmark._crossing import (
    HORIZONS,
    NOISES,
    NUMBERS_OF_ARMS,
    PULLS_PER_ARM,
    crossing,
    crossing_means,
    scan,
)
from risingbandits.lab.benchmark.suite import few_arms
from risingbandits.lab.benchmark.synthetic import Sizes
from tasks_of_curves import curve_task


@pytest.mark.parametrize(("n_arms", "horizon"), [(2, 40), (3, 300), (12, 600)])
def test_the_best_arm_is_not_the_best_early(n_arms: int, horizon: int) -> None:
    for seed in range(20):
        means = crossing_means(n_arms, horizon, np.random.default_rng(seed))
        assert means.shape == (n_arms, horizon)
        early = max(1, horizon // n_arms // 10)
        best = max(range(n_arms), key=lambda arm: math.fsum(means[arm]))
        assert any(means[arm][early - 1] > means[best][early - 1] for arm in range(n_arms))
        assert 0 <= means.min() <= means.max() <= 0.95
        assert (np.diff(means) >= -1e-12).all()


def test_means_follow_their_recipe() -> None:
    rng, again = np.random.default_rng(4), np.random.default_rng(4)
    means = crossing_means(3, 90, rng)

    def log_uniform(low: float, high: float) -> float:
        return math.exp(again.uniform(math.log(low), math.log(high)))

    def arm() -> Callable[[int], float]:
        limit, shape = again.uniform(0.1, 0.95), again.integers(4)
        if shape == 0:
            time = log_uniform(1, 45)
            return lambda n: limit * (1 - math.exp(-n / time))
        if shape == 1:
            share, power = again.uniform(0.3, 1), again.uniform(0.1, 1.0)
            return lambda n: max(0.0, limit * (1 - share / n**power))
        if shape == 2:
            middle = log_uniform(3, 30)
            steep = again.uniform(2, 6) / middle
            return lambda n: limit / (1 + math.exp(-(n - middle) * steep))
        end = log_uniform(3, 90)
        return lambda n: min(limit, limit * n / end)

    while rng.bit_generator.state != again.bit_generator.state:
        curves = [arm() for _ in range(3)]
    for row, curve in zip(means, curves, strict=True):
        assert row.tolist() == pytest.approx([curve(n) for n in range(1, 91)])


def test_rows_have_the_same_arms_with_every_noise() -> None:
    rows = list(crossing("cumulative", 3, Sizes(instances=50)))
    assert [row.name for row in rows] == [f"crossing, {label}" for label in NOISES]
    for problems in zip(*(row.problems[:3] for row in rows), strict=True):
        assert len({problem.instance().means(20).tobytes() for problem in problems}) == 1
    sizes = [(problem.n_arms, problem.horizon // problem.n_arms) for problem in rows[0].problems[:8]]
    assert sizes == [(n_arms, pulls) for n_arms in NUMBERS_OF_ARMS for pulls in PULLS_PER_ARM][:8]
    assert len({problem.digest for row in crossing("best-arm", 3, Sizes(quick=True)) for problem in row.problems}) == 16


def test_horizons_grow_by_two_percent() -> None:
    assert HORIZONS[0] == 60
    assert 1_180 < HORIZONS[-1] <= 1_200
    assert all(1 < after / before < 1.034 for before, after in itertools.pairwise(HORIZONS))
    three = next(scan(0, Sizes(runs=1, quick=True)))
    assert three.problems[0].instance().means(5).tolist() == pytest.approx(
        [limit * (1 - math.exp(-5 / time)) for limit, time in ((0.55, 5), (0.9, 60), (0.3, 10))]
    )


def test_few_arms_are_arms_of_the_task() -> None:
    task = curve_task(n_arms=9)
    some = few_arms(task, 5, 2)
    assert some.n_arms == len({row.tobytes() for row in some.truth}) == 5
    assert {row.tobytes() for row in some.truth} < {row.tobytes() for row in task.truth}
    assert some.digest == few_arms(task, 5, 2).digest != few_arms(task, 5, 3).digest
