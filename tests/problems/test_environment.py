"""The arrays and kernels that the compiled loop reads: equal bits on every road, and rewards with the right moments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from risingbandits._core.jit import compiled, interpreted
from risingbandits.problems import (
    Bernoulli,
    Beta,
    ConstantCurve,
    Environment,
    Exponential,
    Gaussian,
    LinearCapped,
    Noise,
    NoNoise,
    Polynomial,
    PowerLaw,
    RisingBandit,
    Tabulated,
    get_problem,
    random_problem,
)
from risingbandits.problems._encoding import TABLE_BYTES
from risingbandits.problems._kernels import draw_reward, mean_at
from risingbandits.problems._sums import cumulate_data, fill_sums

Floats = npt.NDArray[np.float64]

CURVES = [
    Exponential(0.7, 0.013, start=0.1),
    Polynomial(1.08, 2, 0.8),  # exceeds 1
    Polynomial(0.4, 40_000, 0.4, inner=41_000),
    PowerLaw(0.5, 0.9, 0.3),  # starts below 0
    LinearCapped(0.007, 0.6),
    ConstantCurve(0.3),
    Tabulated([0.1, 0.2, 1.4]),
    Tabulated(np.linspace(-0.1, 0.9, 50)),
]
NOISES: list[Noise] = [NoNoise(), Gaussian(0.1), Bernoulli(), Beta()]


def means_of_loop(env: Environment, n: int, out: Floats) -> None:
    for arm in range(out.shape[0]):
        for pull in range(1, n + 1):
            out[arm, pull - 1] = mean_at(env, arm, pull)


def rewards_of_loop(env: Environment, means: Floats, rng: Any, out: Floats) -> None:
    for i in range(out.size):
        out[i] = draw_reward(env, means[i], rng)


compiled_means = compiled(means_of_loop)
compiled_rewards = compiled(rewards_of_loop)


def rewards(noise: Noise, means: Floats, seed: int = 0) -> Floats:
    env = RisingBandit([ConstantCurve(0.5)], noise).environment(1)
    out = np.empty(means.size)
    compiled_rewards(env, means, np.random.default_rng(seed), out)
    return out


@pytest.mark.parametrize("noise", [Gaussian(0.1), Bernoulli()], ids=repr)
def test_table_and_evaluated_and_interpreted_have_equal_bits(noise: Noise) -> None:
    bandit = RisingBandit(CURVES, noise)
    n = 120
    expected = bandit.means(np.arange(1, n + 1))
    for horizon in (1, 60, n):
        env = bandit.environment(horizon)
        assert env.table.shape == (len(CURVES), horizon)
        for run in (compiled_means, interpreted(means_of_loop)):
            out = np.empty((len(CURVES), n))
            run(env, n, out)
            assert out.tobytes() == expected.tobytes()
    if noise.mean_range is None:
        for arm, curve in enumerate(CURVES):
            assert curve(np.arange(1, n + 1)).tobytes() == expected[arm].tobytes()
    else:
        raw = RisingBandit(CURVES).means(np.arange(1, n + 1))
        assert expected.tobytes() == np.clip(raw, 0.0, 1.0).tobytes()


def test_compiled_and_interpreted_sums_have_equal_bits() -> None:
    bandit = RisingBandit(CURVES)
    counts = np.array([[0], [1], [7], [49], [300]]) + np.zeros(len(CURVES), int)
    out = np.empty(counts.shape)
    env = bandit.environment(1)
    sums = np.zeros(env.data.size)
    interpreted(cumulate_data)(env, sums)
    interpreted(fill_sums)(env, sums, counts, out)
    assert out.tobytes() == bandit.mean_sums(counts).tobytes()


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_compiled_and_interpreted_draws_have_equal_bits(noise: Noise) -> None:
    env = RisingBandit([ConstantCurve(0.5)], noise).environment(1)
    means = np.linspace(0.0, 1.0, 101)
    out = np.empty(means.size)
    interpreted(rewards_of_loop)(env, means, np.random.default_rng(0), out)
    assert out.tobytes() == rewards(noise, means).tobytes()


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("mean", [0.02, 0.3, 0.8])
def test_moments_of_rewards(noise: Noise, mean: float) -> None:
    n = 40_000
    drawn = rewards(noise, np.full(n, mean), seed=1)
    if isinstance(noise, Beta):
        a, b = 2 * mean / (1 - mean), 2.0
        variance = a * b / ((a + b) ** 2 * (a + b + 1))
    else:
        variance = {"NoNoise": 0.0, "Gaussian": 0.01, "Bernoulli": mean * (1 - mean)}[type(noise).__name__]
    # Five standard errors, that of the variance from the sample's own fourth moment.
    assert abs(drawn.mean() - mean) <= 5 * math.sqrt(variance / n) + 1e-15
    squares = (drawn - mean) ** 2
    assert abs(squares.mean() - variance) <= 5 * squares.std() / math.sqrt(n) + 1e-15
    if noise.mean_range is not None:
        assert drawn.min() >= 0.0
        assert drawn.max() <= 1.0


@pytest.mark.parametrize("noise", [Bernoulli(), Beta()], ids=repr)
def test_means_outside_the_unit_interval_give_its_ends(noise: Noise) -> None:
    assert rewards(noise, np.array([-0.3, 0.0, 1.0, 1.4])).tolist() == [0.0, 0.0, 1.0, 1.0]


def test_noise_as_policies_see_it() -> None:
    assert [noise.sigma for noise in NOISES] == [0.0, 0.1, 0.5, 0.5]
    assert [noise.mean_range for noise in NOISES] == [None, None, (0, 1), (0, 1)]
    assert repr(NOISES) == "[NoNoise(), Gaussian(sigma=0.1), Bernoulli(), Beta(b=2.0)]"


def test_environment_is_bounded_and_kept() -> None:
    many = random_problem(3_000, 200_000, seed=1)
    env = many.environment()
    assert env.table.nbytes <= TABLE_BYTES
    assert env.table.shape == (3_000, TABLE_BYTES // (8 * 3_000))
    assert many.environment(200_000) is env
    assert many.environment(10).table.shape == (3_000, 10)


def test_all_environments_have_the_same_types() -> None:
    tabulated = RisingBandit.from_array([[0.1, 0.2]], Bernoulli(), restless=True).environment()
    for env in (tabulated, get_problem("mussi-5arms").environment()):
        assert [type(value) for value in env] == [np.ndarray] * 6 + [int, float, int]
        arrays = [value for value in env if isinstance(value, np.ndarray)]
        assert [a.dtype.char for a in arrays] == ["l", "d", "d", "l", "l", "d"]
        assert all(a.flags.c_contiguous and a.flags.writeable for a in arrays)
        assert env.data.size >= 1
