"""Families made from real curves: flat starts, late bloomers, sorted grids, many arms.

They are separate regimes, but not new data: each task keeps the family of its curves, so that nothing is chosen on
curves that it is reported on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from risingbandits._core.types import Ints
from risingbandits.lab.benchmark.curve_tasks import CurveTask

_FLAT_TASKS, _SORTED_TASKS = 8, 3  # taken from each family


def made_families(families: Mapping[str, Sequence[CurveTask]], many: Sequence[CurveTask]) -> dict[str, list[CurveTask]]:
    """The regimes made from families; those without a suitable task are left out."""
    every = [task for tasks in families.values() for task in tasks]
    some = [task for tasks in families.values() for task in tasks[:_SORTED_TASKS]]
    made = {
        "flat-starts": [
            flat_start(task, 0.1 if number % 2 else 0.2)
            for tasks in families.values()
            for number, task in enumerate(tasks[:_FLAT_TASKS])
        ],
        "late-bloomers": [replace(task, name=_named(task)) for task in every if blooms_late(task)],
        "sorted-worst-first": [_sorted(task, np.argsort(task.finals, kind="stable")) for task in some],
        "sorted-best-first": [_sorted(task, np.argsort(-task.finals, kind="stable")) for task in some],
        "sorted-by-setting": [_sorted(task, order) for task in some for order in _grid(task)],
        "many-arms-real": list(many),
    }
    return {name: tasks for name, tasks in made.items() if tasks}


def flat_start(task: CurveTask, share: float) -> CurveTask:
    """The task with the first values of all arms, a share of the curve but at least two, at its lowest start level."""
    number = max(2, int(share * task.length))
    observed, truth = task.observed.copy(), task.truth.copy()
    observed[:, :number] = observed[:, 0].min()
    truth[:, :number] = truth[:, 0].min()
    return replace(task, name=f"{_named(task)}, flat {number}", observed=observed, truth=truth)


def blooms_late(task: CurveTask) -> bool:
    """Whether the arm that is best in the end is outside the top third at 10 and at 20 % of its curve."""
    best = int(np.argmax(task.finals))
    top = math.ceil(task.n_arms / 3)
    for share in (0.1, 0.2):
        values = task.truth[:, max(1, round(share * task.length)) - 1]
        if (values > values[best]).sum() < top:
            return False
    return True


def _grid(task: CurveTask) -> Iterator[Ints]:
    """The arms sorted by their settings, the first setting first, as in a grid search."""
    names = [name for name, values in task.features.items() if values.dtype.kind in "if" and name != "seed"]
    names.sort(key=lambda name: name != "learning_rate")  # what one would sort by
    if names:
        yield np.lexsort([task.features[name] for name in reversed(names)])


def _sorted(task: CurveTask, order: Ints) -> CurveTask:
    return replace(task.listed(order, _named(task)), shuffled=False)


def _named(task: CurveTask) -> str:
    """Unique among all families."""
    return f"{task.source}: {task.name}"
