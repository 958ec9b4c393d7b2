"""The check of a matrix that says whose pulls make whom rise: problems have one, and policies may be told it."""

from __future__ import annotations

from typing import Any

import numpy as np

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits._core.types import Ints


def check_trigger_matrix(name: str, value: Any, n_arms: int | None = None, directed: bool = True) -> Ints:
    """``value`` as a square array of 0 and 1 with ones on the diagonal, symmetric unless it is ``directed``.

    Row j, column i is 1 where a pull of arm j makes arm i rise; the diagonal is 1 because an arm's own pulls always do.

    >>> check_trigger_matrix("triggers", [[1, 1], [0, 1]], directed=False)
    Traceback (most recent call last):
        ...
    risingbandits.RisingBanditsError: triggers must be symmetric, got 1 at [0, 1] and 0 at [1, 0].
    """
    try:
        matrix = np.asarray(value)
    except ValueError as error:  # rows of different lengths
        raise RisingBanditsError(f"{name} must be a square matrix of 0 and 1, got {shown(value)}.") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0 or matrix.dtype.kind not in "biuf":
        raise RisingBanditsError(f"{name} must be a square matrix of 0 and 1, got {shown(value)}.")
    if n_arms is not None and matrix.shape[0] != n_arms:
        raise RisingBanditsError(
            f"{name} must be a {n_arms} x {n_arms} matrix, a row and a column for each arm, "
            f"got {matrix.shape[0]} x {matrix.shape[1]}."
        )
    other = (matrix != 0) & (matrix != 1)
    off = np.eye(matrix.shape[0], dtype=bool) & (matrix != 1)
    for wrong, allowed in ((other, "hold 0 and 1 only"), (off, "have ones on the diagonal")):
        if wrong.any():
            row, column = np.argwhere(wrong)[0].tolist()
            raise RisingBanditsError(f"{name} must {allowed}, got {shown(matrix[row, column])} at [{row}, {column}].")
    found = np.ascontiguousarray(matrix, dtype=np.int64)
    if not directed and (found != found.T).any():
        row, column = np.argwhere(found != found.T)[0].tolist()
        raise RisingBanditsError(
            f"{name} must be symmetric, got {found[row, column]} at [{row}, {column}] "
            f"and {found[column, row]} at [{column}, {row}]."
        )
    return found
