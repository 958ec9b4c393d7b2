"""Benchmarks of crossing curves: the arm that is best over the whole run is behind at first.

`crossing_means` draws arms of four shapes and keeps a draw only if its best arm is not the best after a tenth of an
equal share of the pulls. `SCANNED` has three fixed problems, which are played with every number of rounds of
`HORIZONS`: neighbouring horizons should give nearly the same result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from risingbandits._core.types import Floats
from risingbandits.lab.benchmark._problems import Benchmark, SimulatedProblem, seed_of
from risingbandits.lab.benchmark.synthetic import Sizes
from risingbandits.problems import Bernoulli, ConstantCurve, Exponential, Gaussian, Noise, NoNoise, RisingBandit

NUMBERS_OF_ARMS = (2, 3, 5, 8, 12, 20)
PULLS_PER_ARM = (20, 50, 100, 200, 500, 1_000)
NOISES: dict[str, Noise] = {
    "no noise": NoNoise(),
    "Gaussian 0.01": Gaussian(0.01),
    "Gaussian 0.1": Gaussian(0.1),
    "Bernoulli": Bernoulli(),
}
SCANNED: dict[str, tuple[ConstantCurve | Exponential, ...]] = {
    "three arms": (Exponential(0.55, 1 / 5), Exponential(0.9, 1 / 60), Exponential(0.3, 1 / 10)),
    "two arms": (ConstantCurve(0.6), Exponential(0.9, -math.log(0.97))),
    "shell example": (  # a pull of examples/shell closes this share of the distance to the limit
        Exponential(0.5, -math.log(1 - 0.6)),
        Exponential(0.9, -math.log(1 - 0.08)),
        Exponential(0.2, -math.log(1 - 0.3)),
    ),
}
HORIZONS = tuple(sorted({round(60 * 1.02**step) for step in range(152)}))
"""From 60 to about 1,200 rounds in steps of 2 %, or of one round."""


def crossing_means(n_arms: int, horizon: int, rng: np.random.Generator) -> Floats:
    """The means of every arm and pull, of shape (n_arms, horizon).

    Each arm is, with the same probability, a saturating exponential, a power law, a logistic curve that rises late, or
    a line up to a cap. Draws are repeated until the arm with the largest sum is not the best after
    horizon / (10 n_arms) pulls.
    """
    pulls = np.arange(1.0, horizon + 1)
    early = max(0, horizon // (10 * n_arms) - 1)
    while True:
        means = np.array([_arm(pulls, rng) for _ in range(n_arms)])
        if means[:, early].argmax() != means.sum(axis=1).argmax():
            return means


def _arm(pulls: Floats, rng: np.random.Generator) -> Floats:
    """One arm: its limit, its shape, then the numbers of the shape, in this order of draws."""
    horizon = len(pulls)
    limit = rng.uniform(0.1, 0.95)
    shape = rng.integers(4)
    values: Floats
    if shape == 0:
        values = -limit * np.expm1(-pulls / _log_uniform(rng, 1, horizon / 2))
    elif shape == 1:
        values = np.maximum(0.0, limit * (1 - rng.uniform(0.3, 1) * pulls ** -rng.uniform(0.1, 1.0)))
    elif shape == 2:
        middle = _log_uniform(rng, 3, horizon / 3)
        values = limit / (1 + np.exp(-np.clip((pulls - middle) * (rng.uniform(2, 6) / middle), -50, 50)))
    else:
        values = np.minimum(limit, limit * pulls / _log_uniform(rng, 3, horizon))
    return values


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def crossing(objective: str, seed: int, sizes: Sizes) -> Iterator[Benchmark]:
    """2 to 20 arms with 20 to 1,000 pulls for each: one for each kind of noise, with the same arms."""
    numbers, ratios = ((3,), (20, 200)) if sizes.quick else (NUMBERS_OF_ARMS, PULLS_PER_ARM)
    for label, noise in NOISES.items():
        name = f"crossing, {label}"
        problems = tuple(
            SimulatedProblem(
                f"K = {n_arms}, {ratio} pulls each, {number}",
                partial(_drawn, n_arms, ratio, (seed, n_arms, ratio, number), noise),
                1,
                seed_of(seed, f"{name} {n_arms} {ratio}", number),
                objective=objective,
            )
            for n_arms in numbers
            for ratio in ratios
            for number in range(max(1, min(2, sizes.instances // 50)))
        )
        yield Benchmark(name, "crossing", "synthetic", objective, "percent", problems)


def _drawn(n_arms: int, ratio: int, key: tuple[int, ...], noise: Noise) -> RisingBandit:
    return RisingBandit.from_array(crossing_means(n_arms, n_arms * ratio, np.random.default_rng(key)), noise)


def scan(seed: int, sizes: Sizes) -> Iterator[Benchmark]:
    """The problems of `SCANNED` with every number of rounds; run i has the same seed at all of them."""
    for label, curves in SCANNED.items():
        problems = tuple(
            SimulatedProblem(f"T = {horizon}", partial(_scanned, curves, horizon), sizes.runs, seed_of(seed, label))
            for horizon in (HORIZONS[::50] if sizes.quick else HORIZONS)
        )
        yield Benchmark(f"scan, {label}", "scan", "synthetic", "cumulative", "percent", problems)


def _scanned(curves: tuple[ConstantCurve | Exponential, ...], horizon: int) -> RisingBandit:
    return RisingBandit(list(curves), Gaussian(0.01), horizon)
