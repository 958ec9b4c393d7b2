"""Earlier tasks in CSV files: in long form with the columns task, arm, step and value, or a column for each arm."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import takewhile
from math import isfinite
from pathlib import Path

import numpy as np

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.allocation.prior.tasks import EarlierTask
from risingbandits.logs.columns import arm_columns, csv_file, setting_in
from risingbandits.policies.config_points import Value

COLUMNS = ("task", "arm", "step", "value")
_LONG = 2  # a file with at least this many of the columns is in long form


def csv_tasks(path: str | os.PathLike[str], direction: str | None = "maximize") -> list[EarlierTask]:
    """The tasks in a CSV file, in the order in which they appear.

    In long form a line is a value of an arm in a task, in the order of the steps, and all other columns are settings of
    the arm. Otherwise the header has the names of arms, a line is a pull, and the whole file is one task, named after
    it. Where ``direction`` is None, low is good if the curves of the file fall, as losses do.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "runs.csv"
    ...     _ = path.write_text("task,arm,step,value,lr\\nmay,a,2,0.5,0.1\\nmay,a,1,0.3,0.1\\nmay,b,1,0.2,\\n")
    ...     [task] = csv_tasks(path)
    >>> {arm: curve.tolist() for arm, curve in task.curves.items()}, task.settings
    ({'a': [0.3, 0.5], 'b': [0.2]}, {'a': {'lr': 0.1}, 'b': {'lr': None}})
    """
    path = Path(path)
    with csv_file(path) as file:
        header = file.header
        present = [name for name in COLUMNS if name in header]
        curves = arm_columns(file) if len(present) < _LONG else {}
        lines = list(file.rows())
    if len(present) < _LONG:
        suggests = _suggested([curves.values()])
        return [EarlierTask(path.stem, curves, direction=direction or suggests[0] or "maximize", suggests=suggests)]
    absent = [name for name in COLUMNS if name not in present]
    if absent:
        raise RisingBanditsError(
            f"{path} must have the columns {', '.join(COLUMNS)}, of which {', '.join(absent)} is missing."
        )
    for name in header:
        if not name or header.count(name) > 1:
            raise RisingBanditsError(f"{path}, line 1 must have different names of columns, got {shown(header)}.")
    return _long_form(path, header, lines, direction)


def _suggested(tasks: Iterable[Iterable[Iterable[float]]]) -> tuple[str | None, str]:
    """Whether high or low is good by where the curves of a file go, up to where training diverged."""
    curves = [np.array(list(takewhile(isfinite, curve))) for arms in tasks for curve in arms]
    from risingbandits.logs.curves import direction_of_values

    trained = [curve for curve in curves if len(curve)]
    return direction_of_values(trained) if trained else (None, "")


def _long_form(
    path: Path, header: Sequence[str], lines: Sequence[tuple[int, list[str]]], direction: str | None
) -> list[EarlierTask]:
    curves: dict[str, dict[str, dict[float, float]]] = {}
    settings: dict[str, dict[str, dict[str, Value]]] = {}
    others = [name for name in header if name not in COLUMNS]
    for number, row in lines:
        where = f"{path}, line {number}"
        cells = dict(zip(header, map(str.strip, row), strict=True))
        task, arm = cells["task"], cells["arm"]
        if not task or not arm:
            raise RisingBanditsError(f"{where}, task and arm must be given, got {shown(task)} and {shown(arm)}.")
        curve = curves.setdefault(task, {}).setdefault(arm, {})
        step = _number(f"{where}, step", cells["step"])
        if step in curve or step != step:
            raise RisingBanditsError(f"{where}, step must be a new number for {arm} in {task}, got {cells['step']}.")
        curve[step] = _number(f"{where}, value", cells["value"])
        if others:
            said = {name: setting_in(cells[name]) for name in others}
            known = settings.setdefault(task, {}).setdefault(arm, said)
            if said != known:
                name = next(name for name in others if said[name] != known[name])
                raise RisingBanditsError(
                    f"{where}, {name} must be the same for all steps of {arm} in {task}, got {shown(said[name])} "
                    f"after {shown(known[name])}."
                )
    ordered = {
        task: {arm: [value for _, value in sorted(curve.items())] for arm, curve in arms.items()}
        for task, arms in curves.items()
    }
    suggests = _suggested(arms.values() for arms in ordered.values())
    way = direction or suggests[0] or "maximize"
    return [EarlierTask(task, arms, settings.get(task, {}), way, suggests=suggests) for task, arms in ordered.items()]


def _number(where: str, cell: str) -> float:
    """A number; NaN and inf come from training that diverged."""
    try:
        if "_" not in cell:
            return float(cell)
    except ValueError:
        pass
    raise RisingBanditsError(f"{where} must be a number, got {shown(cell)}.")
