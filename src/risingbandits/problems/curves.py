"""Learning curves: the mean reward mu(n) of an arm's n-th pull, n = 1 for the first one.

Families in closed form need no memory at any horizon, and know their sums, their increments and their shape
exactly; ``Tabulated`` and ``FunctionCurve`` hold anything else. A curve may exceed 1 or fall: checks of the shape say
so, constructors do not refuse it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import RisingBanditsError, check_finite, check_positive_int, shown
from risingbandits._core.types import Floats
from risingbandits.problems._curve import CONCAVE, NON_DECREASING, Curve, ShapeCheck, first_excess, last_pull
from risingbandits.problems._kernels import CONSTANT, EXPONENTIAL, LINEAR_CAPPED, POLYNOMIAL, TABULATED

# Beyond this the squares of n/scale leave the range of floats.
_LARGEST_SCALE = 1e150


def _store(curve: Curve, **checked: float | None) -> None:
    """Set fields of a frozen dataclass to their checked values."""
    for name, value in checked.items():
        object.__setattr__(curve, name, value)


@dataclass(frozen=True)
class Exponential(Curve):
    """start + (limit - start) (1 - e^(-rate n)).

    Parameters
    ----------
    limit : float
        Value that is approached; below ``start`` the curve falls.
    rate : float
        Speed, > 0: each pull multiplies the distance to the limit by e^(-rate).
    start : float
        mu(0), default 0.

    Examples
    --------
    >>> curve = Exponential(0.5, 0.01)
    >>> curve([1, 100])
    array([0.00497508, 0.31606028])
    >>> curve.prefix_sum([1, 100])
    array([4.97508313e-03, 1.85517388e+01])
    """

    limit: float
    rate: float
    start: float = 0.0

    code: ClassVar[int] = EXPONENTIAL

    def __post_init__(self) -> None:
        _store(
            self,
            limit=check_finite("limit", self.limit),
            rate=check_finite("rate", self.rate, above=0),
            start=check_finite("start", self.start),
        )

    @property
    def parameters(self) -> tuple[float, ...]:
        return self.start, self.limit - self.start, self.rate

    @property
    def _rises(self) -> bool:
        return self.limit >= self.start


@dataclass(frozen=True)
class Polynomial(Curve):
    """limit (1 - scale (n + inner^(1/exponent))^(-exponent)).

    With ``inner`` = ``scale``, its default, mu(0) = 0, and exponent 1 gives limit n / (n + scale).

    Parameters
    ----------
    limit : float
        Value that is approached; below 0 the curve falls.
    scale : float
        b of the formula, > 0: larger is slower.
    exponent : float
        rho of the formula, > 0.
    inner : float, optional
        The second b of the formula, > 0, where the two differ.

    Examples
    --------
    >>> curve = Polynomial(0.4, 500, 1)
    >>> curve([0, 500, 1500])
    array([0. , 0.2, 0.3])
    >>> curve.is_concave()
    ShapeCheck(concave: holds)
    """

    limit: float
    scale: float
    exponent: float
    inner: float | None = None

    code: ClassVar[int] = POLYNOMIAL

    def __post_init__(self) -> None:
        inner = self.scale if self.inner is None else check_finite("inner", self.inner, above=0)
        _store(
            self,
            limit=check_finite("limit", self.limit),
            scale=check_finite("scale", self.scale, above=0),
            exponent=check_finite("exponent", self.exponent, above=0),
            inner=None if inner == self.scale else inner,
        )
        offset = self._offset
        if not 1 / _LARGEST_SCALE <= offset <= _LARGEST_SCALE:
            raise RisingBanditsError(
                f"inner^(1/exponent) must lie between {1 / _LARGEST_SCALE:g} and {_LARGEST_SCALE:g}, "
                f"got {shown(inner)}^(1/{shown(self.exponent)}) = {offset:g}."
            )

    @property
    def _offset(self) -> float:
        try:
            return float((self.inner or self.scale) ** (1.0 / self.exponent))
        except OverflowError:
            return float("inf")

    @property
    def parameters(self) -> tuple[float, ...]:
        # As a distance from mu(0), so that the digits of small values survive.
        inner = self.inner or self.scale
        return self.limit * (inner - self.scale) / inner, self.limit * self.scale / inner, self.exponent, self._offset

    @property
    def _rises(self) -> bool:
        return self.limit >= 0.0


@dataclass(frozen=True)
class PowerLaw(Curve):
    """limit - amplitude n^(-exponent), for n >= 1; it has no value before the first pull.

    Parameters
    ----------
    limit : float
        Value that is approached.
    amplitude : float
        Distance from mu(1) to the limit; below 0 the curve falls.
    exponent : float
        Speed, > 0.

    Examples
    --------
    >>> PowerLaw(0.9, 0.6, 0.5)([1, 4, 100])
    array([0.3 , 0.6 , 0.84])
    """

    limit: float
    amplitude: float
    exponent: float

    code: ClassVar[int] = POLYNOMIAL
    first_pull: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _store(
            self,
            limit=check_finite("limit", self.limit),
            amplitude=check_finite("amplitude", self.amplitude),
            exponent=check_finite("exponent", self.exponent, above=0),
        )

    @property
    def parameters(self) -> tuple[float, ...]:
        # n^(-b) = (1 + (n - 1)/1)^(-b): a polynomial curve that starts one pull later.
        return self.limit - self.amplitude, self.amplitude, self.exponent, 1.0, 1.0

    @property
    def _rises(self) -> bool:
        return self.amplitude >= 0.0


@dataclass(frozen=True)
class LinearCapped(Curve):
    """min(slope n, cap).

    Parameters
    ----------
    slope : float
        Gain per pull, >= 0.
    cap : float
        Largest value.

    Examples
    --------
    >>> curve = LinearCapped(0.25, 1)
    >>> curve([1, 2, 4, 9]), curve.prefix_sum(9)
    (array([0.25, 0.5 , 1.  , 1.  ]), 7.5)
    """

    slope: float
    cap: float

    code: ClassVar[int] = LINEAR_CAPPED

    def __post_init__(self) -> None:
        _store(self, slope=check_finite("slope", self.slope, minimum=0), cap=check_finite("cap", self.cap))

    @property
    def parameters(self) -> tuple[float, ...]:
        return self.slope, self.cap


@dataclass(frozen=True)
class ConstantCurve(Curve):
    """The same mean at every pull.

    Examples
    --------
    >>> ConstantCurve(0.3)([1, 1000])
    array([0.3, 0.3])
    """

    value: float

    code: ClassVar[int] = CONSTANT

    def __post_init__(self) -> None:
        _store(self, value=check_finite("value", self.value))

    @property
    def parameters(self) -> tuple[float, ...]:
        return (self.value,)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Tabulated(Curve):
    """Given values of pulls 1, 2, ..., len(values); later pulls have the last value.

    Parameters
    ----------
    values : array_like of float
        One dimension, at least one value, all finite. Copied.

    Examples
    --------
    >>> curve = Tabulated([0.1, 0.3, 0.4])
    >>> curve([1, 3, 10]), curve.prefix_sum(5)
    (array([0.1, 0.4, 0.4]), 1.6)
    """

    values: Floats

    code: ClassVar[int] = TABULATED
    first_pull: ClassVar[int] = 1

    def __init__(self, values: npt.ArrayLike) -> None:
        try:
            # Adding 0 makes a copy and turns -0.0 into 0.0, so that equal curves have equal bytes and hashes.
            array = np.asarray(values, dtype=np.float64) + 0.0
        except (TypeError, ValueError) as error:
            raise RisingBanditsError(f"values must be numbers in one dimension, got {shown(values)}.") from error
        if array.ndim != 1 or array.size == 0:
            raise RisingBanditsError(f"values must be a non-empty one-dimensional array, got shape {array.shape}.")
        bad = np.flatnonzero(~np.isfinite(array))
        if bad.size:
            raise RisingBanditsError(f"values must be finite, got {array[bad[0]]} for pull {bad[0] + 1}.")
        array.flags.writeable = False
        object.__setattr__(self, "values", array)

    @property
    def parameters(self) -> tuple[float, ...]:
        return ()

    @property
    def table(self) -> Floats:
        return self.values

    def is_non_decreasing(self, horizon: int | None = None, *, tolerance: float = 1e-12) -> ShapeCheck:
        """See `Curve.is_non_decreasing`."""
        values = self._until(horizon)
        return first_excess(NON_DECREASING, -np.diff(values), self._slack(tolerance))

    def is_concave(
        self, horizon: int | None = None, *, tolerance: float = 1e-12, from_zero: bool = False
    ) -> ShapeCheck:
        """See `Curve.is_concave`."""
        values = self._until(horizon)
        if from_zero and values.size >= 2 and (first := self._first_bend(tolerance)) is not None:
            return first
        return first_excess(CONCAVE, np.diff(values, 2), self._slack(tolerance))

    def _until(self, horizon: int | None) -> Floats:
        """Values up to the horizon, with at most two of the repeated last ones: more show nothing new."""
        last = last_pull(horizon, self.values.size)
        held = np.repeat(self.values[-1:], min(max(last - self.values.size, 0), 2))
        return np.concatenate([self.values[:last], held])

    def _slack(self, tolerance: float) -> float:
        return check_finite("tolerance", tolerance, minimum=0) * float(np.abs(self.values).max())

    def __eq__(self, other: object) -> bool:
        return np.array_equal(self.values, other.values) if isinstance(other, Tabulated) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.values.tobytes())

    def __repr__(self) -> str:
        ends = f"{self.values[0]:g}" if self.values.size == 1 else f"{self.values[0]:g} .. {self.values[-1]:g}"
        return f"Tabulated(<{self.values.size} values: {ends}>)"


class FunctionCurve(Tabulated):
    """A curve of your own: any function of the pull number, evaluated once for pulls 1 to ``horizon``.

    Unlike the arm of a table, its arm does not end there; a problem with a longer horizon is refused.

    Parameters
    ----------
    function : callable
        ``function(n)`` is the mean reward of pull n = 1, 2, ...: a finite number.
    horizon : int
        How many pulls it is needed for.

    Examples
    --------
    >>> curve = FunctionCurve(lambda n: 1 - n**-0.5, horizon=10_000)
    >>> curve([1, 4, 10_000]), bool(curve.is_concave())
    (array([0.  , 0.5 , 0.99]), True)
    """

    def __init__(self, function: Callable[[int], float], horizon: int) -> None:
        if not callable(function):
            raise RisingBanditsError(f"function must be a function of the pull number, got {shown(function)}.")
        self._keep(function, [function(n) for n in range(1, check_positive_int("horizon", horizon) + 1)])

    def _keep(self, function: Any, values: Any) -> None:
        super().__init__(values)
        object.__setattr__(self, "function", function)

    @property
    def horizon(self) -> int:
        """Pulls that the function was evaluated for."""
        return self.values.size

    @property
    def length(self) -> None:
        """None: the arm does not end with the values that are known."""
        return

    def __reduce__(self) -> tuple[Any, ...]:
        # The values travel, not the function, which need not be importable elsewhere.
        return _restored, (self.values, repr(self))

    def __repr__(self) -> str:
        function: Any = getattr(self, "function", None)
        name = function if isinstance(function, str) else getattr(function, "__name__", type(function).__name__)
        return f"FunctionCurve({name}, horizon={self.horizon})"


def _restored(values: npt.ArrayLike, shown_as: str) -> FunctionCurve:
    curve = FunctionCurve.__new__(FunctionCurve)
    curve._keep(shown_as.removeprefix("FunctionCurve(").partition(", horizon=")[0], values)
    return curve
