"""Databases and folders of tracking tools, written by the tools themselves where they are installed."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from pathlib import Path

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from risingbandits import RisingBanditsError
from risingbandits.logs import read_runs


@pytest.mark.parametrize("form", ["database", "journal"])
def test_trials_of_optuna(tmp_path: Path, form: str) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    path = tmp_path / "study"
    journal = JournalStorage(JournalFileBackend(str(path))) if form == "journal" else None
    study = optuna.create_study(storage=journal or f"sqlite:///{path}", direction="minimize", study_name="nets")

    def train(trial: optuna.Trial) -> float:
        rate = trial.suggest_float("lr", 0.125, 0.125)
        trial.suggest_categorical("opt", ["adam", "sgd"])
        for step in range(3):
            trial.report(math.nan if trial.number == 1 and step == 2 else rate / (step + 1), step)
        if trial.number == 2:
            raise optuna.TrialPruned
        return rate

    for _ in range(3):
        study.enqueue_trial({"lr": 0.125, "opt": "sgd"})
    study.optimize(train, n_trials=3)
    study.enqueue_trial({"lr": 0.125, "opt": "sgd"})
    found = read_runs(path)
    assert [run.name for run in found.runs] == ["trial 0", "trial 1", "trial 2"]
    assert found.runs[0].metrics["value"].values.tolist() == [0.125, 0.0625, 0.125 / 3]
    assert math.isnan(found.runs[1].metrics["value"].values[2])
    assert found.runs[2].settings == {"lr": 0.125, "opt": "sgd"}
    assert {run.direction for run in found.runs} == {"minimize"}
    assert {run.task for run in found.runs} == {""}
    second = optuna.create_study(storage=journal or f"sqlite:///{path}", direction="minimize", study_name="trees")
    second.optimize(train, n_trials=1)
    both = [(run.name, run.task) for run in read_runs(path).runs]
    assert both[2:] == [("nets, trial 2", "nets"), ("trees, trial 0", "trees")]


def test_a_journal_of_optuna_that_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    whole = '{"op_code": 0, "worker_id": "w", "study_name": "s", "directions": [2]}\n'
    for line in (
        '{"op_code": 7, "worker_id": "w", "trial_id": 3, "step": 0, "intermediate_value": 0.5}',
        '{"op_code": 4, "worker_id": "w"}',
        '{"op_code": 0, "worker_id": "w", "study_name": "s", "directions": 7}',
    ):
        path.write_text(whole + line + "\n" + whole)
        with pytest.raises(RisingBanditsError, match=r"is damaged: one of its lines is not from an Optuna journal\.$"):
            read_runs(path)


def mlflow_folder(folder: Path) -> Path:
    """A run as MLflow writes it to files."""
    for name in ("metrics/eval", "params", "tags"):
        (folder / name).mkdir(parents=True)
    (folder / "meta.yaml").write_text("lifecycle_stage: active\n")
    (folder / "metrics" / "loss").write_text("1700000000000 2.0 0\n1700000060000 1.5 1\n")
    (folder / "metrics" / "eval" / "acc").write_text("1700000000000 0.25 0\n1700000060000 nan 1\n")
    (folder / "params" / "lr").write_text("0.01")
    (folder / "params" / "opt").write_text("adam")
    (folder / "tags" / "mlflow.runName").write_text("calm-fox-7")
    return folder


def test_the_folder_of_mlflow(tmp_path: Path) -> None:
    mlflow_folder(tmp_path / "mlruns" / "0" / "f00")
    [run] = read_runs(tmp_path / "mlruns").runs
    assert (run.name, run.kind, run.settings) == ("calm-fox-7", "MLflow", {"lr": 0.01, "opt": "adam"})
    assert run.metrics["loss"].values.tolist() == [2.0, 1.5]
    assert run.metrics["loss"].seconds is not None
    assert math.isnan(run.metrics["eval/acc"].values[1])
    (tmp_path / "mlruns" / "0" / "f00" / "metrics" / "loss").write_text("x y\n")
    with pytest.raises(RisingBanditsError, match="line 1 must be time, value and step, got 'x y'"):
        read_runs(tmp_path / "mlruns")


def test_the_database_of_mlflow(tmp_path: Path) -> None:
    path = tmp_path / "mlflow.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """
            CREATE TABLE runs (run_uuid TEXT, name TEXT, start_time INTEGER, lifecycle_stage TEXT);
            CREATE TABLE metrics (key TEXT, value REAL, timestamp INTEGER, run_uuid TEXT, step INTEGER, is_nan INTEGER);
            CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);
            INSERT INTO runs VALUES ('u1', 'one', 5, 'active'), ('u2', NULL, 6, 'active'), ('u3', 'gone', 7, 'deleted');
            INSERT INTO metrics VALUES ('acc', 0.5, 2000, 'u1', 1, 0), ('acc', 0.25, 1000, 'u1', 0, 0),
                ('acc', 0, 3000, 'u1', 2, 1), ('acc', 0.75, 1000, 'u2', 0, 0), ('acc', 0.9, 1000, 'u3', 0, 0);
            INSERT INTO params VALUES ('lr', '0.5', 'u1');
            """
        )
        connection.commit()
    first, second = read_runs(path).runs
    assert (first.name, second.name, first.settings) == ("one", "u2", {"lr": 0.5})
    assert first.metrics["acc"].values[:2].tolist() == [0.25, 0.5]
    assert math.isnan(first.metrics["acc"].values[2])


def test_a_database_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE birds (name TEXT)")
    with pytest.raises(RisingBanditsError, match="must be a log that can be read"):
        read_runs(path)
    path.write_bytes(b"SQLite format 3\0" + b"\1" * 200)
    with pytest.raises(RisingBanditsError, match=r"other.db cannot be read: .*\.$"):
        read_runs(path)
