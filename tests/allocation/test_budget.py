"""Sums of costs lose nothing."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from risingbandits.allocation.budget import ExactSum


def test_what_is_small_is_not_lost_beside_what_is_large() -> None:
    total = ExactSum()
    for number in (1.0, 1e100, 1.0, -1e100):  # Neumaier's example: plainly summed it is 0
        total.add(number)
    assert total.value == 2.0


@given(st.lists(st.floats(0.0, 1e6), max_size=200))
def test_sums_of_costs_are_those_of_fsum(costs: list[float]) -> None:
    total = ExactSum()
    for cost in costs:
        total.add(cost)
    assert math.isclose(total.value, math.fsum(costs), rel_tol=2**-52, abs_tol=0.0)
