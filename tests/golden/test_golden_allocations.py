"""An allocator decides as recorded, whatever happens to it; `make.py` records it anew."""

from __future__ import annotations

import pytest
from allocations import SETTINGS, Allocation, cases
from frozen import load

pytestmark = pytest.mark.filterwarnings("ignore:.* is contradicted by the rewards")  # made up as they are

_RUNS = load("allocations.json")["runs"]


def test_every_case_is_recorded() -> None:
    assert [Allocation(*run["case"]) for run in _RUNS] == cases()


@pytest.mark.parametrize("settings", SETTINGS)
def test_allocator(settings: str) -> None:
    for run in _RUNS:
        if run["case"][0] == settings:
            assert {"case": run["case"], **Allocation(*run["case"]).play()} == run
