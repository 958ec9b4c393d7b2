"""A warm start from earlier runs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from risingbandits import Allocator, RisingBanditsError
from risingbandits.allocation.prior.history import read_history
from risingbandits.allocation.prior.tasks import EarlierTask

LONG = "task,arm,step,value\nmay,a,2,0.5\nmay,a,1,0.25\nmay,b,1,0.125\njune,a,1,0.75\n"
WIDE = "a,b\n0.25,0.125\n0.5,\n"


def earlier(store: Path, arms: list[str], pulls: int, direction: str = "maximize") -> list[float]:
    """A run that gives every arm 1/2, 1/3, ..., and the rewards of its first arm."""
    with Allocator(arms, pulls, store=store, policy="round-robin", direction=direction) as allocator:
        for pull in allocator:
            allocator.tell(pull, 1.0 / (1.0 + pull.n))
        return allocator.rewards(arms[0])


def test_stores_and_csv_files_give_the_same_kind_of_history(tmp_path: Path) -> None:
    known = earlier(tmp_path / "may.db", ["a", "b", "other"], 7)
    (tmp_path / "long.csv").write_text(LONG)
    (tmp_path / "wide.csv").write_text(WIDE)
    assert read_history(tmp_path / "may.db", ["a", "b", "new"]) == {"a": known, "b": known[:2]}
    assert read_history(tmp_path / "long.csv", ["a", "b"]) == {"a": [0.25, 0.5], "b": [0.125]}
    assert read_history(str(tmp_path / "wide.csv"), ["a", "b"]) == {"a": [0.25, 0.5], "b": [0.125]}
    assert read_history([tmp_path / "*.csv", tmp_path / "may.db"], ["a"]) == {"a": known}, "the longest"


def test_known_to_the_policy_not_charged_and_the_same_as_rewards_that_are_said(tmp_path: Path) -> None:
    known = earlier(tmp_path / "may.db", ["a", "b"], 6)
    read = Allocator(["a", "b", "c"], 20, warm_start=tmp_path / "may.db", policy="commit-ucb", store=tmp_path / "x.db")
    told = Allocator(["a", "b", "c"], 20, warm_start={"a": known, "b": known}, policy="commit-ucb")
    assert read.settings.warm_start == told.settings.warm_start
    assert (read.spent, read.rewards("a")) == (0, known)
    decisions = []
    for allocator in (read, told):
        pulls = [(pull.arm, pull.n) for pull in allocator if allocator.tell(pull, 0.5)]
        decisions.append(pulls)
    assert decisions[0] == decisions[1]
    assert min(n for arm, n in decisions[0] if arm == "a") == 4, "pull numbers go on"
    read.close()


def test_sources_are_read_when_a_store_is_made_and_for_arms_that_come_later(tmp_path: Path) -> None:
    known = earlier(tmp_path / "may.db", ["a", "b", "c"], 6)
    Allocator(["a"], 9, warm_start=tmp_path / "may.db", store=tmp_path / "run.db").close()
    with Allocator(["a", "b"], 9, warm_start=[tmp_path / "may.db"], store=tmp_path / "run.db") as allocator:
        assert allocator.taken_over == "1 new arm: b, rewards of earlier pulls: 2 of b"
        assert allocator.extend(arms=["c"], warm_start=tmp_path / "may.db").endswith("earlier pulls: 2 of c")
        assert [allocator.rewards(arm) for arm in "abc"] == [known, known, known]
    (tmp_path / "may.db").unlink()
    with Allocator(["a", "b"], 9, warm_start=tmp_path / "may.db", store=tmp_path / "run.db") as allocator:
        assert (allocator.taken_over, allocator.rewards("a")) == ("", known)
    with Allocator(["a", "b"], 9, store=tmp_path / "run.db", warm_start={"a": known, "b": known}) as allocator:
        assert allocator.taken_over == "", "what was read may be said"


def test_what_is_another_arm(caplog: pytest.LogCaptureFixture) -> None:
    task = EarlierTask("may", {"a": [0.1, 0.2], "b": [0.3, math.nan, 0.4]}, {"a": {"lr": 0.1}, "b": {"lr": 0.2}})
    assert read_history(task, ["a", "b"], {"a": {"lr": 0.5}, "b": {"lr": 0.2, "opt": "sgd"}}) == {"b": [0.3]}
    assert "a in may is another arm, because its settings differ." in caplog.text
    assert read_history(task, ["x"]) == {}
    assert "the earlier runs have no rewards of the arms of this one." in caplog.text


def test_an_optuna_study() -> None:
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))

    def objective(trial: Any) -> float:
        rate = trial.suggest_categorical("lr", [0.5, 0.25])
        for step in range(3):
            trial.report(rate * (step + 1) / 4, step)
        return float(rate)

    study.optimize(objective, n_trials=6)
    rates = [trial.params["lr"] for trial in study.trials]
    assert set(rates) == {0.5, 0.25}
    curve = [0.125, 0.25, 0.375]
    assert read_history(study, ["fast", "slow"], {"fast": {"lr": 0.5}, "slow": {"lr": 0.125}}) == {"fast": curve}
    number = rates.index(0.5)
    assert read_history({"june": study}, [f"trial {number}"]) == {f"trial {number}": curve}
    allocator = Allocator(["fast"], 5, warm_start=study, configs={"fast": {"lr": 0.5}})
    assert allocator.rewards("fast") == curve


@pytest.mark.parametrize(
    ("sources", "complaint"),
    [
        (3, r"warm_start must be a store, a file, .* got 3."),
        ("none.csv", "none.csv does not exist."),
        ("gone.db", "gone.db does not exist."),
        ([{"a": 3}], r"warm_start must have rewards of earlier pulls, got scores, \{'a': 3.0\}."),
        ({"a": 3}, "warm_start of a must be rewards, got 3."),
    ],
)
def test_mistakes(sources: Any, complaint: str) -> None:
    with pytest.raises(RisingBanditsError, match=complaint):
        Allocator(["a"], 5, warm_start=sources)


def test_neither_the_run_itself_nor_one_of_the_other_direction(tmp_path: Path) -> None:
    earlier(tmp_path / "losses.db", ["a"], 3, "minimize")
    with pytest.raises(RisingBanditsError, match="whose direction is 'maximize', got losses, where it is 'minimize'"):
        Allocator(["a"], 5, warm_start=tmp_path / "losses.db")
    earlier(tmp_path / "run.db", ["a"], 3)
    with pytest.raises(
        RisingBanditsError, match="warm_start must not be the store of this run or a copy of it, got run"
    ):
        Allocator(["a", "b"], 3, policy="round-robin", warm_start=tmp_path / "run.db", store=tmp_path / "run.db")
