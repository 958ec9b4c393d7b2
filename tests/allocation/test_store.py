"""Stores: one set of tests over SQLite and PostgreSQL."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from risingbandits import Allocator, Budget, Execution, RisingBanditsError
from risingbandits.allocation import open_reader
from risingbandits.allocation.stores._postgres import complaint
from risingbandits.allocation.stores._sql import VERSION
from risingbandits.allocation.stores._sqlite import SqliteStore
from risingbandits.allocation.stores.base import open_store
from risingbandits.cli import run
from risingbandits.testing import check_store
from servers import PostgresServer


def test_events_are_kept(place: str) -> None:
    """The contract that `check_store` tests, for a new store each time."""
    numbers = count()
    check_store(lambda: open_store(f"{place}_{next(numbers)}"))


@pytest.mark.parametrize(("durability", "synchronous"), [("process", 1), ("power", 2)])
def test_every_commit_waits_for_the_disk_where_power_may_fail(
    durability: str, synchronous: int, tmp_path: Path
) -> None:
    """SQLite's words for it: NORMAL (1) and FULL (2), which alone outlives a loss of power in write-ahead mode."""
    with Allocator(["a"], 10, store=tmp_path / "run.db", execution=Execution(durability=durability)) as allocator:
        assert allocator.ask() is not None
        store = allocator.store
        assert isinstance(store, SqliteStore)
        assert store._writer is not None
        assert store._writer.execute("PRAGMA synchronous").fetchone() == (synchronous,)
        assert store._writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_store_that_is_opened_to_be_read_cannot_be_written_to(place: str) -> None:
    store = open_store(place)
    store.create("{}")
    store.close()
    reader = open_store(place, readonly=True)
    with pytest.raises(RisingBanditsError, match="read"):
        reader.begin(0)
    assert reader.last_id() == 0
    reader.close()


def test_two_writers_see_each_other(place: str) -> None:
    one = Allocator(["a", "b"], 10, store=place)
    two = Allocator.open(place)
    pulls = [one.ask(), two.ask()]
    assert sorted(pull.arm for pull in pulls if pull is not None) == ["a", "b"]
    assert pulls[0] is not None
    assert pulls[1] is not None
    assert two.tell(pulls[0], 0.5), "any process may tell"
    assert not one.tell(pulls[0], 0.7), "and the first tell counts"
    assert one.tell(pulls[1], 0.25)
    assert one.rewards(pulls[0].arm) == two.rewards(pulls[0].arm) == [0.5]
    assert (one.spent, two.spent) == (2, 2)
    one.close()
    two.close()


def test_other_settings_are_refused(place: str) -> None:
    Allocator(["a", "b"], 10, store=place).close()
    Allocator(["a", "b"], 10, store=place).close()
    for arms, seed, said in ((["c", "d"], 0, "arms are"), (["a", "b"], 11, "seed is")):
        with pytest.raises(RisingBanditsError, match=f"holds another allocation: {said}"):
            Allocator(arms, 10, store=place, seed=seed)


def test_a_store_that_is_not_there(place: str, tmp_path: Path) -> None:
    with pytest.raises(RisingBanditsError, match="does not exist"):
        Allocator.open(place)
    with pytest.raises(RisingBanditsError, match="does not exist"):
        open_reader(place)
    assert list(tmp_path.iterdir()) == []


def test_a_reader_reads_while_others_write(place: str) -> None:
    with Allocator(["a", "b"], 4, store=place, policy="round-robin") as allocator:
        with open_reader(place) as reader:
            assert reader.settings.arms == ("a", "b")
            assert reader.settings.budget == Budget(pulls=4)
            assert reader.ledger().told == 0
            for pull in allocator:
                allocator.tell(pull, 0.5)
                assert reader.last_id() == 2 * reader.ledger().told
            state = reader.ledger()
            assert (state.told, state.finished, state.rewards("a")) == (4, True, [0.5, 0.5])
            assert [event.kind for event in reader.events(after=4)] == ["ask", "tell"] * 2
        with (
            Allocator.open(open_store(place, readonly=True)) as reader,
            pytest.raises(RisingBanditsError, match="read-only"),
        ):
            reader.ask()


@pytest.mark.parametrize(("version", "known"), [(VERSION + 1, f"version {VERSION}: update it"), (1, "only version")])
def test_another_version_of_the_tables_is_refused(place: str, version: int, known: str) -> None:
    with Allocator(["a", "b"], 10, store=place) as allocator:
        assert allocator.ask() is not None
        statement = f"PRAGMA user_version = {version}"
        if place.startswith("postgresql"):
            statement = f"UPDATE settings SET value = '{version}' WHERE key = 'version'"
        allocator.store._connection().execute(statement)  # type: ignore[attr-defined]
    for attempt in (Allocator.open, open_reader):
        with pytest.raises(RisingBanditsError, match=f"has version {version}, this program reads {known}"):
            attempt(place)


def test_addresses_that_are_none() -> None:
    for wrong in ("mysql://host/db", "", 7):
        with pytest.raises(RisingBanditsError, match="store must be a path"):
            Allocator(["a"], 3, store=wrong)  # type: ignore[arg-type]


def test_what_a_server_says_is_told_without_the_password() -> None:
    psycopg = pytest.importorskip("psycopg")
    error = psycopg.OperationalError("no server at postgresql://me:s3cret@host/runs.\nIs it there?")
    assert complaint(psycopg, "postgresql://me:s3cret@host/runs", error) == "no server at postgresql://me:***@host/runs"
    assert complaint(psycopg, "postgresql://me:s3cret@%zz/db", error) == "its address cannot be read"


def test_passwords_are_never_printed(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Neither by commands nor in messages, logs and pages, wherever an address has one."""
    monkeypatch.chdir(tmp_path)
    query = postgres.address.partition("?")[2]
    place = f"postgresql://tester:s3cret@/postgres?{query}&password=s3cret&schema=passwords"
    Path("plan.toml").write_text(f'store = "{place}"\nbudget = 4\narms = [{{name = "a", command = ["echo", "0.5"]}}]')
    for words in (
        ["run", "plan.toml", "--check"],
        ["run", "plan.toml"],
        ["run", "plan.toml", "--fresh"],
        ["run", "plan.toml", "--for", "1h"],
        ["run", place],
        ["run", place.replace("passwords", "none")],
        *(
            [*command.split(), place]
            for command in ("status --events", "status", "store export", "store check", "report")
        ),
        ["status", place.replace("/postgres?", "/nothing?")],
        ["status", "mysql://me:s3cret@host/db"],
        ["status", "postgresql://me:s3cret@%zz/db"],
        ["status", "postgresql://me:s3cret@127.0.0.1:1/db"],
    ):
        run(words)
    said = capfd.readouterr()
    assert "4 of 4 pulls" in said.out
    assert "s3cret" not in said.out + said.err
    for path in tmp_path.rglob("*"):
        assert path.name == "plan.toml" or path.is_dir() or b"s3cret" not in path.read_bytes(), path
