"""dreamer.npz from the folder ``scores`` of the repository danijar/dreamerv3 (MIT licence).

There a file ``SUITE-METHOD.json.gz`` is a list of runs, each with its task, its seed, the steps ``xs`` and the returns
``ys``. Here the runs of two suites stand one after another, by suite, method, task and seed; run j is
``value[offset[j]:offset[j + 1]]``. Of a longer log the last record of each of 500 equal parts is kept. The tasks are
those of the benchmark; others are left for checks of what was tuned on these.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import RisingBanditsError

SOURCE = "the folder scores of a copy of danijar/dreamerv3"
RECORDS = 500
_TASK, _METHOD = "U51", "U11"  # as wide as the longest names of all suites
_BOTH = (
    "dmc_acrobot_swingup",
    "dmc_cartpole_balance",
    "dmc_cartpole_swingup",
    "dmc_cheetah_run",
    "dmc_finger_turn_easy",
    "dmc_hopper_hop",
    "dmc_pendulum_swingup",
    "dmc_reacher_hard",
    "dmc_walker_stand",
)
TASKS = {"dmc_proprio": frozenset(_BOTH), "dmc_vision": frozenset((*_BOTH, "dmc_quadruped_walk"))}


class _Run(NamedTuple):
    suite: str
    method: str
    task: str
    seed: int
    steps: npt.NDArray[np.int64]
    values: npt.NDArray[np.float32]


def convert(folder: Path, records: int = RECORDS) -> dict[str, npt.NDArray[Any]]:
    """The arrays of dreamer.npz."""
    runs: list[_Run] = []
    for suite in TASKS:
        paths = sorted(folder.glob(f"{suite}-*.json.gz"))
        if not paths:
            raise RisingBanditsError(f"source must be {SOURCE}, got {folder}, which has no {suite}-*.json.gz.")
        runs += [run for path in paths for run in _runs(path, suite, records)]
    runs.sort(key=lambda run: run[:4])
    return {
        "offset": np.cumsum([0, *(len(run.steps) for run in runs)]),
        "step": np.concatenate([run.steps for run in runs]),
        "value": np.concatenate([run.values for run in runs]),
        "task": np.array([f"{run.suite}/{run.task}" for run in runs], _TASK),
        "method": np.array([run.method for run in runs], _METHOD),
        "seed": np.array([run.seed for run in runs], np.int16),
    }


def _runs(path: Path, suite: str, records: int) -> list[_Run]:
    """The runs of a file that are of the family."""
    method = path.name.removeprefix(f"{suite}-").removesuffix(".json.gz")
    found = []
    try:
        for run in json.loads(gzip.decompress(path.read_bytes())):
            if run["task"] in TASKS[suite]:
                kept = _kept(len(run["xs"]), records)
                steps = np.array(run["xs"], np.int64)[kept]
                values = np.array(run["ys"], np.float32)[kept]  # a value that is null becomes NaN
                found.append(_Run(suite, method, run["task"], int(run["seed"]), steps, values))
    except (OSError, EOFError, ValueError, TypeError, KeyError, IndexError):
        wanted = "a compressed list of runs with task, seed, xs and ys"
        raise RisingBanditsError(f"{path} must have {wanted}, has something else.") from None
    return found


def _kept(length: int, records: int) -> npt.NDArray[np.int64]:
    """The places of the records that are kept.

    >>> _kept(3, 4).tolist(), _kept(10, 4).tolist()
    ([0, 1, 2], [1, 4, 6, 9])
    """
    if length <= records:
        return np.arange(length)
    return np.arange(1, records + 1) * length // records - 1
