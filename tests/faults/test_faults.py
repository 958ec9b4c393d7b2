"""Faults of the disk and of processes, at calls that change files, in short runs with checkpoints.

For each fault there is a run with it, then a restart without it, then a look at the files; `fault_checks` says what
must hold.
"""

from __future__ import annotations

import itertools
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from fault_checks import complaints, losses, what_is_left
from faults import FAULTS, VARIANTS, Call, Case, Fault, Forks, Variant, build_shim, find_compiler, forked_runs

TRIED = ("objects", "power", "keep", "commands")
PAIRS = [(variant, fault) for variant in TRIED for fault in FAULTS if FAULTS[fault].is_for(VARIANTS[variant])]
MOST = 5  # calls with complaints after which a test ends
FEWER = 12  # calls that one run may make less than another: the size of an event depends on its process
KINDS = {"write", "sync", "rename", "link", "remove", "truncate", "create", "mkdir"}
_cases = itertools.count(1)


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    """What forks runs with the shim."""
    if not sys.platform.startswith("linux"):
        pytest.skip("faults are injected on Linux only")
    compiler = find_compiler()
    if compiler is None:
        pytest.skip("no C compiler is installed: no faults are injected")
    with forked_runs(build_shim(compiler, tmp_path_factory.mktemp("shim"))) as started:
        yield started


def counted(forks: Forks, folder: Path, variant: Variant, below: str = ".") -> list[Call]:
    """The calls of a run without a fault, numbered among those that concern files below a path."""
    if (variant, below) not in forks.known:
        case = Case(forks, folder / f"{next(_cases)}", variant)
        assert case.run(below=below) == "0"
        assert case.endings() == [None], case.endings()
        forks.known[variant, below] = case.calls()
    return forks.known[variant, below]


def possible(forks: Forks, folder: Path, variant: Variant, fault: Fault) -> list[int]:
    """The numbers of the calls at which a fault can happen."""
    calls = counted(forks, folder, variant, fault.below)
    return [call.number for call in calls if call.number and fault.fits(variant, call)]


def survive(forks: Forks, folder: Path, variant: Variant, fault: Fault, numbers: Iterable[int]) -> int:
    """Try a fault at some calls, each in a store of its own; returns how many calls were made."""
    said: list[str] = []
    tried = 0
    for number in numbers:
        case = Case(forks, folder / f"{next(_cases)}", variant)
        found = complaints(case, fault, number)
        if found:
            said.append(f"{fault.name}, {case.call(number)}, files in {case.folder.parent}:\n" + "\n".join(found))
        else:
            shutil.rmtree(case.folder.parent)
        if found is None or len(said) == MOST:
            break
        tried += 1
    assert not said, "\n".join(said)
    return tried


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "fault"), PAIRS)
def test_every_call(variant: str, fault: str, forks: Forks, tmp_path: Path) -> None:
    numbers = possible(forks, tmp_path, VARIANTS[variant], FAULTS[fault])
    assert len(numbers) > 2
    tried = survive(forks, tmp_path, VARIANTS[variant], FAULTS[fault], numbers)
    assert tried >= len(numbers) - FEWER


@pytest.mark.parametrize(("variant", "fault"), PAIRS)
def test_one_call(variant: str, fault: str, forks: Forks, tmp_path: Path) -> None:
    """One for each kind of run and of fault, spread over the run."""
    numbers = possible(forks, tmp_path, VARIANTS[variant], FAULTS[fault])
    place = (0.1 + 0.618 * PAIRS.index((variant, fault))) % 1.0
    number = numbers[int(place * (max(FEWER, len(numbers)) - FEWER))]
    assert survive(forks, tmp_path, VARIANTS[variant], FAULTS[fault], [number]) == 1


def test_the_calls_of_sqlite_and_of_commands_are_hit(forks: Forks, tmp_path: Path) -> None:
    for variant in TRIED:
        calls = [call for call in counted(forks, tmp_path, VARIANTS[variant]) if call.number]
        assert {call.kind for call in calls} >= KINDS - ({"rename"} if variant == "commands" else set())
        assert [call.number for call in calls] == list(range(1, len(calls) + 1))
        assert any(call.path == "run.db-wal" for call in calls)
        assert {call.who for call in calls} == ({"run", "command"} if variant == "commands" else {"run"})


def at(calls: Sequence[Call], kind: str, path: str) -> int:
    """The number of the first call of a kind whose path fits a regular expression; for "tell" of the call after it."""
    first = next(place for place, call in enumerate(calls) if call.kind == kind and re.search(path, call.path))
    return next(call.number for call in calls[first:] if call.number)


def survive_at(forks: Forks, folder: Path, variant: str, fault: str, kind: str, path: str) -> None:
    """Try a fault at one call, see `at`."""
    calls = counted(forks, folder, VARIANTS[variant], FAULTS[fault].below)
    assert survive(forks, folder, VARIANTS[variant], FAULTS[fault], [at(calls, kind, path)]) == 1


def test_a_new_store_whose_temporary_file_cannot_be_removed(forks: Forks, tmp_path: Path) -> None:
    survive_at(forks, tmp_path, "objects", "EIO", "remove", r"\.tmp$")


@pytest.mark.slow
def test_the_same_process_goes_on_after_a_tell_that_has_failed(forks: Forks, tmp_path: Path) -> None:
    survive_at(forks, tmp_path, "objects", "EIO, then the same process goes on", "tell", "a1/checkpoint-2-")


@pytest.mark.parametrize("fault", ["ENOSPC", "the disk is full", "the disk of the checkpoints is full"])
def test_a_full_disk_is_not_the_fault_of_a_learner(fault: str, forks: Forks, tmp_path: Path) -> None:
    survive_at(forks, tmp_path, "objects", fault, "write", "a1/checkpoint-2-")


@pytest.mark.parametrize("fault", ["the disk is full", "the disk of the checkpoints is full"])
def test_a_full_disk_is_not_the_fault_of_a_command(fault: str, forks: Forks, tmp_path: Path) -> None:
    survive_at(forks, tmp_path, "commands", fault, "write", "a1/checkpoint-2-")


@pytest.mark.parametrize("variant", ["objects", "commands"])
def test_a_checkpoint_that_cannot_be_removed_stays(variant: str, forks: Forks, tmp_path: Path) -> None:
    survive_at(forks, tmp_path, variant, "EIO", "remove", "a0/checkpoint-2-")


@pytest.mark.parametrize("path", ["a1/checkpoint-2-", "a1$", r"state$"])
def test_a_checkpoint_that_cannot_be_synced_does_not_count(path: str, forks: Forks, tmp_path: Path) -> None:
    survive_at(forks, tmp_path, "power", "EIO", "sync", path)


@pytest.mark.parametrize("variant", ["objects", "power", "commands"])
def test_the_last_checkpoint_is_there_until_the_next_one_counts(variant: str, forks: Forks, tmp_path: Path) -> None:
    """Pull 2 of arm a2 is better than pull 1, whose checkpoint is not needed any more once pull 2 counts."""
    survive_at(forks, tmp_path, variant, "killed before", "tell", "a2/checkpoint-2-")


@pytest.mark.parametrize("fault", [name for name in FAULTS if name.startswith("stopped")])
@pytest.mark.parametrize("kind", ["create", "rename"])
def test_a_worker_that_wakes_up_late_harms_nothing(kind: str, fault: str, forks: Forks, tmp_path: Path) -> None:
    survive_at(forks, tmp_path, "objects", fault, kind, "a0/checkpoint-2-")


@pytest.mark.parametrize("variant", TRIED)
def test_runs_that_are_killed_again_and_again(variant: str, forks: Forks, tmp_path: Path) -> None:
    """Each one makes one call more than the one before: faults hit what a restart does, too."""
    case = Case(forks, tmp_path / "case", VARIANTS[variant])
    ends = [case.run_with(FAULTS["killed before"], 30)]
    while ends[-1] == "-9":
        ends.append(case.run_with(FAULTS["killed before"], 30 + len(ends)))
    assert ends[-1] == "0"
    assert len(ends) > 4
    assert list(what_is_left(case)) == []


@pytest.mark.parametrize("variant", [name for name in VARIANTS if "power" in name])
def test_what_counts_is_on_the_disk_before_it_counts(variant: str, forks: Forks, tmp_path: Path) -> None:
    assert losses(counted(forks, tmp_path, VARIANTS[variant])) == []


def test_what_is_not_synced_is_noticed(forks: Forks, tmp_path: Path) -> None:
    """With the default, "process", nothing of it is synced."""
    found = [line.split() for line in losses(counted(forks, tmp_path, VARIANTS["objects"]))]
    for path in ("run.db.state", "run.db.state/a0", "run.db.state/a0/checkpoint-1-1", "run.db-wal"):
        assert any(path in words for words in found), path
