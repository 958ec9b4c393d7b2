"""A driver with little time begins nothing that would not fit into it."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest

from risingbandits import Allocator
from risingbandits.allocation import Pull, open_reader
from risingbandits.allocation.arms._display import Display
from risingbandits.allocation.arms._driver import Driver
from risingbandits.allocation.arms._pace import Pace

HOUR = 3_600.0


def half(pull: Pull) -> float:
    return 0.5


def test_the_pace_of_a_store(tmp_path: Path) -> None:
    with Allocator(["a", "b"], 4, store=tmp_path / "run.db", policy="round-robin") as allocator:
        first, second = allocator.ask(), allocator.ask()
        assert first is not None
        assert second is not None
        time.sleep(0.02)
        allocator.tell(first, 0.5)
        allocator.fail(second)
        pace = Pace(allocator.store)
        assert 0.02 <= pace.expected("a") < HOUR
        assert pace.expected("b") == pace.expected("a") == pace.shortest()


@pytest.mark.parametrize("jobs", [1, 2])
def test_nothing_is_begun_where_nothing_fits(jobs: int) -> None:
    allocator = Allocator({"a": half, "b": half}, 10)
    driver = Driver(allocator, {"a": half, "b": half}, jobs, Display(), until=time.monotonic() + HOUR)
    driver.pace.note("a", 2 * HOUR)
    assert driver.run() is None
    assert driver.closed
    assert allocator.spent == 0
    assert not allocator.ledger.in_flight


def test_a_pull_that_would_not_fit_is_given_back(tmp_path: Path) -> None:
    arms = {"a": half, "b": half}
    with Allocator(arms, 10, store=tmp_path / "run.db", policy="round-robin") as allocator:
        driver = Driver(allocator, arms, 1, Display(), until=time.monotonic() + HOUR)
        driver.pace.note("a", 1.0)
        driver.pace.note("b", 2 * HOUR)
        assert driver.run() is None
        assert allocator.rewards("a") == [0.5]
        assert not allocator.ledger.in_flight
    with open_reader(tmp_path / "run.db") as reader:
        assert [(event.kind, event.arm) for event in reader.events()] == [
            ("ask", "a"),
            ("tell", "a"),
            ("ask", "b"),
            ("expire", "b"),
        ]


def test_where_there_is_time_the_budget_is_spent() -> None:
    for until in (time.monotonic() + HOUR, math.inf):
        allocator = Allocator({"a": half, "b": half}, 10)
        driver = Driver(allocator, {"a": half, "b": half}, 1, Display(), until=until)
        assert driver.run() is None
        assert not driver.closed
        assert allocator.spent == 10
