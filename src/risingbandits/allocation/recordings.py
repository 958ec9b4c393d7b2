"""Recorded runs of all kinds: logs of other programs, and stores of this one."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from risingbandits.allocation.starting.earlier_runs import store_task
from risingbandits.logs.curves import Curves, curves_of
from risingbandits.logs.reading import is_store, read_runs
from risingbandits.logs.runs import Recording

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def read_recordings(paths: Paths) -> Recording:
    """The runs in files and folders: the arms of a store, or what `read_runs` finds in anything else."""
    several = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    stores = [Path(path) for path in several if is_store(Path(path).expanduser())]
    others = [path for path in several if Path(path) not in stores]
    found = read_runs(others) if others or not stores else Recording()
    for path in stores:
        task = store_task(path.expanduser())
        for arm, curve in task.curves.items():
            points = [(float(pull), float(value), None) for pull, value in enumerate(curve, start=1)]
            settings = dict(task.configs.get(arm, {}))
            found.add_log(arm, {"reward": points}, settings, source=path, kind="store", direction=task.direction)
    return found


def load_curves(
    paths: Paths, metric: str | None = None, direction: str | None = None, step: float | None = None
) -> Curves:
    """The learning curves in logs of TensorBoard, MLflow, Ray Tune and others, in CSV files and in stores.

    Parameters
    ----------
    paths : path, or several
        Files, which are recognised by their content, and folders, which are searched.
    metric : str or None
        Its name in the logs, or the end of it, such as "accuracy" for "eval/accuracy"; None if there is only one.
    direction : {"maximize", "minimize"} or None
        None: from the log, from the metric's name, or from where most runs go.
    step : float or None
        Steps of the logs from one value to the next. None: the recorded steps if they are the same in all runs,
        otherwise the widest usual distance.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name, best in (("small", 0.8), ("large", 0.6), ("huge", 0.5)):
    ...         lines = [f"{n},{best + 1 / n}" for n in range(1, 21)]
    ...         _ = Path(folder, f"{name} net.csv").write_text("\\n".join(["epoch,val_loss", *lines]))
    ...     curves = load_curves(folder)
    >>> curves.metric, curves.direction, curves.values["huge net"][-1].round(2).item()
    ('val_loss', 'minimize', 0.55)
    """
    return curves_in(read_recordings(paths), metric, direction, step)


def curves_in(
    recording: Recording, metric: str | None = None, direction: str | None = None, step: float | None = None
) -> Curves:
    """`curves_of`; if the values of files with a column for each arm do not show a direction, high is good."""
    return curves_of(recording, metric, direction, step, "maximize" if is_plain(recording) else None)


def is_plain(recording: Recording) -> bool:
    """Whether all runs are columns of files of this package's own form."""
    return all(run.kind == "a column for each arm" for run in recording.runs)
