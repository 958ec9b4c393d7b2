"""Intervals of means."""

from __future__ import annotations

from typing import Any

import numpy as np

from risingbandits._core.types import Floats


def half_width(values: Any, level: float = 0.95) -> Floats:
    """Half the width of the Student-t interval of the mean over the first axis; NaN for a single value.

    >>> round(float(half_width([1.0, 2.0, 3.0])), 4)
    2.4841
    """
    from scipy.special import stdtrit  # far quicker to import than scipy.stats

    runs = len(values)
    if runs < 2:
        return np.full(np.shape(values)[1:], np.nan)
    spread = np.std(values, axis=0, ddof=1) / np.sqrt(runs)
    return np.asarray(spread * float(stdtrit(runs - 1, 0.5 + level / 2)))
