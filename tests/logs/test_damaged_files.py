"""Files that are damaged, cut off or of something else: they are read, or give one sentence, and never a traceback."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tensorboardX import SummaryWriter

from risingbandits import RisingBanditsError
from risingbandits.logs import curves_of, read_runs


def comma_separated(path: Path) -> None:
    path.write_text("run,step,acc\n" + "".join(f"{run},{n},{0.1 * n}\n" for run in "ab" for n in range(1, 9)))


def columns(path: Path) -> None:
    path.write_text("small,large\n" + "".join(f"{0.1 * n},{0.2 * n}\n" for n in range(1, 9)))


def export(path: Path) -> None:
    path.write_text("Step,a - acc,a - acc__MIN,b - acc\n" + "".join(f"{n},0.{n},0.1,0.2\n" for n in range(1, 9)))


def json_lines(path: Path) -> None:
    path.write_text(
        "".join(json.dumps({"training_iteration": n, "acc": n / 9, "config": {"lr": 1}}) + "\n" for n in range(8))
    )


def trainer_state(path: Path) -> None:
    path.write_text(json.dumps({"log_history": [{"step": n, "loss": 1 / n} for n in range(1, 9)], "epoch": 2}))


def mlflow_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """
            CREATE TABLE runs (run_uuid TEXT, name TEXT, start_time INTEGER, lifecycle_stage TEXT);
            CREATE TABLE metrics (key TEXT, value REAL, timestamp INTEGER, run_uuid TEXT, step INTEGER, is_nan INTEGER);
            CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);
            INSERT INTO runs VALUES ('u1', 'one', 5, 'active');
            INSERT INTO metrics VALUES ('acc', 0.5, 2000, 'u1', 1, 0), ('acc', 0.25, 1000, 'u1', 0, 0);
            INSERT INTO params VALUES ('lr', '0.5', 'u1');
            """
        )


def optuna_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """
            CREATE TABLE studies (study_id INTEGER, study_name TEXT);
            CREATE TABLE study_directions (study_id INTEGER, direction TEXT, objective INTEGER);
            CREATE TABLE trials (trial_id INTEGER, number INTEGER, study_id INTEGER);
            CREATE TABLE trial_intermediate_values
                (trial_id INTEGER, step INTEGER, intermediate_value REAL, intermediate_value_type TEXT);
            CREATE TABLE trial_params (trial_id INTEGER, param_name TEXT, param_value REAL, distribution_json TEXT);
            INSERT INTO studies VALUES (1, 's');
            INSERT INTO study_directions VALUES (1, 'MAXIMIZE', 0);
            INSERT INTO trials VALUES (1, 0, 1);
            INSERT INTO trial_intermediate_values VALUES (1, 0, 0.5, 'FINITE'), (1, 1, 0.75, 'FINITE');
            INSERT INTO trial_params VALUES (1, 'opt', 0, '{"name": "CategoricalDistribution",
                "attributes": {"choices": ["sgd"]}}');
            """
        )


def event_file(path: Path) -> None:
    with SummaryWriter(str(path.parent / "made")) as writer:
        for n in range(8):
            writer.add_scalar("acc", 0.1 * n, n)
    [made] = (path.parent / "made").iterdir()
    path.write_bytes(made.read_bytes())
    made.unlink()


def parquet(path: Path) -> None:
    pd.DataFrame({"run": ["a", "a", "b"], "step": [1, 2, 1], "acc": [0.25, 0.5, 0.5]}).to_parquet(path)


MAKERS = [
    comma_separated, columns, export, json_lines, trainer_state, mlflow_database, optuna_database, event_file, parquet,
]  # fmt: skip


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes changed, cut off, swapped, repeated, or replaced by what breaks readers of text."""
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 6))):
        at, other = sorted(rng.integers(0, max(len(changed), 1), 2).tolist())
        kind = int(rng.integers(5))
        if kind == 0 and changed:
            changed[at] ^= int(rng.integers(1, 256))
        elif kind == 1:
            del changed[other:]
        elif kind == 2:
            changed[at:at], changed[other:other] = changed[other : other + 9], changed[at : at + 9]
        elif kind == 3:
            del changed[at : at + int(rng.integers(1, 12))]
        else:
            texts = (b"\0", b"\xff", b'"', b"\n", b",", b"{", b"[1]", b"null", b"1e999", b"nan", b"-9", b"x")
            changed[at:at] = texts[int(rng.integers(len(texts)))]
    return bytes(changed)


@pytest.mark.parametrize("make", MAKERS)
def test_damage_gives_runs_or_one_sentence(make: Callable[[Path], None], tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    make(whole)
    content = whole.read_bytes()
    assert read_runs(whole).runs, "the file is one that can be read"
    rng = np.random.default_rng(11)
    path = tmp_path / "log.csv"
    refused = []
    for _ in range(60):
        path.write_bytes(damaged(content, rng))
        try:
            found = read_runs(path)
            assert found.runs
            curves_of(found, found.metrics[0], "maximize")
        except RisingBanditsError as error:
            refused.append(str(error))
    assert len(refused) > 5
    assert [text for text in refused if not text.endswith(".") or "\n" in text or len(text) > 1000] == []


@pytest.mark.parametrize("seed", range(3))
def test_a_folder_with_damaged_files_has_the_others(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    for make in MAKERS:
        make(tmp_path / "whole")
        content = (tmp_path / "whole").read_bytes()
        (tmp_path / "whole").unlink()
        (tmp_path / f"{make.__name__}.bin").write_bytes(damaged(content, rng))
    (tmp_path / "made").rmdir()
    (tmp_path / "good.csv").write_text("epoch,acc\n0,0.1\n1,0.2\n")
    found = read_runs(tmp_path)
    assert "good" in [run.name for run in found.runs]
    assert all("\n" not in note for note in found.notes)
