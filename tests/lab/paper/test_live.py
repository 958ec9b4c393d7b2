"""Policies on live learners: the loop, threads, averaged curves and the commands."""

from __future__ import annotations

import csv
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from reference_rows import random_rows
from risingbandits._core.errors import RisingBanditsError
from risingbandits.cli import run
from risingbandits.lab.paper._stored_results import KEPT
from risingbandits.lab.paper.imdb import Learner, LiveArms, LiveBandit, LogisticRegression, Network
from risingbandits.lab.paper.imdb._averages import measure_curves
from risingbandits.lab.paper.imdb._study import AS_PRINTED, play_studies, study_policies
from risingbandits.lab.paper.imdb._tables import Paired, live_table, write_live
from risingbandits.lab.paper.imdb.learners import seven_learners
from risingbandits.policies import get_policy
from risingbandits.simulation import Result, simulate
from risingbandits.simulation._backends import Threads

ARMS = seven_learners()
SMALL: list[Learner] = [LogisticRegression(0.1), Network((2,)), LogisticRegression(0.5, "inverse-sqrt", clip=2.0)]


@pytest.mark.parametrize("name", ["commit-ucb", "red-ucb", "sw-ts"])
def test_loop_is_ask_and_tell(name: str) -> None:
    rows = random_rows()
    averages = measure_curves(rows, SMALL, 200, 2)
    curves = averages.problem("small")
    result = simulate(
        name, curves, horizon=200, runs=2, seed=4, jobs=1, record_at=5, arms=partial(LiveArms, rows, SMALL)
    )
    for number in range(2):
        arms_seed, policy_seed = np.random.SeedSequence(4, spawn_key=(number,)).spawn(2)
        bandit = LiveBandit(rows, SMALL, 200).reset(arms_seed)
        policy = get_policy(name)._for_problem(curves, 200).reset(len(SMALL), 200, policy_seed)
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
    one, three = (
        simulate(["rexp3", "kl-ucb"], curves, horizon=150, runs=5, seed=1, jobs=jobs, arms=arms) for jobs in (1, 3)
    )
    alone = simulate("kl-ucb", curves, horizon=150, runs=3, seed=1, jobs=1, arms=arms)
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
    result = simulate("round-robin", curves, horizon=100, runs=2, record_at=4, arms=partial(LiveArms, rows, SMALL))
    again = Result.load(result.save(tmp_path))
    assert result.reward is not None
    assert again.reward is not None
    np.testing.assert_array_equal(again.reward["round-robin"], result.reward["round-robin"])
    with pytest.warns(UserWarning, match="regret is against the best single arm"):  # averages of two runs waver
        assert simulate("round-robin", curves, horizon=100).reward is None


def test_regret_of_the_best_arm_is_zero() -> None:
    rows = random_rows()
    curves = measure_curves(rows, SMALL, 300, 4).problem("small")
    best = curves.oracle_arm()
    result = simulate(
        "round-robin", curves._only(best), horizon=300, arms=partial(LiveArms, rows, SMALL[best : best + 1])
    )
    assert np.abs(result.regret["round-robin"]).max() < 1e-9


@pytest.mark.parametrize("published", [False, True])
def test_study_of_all_policies(published: bool, tmp_path: Path) -> None:
    rows = random_rows()
    averages = measure_curves(rows, ARMS, 60, 2)
    policies = study_policies(published)
    studies = play_studies(rows, averages, ARMS, policies, 2, 0, [7, 2])
    assert [study.result.problem for study in studies] == ["random-7arms", "random-2arms"]
    assert len(policies) == (7 if published else 10)
    for study in studies:
        assert len(live_table(study).rows) == len(policies)
        assert all((pulls.sum(axis=1) == 60).all() for pulls in study.result.pulls.values())
        if published:
            assert "clip_bonus=True" in study.result.settings["red-ucb"]
        else:
            assert "sigma=0.5" in study.result.settings["red-ucb"]
            assert study.result.settings[AS_PRINTED] == "REdUCB(eps=0.03125, sigma=0.1)"
            assert "sigma=0.5" in study.result.settings["commit-ucb"]
    write_live(studies, tmp_path)
    for name in ("predictions.csv", "top-arms.csv"):
        lines = list(csv.reader((tmp_path / name).read_text().splitlines()))
        assert len(lines) == 1 + 2 * len(policies)
        assert len({len(line) for line in lines}) == 1


def test_a_study_is_that_of_one_simulation_and_is_played_once(tmp_path: Path) -> None:
    rows = random_rows()
    averages = measure_curves(rows, SMALL, 80, 2)
    policies = {name: get_policy(name) for name in ("sw-ts", "kl-ucb")}
    told: list[str] = []
    play = partial(play_studies, rows, averages, SMALL, policies, 3, 5, [3], lambda label, done: told.append(label))
    (first,) = play(folder=tmp_path)
    assert told == ["sw-ts"] * 3 + ["kl-ucb"] * 3
    (again,) = play(folder=tmp_path)
    assert len(told) == 6
    whole = simulate(policies, first.problem, horizon=80, runs=3, seed=5, arms=partial(LiveArms, rows, SMALL))
    for study in (first, again):
        assert study.result.save(tmp_path / "parts").joinpath("result.npz").read_bytes() == (
            whole.save(tmp_path / "whole").joinpath("result.npz").read_bytes()
        )
    more = measure_curves(rows, SMALL, 80, 3)
    play_studies(rows, more, SMALL, {"kl-ucb": policies["kl-ucb"]}, 3, 5, [3], folder=tmp_path, backend=Threads(1))
    assert len(list((tmp_path / KEPT).iterdir())) == 3  # regret against other curves is another result


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
    assert run(["lab", "paper", "imdb", "curves", *few, "--runs", "2"]) == 0
    assert "NN(2,2)" in capsys.readouterr().out
    choice = ["--policies", "commit-ucb,round-robin", "--runs", "2", "--curve-runs", "2"]
    assert run(["lab", "paper", "imdb", "run", *few, *choice]) == 0
    text = capsys.readouterr().out
    assert "digits-7arms, 300 rounds, 2 runs" in text
    assert "lead of commit-ucb" in (tmp_path / "report.md").read_text()
    names = {path.name for path in tmp_path.iterdir()}
    assert {"curves.csv", "curves.png", "learners.csv", "predictions.csv", "top-arms.csv", "report.md"} <= names
    assert {"digits-7arms", "digits-2arms"} <= names


def test_commands_explain_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RISINGBANDITS_DATA", raising=False)
    for arguments, word in (
        (["curves"], "never downloaded"),
        (["run", "--features", "5"], "1000 or 10000"),
        (["run", "--arms", "8"], "arms must be"),
        (["curves", "--arms", "0"], "arms must be"),
        (["run", "--dataset", "digit"], "did you mean 'digits'"),
        (["run", "--learners", "papre"], "did you mean 'paper'"),
        (["curves", "--beta", "0"], "rate must be"),
        (["run", "--published", "--policies", "kl-ucb"], "exclude each other"),
    ):
        assert run(["lab", "paper", "imdb", *arguments, "--out", str(tmp_path)]) == 2
        error = capsys.readouterr().err
        assert word in error
        assert error.count("\n") == 1


def test_published_setting_locks_on_one_arm() -> None:
    rows = random_rows()
    curves = measure_curves(rows, ARMS, 2000, 1).problem("random")
    policy = study_policies(published=True)["red-ucb"]
    result = simulate(policy, curves, horizon=2000, runs=5, seed=1, arms=partial(LiveArms, rows, ARMS))
    assert (result.pulls["red-ucb-program"].max(axis=1) > 0.8 * 2000).all()
