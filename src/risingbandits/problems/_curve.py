"""What all learning curves have in common: values, increments, sums and checks of the shape."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import check_counts, check_positive_int
from risingbandits._core.types import Floats, Ints
from risingbandits.problems import _encoding
from risingbandits.problems._kernels import Environment

Pull: TypeAlias = int | np.integer[Any]
Pulls: TypeAlias = Sequence[int] | npt.NDArray[np.integer[Any]]

NON_DECREASING = "non-decreasing"
CONCAVE = "concave"


@dataclass(frozen=True, repr=False)
class ShapeCheck:
    """Result of a check of a curve's shape; true if the shape holds.

    With increments gamma(n) = mu(n + 1) - mu(n) for n >= 1, a curve is non-decreasing if no gamma(n) < 0, and concave
    if no gamma(n + 1) > gamma(n). The step from 0 to the first pull, gamma(0) = mu(1), is checked only with
    ``from_zero``; a violation there is one at pull 0.

    Parameters
    ----------
    shape : str
        ``"non-decreasing"`` or ``"concave"``.
    first_violation : int or None
        The first pull n that breaks the condition above; None if the shape holds.
    amount : float
        By how much it is broken there: -gamma(n), or gamma(n + 1) - gamma(n).
    arm : int or None
        If several arms were checked: the index, from 0, of the first arm that breaks the condition.
    arm_name : str or None
        The name of that arm.

    Examples
    --------
    >>> from risingbandits.problems import Tabulated
    >>> check = Tabulated([0.1, 0.4, 0.3]).is_non_decreasing()
    >>> check
    ShapeCheck(non-decreasing: violated at pull 2 by 0.1)
    >>> bool(check), check.first_violation
    (False, 2)
    """

    shape: str
    first_violation: int | None = None
    amount: float = 0.0
    arm: int | None = None
    arm_name: str | None = None

    def __bool__(self) -> bool:
        return self.first_violation is None

    def __repr__(self) -> str:
        if self.first_violation is None:
            return f"ShapeCheck({self.shape}: holds)"
        where = f"pull {self.first_violation}" + ("" if self.arm is None else f" of {self.arm_name!r}")
        return f"ShapeCheck({self.shape}: violated at {where} by {self.amount:.3g})"


def first_excess(shape: str, excess: Floats, tolerance: float) -> ShapeCheck:
    """The check whose condition at pull n is ``excess[n - 1] <= tolerance``."""
    broken = excess > tolerance
    if not broken.any():
        return ShapeCheck(shape)
    first = int(np.argmax(broken))
    return ShapeCheck(shape, first + 1, float(excess[first]))


class Curve(ABC):
    """A learning curve mu(n), n = 1 for the first pull; the families are in ``curves``.

    For a curve of your own use `FunctionCurve`, for values that you have `Tabulated`. All methods take one pull
    number or an array of them. Values come from the kernel that the simulation runs, so they are equal to it in every
    bit.
    """

    code: ClassVar[int]
    first_pull: ClassVar[int] = 0
    """Smallest n at which the curve is defined: 0, the value before any pull, or 1."""

    @property
    @abstractmethod
    def parameters(self) -> tuple[float, ...]:
        """Parameters of the compiled form (see ``_kernels``)."""

    @property
    def table(self) -> Floats | None:
        """Values of pulls 1, 2, ... of a tabulated curve, None for a closed form."""
        return None

    @property
    def length(self) -> int | None:
        """Pulls after which the arm ends; None if that is not known."""
        return None if self.table is None else self.table.size

    @property
    def _rises(self) -> bool:
        """Closed forms rise and are concave, or, where a family can, fall and are convex."""
        return True

    @cached_property
    def _environment(self) -> Environment:
        return _encoding.encode([self])

    @cached_property
    def _data_sums(self) -> Floats:
        return _encoding.data_sums(self._environment)

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies are made by the constructor: checked, read-only again, and without the caches above.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]

    @overload
    def __call__(self, n: Pull) -> float: ...
    @overload
    def __call__(self, n: Pulls) -> Floats: ...
    def __call__(self, n: Pull | Pulls) -> float | Floats:
        """Mean reward of pull ``n``."""
        pulls = check_counts("n", n, self.first_pull)
        return _like(pulls, _encoding.curves_at(self._environment, pulls.ravel()))

    @overload
    def increment(self, n: Pull) -> float: ...
    @overload
    def increment(self, n: Pulls) -> Floats: ...
    def increment(self, n: Pull | Pulls) -> float | Floats:
        """gamma(n) = mu(n + 1) - mu(n), to full precision where the two values agree in most digits."""
        pulls = check_counts("n", n, self.first_pull)
        return _like(pulls, _encoding.increments_at(self._environment, pulls.ravel()))

    @overload
    def prefix_sum(self, n: Pull) -> float: ...
    @overload
    def prefix_sum(self, n: Pulls) -> Floats: ...
    def prefix_sum(self, n: Pull | Pulls) -> float | Floats:
        """mu(1) + ... + mu(n); for closed forms in time that does not grow with n."""
        counts = check_counts("n", n)
        return _like(counts, _encoding.curve_sums(self._environment, self._data_sums, counts.reshape(-1, 1)))

    def is_non_decreasing(self, horizon: int | None = None, *, tolerance: float = 1e-12) -> ShapeCheck:
        """Whether mu(n + 1) >= mu(n) for all pulls n >= 1, up to mu(``horizon``).

        Parameters
        ----------
        horizon : int, optional
            Last pull that is checked; by default all pulls, for a table all of its values.
        tolerance : float
            For tables only: what does not count as a violation, relative to the largest absolute value. Closed
            forms decide by their parameters.
        """
        if last_pull(horizon, 2) < 2 or self._rises:
            return ShapeCheck(NON_DECREASING)
        return ShapeCheck(NON_DECREASING, 1, -self.increment(1))

    def is_concave(
        self, horizon: int | None = None, *, tolerance: float = 1e-12, from_zero: bool = False
    ) -> ShapeCheck:
        """Whether mu(n + 2) - mu(n + 1) <= mu(n + 1) - mu(n) for all n >= 1.

        This is the paper's assumption on increments of pulls that exist. A footnote of the paper sets gamma(0) = mu(1)
        without saying whether concavity holds there as well; nothing in the paper or here needs it. It is a further
        assumption, mu(2) <= 2 mu(1), which excludes an arm that starts at 0 and is good from pull 2 on.

        Parameters
        ----------
        horizon, tolerance
            As in `is_non_decreasing`.
        from_zero : bool
            Whether to require gamma(1) <= gamma(0) = mu(1) as well.

        Examples
        --------
        >>> from risingbandits.problems import PowerLaw
        >>> late = PowerLaw(0.8, 0.8, 2)  # 0, 0.6, 0.711, ...
        >>> late.is_concave(), late.is_concave(from_zero=True)
        (ShapeCheck(concave: holds), ShapeCheck(concave: violated at pull 0 by 0.6))
        """
        if from_zero and last_pull(horizon, 2) >= 2 and (first := self._first_bend(tolerance)) is not None:
            return first
        if last_pull(horizon, 3) < 3 or self._rises:
            return ShapeCheck(CONCAVE)
        return ShapeCheck(CONCAVE, 1, self.increment(2) - self.increment(1))

    def _first_bend(self, tolerance: float) -> ShapeCheck | None:
        """The violation of concavity at the step from 0 to the first pull, if there is one."""
        first, second = self([1, 2])
        excess = float(second - first) - float(first)
        return ShapeCheck(CONCAVE, 0, excess) if excess > tolerance * max(abs(first), abs(second)) else None


def _like(pulls: Ints, values: Floats) -> float | Floats:
    return float(values.item()) if pulls.ndim == 0 else values.reshape(pulls.shape)


def last_pull(horizon: int | None, default: int) -> int:
    """The checked horizon of a shape check."""
    return default if horizon is None else check_positive_int("horizon", horizon)
