"""The answer to "does this curve rise?" and "is it concave?": yes, or no with the first place where it is not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from risingbandits._core.types import Floats

NON_DECREASING = "non-decreasing"
CONCAVE = "concave"


@dataclass(frozen=True, repr=False)
class ShapeCheck:
    """Result of a check of a curve's shape; true if the shape holds.

    With increments gamma(n) = mu(n + 1) - mu(n) for n >= 1 (the step from 0 to the first pull is not looked at), a
    curve is non-decreasing if no gamma(n) < 0, and concave if no gamma(n + 1) > gamma(n).

    Parameters
    ----------
    shape : str
        ``"non-decreasing"`` or ``"concave"``.
    first_violation : int or None
        The first pull n that breaks the condition above; None if the shape holds.
    amount : float
        By how much it is broken there: -gamma(n), or gamma(n + 1) - gamma(n).
    arm : int or None
        Where several arms were checked: the index, from 0, of the first arm that breaks the condition.
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
