"""Do measured learning curves look rising and concave?

Two answers for each shape. The least-squares fit of the shape says how far the measurements are from it. A scan over
neighbouring blocks of all lengths looks for the most significant violation: a block that lies below the one before it,
or below the line through its neighbours. Its p-value is simulated under the least favourable curve that has the shape
(constant, or straight), so a curve that has the shape is rejected in at most that share of cases; the scan over
blocks is that of Dümbgen and Spokoiny (2001).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import RisingBanditsError, check_finite, check_positive_int
from risingbandits._core.types import Floats

RISING, CONCAVE = "rising", "concave"
_MOST_POINTS = 2_048  # longer curves are averaged over blocks of equal length, which keeps both shapes
_MOST_FITTED = 256  # the same for the concave fit, whose cost grows with the cube


@dataclass(frozen=True)
class ShapeTest:
    """One shape of one curve.

    Attributes
    ----------
    shape : str
        "rising" or "concave".
    p_value : float
        How often pure noise around the least favourable curve violates the shape as much; NaN without noise.
    first, last : int
        Pulls between which the curve violates the shape most significantly; 0 if it does not.
    amount : float
        By how much: fall of the block mean, or depth below the line through the neighbouring blocks.
    distance : float
        Root mean square distance from the least-squares fit of the shape.
    violated : bool
        p_value < 0.05, without noise any violation.
    """

    shape: str
    p_value: float
    first: int
    last: int
    amount: float
    distance: float
    violated: bool


@dataclass(frozen=True)
class CurveReport:
    """A measured curve: its length, the noise level and the tests of both shapes."""

    name: str
    pulls: int
    noise: float
    noise_estimated: bool
    rising: ShapeTest
    concave: ShapeTest

    @property
    def verdict(self) -> str:
        """In words."""
        wrong = [test.shape for test in (self.rising, self.concave) if test.violated]
        if not wrong:
            return "looks rising and concave"
        return f"is not {' and not '.join(wrong)}"


def check_curve(
    values: npt.ArrayLike, noise: float | None = None, *, name: str = "curve", simulations: int = 999, seed: int = 0
) -> CurveReport:
    """Test whether a measured curve is rising and concave.

    Parameters
    ----------
    values : array_like of float
        Reward of pull 1, 2, ...; at least three.
    noise : float, optional
        Standard deviation of one value around the curve; 0 for exact values; by default estimated by `noise_level`.
    name : str
        For the report.
    simulations : int
        Number of curves of pure noise behind a p-value, which is at least 1/(simulations + 1).
    seed : int
        Seed of these curves.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> pulls = np.arange(1, 401)
    >>> report = check_curve(0.8 - 0.6 * pulls**-0.5 + 0.05 * rng.standard_normal(400))
    >>> report.verdict, round(report.noise, 3)
    ('looks rising and concave', 0.049)
    >>> s_shaped = 1 / (1 + np.exp(-(pulls - 200) / 40)) + 0.05 * rng.standard_normal(400)
    >>> check_curve(s_shaped, noise=0.05).verdict
    'is not concave'
    """
    measured = np.asarray(values, dtype=np.float64)
    if measured.ndim != 1 or measured.size < 3 or not np.isfinite(measured).all():
        raise RisingBanditsError(f"values must be at least 3 finite numbers, got shape {measured.shape}.")
    sd = None if noise is None else check_finite("noise", noise, minimum=0)
    simulations = check_positive_int("simulations", simulations)
    width = -(-measured.size // _MOST_POINTS)
    points = _averaged(measured, width)
    exact = sd == 0.0 or (sd is None and noise_level(measured) == 0.0)
    scaled = None if sd is None else sd / math.sqrt(width)

    def test(order: int, shape: str, fit: Callable[[npt.ArrayLike], Floats]) -> ShapeTest:
        if exact:
            return _exact_test(measured, order, shape, fit)
        return _noisy_test(points, width, order, shape, fit, scaled, simulations, seed)

    shown = noise_level(measured) if sd is None else sd
    tests = test(1, RISING, rising_fit), test(2, CONCAVE, concave_fit)
    return CurveReport(name, measured.size, shown, sd is None, *tests)


def noise_level(values: npt.ArrayLike) -> float:
    """Standard deviation of the noise from second differences, which a smooth curve hardly affects.

    Examples
    --------
    >>> round(noise_level(np.random.default_rng(0).standard_normal(10_000)), 2)
    1.0
    """
    seconds = np.diff(np.asarray(values, dtype=np.float64), 2)
    return float(np.sqrt(np.mean(seconds**2) / 6.0))


def rising_fit(values: npt.ArrayLike) -> Floats:
    """The non-decreasing sequence with the least sum of squared distances.

    Examples
    --------
    >>> rising_fit([1.0, 3.0, 2.0, 4.0])
    array([1. , 2.5, 2.5, 4. ])
    """
    means: list[float] = []
    widths: list[int] = []
    for value in np.asarray(values, dtype=np.float64).tolist():  # pool adjacent violators
        mean, width = value, 1
        while means and means[-1] >= mean:
            before, many = means.pop(), widths.pop()
            mean, width = (before * many + mean * width) / (many + width), many + width
        means.append(mean)
        widths.append(width)
    return np.repeat(means, widths)


def concave_fit(values: npt.ArrayLike) -> Floats:
    """The concave sequence, rising or not, with the least sum of squared distances.

    Every concave sequence is a straight line plus non-negative multiples of the kinks min(l, j), 1 < j < n, so the
    fit is a non-negative least-squares problem once the line is projected out.

    Examples
    --------
    >>> concave_fit([1.0, 2.0, 1.0, 2.0]).round(6)
    array([1.      , 1.666667, 1.666667, 1.666667])
    """
    measured = np.asarray(values, dtype=np.float64)
    n = measured.size
    if n < 3:
        return measured.copy()
    grid = np.linspace(-1.0, 1.0, n)
    line = np.column_stack([np.ones(n), grid])
    basis, _ = np.linalg.qr(line)
    kinks = np.minimum(grid[:, None], grid[None, 1:-1])
    kinks -= basis @ (basis.T @ kinks)
    norms = np.linalg.norm(kinks, axis=0)
    straight = basis @ (basis.T @ measured)
    weights = non_negative_least_squares(kinks / norms, measured - straight)
    return np.asarray(straight + kinks @ (weights / norms))


def non_negative_least_squares(matrix: Floats, values: Floats) -> Floats:
    """The x >= 0 with the least |matrix x - values|, by the method of Lawson and Hanson (1974).

    Examples
    --------
    >>> non_negative_least_squares(np.eye(2), np.array([1.0, -1.0]))
    array([1., 0.])
    """
    squares, products = matrix.T @ matrix, matrix.T @ values
    found = np.zeros(products.size)
    free = np.zeros(products.size, dtype=bool)  # the entries that are not held at 0
    tolerance = 10.0 * max(matrix.shape) * np.finfo(float).eps * float(np.abs(squares).sum(axis=0).max(initial=0.0))
    for _ in range(30 * products.size):
        slope = products - squares @ found
        slope[free] = -np.inf
        best = int(slope.argmax())
        if slope[best] <= tolerance:
            break
        free[best] = True
        while True:
            wanted = np.zeros(products.size)
            wanted[free] = np.linalg.solve(squares[np.ix_(free, free)], products[free])
            if wanted[free].min(initial=1.0) > 0.0:
                break
            falling = free & (wanted <= 0.0)  # go towards the solution until the first of these reaches 0
            share = float((found[falling] / (found[falling] - wanted[falling])).min())
            found += share * (wanted - found)
            free &= found > tolerance
            found[~free] = 0.0
        found = wanted
    return found


def _averaged(values: Floats, width: int) -> Floats:
    """Means of blocks of ``width`` values; an incomplete last block is left out."""
    whole = values.size // width * width
    return np.asarray(values[:whole].reshape(-1, width).mean(axis=1))


def _distance(values: Floats, order: int, fit: Callable[[npt.ArrayLike], Floats]) -> float:
    points = _averaged(values, -(-values.size // _MOST_FITTED)) if order == 2 else values
    return float(np.sqrt(np.mean((points - fit(points)) ** 2)))


def _exact_test(values: Floats, order: int, shape: str, fit: Callable[[npt.ArrayLike], Floats]) -> ShapeTest:
    excess = -np.diff(values) if order == 1 else np.diff(values, 2)
    worst = int(np.argmax(excess))
    distance = _distance(values, order, fit)
    if excess[worst] <= 1e-12 * float(np.abs(values).max()):
        return ShapeTest(shape, math.nan, 0, 0, 0.0, distance, False)
    # The middle of three values lies below the line through the others by half their second difference.
    return ShapeTest(shape, math.nan, worst + 1, worst + 1 + order, float(excess[worst]) / order, distance, True)


def _noisy_test(
    points: Floats,
    width: int,
    order: int,
    shape: str,
    fit: Callable[[npt.ArrayLike], Floats],
    noise: float | None,
    simulations: int,
    seed: int,
) -> ShapeTest:
    statistic, start, length, drop = _scan(points, order, noise)
    null = _null(points.size, order, noise is None, simulations, seed)
    p_value = float((1 + np.count_nonzero(null >= statistic)) / (1 + simulations))
    distance = _distance(points, order, fit)
    if drop <= 0.0:
        return ShapeTest(shape, p_value, 0, 0, 0.0, distance, False)
    first, last = start * width + 1, (start + (order + 1) * length) * width
    return ShapeTest(shape, p_value, first, last, drop / order, distance, p_value < 0.05)


def _scan(points: Floats, order: int, noise: float | None) -> tuple[float, int, int, float]:
    """The largest standardised violation minus the penalty of its scale: statistic, first point, block length, amount.

    Blocks of ``length`` points follow each other; their means fall (order 1) or the middle one lies below the others
    (order 2, counted twice).
    """
    sd = noise_level(points) if noise is None else noise
    sums = np.concatenate([[0.0], np.cumsum(points - points.mean())])
    best = (-math.inf, 0, 1, 0.0)
    for length in _lengths(points.size, order):
        excess = _excess(sums, length, order)
        start = int(np.argmax(excess))
        size = sd * math.sqrt((2.0 if order == 1 else 6.0) / length)
        value = float(excess[start]) / size if size > 0.0 else math.copysign(math.inf, float(excess[start]))
        value -= _penalty(points.size, length)
        if value > best[0]:
            best = (value, start, length, float(excess[start]))
    return best


def _excess(sums: Floats, length: int, order: int) -> Floats:
    means = (sums[..., length:] - sums[..., :-length]) / length
    if order == 1:
        return np.asarray(means[..., :-length] - means[..., length:])
    return np.asarray(means[..., : -2 * length] - 2.0 * means[..., length:-length] + means[..., 2 * length :])


def _lengths(n: int, order: int) -> Sequence[int]:
    return [2**k for k in range(n.bit_length()) if (order + 1) * 2**k <= n]


def _penalty(n: int, length: int) -> float:
    return math.sqrt(2.0 * math.log(math.e * n / length))


@lru_cache(maxsize=16)
def _null(n: int, order: int, estimated: bool, simulations: int, seed: int) -> Floats:
    """The statistic on curves of pure noise. Their level and slope do not matter: both scans leave them out."""
    rng = np.random.default_rng([seed, n, order])
    out = np.empty(simulations)
    rows = max(1, 2**20 // n)
    for first in range(0, simulations, rows):
        noise = rng.standard_normal((min(rows, simulations - first), n))
        sums = np.concatenate([np.zeros((len(noise), 1)), np.cumsum(noise, axis=1)], axis=1)
        sd = np.sqrt(np.mean(np.diff(noise, 2, axis=1) ** 2, axis=1) / 6.0) if estimated else np.ones(len(noise))
        values = np.full(len(noise), -np.inf)
        for length in _lengths(n, order):
            size = sd * math.sqrt((2.0 if order == 1 else 6.0) / length)
            largest = _excess(sums, length, order).max(axis=1) / size
            values = np.maximum(values, largest - _penalty(n, length))
        out[first : first + len(noise)] = values
    return out
