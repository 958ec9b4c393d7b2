"""The regret benchmark: files and tables, resuming, its figures against slow ones, pairs, failures, missing data."""

from __future__ import annotations

import csv
import json
import math
import os
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from risingbandits import Policy, RisingBandit, get_policy, get_problem, simulate
from risingbandits.arena import cells as regret_cells
from risingbandits.arena import regret
from risingbandits.arena.cells import Cell, Cells, Row, files_below, stamp_of
from risingbandits.arena.first_families import noise_of, with_final
from risingbandits.arena.scores import Outcome, Report, ratio_interval, task_stats
from risingbandits.arena.synthetic import GROUPS, Problem, Sizes, Task, suite
from risingbandits.arena.yardstick import FewArmsGaussianUCB
from risingbandits.policies import KLUCB, RSR, SWTS, REdUCB, RoundRobin
from risingbandits.problems import NoNoise

FILES = ("results.csv", "summary.json", "summary.md")
SMALL = ["--quick", "--policies", "kl-ucb,round-robin,red-ucb", "--jobs", "1"]
DATA = os.environ.get("RISINGBANDITS_DATA")


@pytest.fixture(autouse=True)
def _no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RISINGBANDITS_DATA", raising=False)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The policies of every simulation that the benchmark asks for."""
    made: list[tuple[str, ...]] = []

    def counted(policies: Any, *others: Any, **named: Any) -> Any:
        made.append(tuple(policies))
        return simulate(policies, *others, **named)

    monkeypatch.setattr(regret_cells, "simulate", counted)
    return made


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


def test_all_groups_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert regret.main([*SMALL, "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "kl-ucb" in printed.out
    assert "Paired with kl-ucb" in printed.out
    assert "real curves left out: set RISINGBANDITS_DATA" in printed.err
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert {task["group"] for task in summary["tasks"]} == set(GROUPS) - {"real", "real-best-arm"}
    assert summary["overall"][0]["policy"] == "kl-ucb"
    assert "NaN" not in (tmp_path / "summary.json").read_text()
    page = (tmp_path / "summary.md").read_text()
    assert "| kl-ucb |" in page
    assert "real curves left out" in page
    for row in csv.DictReader((tmp_path / "results.csv").read_text().splitlines()):
        assert float(row["value"]) == pytest.approx(100 * float(row["regret"]) / float(row["scale"]))
    # Only policies with the setting are told a wrong one.
    told = [set(task["policies"]) for task in summary["tasks"] if task["group"] == "misjudged-sigma"]
    assert told
    assert all(policies == {"red-ucb"} for policies in told)


def test_second_call_plays_nothing(tmp_path: Path, calls: list[tuple[str, ...]]) -> None:
    arguments = [*SMALL, "--groups", "random,pairs", "--out", str(tmp_path)]
    regret.main(arguments)
    first, written = len(calls), contents(tmp_path)
    assert first
    times = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()}
    regret.main(arguments)
    assert len(calls) == first
    assert contents(tmp_path) == written
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()} == times


def test_only_what_changed_is_played(tmp_path: Path, calls: list[tuple[str, ...]]) -> None:
    arguments = ["--quick", "--groups", "pairs", "--jobs", "1", "--out", str(tmp_path), "--policies"]
    regret.main([*arguments, "kl-ucb,red-ucb"])
    calls.clear()
    regret.main([*arguments, "kl-ucb,red-ucb,red-ucb(eps=0.1)"])
    assert set(calls) == {("red-ucb(eps=0.1)",)}
    calls.clear()
    regret.main([*arguments, "kl-ucb,red-ucb", "--seed", "1"])
    assert set(calls) == {("kl-ucb", "red-ucb")}
    calls.clear()
    regret.main([*arguments, "kl-ucb", "--runs", "5"])
    assert calls
    damaged = min((tmp_path / "cells").iterdir())
    damaged.write_text("{")
    calls.clear()
    for runs, seed in (("4", "0"), ("4", "1"), ("5", "0")):
        regret.main([*arguments, "kl-ucb,red-ucb,red-ucb(eps=0.1)", "--runs", runs, "--seed", seed])
    assert json.loads(damaged.read_text())["format"] == 1


def test_equal_bytes_whatever_the_threads_and_the_history(tmp_path: Path) -> None:
    arguments = ["--quick", "--groups", "random,families", "--policies", "sw-ts,kl-ucb"]
    regret.main([*arguments, "--jobs", "1", "--out", str(tmp_path / "a")])
    regret.main([*arguments[:-1], "kl-ucb", "--jobs", "2", "--out", str(tmp_path / "b")])
    regret.main([*arguments, "--jobs", "2", "--out", str(tmp_path / "b")])
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    regret.main([*arguments, "--jobs", "1", "--seed", "3", "--out", str(tmp_path / "a")])
    assert contents(tmp_path / "a") != contents(tmp_path / "b")


def test_figures_equal_a_slow_computation(tmp_path: Path) -> None:
    tasks, _ = suite(["presets"], 5, Sizes(4, 3, 1, quick=True), None)
    task = next(task for task in tasks if task.name == "paper-2arms, Bernoulli, T = 1,000")
    (problem,) = task.build()
    result = simulate("kl-ucb", problem.instance, 1_000, 4, problem.seed)
    best = max(problem.instance.mean_sums(1_000))
    percent = [
        100 * (best - gained) / best for gained in problem.instance.mean_sums(result.pulls["kl-ucb"]).sum(axis=1)
    ]
    found = task_stats(task, Cells(tmp_path, 1).of(task, {"kl-ucb": KLUCB()})["kl-ucb"].rows)
    assert found.mean == pytest.approx(statistics.mean(percent), rel=1e-12)
    low, high = stats.t.interval(0.95, 3, statistics.mean(percent), statistics.stdev(percent) / 2)
    assert (found.mean - found.half, found.mean + found.half) == pytest.approx((low, high))
    assert found.count == 4
    assert found.worst == pytest.approx(max(percent))
    assert found.share_large == sum(value > 25 for value in percent) / 4


def test_instances_are_averaged_before_intervals(tmp_path: Path) -> None:
    tasks, _ = suite(["random"], 2, Sizes(4, 5, 3, quick=True), None)
    cell = Cells(tmp_path, 1).of(tasks[0], {"x": SWTS()})["x"]
    assert len(cell.rows) == 15
    values = np.array([100 * row.regret / row.scale for row in cell.rows]).reshape(5, 3).mean(axis=1)
    found = task_stats(tasks[0], cell.rows)
    assert found.count == 5
    assert found.mean == pytest.approx(values.mean())
    assert found.half == pytest.approx(stats.t.ppf(0.975, 4) * values.std(ddof=1) / math.sqrt(5))


def test_gaussian_and_bernoulli_share_the_arms() -> None:
    tasks, _ = suite(["random"], 2, Sizes(4, 3, 1, quick=True), None)
    first, second = ([problem.instance for problem in task.build()] for task in tasks)
    assert [one.curves for one in first] == [one.curves for one in second]
    assert len({one.curves for one in first}) == 3
    other = [
        problem.instance.curves for problem in suite(["random"], 3, Sizes(4, 3, 1, quick=True), None)[0][0].build()
    ]
    assert other != [one.curves for one in first]


def made(name: str, group: str, rows: dict[str, list[Row]], **more: Any) -> tuple[Task, dict[str, Cell]]:
    def nothing() -> Iterator[Problem]:
        return iter(())

    return Task(name, group, 10, 1, nothing, 10, **more), {label: Cell(tuple(found)) for label, found in rows.items()}


def row(regret: float, side: str = "", run: int = 0, block: str = "", scale: float = 100.0) -> Row:
    return Row("", block, side, run, 10, regret, scale)


def test_the_worse_side_counts() -> None:
    """In rewards, which is what the bounds are about: in % of J* side B would be the worse one."""
    rows = [row(10, "A"), row(30, "A", 1), row(4, "B", scale=10), row(2, "B", 1, scale=10)]
    task, _ = made("pair", "pairs", {})
    found = task_stats(task, rows)
    assert (found.side, found.mean, found.regret, found.count) == ("A", 20.0, 20.0, 2)
    assert found.sides == {"A": 20.0, "B": 3.0}
    assert found.share_large == 0.5


def test_pairs_look_alike_and_have_different_best_arms() -> None:
    tasks, _ = suite(["pairs"], 0, Sizes(2, 2, 1), None)
    assert len(tasks) == 8
    for task, last in zip(tasks, 2 * [25_000, 223, 1_946, 16_946], strict=True):
        one, two = task.build()
        assert (one.side, two.side, one.instance.horizon) == ("A", "B", 50_000)
        assert (one.instance.oracle_arm(), two.instance.oracle_arm()) == (0, 1)
        assert np.array_equal(one.instance.means(last), two.instance.means(last))
        assert one.instance.means(last + 2)[1] < two.instance.means(last + 2)[1]
        assert one.instance.sigma == two.instance.sigma == (0.1 if "sigma" in task.name else 0.0)


def test_ranks_groups_and_worst_cases() -> None:
    """Three policies: b ties with a once, c fails once and is not told apart from the others elsewhere."""
    cells = [
        made("one", "presets", {"a": [row(10)], "b": [row(10)], "c": [row(20)]}),
        made("two", "presets", {"a": [row(30)], "b": [row(20)], "c": []}),
        made("three", "pairs", {"a": [row(1, "A"), row(5, "B")], "b": [row(2)], "c": [row(9)]}),
        made("four", "misjudged-cap", {"a": [row(99)], "b": [], "c": []}, change=lambda policy, instance: None),
    ]
    table = {task.name: found for task, found in cells}
    table["two"]["c"] = Cell(failure="ValueError: no.")
    report = Report(Outcome([task for task, _ in cells], dict.fromkeys("abc", ""), table))
    lines = {line.policy: line for line in report.lines}
    assert [line.policy for line in report.lines] == ["b", "a", "c"]
    assert lines["a"].mean == pytest.approx(((10 + 30) / 2 + 5) / 2)
    assert lines["a"].rank == pytest.approx(((1.5 + 2) / 2 + 2) / 2)
    assert lines["b"].rank == pytest.approx(((1.5 + 1) / 2 + 1) / 2)
    assert lines["c"].rank == pytest.approx(((3 + 3) / 2 + 3) / 2)
    assert lines["a"].worst_task == ("two", 30.0)
    assert lines["a"].groups["misjudged-cap"][0] == 99.0
    assert lines["a"].share_large == pytest.approx(1 / 3)
    assert report.failures == [("c", "two", "ValueError: no.")]
    assert any("c failed on two" in note for note in report.notes())


def test_paired_ratio_covers_the_truth() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        base = rng.gamma(2.0, 5.0, 60)
        values = 0.7 * base + rng.normal(0.0, 1.0, 60)
        _, low, high = ratio_interval(values, base)
        covered += low <= 0.7 <= high
    assert 0.92 <= covered / 400 <= 0.98
    assert ratio_interval(2 * base, base) == pytest.approx((2.0, 2.0, 2.0))


class Broken(RoundRobin):
    """Round robin that cannot play more than two arms."""

    name = "broken"

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        if n_arms > 2:
            raise RuntimeError("more than two\narms.")
        return super().new_state(n_arms, horizon, capacity)


def test_a_failure_is_reported_and_stops_nobody(tmp_path: Path, calls: list[tuple[str, ...]]) -> None:
    tasks, _ = suite(["presets"], 0, Sizes(2, 2, 1, quick=True), None)
    policies: dict[str, Policy] = {"broken": Broken(), "round-robin": RoundRobin()}
    many, few = (next(task for task in tasks if task.name.startswith(name)) for name in ("paper-15", "paper-2"))
    found = {task.name: Cells(tmp_path, 1).of(task, policies) for task in (many, few)}
    assert found[many.name]["broken"] == Cell(failure="RuntimeError: more than two arms.")
    assert found[many.name]["round-robin"].rows
    assert found[few.name]["broken"].rows == found[few.name]["round-robin"].rows
    calls.clear()
    Cells(tmp_path, 1).of(many, policies)  # failures are not kept
    assert calls == [("broken",), ("broken",)]


def test_stamps_cover_the_files_of_a_policy() -> None:
    files = files_below("risingbandits.policies.classic.kl_ucb")
    names = {path.name for path in files}
    assert {"kl_ucb.py", "_kl.py", "base.py"} <= names
    assert not {"saving.py", "ucb1.py"} & names
    assert "policies/__init__.py" not in {"/".join(path.parts[-2:]) for path in files}


def test_stamps_tell_code_apart() -> None:
    stamps = {stamp_of(get_policy(name), 15) for name in ("red-ucb", "kl-ucb", "sw-kl-ucb", "round-robin")}
    assert len(stamps) == 4
    assert stamp_of(REdUCB(eps=0.1), 15) == stamp_of(REdUCB(), 15)  # settings are in the key themselves


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--groups", "pars"], "groups must be one of"),
        (["--groups", "real"], "set RISINGBANDITS_DATA to the folder that holds curves/"),
        (["--policies", "kl-uc"], "did you mean 'kl-ucb'?"),
        (["--runs", "0"], "runs must be an integer >= 1, got 0."),
        (["--seed", "-1"], "seed must be an integer >= 0, got -1."),
    ],
)
def test_arguments_that_cannot_be_used(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert regret.main([*arguments, "--out", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_without_curves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISINGBANDITS_DATA", str(tmp_path))
    tasks, left_out = suite(["real"], 0, Sizes(), str(tmp_path))
    assert not tasks
    assert left_out == ["real curves left out: the folder that RISINGBANDITS_DATA names has no curves/*.npz."]


def test_final_value_and_noise_of_a_curve() -> None:
    curve = np.arange(60.0)[None, :]
    assert with_final(curve)[0, -2:].tolist() == [59.0, 58.0]  # the mean of the last three
    assert with_final(curve[:, :10])[0, -1] == 9.0
    noise = np.random.default_rng(0).normal(0.0, 0.05, (200, 300))
    assert noise_of(curve[:, :1] + noise) == pytest.approx(0.05, rel=0.02)
    assert noise_of(curve) == 0.001


@pytest.mark.skipif(DATA is None, reason="RISINGBANDITS_DATA is not set")
def test_real_curves(tmp_path: Path) -> None:
    tasks, left_out = suite(["real"], 0, Sizes(), DATA)
    assert not left_out
    assert len(tasks) == 6
    counts = {task.name: len({problem.block for problem in task.build()}) for task in tasks}
    assert sum(counts.values()) == 212
    lcdb = next(task for task in tasks if "lcdb" in task.name)
    problem = list(lcdb.build())[2]
    one = Task("one", "real", problem.instance.horizon or 0, 1, lambda: iter((problem,)), 1, "instances")
    cell = Cells(tmp_path, 1).of(one, {"red-ucb": REdUCB(), "round-robin": RoundRobin()})
    result = simulate(REdUCB(sigma=problem.sigma), problem.instance, seed=problem.seed)
    truth = problem.truth
    assert truth is not None
    n_arms, budget = truth.n_arms, result.horizon
    values = truth.means(np.arange(1, budget + 1))
    sums = values.sum(axis=1)
    for label, pulls in (("red-ucb", result.pulls["red-ucb"][0]), ("round-robin", [budget // n_arms] * n_arms)):
        gained = sum(values[arm, :n].sum() for arm, n in enumerate(pulls))
        (found,) = cell[label].rows
        assert found.regret / found.scale == pytest.approx((sums.max() - gained) / (sums.max() - sums.mean()))


@pytest.mark.skipif(DATA is None, reason="RISINGBANDITS_DATA is not set")
def test_finding_the_best_of_real_curves(tmp_path: Path) -> None:
    """Three orders of the arms, only budgets below the length, and the loss of the arm that is recommended."""
    tasks, _ = suite(["real-best-arm"], 0, Sizes(), DATA)
    assert len(tasks) == 6
    problems = list(next(task for task in tasks if "metaqnn" in task.name).build())
    assert len({problem.label for problem in problems}) == len(problems) == 10 * 3 * 3  # 20 values: B = 2, 5 and 10 K
    problem = problems[1]
    one = Task("one", "real-best-arm", problem.instance.horizon or 0, 1, lambda: iter((problem,)), 1, "instances")
    (found,) = Cells(tmp_path, 1).of(one, {"r-sr": RSR()})["r-sr"].rows
    result = simulate(RSR(), problem.instance, seed=problem.seed, after_end="stop")
    finals = np.array(problem.finals)
    assert found.regret == finals.max() - finals[result.recommended["r-sr"][0]]
    assert found.scale == finals.max() - finals.mean()
    assert result.pulls["r-sr"].max() <= 20


def test_policies_for_the_best_arm_are_left_out_elsewhere() -> None:
    tasks, _ = suite(["pairs"], 0, Sizes(2, 2, 1, quick=True), None)
    assert tasks[0].policy_for(RSR(), next(tasks[0].build())) is None


def test_the_yardstick_opens_few_arms() -> None:
    told = FewArmsGaussianUCB(sigma=0.01).for_problem(get_problem("paper-15arms"), 900)
    assert told.max_arms == 10
    assert told.inner().get_params()["sigma"] == 0.01


def test_told_noise_replaces_none_only() -> None:
    instance = RisingBandit(get_problem("paper-2arms").curves, NoNoise(), 100)
    task, _ = made("x", "real", {})
    problem = Problem("", instance, 0, sigma=0.02)
    assert task.policy_for(REdUCB(), problem).get_params()["sigma"] == 0.02  # type: ignore[union-attr]
    assert task.policy_for(REdUCB(sigma=0.3), problem).get_params()["sigma"] == 0.3  # type: ignore[union-attr]
    assert isinstance(task.policy_for(RoundRobin(), problem), RoundRobin)


class Capped(RoundRobin):
    """Round robin with settings that can be misjudged."""

    name = "capped"

    def __init__(self, cap: float = 0.9, sigma: float | str | None = None) -> None:
        self.cap, self.sigma = cap, sigma


def test_misjudged_settings() -> None:
    def told(group: str, policy: Policy) -> list[Policy | None]:
        tasks, _ = suite([group], 0, Sizes(2, 2, 1, quick=True), None)
        return [task.policy_for(policy, next(task.build())) for task in tasks[:2]]

    assert [repr(policy) for policy in told("misjudged-sigma", Capped())] == ["Capped(sigma=0.05)", "Capped(sigma=0.2)"]
    assert [repr(policy) for policy in told("misjudged-sigma", Capped(sigma=0.3))] == [
        "Capped(sigma=0.15)",
        "Capped(sigma=0.6)",
    ]
    assert told("misjudged-sigma", Capped(sigma="auto")) == [None, None]
    caps = [policy.get_params()["cap"] for policy in told("misjudged-cap", Capped()) if policy]
    assert caps == [0.9 * 0.8, 0.9 * 1.2]
    assert told("misjudged-cap", RoundRobin()) == [None, None]
