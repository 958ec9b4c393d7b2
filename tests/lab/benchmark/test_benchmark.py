"""The benchmark end to end: files and tables, resuming, equal bytes, failures, missing data, arguments."""

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
from risingbandits.lab.benchmark import _cells as cells_module
from risingbandits.lab.benchmark._cells import Cell, Cells
from risingbandits.lab.benchmark._policies import LabelledPolicy
from risingbandits.lab.benchmark._problems import Benchmark, Played
from risingbandits.lab.benchmark.suite import suite
from risingbandits.lab.benchmark.synthetic import Sizes
from risingbandits.policies import RoundRobin
from risingbandits.simulation._backends import Threads

FILES = ("tasks.csv", "benchmark.json", "benchmark.md")
POLICIES = ["--policies", "kl-ucb,round-robin,red-ucb"]
TINY = Sizes(runs=2, instances=2, orders=2, quick=True)


@pytest.fixture(autouse=True)
def _no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RISINGBANDITS_DATA", raising=False)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Benchmark and policy of everything that is played."""
    made: list[tuple[str, str]] = []
    begin = cells_module._begin

    def counted(benchmark: Benchmark, policies: dict[str, LabelledPolicy], key: str) -> Callable[[int], Played]:
        made.append((benchmark.name, policies[key].label))
        return begin(benchmark, policies, key)

    monkeypatch.setattr(cells_module, "_begin", counted)
    return made


def play(folder: Path, *arguments: str) -> int:
    return run(["lab", "benchmark", "--quick", "--jobs", "1", "--out", str(folder), *arguments])


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


def test_all_benchmarks_without_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert play(tmp_path, *POLICIES) == 0
    printed = capsys.readouterr()
    assert "kl-ucb" in printed.out
    assert "real curves left out: set RISINGBANDITS_DATA" in printed.out
    summary = json.loads((tmp_path / "benchmark.json").read_text())
    found = summary["objectives"]["cumulative"]
    groups = found["groups"]
    assert {"presets", "random", "pairs", "stationary", "many-arms"} <= set(groups)
    assert {group["kind"] for group in groups.values()} == {"synthetic"}
    assert "NaN" not in (tmp_path / "benchmark.json").read_text()
    page = (tmp_path / "benchmark.md").read_text()
    assert "| kl-ucb |" in page
    assert "real curves left out" in page
    by_policy = {line["policy"]: line for line in found["policies"]}
    for row in csv.DictReader((tmp_path / "tasks.csv").read_text().splitlines()):
        if row["benchmark"].startswith("stationary") and row["policy"] == "kl-ucb" and row["task"] == "instance 1":
            assert float(row["value"]) > 0
    assert by_policy["round-robin"]["worst_ratio"]["ratio"] > 1


def test_second_call_plays_nothing(tmp_path: Path, played: list[tuple[str, str]]) -> None:
    arguments = [*POLICIES, "--benchmarks", "random,pairs"]
    play(tmp_path, *arguments)
    assert played
    written = contents(tmp_path)
    times = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()}
    played.clear()
    play(tmp_path, *arguments)
    assert not played
    assert contents(tmp_path) == written
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()} == times


def test_only_what_changed_is_played(tmp_path: Path, played: list[tuple[str, str]]) -> None:
    def labels(*arguments: str) -> set[str]:
        played.clear()
        play(tmp_path, "--benchmarks", "pairs", *arguments)
        return {label for _, label in played}

    assert labels("--policies", "kl-ucb,red-ucb") == {"kl-ucb", "red-ucb"}
    assert labels("--policies", "kl-ucb,red-ucb,red-ucb(eps=0.1)") == {"red-ucb(eps=0.1)"}
    assert labels("--policies", "kl-ucb", "--seed", "1") == {"kl-ucb"}
    assert labels("--policies", "kl-ucb", "--runs", "5") == {"kl-ucb"}
    damaged = min((tmp_path / "cells").iterdir())
    damaged.write_text("{")
    for more in (("--seed", "1"), ("--runs", "5"), ()):
        labels("--policies", "kl-ucb,red-ucb,red-ucb(eps=0.1)", *more)
    assert json.loads(damaged.read_text())["format"] == cells_module._FORMAT


def test_a_policy_under_two_labels_is_played_once(tmp_path: Path, played: list[tuple[str, str]]) -> None:
    benchmarks, _ = suite(["pairs"], ["cumulative"], 0, TINY, None)
    policies = [LabelledPolicy("one", RoundRobin()), LabelledPolicy("two", RoundRobin())]
    found = Cells(tmp_path, Threads(1)).of(benchmarks[0], policies)
    assert {label for _, label in played} == {"one"}
    assert found["one"] == found["two"]


def test_equal_bytes_whatever_the_threads_and_the_history(tmp_path: Path) -> None:
    arguments = ["--benchmarks", "random,pairs", "--policies"]
    play(tmp_path / "a", *arguments, "sw-ts,kl-ucb")
    play(tmp_path / "b", *arguments, "kl-ucb", "--jobs", "2")
    play(tmp_path / "b", *arguments, "sw-ts,kl-ucb", "--jobs", "2")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    play(tmp_path / "a", *arguments, "sw-ts,kl-ucb", "--seed", "3")
    assert contents(tmp_path / "a") != contents(tmp_path / "b")


class Broken(RoundRobin):
    """Round robin that cannot play more than two arms."""

    name = "broken"

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        if n_arms > 2:
            raise RuntimeError("more than two\narms.")
        return super()._new_state(n_arms, horizon, capacity)


def test_a_failure_is_reported_and_stops_nobody(tmp_path: Path, played: list[tuple[str, str]]) -> None:
    found, _ = suite(["presets"], ["cumulative"], 0, TINY, None)
    many, few = (next(one for one in found if one.name.startswith(name)) for name in ("paper-15", "paper-2"))
    policies = [LabelledPolicy("broken", Broken()), LabelledPolicy("round-robin", RoundRobin())]
    cells = {benchmark: Cells(tmp_path, Threads(1)).of(benchmark, policies) for benchmark in (many, few)}
    assert cells[many]["broken"] == Cell(failure="RuntimeError: more than two arms.")
    assert cells[many]["round-robin"].runs
    assert cells[few]["broken"].runs == cells[few]["round-robin"].runs
    played.clear()
    Cells(tmp_path, Threads(1)).of(many, policies)  # failures are not kept
    assert {label for _, label in played} == {"broken"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--objective", "best"], "objective must be one of cumulative, best-arm"),
        (["--benchmarks", "real"], "set RISINGBANDITS_DATA to the folder that holds curves/"),
        (["--benchmarks", "taskset"], "set RISINGBANDITS_DATA to the folder that holds curves/"),
        (["--benchmarks", "pars"], "benchmarks must be one of 29 names; got 'pars', did you mean 'pairs'?"),
        (["--policies", "kl-uc"], "did you mean 'kl-ucb'?"),
        (["--runs", "0"], "runs must be an integer >= 1, got 0."),
    ],
)
def test_arguments_that_cannot_be_used(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert play(tmp_path, *arguments) == 2
    assert message in capsys.readouterr().err


def test_a_folder_without_curves(tmp_path: Path) -> None:
    benchmarks, left_out = suite(["real"], ["cumulative"], 0, Sizes(), str(tmp_path))
    assert not benchmarks
    assert left_out == ["real curves left out: the folder that RISINGBANDITS_DATA names has no curves/*.npz."]


@pytest.fixture
def two_benchmarks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data folder with two small benchmarks, of the form of the real ones."""
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


@pytest.mark.usefixtures("two_benchmarks")
def test_real_curves(tmp_path: Path) -> None:
    arguments = ["--benchmarks", "real,made", "--policies", "recommended,red-ucb", "--orders", "3"]
    assert play(tmp_path / "out", *arguments) == 0
    summary = json.loads((tmp_path / "out" / "benchmark.json").read_text())
    for objective in ("cumulative", "best-arm"):
        found = summary["objectives"][objective]
        assert {"atari", "scikit-learn", "flat-starts", "sorted-worst-first"} <= set(found["groups"])
        assert {name for name, group in found["groups"].items() if group["kind"] == "real"} == {"atari", "scikit-learn"}
        assert all(line["real"]["low"] <= line["real"]["mean"] <= line["real"]["high"] for line in found["policies"])
