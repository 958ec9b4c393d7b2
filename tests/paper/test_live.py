"""Policies on live learners: the loop, threads, averaged curves and the commands."""

from __future__ import annotations

import csv
import dataclasses
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from reference_rows import random_rows
from risingbandits._core.errors import RisingBanditsError
from risingbandits.cli import run
from risingbandits.paper.imdb import Learner, LiveArms, LiveBandit, LogisticRegression, Network
from risingbandits.paper.imdb.averages import Averages, bin_edges, measure_curves
from risingbandits.paper.imdb.study import ARMS, Paired, live_csv, live_table, play_studies, study_policies
from risingbandits.paper.published.one_by_one import PublishedREdUCB
from risingbandits.policies import get_policy
from risingbandits.simulation import Result, simulate
from risingbandits.simulation.backends.base import Threads

SMALL: list[Learner] = [LogisticRegression(0.1), Network((2,)), LogisticRegression(0.5, "inverse-sqrt", clip=2.0)]


@pytest.mark.parametrize("name", ["commit-ucb", "red-ucb", "sw-ts"])
def test_loop_is_ask_and_tell(name: str) -> None:
    rows = random_rows()
    averages = measure_curves(rows, SMALL, 200, 2)
    curves = averages.problem("small")
    result = simulate(name, curves, 200, 2, seed=4, jobs=1, record_at=5, arms=partial(LiveArms, rows, SMALL))
    for number in range(2):
        arms_seed, policy_seed = np.random.SeedSequence(4, spawn_key=(number,)).spawn(2)
        bandit = LiveBandit(rows, SMALL, 200).reset(arms_seed)
        policy = get_policy(name).for_problem(curves, 200).reset(len(SMALL), 200, policy_seed)
        rewards, means = [], []
        for _ in range(200):
            arm = policy.ask()
            rewards.append(bandit.pull(arm))
            policy.tell(arm, rewards[-1])
            means.append(curves.means(bandit.pulls[arm])[arm])
        assert result.pulls[name][number].tolist() == policy.pulls.tolist()
        assert result.reward is not None
        assert result.reward[name][number].tolist() == np.cumsum(rewards)[result.record_at - 1].tolist()
        regret = result.oracle - np.cumsum(means)[result.record_at - 1]
        np.testing.assert_allclose(result.regret[name][number], regret, atol=1e-9)


def test_threads_do_not_matter_and_runs_are_paired() -> None:
    rows = random_rows()
    curves = measure_curves(rows, SMALL, 150, 3, jobs=1).problem("small")
    arms = partial(LiveArms, rows, SMALL)
    one, three = (simulate(["rexp3", "kl-ucb"], curves, 150, 5, 1, jobs, arms=arms) for jobs in (1, 3))
    alone = simulate("kl-ucb", curves, 150, 3, 1, 1, arms=arms)
    assert one.reward is not None
    assert three.reward is not None
    assert alone.reward is not None
    for label in ("rexp3", "kl-ucb"):
        np.testing.assert_array_equal(one.reward[label], three.reward[label])
        np.testing.assert_array_equal(one.pulls[label], three.pulls[label])
    np.testing.assert_array_equal(one.reward["kl-ucb"][:3], alone.reward["kl-ucb"])


def test_rewards_are_in_the_files(tmp_path: Path) -> None:
    rows = random_rows()
    curves = measure_curves(rows, SMALL, 100, 2).problem("small")
    result = simulate("round-robin", curves, 100, 2, record_at=4, arms=partial(LiveArms, rows, SMALL))
    again = Result.load(result.save(tmp_path))
    assert result.reward is not None
    assert again.reward is not None
    np.testing.assert_array_equal(again.reward["round-robin"], result.reward["round-robin"])
    with pytest.warns(UserWarning, match="regret is against the best single arm"):  # averages of two runs waver
        assert simulate("round-robin", curves, 100).reward is None


def test_curves_continue_where_they_stopped(tmp_path: Path) -> None:
    rows, path = random_rows(), tmp_path / "curves.npz"
    measure_curves(rows, SMALL, 100, 3, path=path)
    continued = measure_curves(rows, SMALL, 100, 14, jobs=2, path=path)
    whole = measure_curves(rows, SMALL, 100, 14, jobs=1)
    np.testing.assert_array_equal(continued.sums, whole.sums)
    np.testing.assert_array_equal(continued.means, whole.means)
    assert measure_curves(rows, SMALL, 100, 5, path=path).runs == 14
    with pytest.raises(RisingBanditsError, match="another setting"):
        measure_curves(rows, SMALL, 100, 5, seed=1, path=path)
    path.write_bytes(b"PK")
    with pytest.raises(RisingBanditsError, match="no learning curves"):
        Averages.load(path)


def test_averages_keep_their_sums() -> None:
    averages = measure_curves(random_rows(), SMALL, 700, 4)
    edges = bin_edges(700)
    exact = np.cumsum(averages.sums, axis=1)[:, edges[1:] - 1] / averages.runs
    np.testing.assert_allclose(np.cumsum(averages.binned(), axis=1)[:, edges[1:] - 1], exact)
    np.testing.assert_allclose(averages.means.mean(axis=0), averages.sums.mean(axis=1) / averages.runs)
    assert averages.csv().count("\n") == len(edges)
    dead = dataclasses.replace(averages, late=np.array([[0.5, 0.9, 0.5], [0.9, 0.9, 0.5]]))
    assert dead.dead().tolist() == [0.5, 0.0, 1.0]


def test_regret_of_the_best_arm_is_zero() -> None:
    rows = random_rows()
    curves = measure_curves(rows, SMALL, 300, 4).problem("small")
    best = curves.oracle_arm()
    result = simulate("round-robin", curves._only(best), 300, arms=partial(LiveArms, rows, SMALL[best : best + 1]))
    assert np.abs(result.regret["round-robin"]).max() < 1e-9


def test_study_of_all_policies() -> None:
    rows = random_rows()
    averages = measure_curves(rows, ARMS, 60, 2)
    studies = play_studies(rows, averages, study_policies(published=True), 2, 0, [7, 2])
    assert [study.result.problem for study in studies] == ["random-7arms", "random-2arms"]
    for study in studies:
        assert len(live_table(study).rows) == 10
        assert all((pulls.sum(axis=1) == 60).all() for pulls in study.result.pulls.values())
        assert "sigma=0.5" in study.result.settings["red-ucb"]
        assert "sigma=0.5" in study.result.settings["commit-ucb"]
    lines = list(csv.reader(live_csv(studies).splitlines()))
    assert len(lines) == 1 + 2 * 10
    assert len({len(line) for line in lines}) == 1


def test_an_error_in_a_thread_is_raised() -> None:
    def begin(label: str) -> object:
        raise RisingBanditsError("broken")

    with pytest.raises(RisingBanditsError, match="broken"):
        Threads(2).play_all(begin, ["one"], range(5))  # type: ignore[arg-type]


def test_intervals() -> None:
    assert str(Paired.of(np.array([4]))) == "4"
    paired = Paired.of(np.array([1.0, 2.0, 3.0]))
    assert paired.mean == 2.0
    assert paired.half_width == pytest.approx(4.302653 / np.sqrt(3))


def test_commands_on_the_digits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    few = ["--dataset", "digits", "--horizon", "300", "--out", str(tmp_path)]
    assert run(["paper", "imdb", "curves", *few, "--runs", "2"]) == 0
    assert "NN(2,2)" in capsys.readouterr().out
    choice = ["--policies", "commit-ucb,round-robin", "--runs", "2", "--curve-runs", "2"]
    assert run(["paper", "imdb", "run", *few, *choice]) == 0
    text = capsys.readouterr().out
    assert "digits-7arms, 300 rounds, 2 runs" in text
    assert "lead of commit-ucb" in (tmp_path / "report.md").read_text()
    names = {path.name for path in tmp_path.iterdir()}
    assert {"curves.csv", "curves.png", "predictions.csv", "report.md", "digits-7arms", "digits-2arms"} <= names


def test_commands_explain_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RISINGBANDITS_DATA", raising=False)
    for arguments, word in (
        (["curves"], "never downloaded"),
        (["run", "--features", "5"], "1000 or 10000"),
        (["run", "--arms", "8"], "arms must be"),
        (["run", "--dataset", "digit"], "did you mean 'digits'"),
    ):
        assert run(["paper", "imdb", *arguments, "--out", str(tmp_path)]) == 2
        error = capsys.readouterr().err
        assert word in error
        assert error.count("\n") == 1


def test_clipped_bonus_is_its_formula() -> None:
    rng = np.random.default_rng(2)
    policy = PublishedREdUCB(clip_bonus=True, sigma=0.1, alpha=4.0).reset(3, 300)
    history: list[list[float]] = [[], [], []]
    for t in range(1, 301):
        values = []
        for rewards in history:
            n, h = len(rewards), int(0.25 * len(rewards))
            if h == 0:
                values.append(np.inf)
                continue
            window = range(n - h, n)  # pulls l = n - h + 1, ..., n, from 0
            line = [rewards[i] + (t - (i + 1)) * (rewards[i] - rewards[i - h]) / h for i in window]
            bonus = 0.1 * (t - n + h - 1) * np.sqrt(10 * 4.0 * np.log(t) / h**3)
            values.append(sum(line) / h + min(1.0, bonus))
        arm = policy.ask()
        assert values[arm] >= max(values) - 1e-9
        history[arm].append(float(rng.random() < 0.4 + 0.1 * arm))
        policy.tell(arm, history[arm][-1])


def test_published_setting_locks_on_one_arm() -> None:
    rows = random_rows()
    curves = measure_curves(rows, ARMS, 2000, 1).problem("random")
    policy = study_policies(published=True)["red-ucb-published"]
    result = simulate(policy, curves, 2000, runs=5, seed=1, arms=partial(LiveArms, rows, ARMS))
    assert (result.pulls["red-ucb-published"].max(axis=1) > 0.8 * 2000).all()
