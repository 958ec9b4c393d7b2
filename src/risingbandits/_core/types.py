"""Types that kernels share: short names, and records.

Records are arrays whose items have named numbers, so that kernels say ``state.arms["pulls"][arm]``. Compiled code and
plain NumPy read them alike, the field first (a field of one item costs four times as much in plain NumPy). Compiled
code takes a record array as one argument, whatever its items hold. A call from Python spends some 40 ns more on it than
on a plain array, so records pay if one of them replaces several arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Records = npt.NDArray[np.void]
Mask = npt.NDArray[np.bool_] | None  # which arms may be chosen; None: all
Rng = np.random.Generator | None  # None for runs that draw nothing


def record_type(*groups: tuple[type, str]) -> np.dtype[Any]:
    """A type of records, from the types of its numbers and their names.

    >>> record_type((np.int64, "pulls last"), (np.float64, "level")).names
    ('pulls', 'last', 'level')
    """
    return np.dtype([(name, kind) for kind, names in groups for name in names.split()])
