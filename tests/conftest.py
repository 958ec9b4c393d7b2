"""Settings and fixtures of all tests.

Property tests try the same examples in every run, so that a failure can be repeated.
"""

# ruff: noqa: E402
from __future__ import annotations

import os

# Before NumPy is loaded, here and in the programs that tests start: the matrices are small, and threads that wait for
# each other beside another worker's took most of the time of the tests that use them.
for _library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

import gc
import itertools
import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, settings

from chromium import Watched, open_browser, watched_page
from order import in_order
from risingbandits._core import compile_wait
from servers import PostgresServer, find_binaries, postgres_server

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# How long compiling takes depends on the machine and on what other tests have compiled before: tests of what commands
# print must not. Those of the line that it is about run programs of their own.
compile_wait._PATIENCE = math.inf

# Neither a deadline nor a complaint that examples come slowly: on a busy machine both fail at random.
settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
# For mutations, where it is enough that an example fails: the smallest one is not looked for.
settings.register_profile("unshrunk", settings.get_profile("repeatable"), phases=(Phase.explicit, Phase.generate))
settings.load_profile("repeatable")

_schemas = itertools.count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow tests get an hour each; with RISINGBANDITS_TEST_ORDER=7 all come in order 7 (`tools/orders.py`)."""
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(3_600))
    if order := os.environ.get("RISINGBANDITS_TEST_ORDER"):
        items[:] = in_order(items, int(order))


def pytest_collection_finish() -> None:
    """What was imported stays: without this the garbage collector looks at it again and again, 6 % of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server of our own."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: stores in PostgreSQL are not tested")
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("PostgreSQL's initdb and pg_ctl are not installed: stores in PostgreSQL are not tested")
    with postgres_server(binaries) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store that does not exist yet."""
    if request.param == "sqlite":
        return str(tmp_path / "run.db")
    server: PostgresServer = request.getfixturevalue("postgres")
    return f"{server.address}&schema=test_{next(_schemas)}"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for each file of tests."""
    with open_browser() as opened:
        yield opened


@pytest.fixture
def new_page(browser: Browser) -> Iterator[Callable[..., Watched]]:
    """Opens pages that are watched; see `watched_page` for the arguments."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(watched_page(browser, **settings))
