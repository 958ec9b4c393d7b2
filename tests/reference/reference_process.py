"""A Gaussian process from the formulas of a textbook, with plain inverses and loops."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def kernel(a: Floats, b: Floats, groups: npt.NDArray[np.int64], hyper: Floats) -> Floats:
    """Covariances of all pairs of points."""
    result = np.zeros((len(a), len(b)))
    for i, one in enumerate(a):
        for j, other in enumerate(b):
            distance = sum(math.exp(hyper[g]) * (x - y) ** 2 for g, x, y in zip(groups, one, other, strict=True))
            result[i, j] = math.exp(hyper[-2]) * math.exp(-distance / 2)
    return result


def slow_prediction(
    points: Floats, values: Floats, groups: npt.NDArray[np.int64], hyper: Floats, new: Floats
) -> tuple[Floats, Floats]:
    """Mean and deviation of new observations."""
    noise = math.exp(hyper[-1])
    inverse = np.linalg.inv(kernel(points, points, groups, hyper) + noise * np.eye(len(points)))
    cross = kernel(new, points, groups, hyper)
    variances = [
        kernel(x[None], x[None], groups, hyper)[0, 0] + noise - k @ inverse @ k for x, k in zip(new, cross, strict=True)
    ]
    return cross @ inverse @ values, np.sqrt(np.array(variances))


def slow_surprise(
    points: Floats,
    values: Floats,
    groups: npt.NDArray[np.int64],
    hyper: Floats,
    centre: Floats,
    spread: Floats,
) -> float:
    """Minus the logarithm of likelihood times prior, without constants."""
    covariance = kernel(points, points, groups, hyper) + math.exp(hyper[-1]) * np.eye(len(points))
    fit = values @ np.linalg.inv(covariance) @ values / 2 + math.log(np.linalg.det(covariance)) / 2
    return float(fit + sum(((hyper - centre) / spread) ** 2) / 2)
