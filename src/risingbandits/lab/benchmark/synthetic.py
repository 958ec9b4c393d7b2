"""Benchmarks of simulated problems: presets, random instances, lower-bound pairs, noise, constant and many arms."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from risingbandits._core.errors import check_positive_int
from risingbandits.lab.benchmark._problems import Benchmark, Problem, SimulatedProblem, seed_of
from risingbandits.lab.paper.pairs import problem_pair
from risingbandits.problems import (
    Bernoulli,
    ConstantCurve,
    Gaussian,
    Noise,
    NoNoise,
    RisingBandit,
    exponential_problem,
    get_problem,
    power_law_problem,
    random_problem,
)

_PAPER = ("paper-15arms", "paper-2arms")
_RANDOM = tuple(f"random-{number}" for number in range(2, 7))
_HORIZONS = (2_000, 20_000, 200_000)
_FULL_RUNS = 20_000  # longer horizons that are not a problem's own have fewer runs, in proportion
_NOISES: dict[str, Noise] = {"Gaussian": Gaussian(0.1), "Bernoulli": Bernoulli()}
_SHORT_NOISES: dict[str, Noise] = {
    "Bernoulli": Bernoulli(),
    "Gaussian 0.1": Gaussian(0.1),
    "Gaussian 0.5": Gaussian(0.5),
}


@dataclass(frozen=True)
class Sizes:
    """How much work.

    Runs of a benchmark of one problem, number of random instances, orders of the arms of real tasks.
    """

    runs: int = 50
    instances: int = 100
    orders: int = 10
    quick: bool = False

    def __post_init__(self) -> None:
        for name in ("runs", "instances", "orders"):
            check_positive_int(name, getattr(self, name))

    def at(self, horizon: int) -> int:
        """Runs of a problem at a horizon that is not its own: fewer for long ones."""
        return max(min(3, self.runs), min(self.runs, self.runs * _FULL_RUNS // horizon))

    def horizon(self, full: int) -> int:
        """Rounds of a benchmark; far fewer for a quick check."""
        return max(300, full // 200) if self.quick else full


def presets(seed: int, sizes: Sizes) -> Iterator[Benchmark]:
    """The named problems with both kinds of noise, short and long."""
    for noise in _NOISES:
        for name in (*_PAPER, *_RANDOM):
            own = get_problem(name).horizon
            assert own is not None
            horizons = (300, 1_000) if sizes.quick else sorted({*_HORIZONS, own})
            for horizon in horizons:
                runs = sizes.runs if horizon == own or sizes.quick else sizes.at(horizon)
                label = f"{name}, {noise}, T = {horizon:,}"
                yield _one(label, "presets", partial(_preset, name, noise, horizon), runs, seed)


def random_instances(seed: int, sizes: Sizes) -> Iterator[Benchmark]:
    """Fresh instances of the random generator, the same arms with both kinds of noise."""
    horizon = sizes.horizon(50_000)
    for noise, kind in _NOISES.items():
        build = partial(_drawn, _any_arms, 0, horizon, kind, "random", seed)
        label = f"random instances, {noise}, T = {horizon:,}"
        yield _many(label, "random", build, sizes.instances, 1, seed)


def pairs(seed: int, sizes: Sizes) -> Iterator[Benchmark]:
    """The lower-bound pairs, of which the worse side counts."""
    horizon = max(1_100, sizes.horizon(50_000))  # T^0.9 is at most T/2 from 1,024 on
    for kind, noise in (("sigma 0.1", Gaussian(0.1)), ("no noise", NoNoise())):
        runs = sizes.runs if isinstance(noise, Gaussian) else max(min(3, sizes.runs), sizes.runs // 5)
        for beta in (None, 0.5, 0.7, 0.9):
            name = f"pair {'concave' if beta is None else f'beta {beta:g}'}, {kind}, T = {horizon:,}"
            sides = tuple(
                SimulatedProblem("", partial(_side, side, beta, horizon, noise), runs, seed_of(seed, name), side=side)
                for side in ("A", "B")
            )
            yield Benchmark(name, "pairs", "synthetic", "cumulative", "percent", sides)


def noisy_short(objective: str, seed: int, sizes: Sizes) -> Iterator[Benchmark]:
    """Ten power laws and a thousand rounds, with noise: the same arms with each kind."""
    for name, noise in _SHORT_NOISES.items():
        build = partial(_drawn, power_law_problem, 10, 1_000, noise, "noisy short", seed)
        label = f"noisy-short {name}"
        benchmark = _many(label, label, build, sizes.instances, 5, seed, objective)
        yield replace(benchmark, measure="share")


def stationary(seed: int, sizes: Sizes) -> Iterator[Benchmark]:
    """Ten arms that do not rise, their means drawn from [0, 1], noise 0.1; KL-UCB loses about 210."""
    horizon = sizes.horizon(100_000)
    build = partial(_drawn, _constant_arms, 10, horizon, Gaussian(0.1), "stationary", seed)
    yield _many(f"stationary arms, K = 10, T = {horizon:,}", "stationary", build, sizes.instances // 2 or 1, 1, seed)


def many_arms(seed: int, sizes: Sizes) -> Iterator[Benchmark]:
    """A thousand learning curves, power laws and exponentials, with 5 and 50 rounds for each."""
    kinds = {"power law": power_law_problem, "exponential": exponential_problem}
    for family, draw in kinds.items():
        for horizon in (5_000, 50_000):
            n_arms, rounds = (50, horizon // 20) if sizes.quick else (1_000, horizon)
            build = partial(_drawn, draw, n_arms, rounds, Gaussian(0.1), f"many {family}", seed)
            label = f"{family}, K = {n_arms:,}, T = {rounds:,}"
            benchmark = _many(label, "many-arms", build, 2 if sizes.quick else 3, 1, seed)
            yield replace(benchmark, measure="share")


# -- builders of problems ---------------------------------------------------------------------------------------------


def _one(name: str, group: str, build: Callable[[], RisingBandit], runs: int, seed: int) -> Benchmark:
    return Benchmark(
        name, group, "synthetic", "cumulative", "percent", (SimulatedProblem("", build, runs, seed_of(seed, name)),)
    )


def _many(
    name: str,
    group: str,
    build: Callable[[int], RisingBandit],
    instances: int,
    runs: int,
    seed: int,
    objective: str = "cumulative",
) -> Benchmark:
    problems: tuple[Problem, ...] = tuple(
        SimulatedProblem(
            f"instance {number + 1}", partial(build, number), runs, seed_of(seed, name, number), objective=objective
        )
        for number in range(instances)
    )
    return Benchmark(name, group, "synthetic", objective, "percent", problems)


def _preset(name: str, noise: str, horizon: int) -> RisingBandit:
    return get_problem(name).with_noise(_NOISES[noise]).with_horizon(horizon)


def _drawn(
    draw: Callable[..., RisingBandit], n_arms: int, horizon: int, noise: Noise, key: str, seed: int, i: int
) -> RisingBandit:
    """Instance ``i`` of a generator: the same arms under every noise."""
    source = np.random.SeedSequence(seed, spawn_key=(zlib.crc32(f"curves of {key}".encode()), i))
    return draw(n_arms, horizon, source, noise)


def _any_arms(_: int, horizon: int, source: np.random.SeedSequence, noise: Noise) -> RisingBandit:
    return random_problem(None, horizon, source, noise)


def _constant_arms(n_arms: int, horizon: int, source: np.random.SeedSequence, noise: Noise) -> RisingBandit:
    means = np.random.default_rng(source).random(n_arms)
    return RisingBandit([ConstantCurve(mean) for mean in means.tolist()], noise, horizon, "stationary")


def _side(side: str, beta: float | None, horizon: int, noise: Noise) -> RisingBandit:
    pair = problem_pair("concave" if beta is None else "beta", horizon, beta=beta, noise=noise)
    return pair.a if side == "A" else pair.b
