"""Quantiles and fits of our own beside SciPy's."""

from collections.abc import Iterator

import numpy as np
import pytest
from scipy.optimize import isotonic_regression, nnls
from scipy.special import ndtr, ndtri, stdtrit

from risingbandits._core.stats import normal_quantile, normal_share, student_quantile
from risingbandits._core.types import Floats
from risingbandits.theory.estimators import _measured as measured

SHARES = (0.6, 0.8, 0.9, 0.95, 0.975, 0.995, 0.9995, 0.99999)


@pytest.mark.parametrize("freedom", [*range(1, 40), 99, 199, 999, 1_001, 9_999, 99_999])
def test_quantiles_of_students_t(freedom: int) -> None:
    found = [student_quantile(freedom, share) for share in SHARES]
    np.testing.assert_allclose(found, stdtrit(freedom, SHARES), rtol=1e-10)


def test_normal_quantiles_and_shares() -> None:
    shares = np.linspace(0.001, 0.999, 999)
    np.testing.assert_allclose([normal_quantile(share) for share in shares], ndtri(shares), rtol=1e-10, atol=1e-15)
    values = np.linspace(-8.0, 8.0, 999)
    np.testing.assert_allclose([normal_share(value) for value in values], ndtr(values), rtol=1e-10)


def curves() -> Iterator[Floats]:
    """Noise, noisy learning curves, and curves with a kink, of 1 to 255 values."""
    rng = np.random.default_rng(0)
    for n in rng.integers(1, 256, 20):
        pulls = np.arange(n)
        yield rng.standard_normal(n)
        yield 1.0 - np.exp(-pulls / 20.0) + 0.01 * rng.standard_normal(n)
        yield np.minimum(1.0, pulls / 50.0)


def test_fits_of_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    def fit_with_scipy(matrix: Floats, values: Floats) -> Floats:
        return np.asarray(nnls(matrix, values, maxiter=30 * len(values))[0])

    for curve in curves():
        np.testing.assert_allclose(measured.rising_fit(curve), isotonic_regression(curve).x, rtol=0.0, atol=1e-12)
        ours = measured.concave_fit(curve)
        with monkeypatch.context() as patch:
            patch.setattr(measured, "non_negative_least_squares", fit_with_scipy)
            np.testing.assert_allclose(ours, measured.concave_fit(curve), rtol=0.0, atol=1e-10)
