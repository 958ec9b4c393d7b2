"""What the package says about wrong input, compared with the files in tests/texts; see `helpers/texts.py`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import risingbandits as rb
from risingbandits import RisingBanditsError, allocation, policies, problems
from risingbandits.allocation.commands._plan_file import read_plan
from risingbandits.lab.related import triggers
from texts import agree, cases

pytestmark = pytest.mark.texts
NAMES: dict[str, Any] = {"np": np, "inf": math.inf, "nan": math.nan}
for _package in (rb, allocation, policies, problems, triggers):
    NAMES |= {name: getattr(_package, name) for name in dir(_package) if not name.startswith("_")}


@cases("arguments")
def test_a_wrong_argument(given: str, said: str) -> None:
    with pytest.raises(RisingBanditsError) as error:
        eval(given, dict(NAMES))
    agree("arguments", given, said, str(error.value))


@cases("plans")
def test_a_mistake_in_a_plan(given: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(given)
    with pytest.raises(RisingBanditsError) as error:
        read_plan(path)
    agree("plans", given, said, str(error.value).removeprefix(f"{path}, "))
