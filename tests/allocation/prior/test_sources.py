"""Earlier tasks are read from stores, files, studies and mappings."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from risingbandits import Allocator, RisingBanditsError
from risingbandits.allocation.prior.csv_tasks import csv_tasks
from risingbandits.allocation.prior.sources import read_sources, study_task
from risingbandits.allocation.prior.store_tasks import ledger_task, store_identity, store_task
from risingbandits.allocation.prior.tasks import EarlierTask, known_settings
from risingbandits.allocation.settings import Settings
from risingbandits.allocation.stores.memory import MemoryStore


def curves(task: EarlierTask) -> dict[str, list[float]]:
    return {arm: list(curve) for arm, curve in task.curves.items()}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two arms with curves, one that failed, one retired by request, one that was never opened."""
    path = tmp_path / "may.db"
    arms = ["a", "b", "broken", "enough", "never"]
    given: Any = {"direction": "minimize", "policy": "round-robin", "max_arms": 4, "retries": 2}
    with Allocator(arms, budget=12, store=path, warm_start={"a": [0.9]}, **given) as allocator:
        allocator.retire("never", "not needed")
        for pull in allocator:
            if pull.arm == "broken":
                allocator.fail(pull, "no luck")
            else:
                allocator.tell(pull, 0.5 / pull.n)
            if allocator.spent == 5:
                allocator.retire("enough", "failed to please")
    return path


def test_a_store(store: Path) -> None:
    task = store_task(store)
    with Allocator.open(store) as allocator:
        told = {arm: allocator.rewards(arm) for arm in ("a", "b", "broken", "enough", "never")}
        again = ledger_task("may", allocator.ledger)
    assert curves(task) == curves(again) == told
    assert told["a"][:2] == [0.9, 0.25]
    assert (task.name, task.direction, set(task.failed)) == ("may", "minimize", {"broken"})
    assert again.failed == task.failed
    assert task.arms == ["a", "b", "broken", "enough"]
    gains = dict(zip(task.arms, task.gains(), strict=True))
    assert math.isnan(gains["broken"][0])
    assert gains["b"][0] == -0.5


def test_settings_of_arms_in_a_store() -> None:
    store = MemoryStore()
    configs = {"a": {"lr": 0.1, "depth": "None"}}
    store.create(Settings.make(arms=["a", "b"], budget=3, configs=configs).to_json())
    assert store_task(store).settings == {"a": {"lr": 0.1, "depth": None}}
    damaged = MemoryStore()
    damaged.create('{"direction": "maximize"}')
    with pytest.raises(RisingBanditsError, match=r"the settings in memory are damaged \(KeyError\)\."):
        store_task(damaged)


def test_the_present_store_and_its_copies_are_refused(store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(store, copy)
    with Allocator(["a", "b", "c"], budget=6, store=tmp_path / "today.db") as allocator:
        for pull in allocator:
            allocator.tell(pull, 0.5)
        assert read_sources(store, present=allocator.store).tasks[0].name == "may"
        with pytest.raises(RisingBanditsError, match=r"store of this run or a copy of it, got .*today"):
            read_sources([allocator.store], present=tmp_path / "today.db")
    assert store_identity(copy) == store_identity(store) != store_identity(tmp_path / "today.db")
    with pytest.raises(RisingBanditsError, match="prior must not be the store of this run or a copy of it, got copy"):
        read_sources(copy, present=store)
    assert [task.name for task in read_sources(f"{tmp_path}/*.db", present=store).tasks] == ["today"]
    assert [task.name for task in read_sources(f"{tmp_path}/*", present="new.db").tasks] == ["copy", "today"]
    assert store_identity(MemoryStore()) is None


def test_stores_of_both_kinds(place: str) -> None:
    with Allocator(["a", "b", "c"], budget=6, policy="round-robin", store=place) as allocator:
        for pull in allocator:
            allocator.tell(pull, 0.1 * pull.n)
    [task] = read_sources(place).tasks
    assert curves(task) == {arm: [0.1, 0.2] for arm in "abc"}
    with pytest.raises(RisingBanditsError, match="prior must not be the store of this run"):
        read_sources(place, present=place)


def test_long_form(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(
        "\ufefftask,arm,step,value,lr,opt\n"
        "may,a,10,0.5,0.1,adam\n\nmay,a,2,0.4,0.1,adam\nmay,b,1,nan,1e-3,\njune,a,1,0.3,0.1,adam\n"
    )
    may, june = csv_tasks(path, "minimize")
    assert (may.name, may.direction, june.name, june.arms) == ("may", "minimize", "june", ["a"])
    assert curves(may)["a"] == [0.4, 0.5]
    assert math.isnan(curves(may)["b"][0])
    assert may.settings == {"a": {"lr": 0.1, "opt": "adam"}, "b": {"lr": 0.001, "opt": None}}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("task,arm,value\nt,a,1\n", "must have the columns task, arm, step, value, of which step is missing."),
        ("task,arm,step,value\nt,a,1,0.5\nt,a,2,high\n", "line 3, value must be a number, got 'high'."),
        ("task,arm,step,value\nt,a,one,0.5\n", "line 2, step must be a number, got 'one'."),
        ("task,arm,step,value\nt,a,1,0.5\nt,a,1,0.6\n", "line 3, step must be a new number for a in t, got 1."),
        ("task,arm,step,value\n,a,1,0.5\n", "line 2, task and arm must be given, got '' and 'a'."),
        ("task,arm,step,value\nt,a,1\n", "line 2, value must be a number, got ''."),
        ("task,arm,step,value,lr,lr\n", "line 1 must have different names of columns"),
        (
            "task,arm,step,value,lr\nt,a,1,1,0.1\nt,a,2,1,0.2\n",
            "line 3, lr must be the same for all steps of a in t, got 0.2 after 0.1.",
        ),
    ],
)
def test_mistakes_in_long_form(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(text)
    with pytest.raises(RisingBanditsError) as error:
        csv_tasks(path)
    assert sentence in str(error.value)
    assert str(error.value).startswith(str(path))


def test_wide_form_and_files_that_are_no_csv(tmp_path: Path) -> None:
    path = tmp_path / "june.csv"
    path.write_text("a,b\n0.1,0.2\n0.3,\n")
    [task] = read_sources(str(path), "minimize").tasks
    assert (task.name, curves(task), task.direction) == ("june", {"a": [0.1, 0.3], "b": [0.2]}, "minimize")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(RisingBanditsError, match="is not a CSV file in UTF-8"):
        csv_tasks(path)
    with pytest.raises(RisingBanditsError, match="cannot be read: No such file"):
        csv_tasks(tmp_path / "none.csv")


def test_mappings_and_lists(tmp_path: Path) -> None:
    task = EarlierTask("t", {"a": [1.0]})
    found = read_sources([{"one": {"a": [0.1], "b": (0.2, 0.3)}, "two": {"a": []}}, {"a": 2, "b": 1}, task], "minimize")
    assert [task.name for task in found.tasks] == ["one", "two", "t"]
    assert found.tasks[0].direction == "minimize"
    assert found.scores == [{"a": -2.0, "b": -1.0}]
    assert found.tasks[1].arms == []


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (3, "prior must be a store, a file, a folder, an Optuna study, .* got 3."),
        ("", "prior must be a store, .* got ''."),
        ({}, "prior must be a store, .* got {}."),
        ({"a": 1, "b": [1]}, "prior must be a store, "),
        ({"a": math.nan}, "score of a must be a finite number, got nan."),
        ({"t": {"a": 0.5}}, "t, a must be a list of numbers, got 0.5."),
        ({"t": {"a": ["x"]}}, r"t, a must be a list of numbers, got \['x'\]."),
        ("none*.db", "prior must name files that exist, nothing matches 'none\\*.db'."),
        ("none.db", "none.db does not exist."),
    ],
)
def test_what_is_no_source(source: Any, sentence: str) -> None:
    with pytest.raises(RisingBanditsError, match=sentence):
        read_sources(source)


def test_what_is_no_task() -> None:
    with pytest.raises(RisingBanditsError, match="direction must be one of maximize, minimize; got 'up'"):
        EarlierTask("t", {}, direction="up")
    with pytest.raises(RisingBanditsError, match="s must be a mapping of names to numbers or strings, got 3"):
        known_settings("s", 3)


def test_optuna_studies() -> None:
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="minimize", study_name="may")

    def objective(trial: Any) -> float:
        x = float(trial.suggest_float("x", 0.0, 1.0))
        trial.suggest_categorical("kind", ["a", "b"])
        for step in range(3):
            trial.report(x + 3 - step, step)
            if trial.number == 1:
                raise optuna.TrialPruned
        if trial.number == 2:
            raise RuntimeError
        return x

    study.optimize(objective, n_trials=4, catch=(RuntimeError,))
    task = study_task(study)
    assert (task.name, task.direction) == ("may", "minimize")
    assert [len(curve) for curve in curves(task).values()] == [3, 1, 3]
    assert task.arms == ["trial 0", "trial 1", "trial 3"]
    assert not any(task.means_the_same(arm) for arm in task.arms)
    assert task.settings["trial 0"] == study.trials[0].params

    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=1)  # no curve: final values of all
    [named] = read_sources({"june": study}).tasks
    assert named.name == "june"
    assert [len(curve) for curve in curves(named).values()] == [1, 1, 1, 1]
    assert curves(named)["trial 0"] == [study.trials[0].value]
    assert curves(named)["trial 1"] == [study.trials[1].intermediate_values[0]]

    with pytest.raises(RisingBanditsError, match="study two must have one objective, got 2"):
        study_task(optuna.create_study(directions=["minimize", "minimize"], study_name="two"))
