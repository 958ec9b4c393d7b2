"""The largest increment of all arms as a few numbers, so that sums of its powers are cheap for any number of pulls.

The sequence g(l) = max_i gamma_i(l), l = 1..M - 1, is needed as sum of g(l)^q for many q. Closed forms are
log-convex: between two pulls their logarithm lies below the chord and above the lines through its first and its last
two values. This proves that one arm leads on long stretches; a stretch then becomes a geometric series
(exponential arms), one number (linear arms) or the nodes of a quadrature (polynomial arms: integral between half
integers, and the first term of the Euler-Maclaurin formula). The first pulls, tables, and the surroundings of
crossings are kept one by one. Everything is in logarithms: increments below the smallest float still count for
small q.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.types import Floats
from risingbandits.problems import RisingBandit
from risingbandits.problems._curve import Curve
from risingbandits.problems._kernels import EXPONENTIAL, LINEAR_CAPPED, POLYNOMIAL, TABULATED

_HEAD = 4_096  # pulls kept one by one; beyond them the Euler-Maclaurin remainder is below 1e-12
_FEW = 256  # stretches this short are summed one by one
_NARROW = 1e-3  # nor one over which the pulls grow by less than this factor
_DROP = 4.0  # the largest fall of log g within one quadrature
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_CHUNK = 2**20  # numbers held at once


class Envelope(NamedTuple):
    """What sum over l of g(l)^q needs: sum_k weight_k e^(q log_k), and geometric series."""

    terms: int  # M - 1, the number of increments
    log: Floats  # logarithms of increments, -inf for 0
    weight: Floats
    series_log: Floats  # of the first term of each series
    series_rate: Floats
    series_terms: Floats

    def power_sum(self, q: float) -> float:
        """Sum of g(l)^q, with 0^0 = 1."""
        if q == 0.0:
            return float(self.terms)
        total = float(np.sum(self.weight * np.exp(q * self.log)))
        if self.series_log.size:
            step = q * self.series_rate
            ratio = np.expm1(-step * self.series_terms) / np.expm1(-step)
            total += float(np.sum(np.exp(q * self.series_log) * ratio))
        return total


def envelope(problem: RisingBandit, pulls: int) -> Envelope:
    """The envelope of the increments 1..pulls - 1 of the curves of ``problem``, as given, before any clipping."""
    _refuse_falling(problem, pulls)
    curves = list(dict.fromkeys(problem.curves))  # equal arms would tie everywhere
    last = pulls - 1
    tables = [curve.table for curve in curves]
    steepest = max((curve.parameters[2] for curve in curves if curve.code == POLYNOMIAL), default=0.0)
    head = max([_HEAD, int(100 * steepest), *(table.size for table in tables if table is not None)])
    head = min(head, last)
    builder = _Builder(curves)
    builder.one_by_one(1, head, list(range(len(curves))))
    edges = {head + 1, last + 1}
    for curve in curves:
        if curve.code == LINEAR_CAPPED and curve.parameters[0] > 0.0:
            # Around its cap a line has one smaller increment: exactly which one is a matter of rounding.
            bend = int(curve.parameters[1] / curve.parameters[0])
            edges.update(edge for edge in (bend - 2, bend + 2) if head < edge <= last)
    ordered = sorted(edges)
    for low, high in pairwise(ordered):
        while low < high:
            middle = min(high, 2 * low)
            builder.stretch(low, middle - 1, list(range(len(curves))))
            low = middle
    return builder.done(last)


class _Builder:
    def __init__(self, curves: list[Curve]) -> None:
        self.curves = curves
        self.log: list[Floats] = []
        self.weight: list[Floats] = []
        self.series: list[tuple[float, float, float]] = []

    def done(self, terms: int) -> Envelope:
        empty = np.zeros(0)
        series = np.array(self.series, dtype=np.float64).reshape(-1, 3)
        return Envelope(
            terms,
            np.concatenate([empty, *self.log]),
            np.concatenate([empty, *self.weight]),
            *(np.ascontiguousarray(series[:, column]) for column in range(3)),
        )

    def one_by_one(self, first: int, last: int, arms: list[int]) -> None:
        size = max(1, _CHUNK // len(arms))
        for low in range(first, last + 1, size):
            pulls = np.arange(low, min(low + size, last + 1), dtype=np.float64)
            best = log_increments(self.curves[arms[0]], pulls)
            for arm in arms[1:]:
                best = np.maximum(best, log_increments(self.curves[arm], pulls))
            self.log.append(best)
            self.weight.append(np.ones(pulls.size))

    def stretch(self, first: int, last: int, arms: list[int]) -> None:
        """Add the pulls first..last, on which the leader is one of ``arms``."""
        if last - first < _FEW:
            self.one_by_one(first, last, arms)
            return
        ends = np.array([first, first + 1, (first + last) // 2, last - 1, last], dtype=np.float64)
        values = {arm: log_increments(self.curves[arm], ends) for arm in arms}
        alive = [arm for arm in arms if values[arm][0] > -np.inf]
        if not alive:
            self.log.append(np.array([-np.inf]))
            self.weight.append(np.array([float(last - first + 1)]))
            return
        leader = max(alive, key=lambda arm: values[arm][2])
        kinked = any(not np.isfinite(values[arm]).all() for arm in alive)
        rivals = (
            [] if kinked else [arm for arm in alive if arm != leader and not _below(values[arm], values[leader], ends)]
        )
        if not kinked and not rivals and self._alone(first, last, leader, values[leader]):
            return
        if np.log(last / first) < _NARROW:
            self.one_by_one(first, last, alive if kinked else [leader, *rivals])
            return
        middle = int(np.sqrt(float(first) * last))
        for low, high in ((first, middle), (middle + 1, last)):
            self.stretch(low, high, alive if kinked else [leader, *rivals])

    def _alone(self, first: int, last: int, arm: int, values: Floats) -> bool:
        """Add a stretch with one leader; False if it must be cut first."""
        curve, count = self.curves[arm], float(last - first + 1)
        if curve.code == EXPONENTIAL:
            self.series.append((float(values[0]), curve.parameters[2], count))
            return True
        if curve.code != POLYNOMIAL:  # a line, which is all that else rises beyond the head
            flat = values[0] == values[-1] == values[1] == values[-2]
            if flat:
                self.log.append(values[:1])
                self.weight.append(np.array([count]))
            return bool(flat)
        if values[0] - values[-1] > _DROP:
            return False
        half = 0.5 * count
        nodes = first - 0.5 + half * (1.0 + _NODES)
        edges = np.array([first - 1.0, first, last, last + 1.0])
        self.log += [log_increments(curve, nodes), log_increments(curve, edges)]
        self.weight += [half * _WEIGHTS, np.array([-1.0, 1.0, 1.0, -1.0]) / 24.0]
        return True


def _below(rival: Floats, leader: Floats, ends: Floats) -> bool:
    """Whether the rival's chord lies below the leader's supporting lines on the whole stretch."""
    first, last = ends[0], ends[-1]
    chord = (rival[-1] - rival[0]) / (last - first)
    early, late = leader[1] - leader[0], leader[-1] - leader[-2]
    if rival[0] > leader[0] or rival[-1] > leader[-1]:
        return False
    if late <= early:  # a straight line
        return True
    kink = (leader[0] - leader[-1] + late * last - early * first) / (late - early)
    kink = min(max(kink, first), last)
    floor = max(leader[0] + early * (kink - first), leader[-1] + late * (kink - last))
    return bool(rival[0] + chord * (kink - first) <= floor)


def log_increments(curve: Curve, pulls: Floats) -> Floats:
    """log(mu(n + 1) - mu(n)) at each of ``pulls``, -inf where the curve stands still.

    Closed forms of exponential and polynomial arms also take numbers between two pulls.
    """
    p = curve.parameters
    with np.errstate(divide="ignore"):
        if curve.code == EXPONENTIAL:
            return np.asarray(np.log(p[1]) + np.log(-np.expm1(-p[2])) - p[2] * pulls)
        if curve.code == POLYNOMIAL:
            x = pulls - (p[4] if len(p) > 4 else 0.0)
            step = np.log(-np.expm1(-p[2] * np.log1p(1.0 / (p[3] + x))))
            return np.asarray(np.log(p[1]) - p[2] * np.log1p(x / p[3]) + step)
        return np.asarray(np.log(np.maximum(curve.increment(pulls.astype(np.int64)), 0.0)))


def _refuse_falling(problem: RisingBandit, pulls: int) -> None:
    shape = problem.is_non_decreasing(max(pulls, 2))
    if not shape:
        raise RisingBanditsError(
            f"problem must have arms that never fall, but arm {shape.arm_name!r} falls after pull "
            f"{shape.first_violation} by {shape.amount:.3g}."
        )
    for curve in problem.curves:
        if curve.code not in (EXPONENTIAL, POLYNOMIAL, LINEAR_CAPPED, TABULATED) and curve.increment(1) != 0.0:
            raise RisingBanditsError(f"problem has a curve of an unknown family, got {curve!r}.")
