"""Tables of numbers over steps, from any program: CSV files, JSON lines, Parquet.

A table of a log has a column that counts (step, epoch, training_iteration, ...), perhaps one that names the run, and a
column for each metric; cells may be empty, as where training and validation are written at different times. Exports
of Weights & Biases have a column for each run and metric; TensorBoard's have just a time, a step and a value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from risingbandits._core.errors import RisingBanditsError, missing, shown
from risingbandits.logs._columns import (
    Cells,
    Columns,
    CsvFile,
    Numbers,
    Roles,
    blocks_of,
    gather,
    setting_in,
)
from risingbandits.logs.runs import Recording, Series

Row = Mapping[str, Any]

# In the order in which they are preferred; compared without capitals. Epochs repeat where steps are counted as well.
STEPS = (
    "training_iteration", "_step", "global_step", "trainer/global_step", "step", "steps", "iteration", "iter", "epoch",
    "epochs", "pull",
)  # fmt: skip
RUNS = ("run_name", "run", "run_id", "run id", "trial_id", "trial", "experiment", "arm", "model", "name")
CLOCKS = ("_runtime", "time_total_s", "wall time", "wall_time", "_timestamp", "timestamp", "seconds", "time")
NEVER = {
    "pid", "node_ip", "hostname", "date", "experiment_id", "done", "iterations_since_restore", "time_since_restore",
    "time_this_iter_s", "timesteps_total", "timesteps_since_restore", "warmup_time", "episodes_total",
    "should_checkpoint", "checkpoint_dir_name", "experiment_tag", "total_flos",
}  # fmt: skip  # of Ray and of trainers: what is no metric
_PAIR = re.compile(r"(?P<run>.+) - (?P<metric>[^-]+?)(?P<bound>__MIN|__MAX)?$")


def is_log_table(header: Sequence[str]) -> bool:
    """Whether columns are those of a log, and not the names of arms."""
    return _step_column(header) is not None and len(header) > 1


def add_csv(name: str, file: CsvFile, into: Recording) -> None:
    """The runs of a CSV file of a log."""
    header = file.header
    step = _step_column(header)
    assert step is not None
    pairs = {column: match for column in header if (match := _PAIR.fullmatch(column))}
    if pairs and step not in pairs:
        _add_export(step, pairs, file, into)
        return
    kind = ""
    if sorted(column.lower() for column in header) == ["step", "value", "wall time"]:
        name, metric = _tensorboard_name(file.path, name)  # TensorBoard's export of one tag of one run
        header, kind = [metric if column.lower() == "value" else column for column in header], "TensorBoard"
    add_table(file.path, name, kind, header, file.blocks(), into)


def _tensorboard_name(path: Path, name: str) -> tuple[str, str]:
    """run-NAME-tag-METRIC.csv is what TensorBoard calls a file; else the metric has no name."""
    match = re.fullmatch(r"run-(?P<run>.+?)-tag-(?P<tag>.+)", path.stem)
    return (match["run"], match["tag"]) if match else (name, "value")


def _add_export(step: str, pairs: Mapping[str, re.Match[str]], file: CsvFile, into: Recording) -> None:
    """A Weights & Biases chart as a table: a column for each run, and the least and the greatest of each bin."""
    wanted = [c for c, pair in pairs.items() if not pair["bound"] and pair["metric"].strip().lower() not in STEPS]
    roles = Roles(step, None, None, (), wanted)
    columns = gather(file.blocks(), file.header, roles, "")
    _check_steps(file.path, roles, columns)
    found: dict[str, dict[str, Series]] = {}
    for column in wanted:
        own = found.setdefault(pairs[column]["run"].strip(), {})
        own[pairs[column]["metric"].strip()] = _written(columns, roles, column, slice(None))
    for run, metrics in found.items():
        into.add_log(run, metrics, source=file.path, kind="Weights & Biases")


def add_long(file: CsvFile, into: Recording) -> None:
    """The long form of this package: task, arm, step, value; other columns are settings."""
    header = file.header
    task, arm = header.index("task"), header.index("arm")
    named: dict[str, tuple[str, str]] = {}

    def blocks() -> Iterator[list[Sequence[Any]]]:
        for block in file.blocks():
            for row in block:
                named.setdefault(f"{row[task]}, {row[arm]}", (row[task], row[arm]))
            yield [(f"{row[task]}, {row[arm]}", *row) for row in block]

    roles = Roles("step", "run", None, [c for c in header if c not in ("task", "arm", "step", "value")], ["value"])
    columns = gather(blocks(), ["run", *header], roles, file.path.stem)
    tasks = [named[run][0] for run in columns.runs]
    if len(set(tasks)) == 1:
        columns = columns._replace(runs=[named[run][1] for run in columns.runs])
    _add_runs(file.path, "long form", roles, columns, into, tasks)


def add_rows(path: Path, name: str, kind: str, rows: Sequence[Row], into: Recording, *, run: str | None = None) -> None:
    """The runs in rows of a log, each of which maps columns to cells; all of one ``run`` if that is known."""
    header = list(dict.fromkeys(column for row in rows for column in row if column))
    cells = ([row.get(column) for column in header] for row in rows)
    add_table(path, name, kind, header, blocks_of(cells, len(header)), into, run=run)


def add_table(
    path: Path,
    name: str,
    kind: str,
    header: Sequence[str],
    blocks: Iterable[Sequence[Cells]],
    into: Recording,
    *,
    run: str | None = None,
) -> None:
    """The runs in a table of a log that comes in blocks of rows."""
    step = _step_column(header)
    if step is None:
        raise RisingBanditsError(f"{path} must have a column that counts, such as step or epoch, got {shown(header)}.")
    named = () if run is not None else RUNS
    run_column = next((c for wanted in named for c in header if c.lower() == wanted), None)
    clock = next((c for wanted in CLOCKS for c in header if c.lower() == wanted), None)
    others = [c for c in header if c and c not in (step, run_column, clock)]
    settings = [column for column in others if column.startswith("config/")]
    metrics = [c for c in others if c not in settings and c.lower() not in (*NEVER, *STEPS, *CLOCKS)]
    roles = Roles(step, run_column, clock, settings, list(dict.fromkeys(metrics)))
    columns = gather(blocks, header, roles, name)
    if kind == "Ray Tune" and len(columns.runs) == 1:
        columns = columns._replace(runs=[name])
    _add_runs(path, kind, roles, columns, into)


def _add_runs(
    path: Path, kind: str, roles: Roles, columns: Columns, into: Recording, tasks: Sequence[str] = ()
) -> None:
    _check_steps(path, roles, columns)
    run_of = columns.run_of_row
    if (run_of[1:] < run_of[:-1]).any():
        order = np.argsort(run_of, kind="stable")
        run_of = run_of[order]
        columns = columns._replace(
            numbers={c: Numbers(n[order], there[order]) for c, (n, there) in columns.numbers.items()}
        )
    bounds = np.searchsorted(run_of, np.arange(len(columns.runs) + 1))
    for number, run in enumerate(columns.runs):
        rows = slice(int(bounds[number]), int(bounds[number + 1]))
        written = {metric: _written(columns, roles, metric, rows) for metric in roles.metrics}
        given = {
            column.removeprefix("config/"): setting_in(cells.get(number)) for column, cells in columns.settings.items()
        }
        into.add_log(run, written, given, source=path, kind=kind, task=tasks[number] if tasks else "")


def _written(columns: Columns, roles: Roles, metric: str, rows: slice) -> Series:
    """The values of a metric in some rows, without the cells that have none."""
    values, there = columns.numbers[metric]
    kept: Any = rows if there[rows].all() else np.arange(len(values))[rows][there[rows]]
    clock = columns.numbers[roles.clock] if roles.clock else None
    seconds = None if clock is None or not clock.there[kept].all() else clock.values[kept]
    return Series(columns.numbers[roles.step].values[kept], values[kept], seconds)


def _check_steps(path: Path, roles: Roles, columns: Columns) -> None:
    """Every row that has a value of a metric must have a step."""
    for row, cell in columns.odd_steps.items():
        if any(columns.numbers[metric].there[row] for metric in roles.metrics):
            raise RisingBanditsError(f"{path}, column {roles.step} must have numbers, got {shown(cell)}.")


def json_lines(path: Path, text: str) -> list[Row]:
    """A JSON object in each line, in nested form or flat; a last line that is cut off is skipped."""
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


def add_parquet(path: Path, name: str, into: Recording) -> None:
    """The runs of a Parquet file."""
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise missing("pyarrow", "Parquet files", "pandas") from error

    def blocks() -> Iterator[list[Sequence[Any]]]:
        for batch in file.iter_batches():
            yield from blocks_of(zip(*(column.to_pylist() for column in batch.columns), strict=True), len(header))

    try:
        file = parquet.ParquetFile(path)
        header = [str(column) for column in file.schema_arrow.names]
        add_table(path, name, "", header, blocks(), into)
    except RisingBanditsError:
        raise
    except Exception as error:  # whatever a damaged file makes it raise
        raise RisingBanditsError(f"{path} is not a readable Parquet file ({type(error).__name__}).") from error


def _step_column(header: Sequence[str]) -> str | None:
    return next((column for wanted in STEPS for column in header if column.lower() == wanted), None)
