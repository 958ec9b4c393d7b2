"""Products and inverses in small blocks are those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from risingbandits.allocation.prior.gaussian_process import inverse_factor, product


@pytest.mark.parametrize("shape", [(1, 1, 1), (64, 64, 64), (65, 3, 130), (7, 129, 1), (0, 4, 5), (5, 0, 2)])
def test_products(shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(sum(shape))
    left, right = rng.normal(size=shape[:2]), rng.normal(size=shape[1:])
    assert product(left, right) == pytest.approx(left @ right, abs=1e-12)


@pytest.mark.parametrize("size", [1, 59, 60, 61, 200])
def test_inverses_and_determinants(size: int) -> None:
    points = np.random.default_rng(size).random((size, 3))
    distances = ((points[:, None] - points) ** 2).sum(axis=2)
    covariance = np.exp(-0.5 * distances) + 1e-3 * np.eye(size)
    before = covariance.copy()
    factor, log_determinant = inverse_factor(covariance)
    assert (covariance == before).all()
    assert (factor == np.tril(factor)).all()
    assert factor.T @ factor @ covariance == pytest.approx(np.eye(size), abs=1e-8)
    assert log_determinant == pytest.approx(np.linalg.slogdet(covariance)[1], abs=1e-8)


def test_what_is_no_covariance_is_refused() -> None:
    matrix = np.eye(40)
    matrix[30, 31] = matrix[31, 30] = 2.0
    with pytest.raises(np.linalg.LinAlgError):
        inverse_factor(matrix)
