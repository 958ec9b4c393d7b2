"""With a memory, a run leaves what it learnt and the next one begins with it; nothing else changes."""

from __future__ import annotations

import logging
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from programs import program, until
from risingbandits import Allocator, RisingBanditsError
from risingbandits.allocation.prior.memory import entries_of, forget, remember, run_called, tasks_in
from risingbandits.allocation.prior.shelves import ENDING
from risingbandits.allocation.prior.sources import read_sources
from risingbandits.allocation.prior.store_tasks import store_identity, store_task
from risingbandits.allocation.starting.prior import Belief, Prior
from risingbandits.allocation.stores.base import StoreUnreachable
from servers import PostgresServer

NAMES = [f"arm {i}" for i in range(8)]
BEST = "arm 2"


def reward(arm: str, n: int) -> float:
    return (0.9 if arm == BEST else 0.04 * int(arm.split()[1])) * n / (n + 2)


def arms(names: list[str] = NAMES) -> dict[str, Any]:
    return {name: lambda pull: reward(pull.arm, pull.n) for name in names}


def order(allocator: Allocator) -> list[str]:
    return [event.arm for event in allocator.store.events() if event.kind == "ask"]


def test_the_second_run_opens_the_best_arm_of_the_first_first(tmp_path: Path, memory: str) -> None:
    first = Allocator(arms(), 80, objective="best-arm", store=tmp_path / "may.db", memory=memory)
    assert first.settings.prior is None
    first.run(progress=False)
    [task] = tasks_in(memory)
    assert task.name.startswith("may 20")
    assert task.identity == store_identity(tmp_path / "may.db")
    assert {arm: list(task.curves[arm]) for arm in task.arms} == {arm: first.rewards(arm) for arm in task.arms}
    second = Allocator(arms(), 80, store=tmp_path / "june.db", memory=memory)
    second.run(progress=False)
    assert order(second)[0] == BEST != order(first)[0]
    assert second.ledger.settings.prior is not None
    assert second.ledger.settings.prior.tasks == 1
    assert [task.name[:4] for task in tasks_in(memory)] == ["june", "may "]


@pytest.mark.parametrize("there", ["none", "empty", "others"])
def test_a_memory_that_says_nothing_of_the_arms_changes_nothing(
    tmp_path: Path, there: str, caplog: pytest.LogCaptureFixture
) -> None:
    memory = tmp_path / "memory"
    if there != "none":
        memory.mkdir()
    if there == "others":
        remember(memory, {"x": [0.1], "y": [0.2], "z": [0.3]}, name="others")
    stores = [tmp_path / "with.db", tmp_path / "without.db"]
    with caplog.at_level(logging.WARNING, logger="risingbandits"):
        runs = [Allocator(arms(), 60, seed=3, store=store) for store in stores[1:]]
        runs.append(Allocator(arms(), 60, seed=3, store=stores[0], memory=memory))
        for run in runs:
            run.run(progress=False)
    assert caplog.records == []
    assert order(runs[0]) == order(runs[1])
    assert runs[0].store.settings() == runs[1].store.settings()
    assert len(tasks_in(memory)) == 1 + (there == "others")


def test_a_run_that_goes_on_has_one_entry_and_does_not_learn_from_itself(tmp_path: Path, memory: str) -> None:
    store = tmp_path / "run.db"
    allocator = Allocator(NAMES, 60, store=store, memory=memory)
    for _ in range(25):
        pull = allocator.ask()
        assert pull is not None
        allocator.tell(pull, reward(pull.arm, pull.n))
    half = allocator.remember()
    allocator.close()
    again = Allocator(arms(), 60, store=store, memory=memory)
    assert again.ledger.settings.prior is None
    again.run(progress=False)
    assert [task.pulls for task in tasks_in(memory)] == [60]
    assert again.remember() == half
    assert len(tasks_in(memory)) == 1
    plain = Allocator(arms(), 60)
    plain.run(progress=False)
    assert order(again) == order(plain)


_PROGRAM = """
import sys, time
from risingbandits import Allocator

names = [f"arm {i}" for i in range(8)]
def pull(pull):
    time.sleep(float(sys.argv[3]))
    return (0.9 if pull.arm == "arm 2" else 0.04 * int(pull.arm.split()[1])) * pull.n / (pull.n + 2)
Allocator(dict.fromkeys(names, pull), 60, store=sys.argv[1], memory=sys.argv[2]).run(progress=False)
"""


def test_killed_and_resumed_with_a_memory_it_decides_as_if_never_killed(tmp_path: Path, memory: str) -> None:
    store = tmp_path / "run.db"
    Allocator(arms(), 60, objective="best-arm", memory=memory).run(progress=False)
    whole = Allocator(arms(), 60, memory=memory)
    assert whole.ledger.settings.prior is not None
    command = [sys.executable, "-c", _PROGRAM, str(store), memory, "0.01"]
    with program(command) as process:
        until(lambda: store.exists() and store_identity(store) is not None and store_task(store).pulls > 10)
        assert process.poll() is None, "it is killed while it runs"
    assert len(tasks_in(memory)) == 1, "nothing is left of a run that has not ended"
    remember(memory, {name: [0.1 * i] for i, name in enumerate(NAMES)}, name="meanwhile")
    subprocess.run([*command[:-1], "0"], check=True)
    whole.run(progress=False)
    resumed = Allocator.open(store)
    told = [event.arm for event in resumed.store.events() if event.kind == "tell"]
    assert told == [event.arm for event in whole.store.events() if event.kind == "tell"]
    assert len(entries_of(memory, store_identity(store))) == 1


def test_two_processes_with_one_memory(tmp_path: Path, memory: str) -> None:
    shared = tmp_path / "shared.db"
    stores = [shared, shared, tmp_path / "own.db"]
    with ExitStack() as stack:
        commands = ([sys.executable, "-c", _PROGRAM, str(store), memory, "0.002"] for store in stores)
        started = [stack.enter_context(program(command)) for command in commands]
        assert [process.wait() for process in started] == [0, 0, 0]
    found = {task.name.split()[0]: task for task in tasks_in(memory)}
    assert {name: task.pulls for name, task in found.items()} == {"own": 60, "shared": 60}
    assert len(tasks_in(memory)) == 2


def test_a_memory_that_cannot_be_written_to_is_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    memory = tmp_path / "memory"
    allocator = Allocator(arms(), 20, memory=memory)
    memory.write_text("in the way")
    with caplog.at_level(logging.WARNING, logger="risingbandits"):
        allocator.run(progress=False)
    assert allocator.finished
    [record] = caplog.records
    assert record.getMessage().startswith(f"the run is not remembered in {memory}: ")
    with pytest.raises(OSError, match="memory"):
        allocator.remember()
    with pytest.raises(RisingBanditsError, match=r"memory must be a folder or an address postgresql://\.\.\., got"):
        Allocator(NAMES, 20, memory=memory)


def test_what_was_said_wrong(tmp_path: Path) -> None:
    for wrong in (3, "", "mysql://me:secret@host/runs"):
        with pytest.raises(
            RisingBanditsError, match=r"memory must be the path of a folder or postgresql.*, got"
        ) as said:
            Allocator(NAMES, 20, memory=wrong)  # type: ignore[arg-type]
        assert "secret" not in str(said.value)
    with pytest.raises(RisingBanditsError, match="a run must have told pulls to be remembered, got none"):
        Allocator(NAMES, 20, memory=tmp_path / "memory").remember()
    with pytest.raises(RisingBanditsError, match="memory must be given to Allocator"):
        Allocator(NAMES, 20).remember()
    assert not (tmp_path / "memory").exists()


def test_a_name_is_kept_and_each_run_in_memory_is_one_of_its_own(tmp_path: Path) -> None:
    first = Allocator(NAMES, 20, memory=tmp_path)
    for pull in first:
        first.tell(pull, 0.5)
    [path] = tmp_path.iterdir()
    assert path.name.startswith("run 20")
    named = Path(first.remember("mnist"))
    assert list(tmp_path.iterdir()) == [named]
    assert named.name == f"mnist{ENDING}"
    assert first.remember() == named
    second = Allocator(arms(), 20, memory=tmp_path)
    second.run(progress=False)
    assert len(tasks_in(tmp_path)) == 2
    assert run_called(tmp_path, "mni").name == "mnist"
    remember(tmp_path, {"a": [0.1]}, name="mnist 2")
    assert run_called(tmp_path, "mnist").name == "mnist"
    with pytest.raises(RisingBanditsError, match=r"one of \['mnist', 'mnist 2'\], got 'mni'"):
        run_called(tmp_path, "mni")


def test_beside_a_prior_and_each_run_counts_once(tmp_path: Path, memory: str) -> None:
    store = tmp_path / "may.db"
    Allocator(arms(), 80, objective="best-arm", store=store, memory=memory).run(progress=False)
    assert [task.name for task in read_sources([str(store), memory]).tasks] == ["may"]
    scores = {name: float(-i) for i, name in enumerate(NAMES)}
    both = Allocator(NAMES, 80, prior=[scores, store], memory=memory).ledger.settings.prior
    assert both is not None
    assert both.tasks == 1
    alone = Allocator(NAMES, 80, memory=memory).ledger.settings.prior
    assert alone is not None
    assert both.of(BEST).mean != alone.of(BEST).mean
    ready = Prior({"arm 1": Belief(1.0, 0.5, "3 tasks")}, 3, 0.5)
    assert Allocator(NAMES, 80, prior=ready, memory=memory).ledger.settings.prior == ready


def test_losses_and_settings_are_remembered(tmp_path: Path) -> None:
    settings = {name: {"lr": 10.0**-i} for i, name in enumerate(NAMES)}
    losses = {name: lambda pull: 1.0 - reward(pull.arm, pull.n) for name in NAMES}
    given = {"direction": "minimize", "configs": settings, "memory": tmp_path, "objective": "best-arm"}
    Allocator(losses, 80, **given).run(progress=False)  # type: ignore[arg-type]
    [task] = tasks_in(tmp_path)
    assert task.direction == "minimize"
    assert task.settings == {arm: settings[arm] for arm in task.arms}
    other = {f"other {i}": {"lr": 10.0**-i} for i in range(8)}
    prior = Allocator(list(other), 80, configs=other, memory=tmp_path).ledger.settings.prior
    assert prior is not None
    assert {belief.source for belief in prior.beliefs.values()} == {"settings"}


def test_a_server_that_is_away_is_an_error_at_first_and_a_warning_at_the_end(
    postgres: PostgresServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = f"{postgres.address}&schema=memory_away&password=secret"
    allocator = Allocator(arms(), 20, memory=memory, store=tmp_path / "run.db")
    postgres.stop()
    try:
        with caplog.at_level(logging.WARNING, logger="risingbandits"):
            allocator.run(progress=False)
        assert allocator.finished
        [record] = caplog.records
        assert "the memory memory_away in PostgreSQL cannot be reached" in record.getMessage()
        assert "secret" not in record.getMessage()
        with pytest.raises(StoreUnreachable, match="the memory memory_away in PostgreSQL cannot be reached"):
            Allocator(NAMES, 20, memory=memory)
    finally:
        postgres.start()
    assert allocator.remember() == f"{tasks_in(memory)[0].name} in the memory memory_away in PostgreSQL"


def test_one_address_names_a_store_and_a_memory(postgres: PostgresServer) -> None:
    address = postgres.address
    with Allocator(arms(), 40, objective="best-arm", store=f"{address}&schema=both", memory=address) as allocator:
        allocator.run(progress=False)
    [remembered] = tasks_in(address)
    assert remembered.identity == store_identity(f"{address}&schema=both")
    with Allocator(NAMES, 5, store=f"{address}&schema=risingbandits_memory") as other:
        pull = other.ask()
        assert pull is not None
        other.tell(pull, 0.5)
    [stored] = read_sources(f"{address}&schema=risingbandits_memory").tasks
    assert stored.pulls == 1, "where a schema has both, it is a store as a prior, and a memory as a memory"
    assert [task.pulls for task in tasks_in(address)] == [40]
    assert forget(address, remembered.name) == remembered.name
