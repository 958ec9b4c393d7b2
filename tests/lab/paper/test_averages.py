"""Average learning curves: exact sums, the same bytes however often they were stopped, and honest intervals."""

from __future__ import annotations

import dataclasses
import math
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from reference_rows import random_rows
from risingbandits._core.errors import RisingBanditsError
from risingbandits.lab.paper.imdb import Learner, LiveBandit, LogisticRegression, Network
from risingbandits.lab.paper.imdb._averages import Averages, LearningCurve, bin_edges, measure_curves
from risingbandits.lab.paper.imdb._tables import curves_table, difference_from_published, write_averages
from risingbandits.lab.paper.imdb.learners import seven_learners

SMALL: list[Learner] = [LogisticRegression(0.1), Network((2,)), LogisticRegression(0.5, "inverse-sqrt", clip=2.0)]


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def of_runs(late: list[float], mean: float = 0.7, spread: float = 0.1) -> LearningCurve:
    """A curve with given ends of its runs."""
    runs = len(late)
    means = mean + spread * np.linspace(-1, 1, runs)
    return LearningCurve("", "NN(2)", np.zeros(50_000, dtype=np.uint32), means, np.array(late)[:, np.newaxis])


def test_a_learner_alone_is_the_learner_among_all() -> None:
    rows = random_rows()
    averages = measure_curves(rows, SMALL, 60, 2, seed=3)
    bandit = LiveBandit(rows, SMALL, 60)
    sums = np.zeros((3, 60), dtype=np.int64)
    for run in range(2):
        bandit.reset(np.random.SeedSequence(3, spawn_key=(run, 1)))
        sums += [bandit.train(arm) for arm in range(3)]
    assert [learner.sums.tolist() for learner in averages.learners] == sums.tolist()


def test_curves_continue_where_they_stopped(tmp_path: Path) -> None:
    rows = random_rows()
    measure_curves(rows, SMALL[:2], 100, 3, folder=tmp_path / "parts")
    measure_curves(rows, SMALL, 100, 14, jobs=2, folder=tmp_path / "parts")
    whole = measure_curves(rows, SMALL, 100, 14, jobs=1, folder=tmp_path / "whole")
    assert files_of(tmp_path / "parts") == files_of(tmp_path / "whole")
    assert len(files_of(tmp_path / "whole")) == 3
    assert measure_curves(rows, SMALL, 100, 5, folder=tmp_path / "whole").runs == 14
    cheap = measure_curves(rows, SMALL[:1], 100, 20, folder=tmp_path / "whole")
    assert [learner.runs for learner in cheap.learners] == [20]
    mixed = measure_curves(rows, SMALL, 100, 14, folder=tmp_path / "whole")
    assert [learner.runs for learner in mixed.learners] == [20, 14, 14]
    np.testing.assert_array_equal(mixed.in_bins()[1:], whole.in_bins()[1:])
    other = measure_curves(rows, SMALL, 100, 2, seed=1, folder=tmp_path / "whole")  # beside the others
    assert other.runs == 2
    assert len(files_of(tmp_path / "whole")) == 6


def test_damaged_and_foreign_files_are_told(tmp_path: Path) -> None:
    rows = random_rows()
    measure_curves(rows, SMALL[:1], 50, 1, folder=tmp_path)
    (path,) = tmp_path.iterdir()
    dataclasses.replace(LearningCurve.load(path), setting="something else").save(path)
    with pytest.raises(RisingBanditsError, match="another setting"):
        measure_curves(rows, SMALL[:1], 50, 1, folder=tmp_path)
    path.write_bytes(b"PK")
    with pytest.raises(RisingBanditsError, match="no learning curve"):
        measure_curves(rows, SMALL[:1], 50, 1, folder=tmp_path)


# Runs the command line; dies at its n-th attempt to keep a curve, or the result of a policy, and at none for 0.
DYING = """
import os, signal, sys
from risingbandits.cli import run
from risingbandits.lab.paper.imdb._averages import LearningCurve
from risingbandits.simulation import Result

kind, last = {"curve": LearningCurve, "result": Result}[sys.argv[1]], int(sys.argv[2])
calls, save = [], kind.save

def counted(*arguments):
    calls.append(arguments)
    if len(calls) == last:
        os.kill(os.getpid(), signal.SIGKILL)
    return save(*arguments)

kind.save = counted
sys.exit(run(sys.argv[3:]))
"""


@pytest.mark.slow
def test_killed_in_the_middle_and_continued(tmp_path: Path) -> None:
    """Killed among the curves, killed again among the policies, and continued: equal in every byte."""
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    words = ["lab", "paper", "imdb", "run", "--dataset", "digits", "--jobs", "1", "--horizon", "300", "--arms", "3"]
    words += ["--runs", "2", "--curve-runs", "20", "--policies", "kl-ucb,round-robin", "--out", "out"]

    def play(folder: str, kind: str, dies_at: int) -> int:
        (tmp_path / folder).mkdir(exist_ok=True)
        command = [sys.executable, "-c", DYING, kind, str(dies_at), *words]
        return subprocess.run(command, cwd=tmp_path / folder, stdout=subprocess.DEVNULL).returncode

    assert play("whole", "curve", 0) == 0
    kept = tmp_path / "killed" / "out" / ".kept"
    assert play("killed", "curve", 5) == -signal.SIGKILL
    assert sorted(LearningCurve.load(path).runs for path in kept.glob("curve-*")) == [10, 10, 20]
    assert play("killed", "result", 2) == -signal.SIGKILL
    assert [LearningCurve.load(path).runs for path in kept.glob("curve-*")] == [20, 20, 20]
    assert len(list(kept.iterdir())) == 3 + 1
    assert play("killed", "result", 0) == 0
    assert files_of(tmp_path / "killed") == files_of(tmp_path / "whole")


def test_averages_keep_their_sums(tmp_path: Path) -> None:
    averages = measure_curves(random_rows(), SMALL, 700, 4)
    edges = bin_edges(700)
    sums = np.array([learner.sums for learner in averages.learners])
    exact = np.cumsum(sums, axis=1)[:, edges[1:] - 1] / averages.runs
    np.testing.assert_allclose(np.cumsum(averages.binned(), axis=1)[:, edges[1:] - 1], exact)
    np.testing.assert_allclose([learner.mean for learner in averages.learners], sums.mean(axis=1) / averages.runs)
    write_averages(averages, tmp_path)
    assert (tmp_path / "curves.csv").read_text().count("\n") == len(edges)
    assert (tmp_path / "learners.csv").read_text().count("\n") == 4


def test_dead_and_living_runs() -> None:
    curve = of_runs([0.5, 0.9, 0.54, 0.8])
    assert curve.dead == 2
    assert curve.living_end == pytest.approx(0.85)
    assert math.isnan(of_runs([0.5]).living_end)


def test_falling_runs() -> None:
    rises, falls, wavers = [0.5, 0.6, 0.7, 0.8], [0.5, 0.8, 0.75, 0.85], [0.5, 0.6, 0.595, 0.7]
    curve = dataclasses.replace(of_runs([0.5] * 3), tenths=np.array([rises, falls, wavers]))
    assert curve.falling == 1  # 12,500 pulls have a standard error of 0.0045


def test_tenths_of_a_run() -> None:
    curve = measure_curves(random_rows(), SMALL[:1], 95, 1).learners[0]
    parts = np.array_split(curve.sums, [9, 19, 28, 38, 47, 57, 66, 76, 85])
    np.testing.assert_allclose(curve.tenths[0], [part.mean() for part in parts])
    assert measure_curves(random_rows(), SMALL[:1], 4, 1).learners[0].tenths.shape == (1, 4)


def test_no_difference_where_an_interval_would_mislead() -> None:
    living = of_runs([0.9] * 100)
    away = difference_from_published(living, 0.6)
    assert away is not None
    assert away.mean == pytest.approx(0.1)
    assert away.half_width == pytest.approx(living.half_width * math.sqrt(1.1))
    assert difference_from_published(of_runs([0.9] * 29), 0.6) is None
    assert difference_from_published(of_runs([0.9] * 96 + [0.5] * 4), 0.6) is None  # four more or less died: chance
    assert difference_from_published(of_runs([0.9] * 95 + [0.5] * 5), 0.6) is not None
    table = curves_table(Averages((of_runs([0.9] * 10),)), published=True)
    assert table.rows[0][-1] == "too few runs"
    assert table.rows[0][1] == "10"


def test_the_two_sets_of_learners_differ_in_one() -> None:
    paper, program = seven_learners("paper"), seven_learners("program")
    assert [place for place in range(7) if paper[place] != program[place]] == [1]
    assert paper[1] == LogisticRegression(0.003, "inverse")
    assert program[1] == LogisticRegression(0.1, "inverse-sqrt", 2.0)


def test_both_rates_of_the_paper_have_one_beta() -> None:
    """It writes "a decreasing scheme of beta/t" and "a constant learning rate beta"."""
    for beta, found in ((None, 0.003), (2.0, 2.0)):
        assert seven_learners("paper", beta)[:2] == (LogisticRegression(found), LogisticRegression(found, "inverse"))


def test_lr_t_of_the_paper_is_its_plain_definition() -> None:
    """w -= (beta / t) (p - y) x with t the learner's own steps, no clipping; on rows that it gets wrong as well."""
    rows = random_rows()
    bandit = LiveBandit(rows, seven_learners("paper"), 400).reset(7)
    weights = [1 / rows.features] * rows.features
    wrong = 0
    for t, row in enumerate(bandit.learners.order[1].tolist(), start=1):
        own = range(rows.indptr[row], rows.indptr[row + 1])
        x = {int(rows.indices[place]): float(rows.values[place]) for place in own}
        y = float(rows.labels[row])
        p = 1 / (1 + math.exp(-sum(weights[word] * count for word, count in x.items())))
        p = min(max(p, 1e-4), 1 - 1e-4)
        for word, count in x.items():
            weights[word] -= 0.003 / t * (p - y) * count
        right = float((p > 0.5) == (y == 1.0))
        assert bandit.pull(1) == right, f"step {t}"
        wrong += right == 0.0
    assert 50 < wrong < 350
    np.testing.assert_allclose(bandit.learners.weights[1, : rows.features], weights, atol=1e-12)
