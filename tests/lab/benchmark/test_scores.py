"""Figures of the benchmark against slow computations: intervals, ranks and ratios."""

from __future__ import annotations

import random
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from risingbandits import simulate
from risingbandits.lab.benchmark._cells import Cell, Cells
from risingbandits.lab.benchmark._play import Outcome
from risingbandits.lab.benchmark._policies import LabelledPolicy
from risingbandits.lab.benchmark._problems import Benchmark, Played, SimulatedProblem
from risingbandits.lab.benchmark._scores import interval, resampled_means, stats_of, summarise
from risingbandits.lab.benchmark._tables import objective_tables
from risingbandits.lab.benchmark.suite import suite
from risingbandits.lab.benchmark.synthetic import Sizes
from risingbandits.policies import KLUCB
from risingbandits.simulation._backends import Threads


def benchmark_of(name: str, kind: str = "real", measure: str = "share", group: str | None = None) -> Benchmark:
    return Benchmark(name, group or name, kind, "cumulative", measure, ())


def ran(
    value: float, task: str = "one", run: int = 0, source: str = "", side: str = "", horizon: int = 10, best: float = 10
) -> Played:
    """A run that loses ``value`` of what a random arm loses."""
    return Played(task, source, side, run, horizon, value, 1.0, best)


def test_figures_equal_a_slow_computation(tmp_path: Path) -> None:
    rows, _ = suite(["presets"], ["cumulative"], 5, Sizes(runs=4, quick=True), None)
    row = next(row for row in rows if row.name == "paper-2arms, Bernoulli, T = 1,000")
    (problem,) = row.problems
    assert isinstance(problem, SimulatedProblem)
    instance = problem.instance()
    result = simulate("kl-ucb", instance, horizon=1_000, runs=4, seed=problem.seed)
    best = max(instance.mean_sums(1_000))
    percent = [100 * (best - gained) / best for gained in instance.mean_sums(result.pulls["kl-ucb"]).sum(axis=1)]
    cell = Cells(tmp_path, Threads(1)).of(row, [LabelledPolicy("kl-ucb", KLUCB())])["kl-ucb"]
    found = stats_of(row, cell.runs)
    assert [100 * run.regret / run.best for run in cell.runs] == pytest.approx(percent)
    assert found.figure.mean == pytest.approx(statistics.mean(percent))
    assert found.large == sum(value > 25 for value in percent) / 4


def test_arms_that_differ_by_rounding_have_no_share() -> None:
    worth = np.array([0.1 + 0.2, 0.3]) * 100
    run = Played("one", "", "", 0, 100, -0.5, float(worth.max() - worth.mean()), float(worth.max()))
    assert run.random > 0
    assert run.share == 0.0
    assert run.percent == pytest.approx(-0.5 / 30 * 100)
    assert ran(0.5).share == 0.5
    assert Played("one", "", "", 0, 5, 0.0, 0.0, 0.0).percent == 0.0


def test_budgets_are_averaged_within_an_order_and_orders_within_a_task() -> None:
    runs = [ran(1, run=0, horizon=10), ran(3, run=0, horizon=20), ran(4, run=1, horizon=10), ran(6, run=1, horizon=20)]
    runs += [ran(10, "two", 0), ran(20, "two", 1)]
    values = benchmark_of("x").values(runs)
    assert {task: own.tolist() for task, own in values.items()} == {"one": [2.0, 5.0], "two": [10.0, 20.0]}
    assert stats_of(benchmark_of("x"), runs).figure.mean == (3.5 + 15) / 2


def test_intervals_resample_tasks_and_runs() -> None:
    """Against a bootstrap written down as it is defined."""
    rng = random.Random(0)
    tasks = [[rng.gauss(level, 1.0) for _ in range(number)] for level, number in ((0, 4), (2, 7), (5, 3))]
    slow = []
    for _ in range(4_000):
        drawn = [rng.choice(tasks) for _ in tasks]
        slow.append(statistics.mean(statistics.mean(rng.choice(task) for _ in task) for task in drawn))
    fast = resampled_means([np.array(task) for task in tasks], [1], draws=4_000)
    assert fast.mean() == pytest.approx(statistics.mean(slow), abs=0.1)
    assert fast.std() == pytest.approx(statistics.stdev(slow), rel=0.06)
    assert np.array_equal(fast, resampled_means([np.array(task) for task in tasks], [1], draws=4_000))


def test_intervals_cover_the_truth() -> None:
    """Twenty tasks that differ, five orders each; two levels, so the coverage is near what is said."""
    rng = np.random.default_rng(3)
    covered = 0
    for number in range(300):
        tasks = rng.normal(0.0, 1.0, 20)[:, None] + rng.normal(0.0, 1.0, (20, 5))
        low, high = interval(resampled_means(list(tasks), [number], draws=400))
        covered += low <= 0.0 <= high
    assert 0.9 <= covered / 300 <= 0.99


def test_one_task_is_resampled_by_its_runs() -> None:
    draws = resampled_means([np.array([0.0, 1.0])], [0], draws=2_000)
    assert set(draws.tolist()) == {0.0, 0.5, 1.0}
    assert resampled_means([np.array([3.0])], [0]).tolist() == [3.0] * 1_000


def test_the_worse_side_counts() -> None:
    """In rewards, which is what the bounds are about: in % of J* side B would be the worse one."""
    row = benchmark_of("pair", "synthetic", "percent")
    runs = [ran(10, side="A", best=100), ran(30, run=1, side="A", best=100)]
    runs += [ran(4, side="B"), ran(2, run=1, side="B")]
    found = stats_of(row, runs)
    assert (found.side, found.figure.mean, found.regret) == ("A", 20.0, 20.0)
    assert found.large == 0.5


def summary_of(table: dict[Benchmark, dict[str, list[Played]]]) -> dict[str, Any]:
    cells = {row: {label: Cell(tuple(runs)) for label, runs in own.items()} for row, own in table.items()}
    labels = dict.fromkeys([label for own in table.values() for label in own], "")
    found: dict[str, Any] = summarise(Outcome(cells, labels))["objectives"]["cumulative"]
    return found


def test_ranks_ratios_and_means() -> None:
    """Three policies: b ties with a once; c plays real curves only."""
    found = summary_of(
        {
            benchmark_of("x"): {"a": [ran(0.2)], "b": [ran(0.2)], "c": [ran(0.8)]},
            benchmark_of("y"): {"a": [ran(0.6)], "b": [ran(0.3)], "c": [ran(0.9)]},
            benchmark_of("one", "synthetic", "percent", "group"): {"a": [ran(1)], "b": [ran(4)], "c": []},
            benchmark_of("two", "synthetic", "percent", "group"): {"a": [ran(3)], "b": [ran(4)], "c": []},
        }
    )
    assert [line["policy"] for line in found["policies"]] == ["b", "a", "c"]
    lines = {line["policy"]: line for line in found["policies"]}
    assert lines["a"]["real"]["mean"] == pytest.approx(0.4)
    assert lines["a"]["synthetic"]["mean"] == pytest.approx(20.0)
    assert lines["c"]["synthetic"] is None
    assert [lines[label]["rank"] for label in "abc"] == [1.75, 1.25, 3.0]
    assert [lines[label]["worst_ratio"]["group"] for label in "abc"] == ["y", "group", "x"]
    assert [lines[label]["worst_ratio"]["ratio"] for label in "abc"] == pytest.approx([2.0, 2.0, 4.0])
    assert lines["a"]["large"] == pytest.approx(1 / 6)  # one benchmark of two in one group of three
    assert found["groups"]["group"]["benchmarks"] == 2
    overall, real, simulated = objective_tables("cumulative", found, intervals=False)
    assert overall.rows[0][:2] == ("b", "0.25 [0.25, 0.25]")
    assert real.rows == [("x", "1", "0.20", "0.20", "0.80"), ("y", "1", "0.30", "0.60", "0.90")]
    assert simulated.rows == [("group", "2 benchmarks", "40.0 %", "20.0 %")]


def test_differences_that_do_not_matter_are_no_ratio() -> None:
    found = summary_of({benchmark_of("x"): {"a": [ran(0.001)], "b": [ran(0.04)], "c": [ran(0.1)]}})
    ratios = {line["policy"]: line["worst_ratio"]["ratio"] for line in found["policies"]}
    assert ratios == pytest.approx({"a": 1.0, "b": 1.0, "c": 2.0})
