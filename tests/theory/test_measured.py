"""Checks of measured curves: the fits are least squares, the tests keep their level and find violations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from risingbandits.theory.estimators import check_curve, concave_fit, rising_fit

N = np.arange(1, 301)
CONCAVE = 0.8 - 0.6 * N**-0.5


def quadratic_program(values: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Least squares under matrix @ x <= 0."""
    start = np.full(values.size, values.mean())
    found = minimize(
        lambda x: 0.5 * np.sum((x - values) ** 2),
        start,
        jac=lambda x: x - values,
        constraints=[LinearConstraint(matrix, -np.inf, 0.0)],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    return np.asarray(found.x)


@pytest.mark.parametrize("seed", range(6))
def test_fits_are_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(12) + seed * 0.1 * np.arange(12)
    second, first = np.diff(np.eye(12), 2, axis=0), -np.diff(np.eye(12), axis=0)
    assert concave_fit(values) == pytest.approx(quadratic_program(values, second), abs=1e-5)
    assert rising_fit(values) == pytest.approx(quadratic_program(values, first), abs=1e-5)
    assert np.diff(concave_fit(values), 2).max() <= 1e-9


def test_fits_keep_what_has_the_shape() -> None:
    assert concave_fit(CONCAVE) == pytest.approx(CONCAVE, abs=1e-9)
    assert rising_fit(CONCAVE) == pytest.approx(CONCAVE, abs=1e-12)


@pytest.mark.parametrize("noise", [None, 0.1])
def test_level(noise: float | None) -> None:
    rng, wrong, nearly = np.random.default_rng(5), np.zeros(2), 0
    for _ in range(200):
        flat = 0.1 * rng.standard_normal(N.size)
        tests = check_curve(flat, noise).rising, check_curve(flat + 0.001 * N, noise).concave
        wrong += tests[0].violated, tests[1].violated
        assert all(test.violated == (test.p_value < 0.05) for test in tests)
        nearly += sum(0.05 <= test.p_value < 0.1 for test in tests)
    assert nearly > 0, "a level of 10 % would be seen"
    # 5 % of 200 is 10; four standard deviations are 12.
    assert wrong.max() <= 22
    assert wrong.min() >= 1


def test_power_and_place() -> None:
    rng = np.random.default_rng(2)
    noise = 0.05 * rng.standard_normal(N.size)
    assert check_curve(CONCAVE + noise).verdict == "looks rising and concave"
    s_shaped = check_curve(1 / (1 + np.exp(-(N - 150) / 30)) + noise, 0.05)
    assert s_shaped.verdict == "is not concave"
    assert s_shaped.concave.p_value == 0.001
    assert s_shaped.concave.first < 150
    assert s_shaped.concave.distance > 0.05
    dropping = check_curve(CONCAVE - 0.2 * (N > 200) + noise)
    assert dropping.rising.violated
    assert dropping.rising.first < 200 < dropping.rising.last
    assert 0.1 < dropping.rising.amount < 0.25


def test_exact_values() -> None:
    report = check_curve(CONCAVE, 0)
    assert report.verdict == "looks rising and concave"
    assert np.isnan(report.rising.p_value)
    bent = check_curve([0.1, 0.2, 0.15, 0.4], 0)
    assert bent.verdict == "is not rising and not concave"
    assert (bent.rising.first, bent.rising.last) == (2, 3)
    assert bent.rising.amount == pytest.approx(0.05)
    assert (bent.concave.first, bent.concave.last) == (2, 4)
    assert bent.concave.amount == pytest.approx(0.15)
    assert check_curve([0.5, 0.5, 0.5, 0.5]).verdict == "looks rising and concave"


def test_long_curves_are_averaged() -> None:
    n = np.arange(1, 30_001)
    rng = np.random.default_rng(0)
    report = check_curve(0.5 + 0.2 * (n > 15_000) + 0.3 * rng.standard_normal(n.size))
    assert report.verdict == "is not concave"
    assert report.noise == pytest.approx(0.3, rel=0.05)


def test_the_seed_decides() -> None:
    values = CONCAVE + 0.1 * np.random.default_rng(0).standard_normal(N.size)
    assert check_curve(values, seed=3) == check_curve(values, seed=3)
