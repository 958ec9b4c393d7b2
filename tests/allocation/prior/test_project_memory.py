"""The memory keeps what runs taught, whole, each once."""

from __future__ import annotations

import math
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from programs import program
from risingbandits import Allocator, RisingBanditsError
from risingbandits.allocation.prior.memory import forget, remember, shelf_at, tasks_in
from risingbandits.allocation.prior.shelves import ENDING, read_entry
from risingbandits.allocation.prior.sources import read_sources
from risingbandits.allocation.prior.store_tasks import store_identity, store_task
from risingbandits.allocation.prior.tasks import EarlierTask
from servers import PostgresServer


def test_a_run_is_read_back_and_replaces_its_own_entry(memory: str) -> None:
    curves = {"a": [0.1, math.nan, 0.1 + 0.2], "b": [-1.0], "never": []}
    first = EarlierTask("may", curves, {"a": {"lr": 0.1, "depth": None}}, "minimize", frozenset({"b"}), False, "id")
    path = remember(memory, first)
    again = remember(memory, first, {"b": {"lr": 1.0}})
    assert path == again
    [task] = tasks_in(memory)
    assert [list(task.curves[arm]) for arm in ("b",)] == [[-1.0]]
    assert [str(value) for value in task.curves["a"]] == ["0.1", "nan", "0.30000000000000004"]
    assert (task.name, task.direction, task.failed, task.named, task.identity) == first_facts(first)
    assert task.settings == {"a": {"lr": 0.1, "depth": None}, "b": {"lr": 1.0}}
    assert "may" in str(path)
    renamed = remember(memory, first, name="june")
    assert [task.name for task in tasks_in(memory)] == ["june"], "the same run by another name is one entry"
    assert renamed != path


def test_equal_runs_are_equal_bytes(tmp_path: Path) -> None:
    path = Path(remember(tmp_path, {"a": [0.1, math.nan]}, name="may"))
    assert path == tmp_path / f"may{ENDING}"
    written = path.read_bytes()
    remember(tmp_path, {"a": [0.1, math.nan]}, name="may")
    assert path.read_bytes() == written


def first_facts(task: EarlierTask) -> tuple[object, ...]:
    return task.name, task.direction, task.failed, task.named, task.identity


def test_a_run_does_not_learn_from_its_own_entry(tmp_path: Path) -> None:
    folder, store = tmp_path / "memory", tmp_path / "run.db"
    with Allocator(["a", "b", "c"], budget=6, store=store) as allocator:
        for pull in allocator:
            allocator.tell(pull, 0.5)
        path = remember(folder, allocator.ledger, name="today", identity=store_identity(store))
    remember(folder, {"a": [1.0], "b": [2.0], "c": [3.0]}, name="may", direction="minimize")
    today = next(task for task in tasks_in(folder) if task.name == "today")
    assert {arm: list(curve) for arm, curve in today.curves.items()} == {
        arm: list(curve) for arm, curve in store_task(store).curves.items() if len(list(curve))
    }
    assert [task.name for task in read_sources(folder).tasks] == ["may", "today"]
    assert [task.name for task in read_sources(str(folder), present=store).tasks] == ["may"]
    with pytest.raises(RisingBanditsError, match="store of this run or a copy of it, got today"):
        read_sources(path, present=store)


def test_names_that_are_no_file_names(tmp_path: Path) -> None:
    names = ["a/b", "a_b", "..", "ä", "x" * 300, "A", "may 3"]
    paths = [Path(remember(tmp_path, {"a": [0.1]}, name=name)) for name in names]
    assert len({path.name for path in paths}) == len(names)
    assert all(path.parent == tmp_path for path in paths)
    assert {task.name for task in tasks_in(tmp_path)} == set(names)
    for name in names[:-1]:
        forget(tmp_path, name)
    assert [task.name for task in tasks_in(tmp_path)] == ["may 3"]


def test_what_cannot_be_remembered_read_or_forgotten(tmp_path: Path) -> None:
    for name in (None, "", "a\nb"):
        with pytest.raises(RisingBanditsError, match="name must be a printable string for the run"):
            remember(tmp_path, {"a": [0.1]}, name=name)
    with pytest.raises(RisingBanditsError, match=r"none must be a folder that exists\."):
        tasks_in(tmp_path / "none")
    path = Path(remember(tmp_path, {"a": [0.1]}, name="may"))
    with pytest.raises(RisingBanditsError, match=r"name must be that of a run in .*, one of \['may'\], got 'june'\."):
        forget(tmp_path, "june")
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(RisingBanditsError, match="is damaged, or no entry of a memory"):
        read_entry(path)


def test_any_name_on_a_server_and_what_cannot_be_read_there(postgres: PostgresServer) -> None:
    import psycopg

    memory = f"{postgres.address}&schema=memory_names"
    with pytest.raises(
        RisingBanditsError, match=r"the memory memory_names in PostgreSQL must be a memory that exists\."
    ):
        tasks_in(memory)
    names = ["a/b", "..", "\u00e4", "x" * 300, "'; DROP TABLE remembered", "%s"]
    said = [remember(memory, {"a": [0.1]}, name=name) for name in names]
    assert said == [f"{name} in the memory memory_names in PostgreSQL" for name in names]
    assert {task.name for task in tasks_in(memory)} == set(names)
    for name in names[1:]:
        forget(memory, name)
    with pytest.raises(RisingBanditsError, match=r"name must be that of a run in the memory .*, one of \['a/b'\], got"):
        forget(memory, "june")
    with psycopg.connect(postgres.address) as connection:
        connection.execute("UPDATE memory_names.remembered SET entry = substr(entry, 1, 20)")
    with pytest.raises(RisingBanditsError, match=r"a/b in the memory memory_names in PostgreSQL is damaged"):
        tasks_in(memory)
    with psycopg.connect(postgres.address) as connection:
        connection.execute("ALTER TABLE memory_names.remembered RENAME entry TO other")
    with pytest.raises(RisingBanditsError, match=r"the memory memory_names in PostgreSQL cannot be used: column"):
        tasks_in(memory)


def test_several_processes_write_at_once(memory: str) -> None:
    code = (
        "import sys; from risingbandits.allocation.prior.memory import remember\n"
        "for i in range(20): remember(sys.argv[1], {'a': [float(sys.argv[2])] * 2000}, name=f'run {i % 4}')"
    )
    with ExitStack() as stack:
        commands = ([sys.executable, "-c", code, memory, str(n)] for n in range(2))
        writers = [stack.enter_context(program(command)) for command in commands]
        while any(writer.poll() is None for writer in writers):
            for task in tasks_in(memory) if shelf_at(memory).exists() else []:
                assert set(task.curves["a"]) in ({0.0}, {1.0})
                assert len(list(task.curves["a"])) == 2000
    assert [writer.returncode for writer in writers] == [0, 0]
    assert [task.name for task in tasks_in(memory)] == [f"run {i}" for i in range(4)]
