"""Stores for the tests: the same tests run over memory, SQLite and PostgreSQL."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from servers import find_binaries, postgres_server


@pytest.fixture(scope="session")
def postgres_address() -> Iterator[str]:
    """The address of a database in a server of our own."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: stores in PostgreSQL are not tested")
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("PostgreSQL's initdb and pg_ctl are not installed: stores in PostgreSQL are not tested")
    with postgres_server(binaries) as address:
        yield address


_schemas = itertools.count(1)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store that does not exist yet."""
    if request.param == "sqlite":
        return str(tmp_path / "run.db")
    address: str = request.getfixturevalue("postgres_address")
    return f"{address}&schema=test_{next(_schemas)}"


NewPlace = Callable[[], str]
