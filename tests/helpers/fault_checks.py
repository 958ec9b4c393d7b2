"""What must hold after a run with a fault and a restart, as the files say, without the package's own ledger."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from fault_worker import ARMS, BUDGET, Action, drawn
from faults import Call, Case, Fault
from risingbandits.allocation.stores._inspection import inspect_store

_COLUMNS = "id, kind, arm, pull, n, reward, text"


class Row(NamedTuple):
    """An event of the store."""

    id: int
    kind: str
    arm: str
    pull: int
    n: int
    reward: float
    text: str


class Made(NamedTuple):
    """A pull that a learner has made, as its checkpoint says; ``attempt`` is 0 if it was only made again."""

    n: int
    id: int
    attempt: int
    number: int


def complaints(case: Case, fault: Fault, number: int) -> list[str] | None:
    """What is wrong after a fault at a call and a restart, one sentence each; None if the run makes fewer calls."""
    ended = case.run_with(fault, number)
    call = case.call(number)
    if call is None:
        return None
    # Nobody can know whose error it was if a command fails because of the disk, and the disk then works.
    blame = int(call.who == "command" and fault.action == Action.FAIL)
    found = [*_of_the_fault(case, fault, ended), *what_is_left(case, blame)]
    if case.variant.durability == "power" and fault.below == ".":
        found += losses(case.all_calls())
    return found


def _of_the_fault(case: Case, fault: Fault, ended: str) -> Iterator[str]:
    """The run has died of it, or has said one sentence, or has gone on."""
    if ended != ("-9" if fault.kills else "0"):
        yield f"the run ended with {ended}"
    for ending in case.endings():
        if ending is not None and not fault.is_error:
            yield f"an error where nothing failed: {ending.text}"
        elif ending is not None and (not ending.is_ours or "\n" in ending.text or not ending.text.endswith(".")):
            yield f"not one sentence, {ending.kind}: {ending.text}"


def what_is_left(case: Case, blame: int = 0) -> Iterator[str]:
    """What is wrong after a restart: it must finish, and all must be whole; ``blame``: how often an arm may fail."""
    before = len(case.endings())
    ended = case.run()
    if ended != "0" or case.endings()[before:] != [None]:
        yield f"the restart does not finish: {ended}, {case.endings()[before:]}"
        return
    for line in case.lines("printed"):
        yield f"printed: {line}"
    for finding in inspect_store(case.folder / "run.db"):
        if not finding.whole:
            yield f"{finding.part} is not whole: {finding.text}"
    rows = events(case.folder / "run.db")
    yield from _of_the_tells(case, rows)
    blamed = [row for row in rows if row.kind in ("fail", "retire")]
    if len(blamed) > blame:
        yield f"an arm is blamed: {blamed}"
    for arm in ARMS:
        yield from _of_the_lineage(case, rows, arm)


def events(store: Path) -> list[Row]:
    """All events of a store."""
    with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as connection:
        return [Row(*row) for row in connection.execute(f"SELECT {_COLUMNS} FROM events ORDER BY id")]


def _of_the_tells(case: Case, rows: Sequence[Row]) -> Iterator[str]:
    """Every acknowledged tell is there once, pulls have no gaps, and exactly the budget is spent."""
    tells = [row for row in rows if row.kind == "tell"]
    if len(tells) != BUDGET:
        yield f"{len(tells)} pulls were told, not {BUDGET}"
    for arm in ARMS:
        numbers = [row.n for row in tells if row.arm == arm]
        if numbers != list(range(1, len(numbers) + 1)):
            yield f"the pulls of {arm} are {numbers}"
    times = Counter(f"{row.arm} {row.n} {row.pull} {row.reward!r}" for row in tells)
    for line in case.lines("diary"):
        if times[line] != 1:
            yield f"an acknowledged tell is {times[line]} times in the store: {line}"


def _of_the_lineage(case: Case, rows: Sequence[Row], arm: str) -> Iterator[str]:
    """The newest and the best checkpoint of an arm hold what its counted pulls have learnt, and nothing else.

    Where checkpoints are bounded, an arm that has given up its own is trained again: the store or a warning says so.
    """
    tells = [row for row in rows if row.kind == "tell" and row.arm == arm]
    given_up = [row.id for row in rows if row.kind == "checkpoint" and row.arm == arm and row.pull == 0]
    kept = [row for row in tells if row.id > max(given_up, default=0)]
    announced = given_up or any(f"/{arm}/" in line and "made again" in line for line in case.warnings())
    if announced and case.variant.keep is None:
        yield f"{arm} has lost a checkpoint: {case.warnings()}"
    for tell in {*kept[-1:], *sorted(kept, key=lambda row: row.reward)[-1:]}:
        name = f"run.db.state/{arm}/checkpoint-{tell.n}-{tell.pull}"
        path = case.folder / name
        if not path.exists():
            if not any(call.path == name and "given-up" in call.to for call in case.all_calls()):
                yield f"{name} is gone"
            continue
        past = [Made(*map(int, pull.split(":"))) for pull in _text(path).split()]
        if [made.n for made in past] != list(range(1, tell.n + 1)):
            yield f"{name} has pulls {[made.n for made in past]}"
        for made, counted in zip(past, tells, strict=False):
            if made.attempt == 0 and not announced:
                yield f"{name}: pull {made.n} was made again, and nothing says so"
            if made.attempt > 0 and (made.id, made.number) != (counted.pull, drawn(counted.reward)):
                yield f"{name}: pull {made.n} is not the one that counts: {made}, {counted}"


def _text(path: Path) -> str:
    return " ".join(file.read_text() for file in ([path] if path.is_file() else sorted(path.iterdir())))


# -- loss of power --------------------------------------------------------------------------------------------------


def losses(calls: Sequence[Call]) -> list[str]:
    """What a loss of power would take although the store counts on it, as the order of calls says.

    When a tell begins, its checkpoint must be on the disk: what was written to its files, and the names of its files
    and folders. When it returns, so must be what was written to the log of the store.
    """
    return list(_losses(calls))


def _losses(calls: Sequence[Call]) -> Iterator[str]:
    data: set[str] = set()  # files to which something was written since they were synced
    names: set[str] = set()  # paths that are new in their folder since it was synced
    folders: set[str] = set()
    for call in calls:
        if call.made != "made":
            continue
        if call.kind in ("write", "truncate"):
            data.add(call.path)
        elif call.kind == "create" or (call.kind == "mkdir" and call.path not in folders):
            names.add(call.path)
            folders |= {call.path} if call.kind == "mkdir" else set()
        elif call.kind in ("rename", "link"):
            for known in (data, names, folders):
                moved = {path for path in known if _is_in(path, call.path)}
                known |= {call.to + path.removeprefix(call.path) for path in moved}
                known -= moved if call.kind == "rename" else set()
            names.add(call.to)
        elif call.kind == "remove":
            for known in (data, names, folders):
                known.discard(call.path)
        elif call.kind == "sync":
            data.discard(call.path)
            names -= {path for path in names if str(PurePosixPath(path).parent) == call.path}
        elif call.kind == "tell":
            above = {str(path) for path in PurePosixPath(call.path).parents}
            for path in sorted(names):
                if path in above or _is_in(path, call.path) or path.startswith("run.db.state/.store"):
                    yield f"the name {path} is not synced when {call.path} is told"
            for path in sorted(data):
                if _is_in(path, call.path) or path.startswith("run.db.state/.store"):
                    yield f"{path} is not synced when {call.path} is told"
        elif call.kind == "told":
            for path in ("run.db", "run.db-wal"):
                if path in data | names:
                    yield f"{path} is not synced after {call.path} was told"


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")
