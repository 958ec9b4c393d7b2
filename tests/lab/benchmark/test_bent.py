"""Curves that break the assumptions follow their formulas and break what they are meant to break."""

from __future__ import annotations

import math

import numpy as np
import pytest

from risingbandits._core.errors import RisingBanditsError
from risingbandits.lab.benchmark.bent_curves import SHAPES, misspecified, plateau_instance
from risingbandits.problems import Bernoulli, Gaussian, get_problem, random_problem

FORMULAS = {
    "slow-start": lambda mu, n, horizon: mu / (1 + (200 / n) ** 2),
    "log-wiggle": lambda mu, n, horizon: mu + 0.03 * math.sin(6 * math.log(n)),
    "wave": lambda mu, n, horizon: mu + 0.03 * math.sin(2 * math.pi * n / 500),
    "decrease": lambda mu, n, horizon: mu - 0.1 * n / horizon,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_bent_curves_follow_their_formula(shape: str) -> None:
    straight = get_problem("paper-2arms").with_noise(Gaussian(0.2))
    bent = misspecified(straight, shape, horizon=3_000)
    assert (bent.horizon, bent.noise, bent.arm_names) == (3_000, straight.noise, straight.arm_names)
    assert bent.name == f"paper-2arms-v1-{shape}"
    for arm in range(2):
        for n in (1, 2, 57, 500, 2_999, 3_000):
            mu = float(straight.curves[arm](n))
            assert float(bent.curves[arm](n)) == pytest.approx(FORMULAS[shape](mu, n, 3_000), abs=1e-14)
    assert not (bent.is_non_decreasing() and bent.is_concave())
    assert np.array_equal(bent.means(3_001), bent.means(3_000))


def test_own_horizon_and_probabilities() -> None:
    bent = misspecified(random_problem(3, 800, seed=4, noise=Bernoulli()), "decrease")
    assert bent.horizon == 800
    assert bent.means(np.arange(1, 801)).min() >= 0.0  # the means of Bernoulli rewards are clipped, as everywhere


def test_unknown_shape() -> None:
    with pytest.raises(RisingBanditsError, match="shape must be one of slow-start, log-wiggle, wave, decrease"):
        misspecified(get_problem("paper-2arms"), "zigzag")


def test_plateaus_rise_rest_and_rise_again() -> None:
    bandit = plateau_instance(400, 1_000, seed=2)
    assert bandit == plateau_instance(400, 1_000, seed=2)
    assert bandit != plateau_instance(400, 1_000, seed=3)
    assert bandit.is_non_decreasing()
    concave = [bool(curve.is_concave()) for curve in bandit.curves]
    assert abs(sum(concave) - 200) < 50  # a fair coin: five standard deviations
    ends = bandit.means(1_000)
    assert ends.min() > 0.1 * (1 - 1e-3)
    assert ends.max() < 0.95


def test_plateau_follows_its_recipe() -> None:
    rng = np.random.default_rng(9)

    def log_uniform(low: float, high: float) -> float:
        return math.exp(rng.uniform(math.log(low), math.log(high)))

    for curve in plateau_instance(6, 2_000, seed=9).curves:
        c1, t1, again = rng.uniform(0.1, 0.5), log_uniform(2, 40), rng.random() < 0.5
        n2, c2, t2 = rng.uniform(40, 200), rng.uniform(0.1, 0.45), log_uniform(2, 100)
        for n in (1, 39, 201, 900, 2_000):
            expected = c1 * (1 - math.exp(-n / t1))
            if again and n > n2:
                expected += c2 * (1 - math.exp(-(n - n2) / t2))
            assert float(curve(n)) == pytest.approx(expected, abs=1e-12)
