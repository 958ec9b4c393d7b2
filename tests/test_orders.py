"""Random orders of the tests: what the tool reads from pytest's output, and that a number always gives its order."""

from __future__ import annotations

import doctest
from itertools import pairwise
from typing import cast

import pytest

import orders
from order import in_order


class Named:
    """As much of a test as its order needs."""

    def __init__(self, nodeid: str) -> None:
        self.nodeid = nodeid


def items_of(files: int, each: int) -> list[pytest.Item]:
    return [cast(pytest.Item, Named(f"tests/{file}.py::test_{test}")) for file in range(files) for test in range(each)]


def test_the_tool_reads_what_pytest_prints() -> None:
    found = doctest.testmod(orders)
    assert found.attempted == 3
    assert found.failed == 0


def test_a_number_gives_its_order_with_each_file_in_one_piece() -> None:
    items = items_of(6, 5)
    first = [item.nodeid for item in in_order(items, 1)]
    assert first == [item.nodeid for item in in_order(items, 1)]
    assert sorted(first) == sorted(item.nodeid for item in items)
    assert first != [item.nodeid for item in in_order(items, 2)]
    files = [nodeid.partition("::")[0] for nodeid in first]
    assert sum(before != after for before, after in pairwise(files)) == 5
    assert files[::5] != sorted(set(files))
    within = [nodeid for nodeid in first if nodeid.startswith("tests/0.py")]
    assert within != sorted(within)


def test_quick_tests_run_in_a_drawn_order_and_slow_ones_are_left_out() -> None:
    left_out = "tests/problems/test_noise.py::test_no_such_test"  # a test that is gone does no harm
    code, log = orders.play(3, 0, [left_out], ["tests/core/test_errors.py"])
    assert code == 0, log
    assert " passed" in orders.summary(log)
