"""Tables of numbers over steps: CSV files, JSON lines, Parquet, whoever wrote them.

A table of a log has a column that counts (step, epoch, training_iteration, ...), perhaps one that names the run, and a
column for each metric; cells may be empty, as where training and validation are written at different times. Exports
of Weights & Biases have a column for each run and metric; TensorBoard's have just a time, a step and a value.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError, missing, shown
from risingbandits.recorded.runs import Point, Recording, Value

Row = Mapping[str, Any]

# In the order in which they are preferred; compared without capitals. Epochs repeat where steps are counted as well.
_STEPS = (
    "training_iteration", "_step", "global_step", "trainer/global_step", "step", "steps", "iteration", "iter", "epoch",
    "epochs", "pull",
)  # fmt: skip
_RUNS = ("run_name", "run", "run_id", "run id", "trial_id", "trial", "experiment", "arm", "model", "name")
_CLOCKS = ("_runtime", "time_total_s", "wall time", "wall_time", "_timestamp", "timestamp", "seconds", "time")
_NEVER = {
    "pid", "node_ip", "hostname", "date", "experiment_id", "done", "iterations_since_restore", "time_since_restore",
    "time_this_iter_s", "timesteps_total", "timesteps_since_restore", "warmup_time", "episodes_total",
    "should_checkpoint", "checkpoint_dir_name", "experiment_tag", "total_flos",
}  # fmt: skip  # of Ray and of trainers: what is no metric
_PAIR = re.compile(r"(?P<run>.+) - (?P<metric>[^-]+?)(?P<bound>__MIN|__MAX)?$")


def csv_rows(path: Path, text: str) -> tuple[list[str], list[list[str]]]:
    """The header and the lines of a CSV file that are not empty; a semicolon or a tab may separate cells, too."""
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    try:
        rows = [
            row for row in csv.reader(io.StringIO(text), delimiter=separator, strict=True) if any(map(str.strip, row))
        ]
    except csv.Error as error:
        raise RisingBanditsError(f"{path} is not a CSV file: {error}.") from error
    header = [cell.strip() for cell in rows[0]] if rows else []
    return header, rows[1:]


def is_log_table(header: Sequence[str]) -> bool:
    """Whether columns are those of a log, and not the names of arms."""
    return _step_column(header) is not None and len(header) > 1


def add_csv(path: Path, name: str, header: Sequence[str], rows: Sequence[Sequence[str]], into: Recording) -> None:
    """The runs of a CSV file of a log."""
    for number, row in enumerate(rows, start=2):
        if len(row) > len(header) and any(cell.strip() for cell in row[len(header) :]):
            raise RisingBanditsError(
                f"{path}, line {number} has {len(row)} cells, but the header has {len(header)} names."
            )
    step = _step_column(header)
    assert step is not None
    pairs = {column: match for column in header if (match := _PAIR.fullmatch(column))}
    if pairs and step not in pairs:
        _add_export(path, step, pairs, [dict(zip(header, row, strict=False)) for row in rows], into)
        return
    lowered = [column.lower() for column in header]
    if sorted(lowered) == ["step", "value", "wall time"]:  # TensorBoard's export of one tag of one run
        run, metric = _tensorboard_name(path, name)
        named = [metric if column.lower() == "value" else column for column in header]
        add_rows(path, run, "TensorBoard", [dict(zip(named, row, strict=False)) for row in rows], into)
        return
    add_rows(path, name, "", [dict(zip(header, row, strict=False)) for row in rows], into)


def _tensorboard_name(path: Path, name: str) -> tuple[str, str]:
    """run-NAME-tag-METRIC.csv is what TensorBoard calls a file; else the metric has no name."""
    match = re.fullmatch(r"run-(?P<run>.+?)-tag-(?P<tag>.+)", path.stem)
    return (match["run"], match["tag"]) if match else (name, "value")


def _add_export(
    path: Path, step: str, pairs: Mapping[str, re.Match[str]], rows: Sequence[Row], into: Recording
) -> None:
    """Weights & Biases' table of a chart: a column for each run, beside it the least and the greatest of the bin."""
    found: dict[str, dict[str, list[Point]]] = {}
    for column, match in pairs.items():
        if match["bound"] or match["metric"].strip().lower() in _STEPS:
            continue
        points = found.setdefault(match["run"].strip(), {}).setdefault(match["metric"].strip(), [])
        for row in rows:
            value = number_in(row.get(column))
            if value is not None:
                points.append((_step(path, step, row), value, None))
    for run, metrics in found.items():
        into.add_points(run, metrics, source=path, kind="Weights & Biases")


def add_rows(path: Path, name: str, kind: str, rows: Iterable[Row], into: Recording) -> None:
    """The runs in rows of a log, each of which maps columns to cells."""
    rows = list(rows)
    columns = list(dict.fromkeys(column for row in rows for column in row if column))
    step = _step_column(columns)
    if step is None:
        raise RisingBanditsError(f"{path} must have a column that counts, such as step or epoch, got {shown(columns)}.")
    run_column = next((c for wanted in _RUNS for c in columns if c.lower() == wanted), None)
    clock = next((c for wanted in _CLOCKS for c in columns if c.lower() == wanted), None)
    by_run: dict[str, list[Row]] = {}
    for row in rows:
        by_run.setdefault(str(row.get(run_column) or name) if run_column else name, []).append(row)
    for run, own in by_run.items():
        _add_run(path, run if len(by_run) > 1 or kind != "Ray Tune" else name, kind, own, step, run_column, clock, into)


def _add_run(
    path: Path,
    name: str,
    kind: str,
    rows: Sequence[Row],
    step: str,
    run_column: str | None,
    clock: str | None,
    into: Recording,
) -> None:
    columns = list(dict.fromkeys(column for row in rows for column in row if column))
    metrics: dict[str, list[Point]] = {}
    settings: dict[str, Value] = {}
    for column in columns:
        if column in (step, run_column, clock) or column.lower() in (*_NEVER, *_STEPS, *_CLOCKS):
            continue
        if column.startswith("config/"):
            settings[column.removeprefix("config/")] = _setting(rows[-1].get(column))
            continue
        for row in rows:
            value = number_in(row.get(column))
            if value is not None:
                seconds = None if clock is None else number_in(row.get(clock))
                metrics.setdefault(column, []).append((_step(path, step, row), value, seconds))
    into.add_points(name, metrics, settings, source=path, kind=kind)


def json_lines(path: Path, text: str) -> list[Row]:
    """A JSON object in each line, in nested form or flat; a last line that is cut off is passed over."""
    lines = [line for line in text.splitlines() if line.strip()]
    rows: list[Row] = []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
        except ValueError as error:
            if number == len(lines) > 1:
                break
            raise RisingBanditsError(f"{path}, line {number} is not JSON: {error}.") from error
        if not isinstance(row, dict):
            raise RisingBanditsError(f"{path}, line {number} must be a JSON object, got {shown(row)}.")
        rows.append(flat(row))
    return rows


def flat(row: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """An object without objects in it: {"a": {"b": 1}} is {"a/b": 1}."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            found.update(flat(value, f"{prefix}{name}/"))
        else:
            found[f"{prefix}{name}"] = value
    return found


def parquet_rows(path: Path) -> list[Row]:
    """The rows of a Parquet file."""
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise missing("pyarrow", "Parquet files", "pandas") from error
    try:
        rows: list[Row] = parquet.read_table(path).to_pylist()
    except Exception as error:  # whatever a damaged file makes it raise
        raise RisingBanditsError(f"{path} is no Parquet file that can be read ({type(error).__name__}).") from error
    return rows


def _step_column(header: Sequence[str]) -> str | None:
    return next((column for wanted in _STEPS for column in header if column.lower() == wanted), None)


def _step(path: Path, column: str, row: Row) -> float:
    step = number_in(row.get(column))
    if step is None or not math.isfinite(step):
        raise RisingBanditsError(f"{path}, column {column} must have numbers, got {shown(row.get(column))}.")
    return step


def number_in(cell: Any) -> float | None:
    """A number, NaN included, which is what training that diverged has; None for anything else."""
    if cell is None or isinstance(cell, bool):
        return None
    try:
        if isinstance(cell, int | float):
            return float(cell)
        text = str(cell).strip()
        return float(text) if text and "_" not in text else None
    except (ValueError, OverflowError):  # a whole number may be too large
        return None


def _setting(cell: Any) -> Value:
    number = number_in(cell)
    return number if number is not None else None if cell in (None, "") else str(cell)
