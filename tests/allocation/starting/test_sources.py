"""Earlier tasks are read from stores, files, studies and mappings."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from risingbandits import Allocator, Execution, RisingBanditsError
from risingbandits.allocation.settings import Settings
from risingbandits.allocation.starting.earlier_runs import (
    EarlierTask,
    Reading,
    Summary,
    logged_tasks,
    read_sources,
    store_task,
    study_task,
)
from risingbandits.allocation.stores._memory import MemoryStore
from risingbandits.policies._config_points import plain_config


def order(run: Summary) -> list[str]:
    """The arms, the best first."""
    return sorted(run.scores, key=lambda arm: -run.scores[arm][0])


def curves(task: EarlierTask) -> dict[str, list[float]]:
    return {arm: list(curve) for arm, curve in task.curves.items()}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two arms with curves, one that failed, one retired by request, one that was never opened."""
    path = tmp_path / "may.db"
    arms = ["a", "b", "broken", "enough", "never"]
    given: Any = {"direction": "minimize", "policy": "round-robin", "execution": Execution(retries=2)}
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
    assert curves(task) == told
    assert told["a"][:2] == [0.9, 0.25]
    assert (task.name, task.direction, set(task.failed)) == ("may", "minimize", {"broken"})
    run = task.summary()
    assert sorted(run.scores) == ["a", "b", "broken", "enough"]
    assert order(run)[-1] == "broken"
    assert (run.name, run.pulls, run.longest) == ("may", sum(map(len, told.values())), len(told["a"]))


def test_configs_of_arms_in_a_store() -> None:
    store = MemoryStore()
    configs = {"a": {"lr": 0.1, "depth": "None"}}
    store.create(Settings.make(arms=["a", "b"], budget=3, configs=configs).to_json())
    assert store_task(store).configs == {"a": {"lr": 0.1, "depth": None}}
    damaged = MemoryStore()
    damaged.create('{"direction": "maximize"}')
    with pytest.raises(RisingBanditsError, match=r"the settings in memory are damaged \(KeyError\)\."):
        store_task(damaged)


def test_a_run_and_its_copies_count_once_at_the_furthest_point(store: Path, tmp_path: Path) -> None:
    shutil.copy(store, tmp_path / "copy.db")
    with Allocator.open(store) as allocator:
        allocator.extend(budget=20)
        for pull in allocator:
            allocator.tell(pull, 0.1)
    [run] = read_sources([tmp_path / "copy.db", store])
    assert (run.name, run.pulls) == ("may", 21)
    assert [run.name for run in read_sources(f"{tmp_path}/*.db")] == ["may"]
    with pytest.raises(RisingBanditsError, match=r"nowhere\.db does not exist"):
        read_sources(tmp_path / "nowhere.db")


def test_stores_of_both_kinds(place: str) -> None:
    with Allocator(["a", "b", "c"], budget=6, policy="round-robin", store=place) as allocator:
        for pull in allocator:
            allocator.tell(pull, 0.1 * pull.n)
        assert [run.pulls for run in read_sources(allocator.store)] == [6]
    [run] = read_sources(place)
    assert (run.pulls, run.longest, set(run.scores)) == (6, 2, set("abc"))
    assert curves(store_task(place)) == {arm: [0.1, 0.2] for arm in "abc"}


def test_long_form(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(
        "\ufefftask,arm,step,value,lr,opt\n"
        "may,a,2,0.4,0.1,adam\n\nmay,a,10,0.5,0.1,adam\nmay,b,1,nan,1e-3,\njune,a,1,0.3,0.1,adam\n"
    )
    may, june = logged_tasks(path, Reading("minimize"))
    assert (may.name, may.direction, june.name, list(june.curves)) == ("may", "minimize", "june", ["a"])
    assert curves(may)["a"] == [0.4, 0.5]
    assert may.failed == {"b"}
    assert may.configs == {"a": {"lr": 0.1, "opt": "adam"}, "b": {"lr": 0.001, "opt": None}}
    path.write_text("task,arm,step,value\nt,a,1,0.5\nt,a,one,0.6\n")
    with pytest.raises(RisingBanditsError, match="column step must have numbers, got 'one'"):
        read_sources(path)


@pytest.mark.parametrize(
    ("falls", "how", "direction"),
    [
        (False, Reading(otherwise="minimize"), "maximize"),
        (True, Reading(otherwise="maximize"), "minimize"),
        (True, Reading("maximize"), "maximize"),
    ],
)
def test_a_table_says_its_direction_unless_it_is_told(
    tmp_path: Path, falls: bool, how: Reading, direction: str
) -> None:
    path = tmp_path / "june.csv"
    path.write_text("a,b\n0.3,0.4\n0.1,0.2\n" if falls else "a,b\n0.1,0.2\n0.3,0.4\n")
    [run] = read_sources(str(path), how)
    assert (run.name, run.direction) == ("june", direction)


def test_a_table_that_does_not_say_its_direction_has_that_of_the_run(tmp_path: Path) -> None:
    path = tmp_path / "flat.csv"
    path.write_text("a,b\n0.3,0.4\n0.3,0.4\n")
    found = [order(read_sources(path, Reading(otherwise=way))[0]) for way in ("maximize", "minimize")]
    assert found == [["b", "a"], ["a", "b"]]
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(RisingBanditsError, match="is not a CSV file in UTF-8"):
        read_sources(path)


def test_mappings_and_lists() -> None:
    task = EarlierTask("t", {"a": [1.0]})
    several = ({"one": {"a": [0.1], "b": (0.2, 0.3)}, "two": {"a": []}}, {"a": 2, "b": 1}, task)
    found = read_sources(several, Reading(otherwise="minimize"))
    assert [run.name for run in found] == ["one", "two", "t", "scores"]
    assert found[0].direction == "minimize"
    assert found[3].scores == {
        "b": [pytest.approx(0.674, abs=1e-3), math.inf],
        "a": [pytest.approx(-0.674, abs=1e-3), math.inf],
    }
    assert found[1].scores == {}


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (3, "prior must be a store, a folder, a file, an Optuna study, .* got 3."),
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
        plain_config(3, "s")


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
    assert list(task.curves) == ["trial 0", "trial 1", "trial 3"]
    assert not any(task.summary().means_the_same(arm) for arm in task.curves)
    assert task.configs["trial 0"] == study.trials[0].params

    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=1)  # no curve: final values of all
    named = study_task(study, "june")
    assert [run.name for run in read_sources({"june": study})] == [named.name]
    assert [len(curve) for curve in curves(named).values()] == [1, 1, 1, 1]
    assert curves(named)["trial 0"] == [study.trials[0].value]
    assert curves(named)["trial 1"] == [study.trials[1].intermediate_values[0]]

    with pytest.raises(RisingBanditsError, match="study two must have one objective, got 2"):
        study_task(optuna.create_study(directions=["minimize", "minimize"], study_name="two"))


def test_a_folder_of_logs(tmp_path: Path) -> None:
    for name, top in (("lr=0.1", 0.5), ("lr=0.2", 0.7), ("lr=0.4", 0.9)):
        folder = tmp_path / "logs" / name
        folder.mkdir(parents=True)
        lines = [f"{n},{top + 1 / n},{top - 1 / n}" for n in range(1, 9)]
        (folder / "metrics.csv").write_text("\n".join(["epoch,val_loss,val_acc", *lines]))
    [run] = read_sources(tmp_path / "logs", Reading(metric="val_loss"))
    assert (run.direction, order(run), run.longest) == ("minimize", ["lr=0.1", "lr=0.2", "lr=0.4"], 8)
    [again] = read_sources([tmp_path / "logs"], Reading(metric="val_acc"))
    assert order(again) == order(run)[::-1]
    with pytest.raises(RisingBanditsError, match="metric must be given"):
        read_sources(tmp_path / "logs")


def test_a_folder_of_stores_leaves_out_what_lies_beside_them(store: Path, tmp_path: Path) -> None:
    (tmp_path / "may.logs").mkdir()
    (tmp_path / "may.logs" / "a.csv").write_text("step,loss\n1,0.5\n2,0.4\n")
    (tmp_path / "deeper").mkdir()
    shutil.move(store, tmp_path / "deeper" / "may.db")
    (tmp_path / "notes.txt").write_text("hello")
    assert [run.name for run in read_sources(tmp_path)] == ["may"]


def test_runs_with_few_pulls_and_few_arms_count_less() -> None:
    long = {arm: [place / 10.0] * 20 for place, arm in enumerate("abcdef")}
    short = {arm: curve[:1] if arm != "a" else curve for arm, curve in long.items()}
    few = {arm: long[arm] for arm in "abc"}
    far = {name: EarlierTask(name, curves).summary() for name, curves in (("l", long), ("s", short), ("f", few))}
    compared = {name: [how_far for _, how_far in run.scores.values()] for name, run in far.items()}
    assert min(compared["l"]) > max(compared["f"]) > max(compared["s"])
    slow = [math.log(2) * 5 / 6] * 6  # every comparison of the short run is after one pull
    assert compared["s"] == pytest.approx(slow)


def test_hyperparameters_in_logs_are_configs(tmp_path: Path) -> None:
    for number in range(3):
        run = tmp_path / "mlruns" / str(number)
        for part, name, text in (
            ("metrics", "acc", f"1 0.{number} 1\n2 0.{number + 1} 2\n"),
            ("params", "lr", f"0.{number + 1}"),
            ("params", "opt", "adam"),
        ):
            (run / part).mkdir(parents=True, exist_ok=True)
            (run / part / name).write_text(text)
        (run / "meta.yaml").write_text("")
    [found] = read_sources(tmp_path / "mlruns")
    assert found.configs["2"] == {"lr": 0.3, "opt": "adam"}
    assert order(found) == ["2", "1", "0"]


def test_configs_that_names_spell_out_are_those_of_earlier_arms(tmp_path: Path) -> None:
    names = [f"net lr={lr},wd=1e-4" for lr in (0.1, 0.2, 0.4)]
    with Allocator(names, budget=3, policy="round-robin", store=tmp_path / "run.db") as allocator:
        for pull in allocator:
            allocator.tell(pull, 0.5)
    assert store_task(tmp_path / "run.db").configs["net lr=0.2,wd=1e-4"] == {"lr": 0.2, "wd": 1e-4}
