"""JSON that every program can read: no numbers that are none, no types of NumPy."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np

from risingbandits._core.files import for_json, json_text


def test_what_json_does_not_know() -> None:
    given = {1: (math.nan, math.inf, 0.1), "path": Path("a/b"), "rows": np.array([1.5, np.nan]), "n": np.int64(3)}
    plain = {"1": [None, None, 0.1], "path": "a/b", "rows": [1.5, None], "n": 3}
    assert for_json(given) == plain
    assert json.loads(json_text(given)) == plain
    assert json_text({"é": -math.inf}) == '{\n "é": null\n}\n'
