"""Runs in databases and folders of tracking tools: MLflow, Optuna; and what a Hugging Face trainer leaves."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError
from risingbandits.logs._columns import number_in, setting_in
from risingbandits.logs.runs import Point, Recording, Value

# -- SQLite ------------------------------------------------------------------------------------------------------------


@contextmanager
def database(path: Path) -> Iterator[sqlite3.Connection]:
    """A database that is only read."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise RisingBanditsError(f"{path} cannot be read: {' '.join(str(error).split())}.") from error
    except RisingBanditsError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:  # cells of other types
        raise RisingBanditsError(f"{path} is damaged: one of its tables has cells of the wrong type.") from error


def tables_in(path: Path) -> set[str]:
    """The names of the tables of a database."""
    with database(path) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def add_mlflow_database(path: Path, into: Recording) -> None:
    """The runs in the database of an MLflow server; runs that were deleted are left out."""
    with database(path) as connection:
        runs = connection.execute(
            "SELECT run_uuid, name FROM runs WHERE lifecycle_stage = 'active' ORDER BY start_time, run_uuid"
        ).fetchall()
        for run, name in runs:
            points: dict[str, list[Point]] = {}
            for key, step, value, is_nan, time in connection.execute(
                "SELECT key, step, value, is_nan, timestamp FROM metrics WHERE run_uuid = ? ORDER BY timestamp, step",
                (run,),
            ):
                own = points.setdefault(key, [])
                own.append((float(step), math.nan if is_nan else float(value), time / 1000.0))
            given = connection.execute("SELECT key, value FROM params WHERE run_uuid = ?", (run,))
            settings = {key: setting_in(value) for key, value in given}
            into.add_log(name or run, points, settings, source=path, kind="MLflow")


def add_optuna_database(path: Path, into: Recording) -> None:
    """The trials with intermediate values of the studies in an Optuna database."""
    with database(path) as connection:
        studies = connection.execute(
            "SELECT s.study_id, s.study_name, d.direction FROM studies s JOIN study_directions d USING (study_id) "
            "WHERE d.objective = 0 ORDER BY s.study_id"
        ).fetchall()
        for study, study_name, direction in studies:
            for trial, number in connection.execute(
                "SELECT trial_id, number FROM trials WHERE study_id = ? ORDER BY number", (study,)
            ).fetchall():
                rows = connection.execute(
                    "SELECT step, intermediate_value, intermediate_value_type FROM trial_intermediate_values "
                    "WHERE trial_id = ?",
                    (trial,),
                )
                points: list[Point] = [(float(step), _intermediate(value, kind), None) for step, value, kind in rows]
                given = connection.execute(
                    "SELECT param_name, param_value, distribution_json FROM trial_params WHERE trial_id = ?", (trial,)
                )
                settings = {name: _parameter(value, text) for name, value, text in given}
                task = "" if len(studies) == 1 else study_name
                _add_trial(path, task, direction.lower(), number, settings, points, into)


def _add_trial(
    path: Path,
    task: str,
    direction: str | None,
    number: int,
    settings: Mapping[str, Value],
    points: Sequence[Point],
    into: Recording,
) -> None:
    """A trial of Optuna, if it has intermediate values; ``task`` is the name of its study where there are several."""
    if points:
        name = f"{task}, trial {number}" if task else f"trial {number}"
        values = {"value": sorted(points, key=lambda point: point[0])}
        into.add_log(name, values, settings, source=path, kind="Optuna", direction=direction, task=task)


# What a line of Optuna's journal does.
_CREATE_STUDY, _DELETE_STUDY, _CREATE_TRIAL, _SET_PARAMETER, _REPORT = 0, 1, 4, 5, 7


def is_optuna_journal(row: Mapping[str, Any]) -> bool:
    """Whether the first line of a file is one of an Optuna journal."""
    return "op_code" in row and "worker_id" in row


def add_optuna_journal(path: Path, rows: Sequence[Mapping[str, Any]], into: Recording) -> None:
    """The trials with intermediate values of the studies in an Optuna journal."""
    studies: list[tuple[str, str]] = []
    deleted = set()
    trials: list[tuple[int, int, dict[str, Value], list[Point]]] = []  # study, number in it, settings, points
    try:
        for row in rows:
            code = row["op_code"]
            if code == _CREATE_STUDY:
                studies.append((str(row["study_name"]), {1: "minimize", 2: "maximize"}.get(row["directions"][0], "")))
            elif code == _DELETE_STUDY:
                deleted.add(row["study_id"])
            elif code == _CREATE_TRIAL:
                number = sum(trial[0] == row["study_id"] for trial in trials)
                trials.append((row["study_id"], number, {}, []))
            elif code == _SET_PARAMETER:
                value = _parameter(float(row["param_value_internal"]), row["distribution"])
                trials[row["trial_id"]][2][str(row["param_name"])] = value
            elif code == _REPORT:
                trials[row["trial_id"]][3].append((float(row["step"]), float(row["intermediate_value"]), None))
        for study, number, settings, points in trials:
            name, direction = studies[study]
            task = "" if len(studies) - len(deleted) == 1 else name
            if study not in deleted:
                _add_trial(path, task, direction or None, number, settings, points, into)
    except RisingBanditsError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise RisingBanditsError(f"{path} is damaged: one of its lines is not from an Optuna journal.") from error


def _intermediate(value: float | None, kind: str) -> float:
    return {"INF_POS": math.inf, "INF_NEG": -math.inf}.get(kind, math.nan if value is None else float(value))


def _parameter(value: float, distribution: str) -> Value:
    known = json.loads(distribution)
    if known.get("name") == "CategoricalDistribution":
        choice = known["attributes"]["choices"][int(value)]
        if choice is None or isinstance(choice, str):
            return choice
        return str(choice) if isinstance(choice, bool) else float(choice)
    return float(value)


# -- folders -----------------------------------------------------------------------------------------------------------


def is_mlflow_run(folder: Path) -> bool:
    """Whether a folder is a run in the files of MLflow."""
    return (folder / "meta.yaml").is_file() and (folder / "metrics").is_dir() and (folder / "params").is_dir()


def add_mlflow_run(folder: Path, into: Recording) -> None:
    """A run in the files of MLflow: one for each metric, with lines of time, value and step."""
    points: dict[str, list[Point]] = {}
    for file in sorted(path for path in (folder / "metrics").rglob("*") if path.is_file()):
        own = points.setdefault(file.relative_to(folder / "metrics").as_posix(), [])
        for number, line in enumerate(_text(file).splitlines(), start=1):
            cells = line.split()
            try:
                time, value, step = map(float, [*cells, str(number)][:3])  # old files have no steps
            except ValueError:
                raise RisingBanditsError(
                    f"{file}, line {number} must be time, value and step, got {line[:60]!r}."
                ) from None
            own.append((step, value, time / 1000.0))
    given = {file.name: setting_in(_text(file)) for file in (folder / "params").iterdir()}
    name = folder / "tags" / "mlflow.runName"
    shown_name = _text(name).strip() if name.is_file() else ""
    into.add_log(shown_name or folder.name, points, given, source=folder, kind="MLflow")


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


# -- Hugging Face ------------------------------------------------------------------------------------------------------


def add_trainer_state(path: Path, name: str, content: dict[str, Any], into: Recording) -> None:
    """What a trainer has logged: loss, eval_loss and so on, by its steps."""
    points: dict[str, list[Point]] = {}
    for entry in content["log_history"]:
        step = number_in(entry.get("step")) if isinstance(entry, dict) else None
        if step is None:
            raise RisingBanditsError(f"{path}, log_history must have entries with a step, got {str(entry)[:60]!r}.")
        for key, value in entry.items():
            known = number_in(value) if isinstance(value, int | float) else None
            if known is not None and key not in ("step", "epoch", "total_flos"):
                points.setdefault(key, []).append((step, known, None))
    into.add_log(name, points, source=path, kind="Hugging Face")
