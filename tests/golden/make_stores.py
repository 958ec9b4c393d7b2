"""The part of `make.py` that writes stores and checkpoints; it too was run with version 0.1.0 and is a record."""

from __future__ import annotations

import importlib
import io
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import counting
import frozen
from allocations import OUTPUTS, Allocation, entries

import risingbandits as rb

_ARMS = ["a", "small net", "b/../c", "ü <d>", "e"]
_TWENTY = [f"arm {number}" for number in range(20)]
STORES: dict[str, Allocation] = {
    "default": Allocation({"arms": _ARMS, "budget": 120}),
    "eventful": Allocation({"arms": _ARMS, "budget": 150, "policy": "commit-ucb", "retries": 2}, 2),
    "best-arm": Allocation({"arms": _ARMS, "budget": 100, "objective": "best-arm"}, 2),
    "minimize": Allocation(
        {"arms": _ARMS, "budget": 90, "direction": "minimize", "reward_range": None, "sigma": "smooth"}
    ),
    "range": Allocation({"arms": _ARMS, "budget": 90, "direction": "minimize", "reward_range": [0.0, 3.0]}, 3),
    "sigma": Allocation({"arms": _ARMS, "budget": 90, "sigma": 0.05, "durability": "power"}),
    "few": Allocation({"arms": _TWENTY, "budget": 150, "max_arms": 6, "order": "random", "seed": 4}),
    "auto": Allocation({"arms": _TWENTY, "budget": 150, "max_arms": "auto", "policy": "red-ucb"}),
    "limits": Allocation({"arms": _ARMS, "budget": 200, "max_pulls": {"a": 9, "b/../c": 25, "ü <d>": 12}}),
    "cost": Allocation({"arms": _ARMS, "budget": {"cost": 120.0}}),
    "seconds": Allocation({"arms": _ARMS, "budget": {"seconds": 120.0}}, 2),
    "wait": Allocation({"arms": _ARMS, "budget": 120, "parallel": "wait", "policy": "commit-ucb"}, 3),
    "history": Allocation({"arms": _ARMS, "budget": 100, "history": {"a": [0.1, 0.2, 0.25], "e": [0.5]}}),
    "random": Allocation({"arms": _ARMS, "budget": 120, "policy": ["gaussian-ts", {"sigma": 0.2}], "seed": 9}, 2),
    "snapshot": Allocation({"arms": _ARMS, "budget": 200}),
    "random snapshot": Allocation({"arms": _TWENTY, "budget": 200, "policy": "open-arms", "seed": 2}, 2),
    "in flight": Allocation({"arms": _ARMS, "budget": 120, "lease": 1e9}, 2),
    "lapsed": Allocation({"arms": _ARMS, "budget": 120, "lease": 60.0}, 2),
}


class Clock:
    """A quarter of a second between looks."""

    now = 1_750_000_000.0

    def __call__(self) -> float:
        self.now += 0.25
        return self.now


def disguised() -> Clock:
    """Let stores hold times and names of processes that are the same wherever they are made."""
    clock = Clock()
    sqlite: Any = importlib.import_module("risingbandits.allocation.sqlite")
    sqlite.SqliteStore.__init__.__defaults__ = ("process", False, clock, sqlite.MIGRATIONS)
    workers: Any = importlib.import_module("risingbandits.allocation.workers")
    workers._host, workers._namespace, workers._start = (lambda: "golden"), (lambda: "0"), (lambda pid: 1)
    workers.os = SimpleNamespace(getpid=lambda: 1000, kill=os.kill)
    return clock


def stores() -> dict[str, Any]:
    """Stores, what the commands say about them, and what comes next."""
    clock = disguised()
    session: Any = importlib.import_module("risingbandits.allocation.session")
    run = importlib.import_module("risingbandits.cli").run
    made = {}
    with TemporaryDirectory() as folder, Archive("stores.zip") as archive:
        for name, allocation in STORES.items():
            session._SNAPSHOT_FIRST = 60 if "snapshot" in name else 20_000
            clock.now = Clock.now
            place = Path(folder) / name
            place.mkdir()
            store = place / "run.db"
            flying: list[rb.Pull] = []
            with rb.Allocator(**allocation.arguments(), store=store) as allocator:
                if name == "eventful":
                    tumult(allocation, allocator)
                allocation.go_on(allocator, 40)
                if name in ("in flight", "lapsed"):
                    flying = [pull for pull in (allocator.ask(), allocator.ask()) if pull is not None]
            assert sorted(path.name for path in place.iterdir()) == ["run.db", "run.db-lock"]
            archive.add(f"{name}/run.db", store.read_bytes())
            outputs = []
            for file, (command, *options) in OUTPUTS.items():
                if file == "show.txt" and flying:
                    continue  # says how long the pulls have been in flight
                out = [str(place / file)] if options[-1:] == ["--out"] else []
                with redirect_stdout(io.StringIO()) as printed:
                    assert run([command, str(store), *options, *out]) == 0
                archive.add(f"{name}/{file}", ((place / file).read_text() if out else printed.getvalue()).encode())
                outputs.append(file)
            one: dict[str, Any] = {"allocation": list(allocation), "outputs": outputs, "steps": 30}
            one["in_flight"] = [[pull.id, pull.arm, pull.n] for pull in flying if name == "in flight"]
            made[name] = one
            clock.now += 864_000.0
            with rb.Allocator.open(store) as allocator:
                one["events"] = allocator.ledger.last_id  # in the store before
                for id, arm, n in one["in_flight"]:
                    allocation.tell(allocator, id, arm, n)
                one |= {"trace": allocation.go_on(allocator, 30)}
                one |= {"recommended": allocator.recommend(), "spent": allocator.spent}
            run(["export", str(store), "--events", "--out", str(place / "events.csv")])
            archive.add(f"{name}/next.txt", entries(place / "events.csv", one["events"]).encode())
    return made


def tumult(allocation: Allocation, allocator: rb.Allocator) -> None:
    """Everything that can happen besides rewards."""

    def asked() -> rb.Pull:
        pull = allocator.ask()
        assert pull is not None
        return pull

    allocation.go_on(allocator, 5)
    allocator.fail(asked(), "no \x1b[31mmemory\nat all")
    allocator.mask("small net")
    allocation.go_on(allocator, 4)
    pull = asked()
    allocator.renew(pull)
    allocator.release(pull, "moved")
    allocator.add("late, one")
    allocation.go_on(allocator, 9)
    pull = asked()
    allocator.fail(pull)
    late = pull
    allocator.unmask("small net")
    allocator.retire("e", "not wanted")
    allocation.tell(allocator, late.id, late.arm, late.n)  # a reward that comes after its pull was given back
    first, second = asked(), asked()
    allocation.tell(allocator, second.id, second.arm, second.n)
    allocator.fail(first, "once")
    again = asked()
    allocator.fail(again, "twice")
    allocation.go_on(allocator, 6)


def checkpoints() -> None:
    """Runs that end, as if killed, between the checkpoint of a pull and its reward."""
    disguised()
    settings: dict[str, Any] = {"budget": counting.BUDGET, "policy": "round-robin", "lease": 60.0}
    with TemporaryDirectory() as folder, Archive("checkpoints.zip") as archive:
        for kind, file in counting.BEGUN.items():
            place = Path(folder) / kind
            place.mkdir()
            with killed(counting.TOLD):
                if kind == "plan":
                    (place / "count.py").write_text(counting.PROGRAM)
                    (place / "plan.toml").write_text(counting.PLAN)
                    with suppress(Killed):
                        importlib.import_module("risingbandits.cli").run(["run", str(place / "plan.toml")])
                else:
                    kept, every = place / f"{file}.checkpoints", 5 if "5" in kind else 1
                    arms = {name: counting.OnRay(name, kept, every) for name in counting.NAMES}
                    counters = {name: counting.Counter(name) for name in counting.NAMES}
                    with rb.Allocator(counting.NAMES, store=place / file, **settings) as allocator, suppress(Killed):
                        allocator.run(progress=False, arms=counters if kind == "run" else arms)
            for path in sorted(place.rglob("*")):
                if not path.name.endswith(("-lock", "-shm", "-wal")) and ".logs" not in str(path):
                    name = str(path.relative_to(folder))
                    archive.add(name + "/" * path.is_dir(), b"" if path.is_dir() else path.read_bytes())


class Killed(BaseException):
    """Ends a run before it can do anything more."""


@contextmanager
def killed(after: int) -> Iterator[None]:
    """Let the process be as if killed when the next reward after so many is told."""
    tell, told = rb.Allocator.tell, 0

    def tell_so_many(*arguments: Any) -> bool:
        nonlocal told
        told += 1
        if told > after:
            raise Killed
        return tell(*arguments)

    rb.Allocator.tell = tell_so_many  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        rb.Allocator.tell = tell  # type: ignore[method-assign]


class Archive(zipfile.ZipFile):
    """A compressed archive whose bytes depend on its content alone."""

    def __init__(self, name: str) -> None:
        super().__init__(frozen.FOLDER / name, "w")

    def add(self, name: str, content: bytes) -> None:
        """Add a file; one whose name ends in / is an empty folder."""
        self.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED, 9)
