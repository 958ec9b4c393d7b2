"""The arena end to end: files and tables, resuming, equal bytes, failures, missing data, arguments."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from risingbandits.cli.app import run
from risingbandits.lab.benchmark import _cells as arena_cells
from risingbandits.lab.benchmark._cells import Cell, Cells
from risingbandits.lab.benchmark._entrants import Entrant
from risingbandits.lab.benchmark._rows import Played, Row
from risingbandits.lab.benchmark.suite import suite
from risingbandits.lab.benchmark.synthetic import Sizes
from risingbandits.policies import RoundRobin
from risingbandits.simulation._backends import Threads

FILES = ("tasks.csv", "arena.json", "arena.md")
POLICIES = ["--policies", "kl-ucb,round-robin,red-ucb"]
TINY = Sizes(runs=2, instances=2, orders=2, quick=True)


@pytest.fixture(autouse=True)
def _no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RISINGBANDITS_DATA", raising=False)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Row and policy of everything that the arena plays."""
    made: list[tuple[str, str]] = []
    begin = arena_cells._begin

    def counted(row: Row, entrants: dict[str, Entrant], key: str) -> Callable[[int], Played]:
        made.append((row.name, entrants[key].label))
        return begin(row, entrants, key)

    monkeypatch.setattr(arena_cells, "_begin", counted)
    return made


def arena(folder: Path, *arguments: str) -> int:
    return run(["lab", "benchmark", "--quick", "--jobs", "1", "--out", str(folder), *arguments])


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


def test_all_rows_without_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert arena(tmp_path, *POLICIES) == 0
    printed = capsys.readouterr()
    assert "kl-ucb" in printed.out
    assert "real curves left out: set RISINGBANDITS_DATA" in printed.out
    summary = json.loads((tmp_path / "arena.json").read_text())
    found = summary["objectives"]["cumulative"]
    regimes = {row["regime"] for row in found["rows"]}
    assert {"presets", "families", "random", "misspecified", "pairs", "stationary", "many-arms"} <= regimes
    assert {row["kind"] for row in found["rows"]} == {"synthetic"}
    assert "NaN" not in (tmp_path / "arena.json").read_text()
    page = (tmp_path / "arena.md").read_text()
    assert "| kl-ucb |" in page
    assert "real curves left out" in page
    by_policy = {line["policy"]: line for line in found["lines"]}
    for row in csv.DictReader((tmp_path / "tasks.csv").read_text().splitlines()):
        if row["row"].startswith("stationary") and row["policy"] == "kl-ucb" and row["task"] == "instance 1":
            assert float(row["value"]) > 0
    assert by_policy["round-robin"]["worst_ratio"]["ratio"] > 1


def test_second_call_plays_nothing(tmp_path: Path, played: list[tuple[str, str]]) -> None:
    arguments = [*POLICIES, "--rows", "random,pairs"]
    arena(tmp_path, *arguments)
    assert played
    written = contents(tmp_path)
    times = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()}
    played.clear()
    arena(tmp_path, *arguments)
    assert not played
    assert contents(tmp_path) == written
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()} == times


def test_only_what_changed_is_played(tmp_path: Path, played: list[tuple[str, str]]) -> None:
    def labels(*arguments: str) -> set[str]:
        played.clear()
        arena(tmp_path, "--rows", "pairs", *arguments)
        return {label for _, label in played}

    assert labels("--policies", "kl-ucb,red-ucb") == {"kl-ucb", "red-ucb"}
    assert labels("--policies", "kl-ucb,red-ucb,red-ucb(eps=0.1)") == {"red-ucb(eps=0.1)"}
    assert labels("--policies", "kl-ucb", "--seed", "1") == {"kl-ucb"}
    assert labels("--policies", "kl-ucb", "--runs", "5") == {"kl-ucb"}
    damaged = min((tmp_path / "cells").iterdir())
    damaged.write_text("{")
    for more in (("--seed", "1"), ("--runs", "5"), ()):
        labels("--policies", "kl-ucb,red-ucb,red-ucb(eps=0.1)", *more)
    assert json.loads(damaged.read_text())["format"] == 2


def test_a_policy_under_two_labels_is_played_once(tmp_path: Path, played: list[tuple[str, str]]) -> None:
    rows, _ = suite(["pairs"], ["cumulative"], 0, TINY, None)
    entrants = [Entrant("one", RoundRobin()), Entrant("two", RoundRobin())]
    found = Cells(tmp_path, Threads(1)).of(rows[0], entrants)
    assert {label for _, label in played} == {"one"}
    assert found[entrants[0]] == found[entrants[1]]


def test_equal_bytes_whatever_the_threads_and_the_history(tmp_path: Path) -> None:
    arguments = ["--rows", "random,families", "--policies"]
    arena(tmp_path / "a", *arguments, "sw-ts,kl-ucb")
    arena(tmp_path / "b", *arguments, "kl-ucb", "--jobs", "2")
    arena(tmp_path / "b", *arguments, "sw-ts,kl-ucb", "--jobs", "2")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    arena(tmp_path / "a", *arguments, "sw-ts,kl-ucb", "--seed", "3")
    assert contents(tmp_path / "a") != contents(tmp_path / "b")


class Broken(RoundRobin):
    """Round robin that cannot play more than two arms."""

    name = "broken"

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        if n_arms > 2:
            raise RuntimeError("more than two\narms.")
        return super().new_state(n_arms, horizon, capacity)


def test_a_failure_is_reported_and_stops_nobody(tmp_path: Path, played: list[tuple[str, str]]) -> None:
    rows, _ = suite(["presets"], ["cumulative"], 0, TINY, None)
    many, few = (next(row for row in rows if row.name.startswith(name)) for name in ("paper-15", "paper-2"))
    broken, sound = Entrant("broken", Broken()), Entrant("round-robin", RoundRobin())
    found = {row: Cells(tmp_path, Threads(1)).of(row, [broken, sound]) for row in (many, few)}
    assert found[many][broken] == Cell(failure="RuntimeError: more than two arms.")
    assert found[many][sound].runs
    assert found[few][broken].runs == found[few][sound].runs
    played.clear()
    Cells(tmp_path, Threads(1)).of(many, [broken, sound])  # failures are not kept
    assert {label for _, label in played} == {"broken"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--objective", "best"], "objective must be one of cumulative, best-arm"),
        (["--rows", "real"], "set RISINGBANDITS_DATA to the folder that holds curves/"),
        (["--rows", "taskset"], "set RISINGBANDITS_DATA to the folder that holds curves/"),
        (["--rows", "pars"], "rows must be one of 31 names; got 'pars', did you mean 'pairs'?"),
        (["--policies", "kl-uc"], "did you mean 'kl-ucb'?"),
        (["--runs", "0"], "runs must be an integer >= 1, got 0."),
    ],
)
def test_arguments_that_cannot_be_used(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert arena(tmp_path, *arguments) == 2
    assert message in capsys.readouterr().err


def test_a_folder_without_curves(tmp_path: Path) -> None:
    rows, left_out = suite(["real"], ["cumulative"], 0, Sizes(), str(tmp_path))
    assert not rows
    assert left_out == ["real curves left out: the folder that RISINGBANDITS_DATA names has no curves/*.npz."]


@pytest.fixture
def two_families(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data folder with two small families, of the form of the real ones."""
    folder = tmp_path / "data" / "curves"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)

    def curves(*shape: int) -> npt.NDArray[np.float32]:
        limits, rates = rng.uniform(0.2, 0.9, (*shape, 1)), rng.uniform(0.05, 0.5, (*shape, 1))
        values: npt.NDArray[np.float32] = (limits * (1 - np.exp(-rates * np.arange(1, 31)))).astype(np.float32)
        return values

    np.savez(folder / "sklearn_toy.npz", curves=curves(2, 6), arms=np.array(list("abcdef")))
    np.savez(folder / "atari.npz", pong=1000 * curves(6, 2), pong__arms=np.array(list("abcdef")))
    monkeypatch.setenv("RISINGBANDITS_DATA", str(tmp_path / "data"))


@pytest.mark.usefixtures("two_families")
def test_real_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both objectives, and a record of them that is not overwritten."""
    record = tmp_path / "records" / "one.json"
    arguments = ["--rows", "real,made", "--policies", "recommended,red-ucb", "--orders", "3", "--record", str(record)]
    assert arena(tmp_path / "out", *arguments) == 0
    summary = json.loads((tmp_path / "out" / "arena.json").read_text())
    for objective in ("cumulative", "best-arm"):
        found = summary["objectives"][objective]
        assert {"atari", "scikit-learn", "flat-starts", "sorted-worst-first"} <= {row["row"] for row in found["rows"]}
        assert [set(line["families"]) for line in found["lines"]] == [{"atari", "scikit-learn"}] * 2
    assert json.loads(record.read_text())["objectives"].keys() == summary["objectives"].keys()
    assert arena(tmp_path / "out", *arguments) == 2
    assert "already exists" in capsys.readouterr().err
