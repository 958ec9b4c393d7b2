"""Short names for the types that kernels share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Records = npt.NDArray[np.void]  # items with named numbers (policies._kernels.records)
Mask = npt.NDArray[np.bool_] | None  # which arms may be chosen; None: all
Rng = np.random.Generator | None  # None for runs that draw nothing
