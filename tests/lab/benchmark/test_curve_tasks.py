"""Benchmarks of real curves: as their definition says, played as a slow computation plays them."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest

from risingbandits import simulate
from risingbandits.lab.benchmark._cells import Cells
from risingbandits.lab.benchmark._policies import LabelledPolicy
from risingbandits.lab.benchmark.curve_tasks import CurveTask, with_final
from risingbandits.lab.benchmark.suite import (
    _OF_DATA,
    flat_start,
    load_tasks,
    made_benchmarks,
    replayed_benchmark,
    starts_slowly,
    suite,
)
from risingbandits.lab.benchmark.synthetic import Sizes
from risingbandits.lab.related import RSR
from risingbandits.policies import SWTS, REdUCB, RoundRobin, SuccessiveHalving
from risingbandits.problems import NoNoise, RisingBandit
from risingbandits.simulation._backends import Threads
from tasks_of_curves import curve_task

DATA = os.environ.get("RISINGBANDITS_DATA")
FAMILIES = {  # tasks, most arms, longest curve
    "deep_resnets_tinyimagenet": (10, 50, 141),
    "lstm_ptb": (5, 50, 60),
    "metaqnn_cifar10": (10, 50, 20),
    "atari": (60, 16, 199),
    "lcdb": (118, 20, 30),
    "scikit-learn": (9, 30, 60),
    "taskset": (36, 50, 51),
    "algoperf-fastmri": (10, 50, 109),
    "algoperf-librispeech": (15, 44, 42),
    "algoperf-ogbg": (10, 50, 77),
    "tdmpc2": (52, 12, 30),
    "dmc-proprio": (9, 50, 50),
    "dmc-vision": (10, 45, 50),
}


def test_final_value_of_a_curve() -> None:
    curve = np.arange(60.0)[None, :]
    assert with_final(curve)[0, -2:].tolist() == [59.0, 58.0]  # the mean of the last three
    assert with_final(curve[:, :10])[0, -1] == 9.0


def shifted(task: CurveTask) -> CurveTask:
    """A task whose true values are others than those that are seen."""
    truth = np.clip(task.observed[::-1] + 0.05, 0, 1)
    return CurveTask(task.name, task.source, task.observed, truth, task.features)


@pytest.mark.parametrize("policy", [REdUCB(sigma=0.1), SWTS(), RoundRobin()])
def test_cumulative_rows_equal_a_slow_computation(policy: REdUCB | SWTS | RoundRobin, tmp_path: Path) -> None:
    """Every order and budget by `simulate`, and the sums of the true values written out."""
    task = shifted(curve_task(n_arms=6, length=12))
    row = replayed_benchmark("family", "real", "cumulative", [task], 3, Sizes(orders=3))
    runs = Cells(tmp_path, Threads(1)).of(row, [LabelledPolicy("x", policy)])["x"].runs
    assert len(runs) == 3 * 5
    for run in runs:
        order = task.order(run.run)
        problem = next(one for one in row.problems if one.horizon == run.horizon)
        instance = RisingBandit.from_array(task.observed[order], NoNoise(), run.horizon)
        result = simulate(policy, instance, runs=3, seed=problem.seed)  # type: ignore[attr-defined]
        pulls = result.pulls[policy.name][run.run]
        values = [list(row) + [row[-1]] * run.horizon for row in task.truth[order]]
        constant = [sum(row[: run.horizon]) for row in values]
        earned = sum(sum(row[:n]) for row, n in zip(values, pulls, strict=True))
        assert run.regret == pytest.approx(max(constant) - earned)
        assert run.random == pytest.approx(max(constant) - sum(constant) / 6)
        assert run.best == pytest.approx(max(constant))


@pytest.mark.parametrize("policy", [RSR(), SuccessiveHalving()])
def test_best_arm_rows_equal_a_slow_computation(policy: RSR | SuccessiveHalving, tmp_path: Path) -> None:
    task = shifted(curve_task(n_arms=6, length=12))
    row = replayed_benchmark("family", "real", "best-arm", [task], 3, Sizes(orders=3))
    assert sorted({problem.horizon for problem in row.problems}) == [12, 30, 60]  # 20 K would see every curve
    finals = task.truth[:, -1]
    runs = Cells(tmp_path, Threads(1)).of(row, [LabelledPolicy("x", policy)])["x"].runs
    assert len(runs) == 9
    for run in runs:
        order = task.order(run.run)
        problem = next(one for one in row.problems if one.horizon == run.horizon)
        instance = RisingBandit.from_array(task.observed[order, :-1], NoNoise(), run.horizon)
        result = simulate(policy, instance, runs=3, seed=problem.seed, after_end="stop")  # type: ignore[attr-defined]
        assert result.pulls[policy.name].max() <= 12
        assert run.regret == finals.max() - finals[order[result.recommended[policy.name][run.run]]]
        assert run.random == finals.max() - finals.mean()


def test_orders_are_permutations_and_differ() -> None:
    task = curve_task(n_arms=9)
    orders = [tuple(task.order(number)) for number in range(10)]
    assert orders[0] == tuple(range(9))
    assert len(set(orders)) == 10
    assert all(sorted(order) == list(range(9)) for order in orders)


def test_flat_starts() -> None:
    task = curve_task(n_arms=4, length=30)
    for share, number in ((0.1, 3), (0.2, 6), (0.01, 2)):
        flat = flat_start(task, share)
        assert (flat.observed[:, :number] == task.observed[:, 0].min()).all()
        assert np.array_equal(flat.observed[:, number:], task.observed[:, number:])
        assert flat.source == task.source


def test_slow_starters() -> None:
    """The winner is the sixth of six at first."""
    values = np.array([[0.5 - 0.01 * arm] * 10 for arm in range(6)])
    values[5, 3:] = 0.9
    task = CurveTask("t", "f", with_final(values), with_final(values))
    assert starts_slowly(task)
    values[5, 1] = 0.9  # in front at 20 %
    assert not starts_slowly(CurveTask("t", "f", with_final(values), with_final(values)))


def test_sorted_arms_keep_their_order() -> None:
    task = curve_task(n_arms=7)
    (worst,) = made_benchmarks({"family": [task]}, [])["sorted-worst-first"]
    assert worst.finals.tolist() == sorted(task.finals)
    assert worst.order(3).tolist() == list(range(7))


@pytest.mark.skipif(DATA is None, reason="RISINGBANDITS_DATA is not set")
def test_thirteen_families() -> None:
    real, made = load_tasks(DATA)
    found = {
        family: (len(tasks), max(task.n_arms for task in tasks), max(task.length for task in tasks))
        for family, tasks in real.items()
    }
    assert found == FAMILIES
    assert {*real, *made} == set(_OF_DATA)
    for tasks in (*real.values(), *made.values()):
        assert len({task.name for task in tasks}) == len(tasks)
        for task in tasks:
            assert task.observed.min() >= 0
            assert task.truth.max() <= 1
            assert task.source in FAMILIES
            assert all(len(values) == task.n_arms for values in task.features.values())
            assert task.seconds is None or task.seconds.shape == (task.n_arms, task.length)
    assert {len(task.observed) for task in made["many-arms-real"]} == {200, 1_000}
    assert all(task.seconds is not None for task in real["algoperf-ogbg"])


@pytest.mark.skipif(DATA is None, reason="RISINGBANDITS_DATA is not set")
def test_second_families_equal_their_definition() -> None:
    """One task of each, from the file, in plain steps."""
    real, _ = load_tasks(DATA)
    folder = Path(str(DATA)) / "curves"
    rng = np.random.default_rng(1)
    with np.load(folder / "taskset.npz") as file:
        losses = file["valid_loss"][0].astype(float)
        arm = rng.permutation(1_000)[7]
        expected = [min(1.0, max(0.0, 1 - x / (2 * math.log(2)))) if math.isfinite(x) else 0.0 for x in losses[arm]]
        assert real["taskset"][0].observed[7, :-1].tolist() == pytest.approx(expected)
        assert real["taskset"][0].features["beta1"][7] == file["hyper"][0, arm, 0]
    with np.load(folder / "tdmpc2.npz") as file:
        names = sorted(set(file["task"].tolist()))
        assert [task.name for task in real["tdmpc2"]] == names
        value, step, offset = file["value"].astype(float), file["step"], file["offset"]
        chosen = (file["task"] == names[0]) & (file["method"] != "tdmpc2-pixels")
        own = [slice(offset[j], offset[j + 1]) for j in range(len(chosen)) if chosen[j]]
        end = min(step[part][-1] for part in own)
        points = [[np.interp(end * k / 30, step[part], value[part]) for k in range(1, 31)] for part in own]
        low, high = np.min(points), np.max(points)
        expected_rows = sorted([[(x - low) / (1.5 * (high - low)) for x in row] for row in points])
        assert np.array(sorted(real["tdmpc2"][0].observed[:, :-1].tolist())) == pytest.approx(np.array(expected_rows))
    for task in real["algoperf-librispeech"]:
        ended = task.seconds
        assert ended is not None
        for values, seconds in zip(task.observed, ended, strict=True):
            number = int(np.isfinite(seconds).sum())
            last = max(1, int(0.05 * number))
            assert values[number:] == pytest.approx(values[number - last : number].mean())


@pytest.mark.skipif(DATA is None, reason="RISINGBANDITS_DATA is not set")
def test_rows_of_real_curves(tmp_path: Path) -> None:
    rows, left_out = suite(["real"], ["cumulative", "best-arm"], 0, Sizes(orders=10), DATA)
    assert not left_out
    assert [row.name for row in rows] == [*FAMILIES, *FAMILIES]
    assert rows[0].runs == 10 * 5 * 10
    short = next(row for row in rows if row.name == "metaqnn_cifar10" and row.objective == "best-arm")
    assert short.runs == 10 * 3 * 10  # 20 values: B = 2, 5 and 10 K
