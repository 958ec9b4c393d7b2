"""Recorded runs of all kinds: logs of other programs, and stores of this one."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from risingbandits.allocation.prior.store_tasks import store_task
from risingbandits.recorded.curves import Curves, curves_of
from risingbandits.recorded.reading import is_store, read_runs
from risingbandits.recorded.runs import Recording

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def read_recordings(paths: Paths) -> Recording:
    """The runs in files and folders: of a store its arms, of anything else what `read_runs` finds."""
    several = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    stores = [Path(path) for path in several if is_store(Path(path).expanduser())]
    others = [path for path in several if Path(path) not in stores]
    found = read_runs(others) if others or not stores else Recording()
    for path in stores:
        task = store_task(path.expanduser())
        for arm in task.arms:
            points = [(float(pull), float(value), None) for pull, value in enumerate(task.curves[arm], start=1)]
            settings = dict(task.settings.get(arm, {}))
            found.add_points(arm, {"reward": points}, settings, source=path, kind="store", direction=task.direction)
    return found


def read_curves(
    paths: Paths, metric: str | None = None, direction: str | None = None, step: float | None = None
) -> Curves:
    """The curves of one metric in files and folders, with the direction and what had to be decided."""
    return curves_of(read_recordings(paths), metric, direction, step)
