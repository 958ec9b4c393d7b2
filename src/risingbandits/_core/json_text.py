"""Values as JSON that every reader accepts: null stands for NaN and infinity, which JSON does not have."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


def for_json(value: Any) -> Any:
    """The value as dicts, lists, strings, numbers, booleans and None only.

    >>> for_json({"mean": float("nan"), "pulls": np.array([1, 2]), 3: (np.float64(0.5), np.bool_(True))})
    {'mean': None, 'pulls': [1, 2], '3': [0.5, True]}
    """
    if isinstance(value, Mapping):
        return {str(key): for_json(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [for_json(member) for member in value]
    if isinstance(value, np.ndarray | np.generic):
        return for_json(value.tolist())
    if isinstance(value, Path):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_text(value: Any) -> str:
    """One JSON document, with a line break at the end.

    >>> print(json_text([{"regret": 1.5, "half_width": float("nan")}]), end="")
    [
     {
      "regret": 1.5,
      "half_width": null
     }
    ]
    """
    return json.dumps(for_json(value), indent=1, allow_nan=False, ensure_ascii=False) + "\n"
