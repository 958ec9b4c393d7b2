"""With a folder, a run leaves what it has taught and the next one begins with it; nothing else changes."""

from __future__ import annotations

import gzip
import json
import logging
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from programs import program, until
from risingbandits import Allocator, Execution, RisingBanditsError
from risingbandits.allocation.starting._memory import ENDING, INDEX, read_entry, remember
from risingbandits.allocation.starting.earlier_runs import Summary, read_sources, store_task

NAMES = [f"arm {i}" for i in range(8)]
BEST = "arm 2"


def reward(arm: str, n: int) -> float:
    return (0.9 if arm == BEST else 0.04 * int(arm.split()[1])) * n / (n + 2)


def arms(names: list[str] = NAMES) -> dict[str, Any]:
    return {name: lambda pull: reward(pull.arm, pull.n) for name in names}


def order(allocator: Allocator) -> list[str]:
    return [event.arm for event in allocator.store.events() if event.kind == "ask"]


def runs_in(folder: Path) -> list[Summary]:
    return read_sources(folder)


def chained(folder: Path, **given: Any) -> Allocator:
    """A run that begins with what the folder says, and adds to it."""
    return Allocator(arms(), 80, prior=folder, remember=folder, **given)


def test_the_second_run_begins_with_the_best_arm_of_the_first(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "runs"
    first = chained(folder, objective="best-arm", store=tmp_path / "may.db")
    assert first.settings.prior is None
    first.run(progress=False)
    [path] = folder.iterdir()
    task, own = read_entry(path), store_task(tmp_path / "may.db")
    assert task.name.startswith("may 20")
    assert task.identity == own.identity
    assert {arm: list(curve) for arm, curve in task.curves.items()} == {arm: first.rewards(arm) for arm in NAMES}
    second = chained(folder, store=tmp_path / "june.db")
    second.run(progress=False)
    assert order(second)[0] == BEST != order(first)[0]
    assert second.ledger.settings.prior is not None
    assert second.ledger.settings.prior.tasks == 1
    assert [run.name[:4] for run in runs_in(folder)] == ["june", "may "]


def test_a_folder_that_does_not_exist_yet_is_no_prior(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stores = [tmp_path / "with.db", tmp_path / "without.db"]
    with caplog.at_level(logging.WARNING, logger="risingbandits"):
        runs = [chained(tmp_path / "runs", seed=3, store=stores[0]), Allocator(arms(), 80, seed=3, store=stores[1])]
        for run in runs:
            run.run(progress=False)
    assert caplog.records == []
    assert order(runs[0]) == order(runs[1])
    assert runs[0].store.settings() == runs[1].store.settings()
    with pytest.raises(RisingBanditsError, match="elsewhere does not exist"):
        Allocator(arms(), 80, prior=tmp_path / "elsewhere", remember=tmp_path / "runs")


def test_a_run_that_goes_on_replaces_its_entry_and_does_not_learn_from_itself(tmp_path: Path) -> None:
    store, folder = tmp_path / "run.db", tmp_path / "runs"
    allocator = chained(folder, store=store)
    for _ in range(25):
        pull = allocator.ask()
        assert pull is not None
        allocator.tell(pull, reward(pull.arm, pull.n))
    half = allocator.remember()
    allocator.close()
    again = chained(folder, store=store)
    assert again.ledger.settings.prior is None
    again.run(progress=False)
    assert [run.pulls for run in runs_in(folder)] == [80]
    assert again.remember() == half
    assert half.name.startswith("run 20")
    assert [run.pulls for run in runs_in(folder)] == [80]
    assert [run.name for run in read_sources([str(store), half])] == ["run"], "in two files it is one run"
    plain = Allocator(arms(), 80)
    plain.run(progress=False)
    assert order(again) == order(plain)


_PROGRAM = """
import sys, time
from risingbandits import Allocator

names = [f"arm {i}" for i in range(8)]
def pull(pull):
    time.sleep(float(sys.argv[3]))
    return (0.9 if pull.arm == "arm 2" else 0.04 * int(pull.arm.split()[1])) * pull.n / (pull.n + 2)
given = {"store": sys.argv[1], "prior": sys.argv[2], "remember": sys.argv[2]}
Allocator(dict.fromkeys(names, pull), 60, **given).run(progress=False)
"""


def test_killed_and_resumed_it_decides_as_if_never_killed(tmp_path: Path) -> None:
    store, folder = tmp_path / "run.db", tmp_path / "runs"
    Allocator(arms(), 60, objective="best-arm", remember=folder).run(progress=False)
    whole = Allocator(arms(), 60, prior=folder)
    assert whole.ledger.settings.prior is not None
    command = [sys.executable, "-c", _PROGRAM, str(store), str(folder), "0.01"]
    with program(command) as process:
        until(lambda: store.exists() and store_task(store).identity is not None and len(told(store)) > 10)
        assert process.poll() is None, "it is killed while it runs"
    assert len(runs_in(folder)) == 1, "nothing is left of a run that has not ended"
    Allocator(arms(), 60, objective="best-arm", seed=9, remember=folder).run(progress=False)
    subprocess.run([*command[:-1], "0"], check=True)
    whole.run(progress=False)
    assert told(store) == [event.arm for event in whole.store.events() if event.kind == "tell"]
    assert len(runs_in(folder)) == 3


def told(store: Path) -> list[str]:
    with Allocator.open(store) as allocator:
        return [event.arm for event in allocator.store.events() if event.kind == "tell"]


def test_several_processes_with_one_folder(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    stores = [tmp_path / "shared.db", tmp_path / "shared.db", tmp_path / "own.db"]
    with ExitStack() as stack:
        commands = ([sys.executable, "-c", _PROGRAM, str(store), str(folder), "0.002"] for store in stores)
        started = [stack.enter_context(program(command)) for command in commands]
        assert [process.wait() for process in started] == [0, 0, 0]
    assert {run.name.split()[0]: run.pulls for run in runs_in(folder)} == {"own": 60, "shared": 60}


def test_a_folder_that_cannot_be_written_to_is_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "runs"
    allocator = Allocator(arms(), 20, remember=folder)
    folder.write_text("in the way")
    with caplog.at_level(logging.WARNING, logger="risingbandits"):
        allocator.run(progress=False)
    assert allocator.finished
    [record] = caplog.records
    assert record.getMessage().startswith(f"the run is not remembered in {folder}: ")
    with pytest.raises(OSError, match="runs"):
        allocator.remember()
    with pytest.raises(RisingBanditsError, match="remember must be a folder, got the file"):
        Allocator(NAMES, 20, remember=folder)


def test_what_was_said_wrong(tmp_path: Path) -> None:
    for wrong in (3, "", "postgresql://me:secret@host/runs"):
        with pytest.raises(RisingBanditsError, match=r"remember must be the path of a folder, got") as said:
            Allocator(NAMES, 20, remember=wrong)  # type: ignore[arg-type]
        assert "secret" not in str(said.value)
    with pytest.raises(RisingBanditsError, match="a run must have told pulls to be remembered, got none"):
        Allocator(NAMES, 20, remember=tmp_path / "runs").remember()
    with pytest.raises(RisingBanditsError, match="remember must be given to Allocator"):
        Allocator(NAMES, 20).remember()


def test_losses_configs_and_failures_are_remembered(tmp_path: Path) -> None:
    configs = {name: {"lr": 10.0**-i} for i, name in enumerate(NAMES)}
    allocator = Allocator(
        NAMES,
        60,
        policy="round-robin",
        direction="minimize",
        configs=configs,
        remember=tmp_path,
        execution=Execution(retries=1),
    )
    for pull in allocator:
        if pull.arm == "arm 5":
            allocator.fail(pull, "no luck")
        else:
            allocator.tell(pull, 1.0 - reward(pull.arm, pull.n))
    [path] = tmp_path.iterdir()
    task = read_entry(path)
    assert (task.direction, list(task.failed)) == ("minimize", ["arm 5"])
    assert {arm: dict(config) for arm, config in task.configs.items()} == configs
    assert task.summary().scores["arm 5"][0] < -1.0
    other = {f"other {i}": {"lr": 10.0**-i} for i in range(8)}
    prior = Allocator(list(other), 80, configs=other, prior=tmp_path).ledger.settings.prior
    assert prior is not None
    assert {belief.source for belief in prior.beliefs.values()} == {"configs"}


def test_equal_runs_are_equal_bytes_and_damage_is_one_sentence(tmp_path: Path) -> None:
    allocator = Allocator(arms(), 20)
    allocator.run(progress=False)
    settings = json.dumps(allocator.settings.to_dict(), default=str)
    path = remember(tmp_path, allocator.store, settings)
    written = path.read_bytes()
    assert remember(tmp_path, allocator.store, settings).read_bytes() == written
    path.write_bytes(written[:-9])
    with pytest.raises(RisingBanditsError, match="is damaged, or no run that was remembered"):
        read_entry(path)
    path.write_bytes(gzip.compress(json.dumps({**json.loads(gzip.decompress(written)), "format": 9}).encode()))
    with pytest.raises(RisingBanditsError, match="must be of format 1, got 9"):
        read_sources(tmp_path)


# -- the index ------------------------------------------------------------------------------------------------------


def many(folder: Path, count: int = 40) -> None:
    """Copies of a remembered run, each with an identity of its own."""
    folder.mkdir()
    allocator = Allocator(arms(), 40, objective="best-arm")
    allocator.run(progress=False)
    path = remember(folder, allocator.store, json.dumps(allocator.settings.to_dict(), default=str))
    plain = json.loads(gzip.decompress(path.read_bytes()))
    for number in range(count):
        entry = {**plain, "name": f"run {number}", "identity": f"{number:016x}"}
        (folder / f"run {number}{ENDING}").write_bytes(gzip.compress(json.dumps(entry).encode(), 1))


def test_the_index_says_what_the_files_say(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    many(folder)
    without = runs_in(folder)
    assert (folder / INDEX).exists()
    assert runs_in(folder) == without
    assert len(without) == 41
    read = folder / f"run 3{ENDING}"
    plain = json.loads(gzip.decompress(read.read_bytes()))
    read.write_bytes(gzip.compress(json.dumps({**plain, "name": "changed"}).encode()))
    (folder / f"run 5{ENDING}").unlink()
    names = [run.name for run in runs_in(folder)]
    assert "changed" in names
    assert not {"run 3", "run 5"} & set(names)
    (folder / INDEX).write_bytes(b"damaged")
    assert [run.name for run in runs_in(folder)] == names


def test_of_logs_the_index_holds_what_was_read_by_one_metric(tmp_path: Path) -> None:
    for number in range(40):
        lines = [f"{n},{number + n},{-number - n}" for n in range(1, 9)]
        (tmp_path / f"lr={number}.csv").write_text("\n".join(["epoch,loss,acc", *lines]))
    from risingbandits.allocation.starting.earlier_runs import Reading

    first = read_sources(tmp_path, Reading(metric="acc"))
    assert read_sources(tmp_path, Reading(metric="acc")) == first
    assert read_sources(tmp_path, Reading(metric="loss")) != first
    (tmp_path / "lr=0.csv").write_text("epoch,loss,acc\n1,100,100\n2,200,200\n")
    [changed] = read_sources(tmp_path, Reading(metric="acc"))
    assert max(changed.scores, key=changed.scores.__getitem__) == "lr=0"


def test_where_nobody_may_write_there_is_no_index(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    many(folder)
    (folder / INDEX).mkdir()  # in the way, whoever runs the test
    (folder / INDEX / "x").touch()
    folder.chmod(0o500)
    try:
        assert len(runs_in(folder)) == 41
    finally:
        folder.chmod(0o700)


def test_two_thousand_runs_are_read_again_quickly(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    many(folder, 0)
    [first] = folder.iterdir()
    data = first.read_bytes()
    plain = json.loads(gzip.decompress(data))
    for number in range(2_000):
        text = json.dumps({**plain, "name": f"run {number}", "identity": f"{number:016x}"})
        (folder / f"run {number}{ENDING}").write_bytes(gzip.compress(text.encode(), 1))
    Allocator(NAMES, 80, prior=folder)
    began = time.process_time()
    allocator = Allocator(NAMES, 80, prior=folder)
    seconds = time.process_time() - began
    assert allocator.settings.prior is not None
    assert allocator.settings.prior.tasks == 2_001
    assert seconds < 1.0  # 0.15 s on an idle machine
