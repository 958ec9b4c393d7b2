"""taskset.npz from the folder ``data/taskset`` of the repository machinelearningnuremberg/DPL.

TaskSet (google-research/google-research, Apache licence 2.0) is 29 million runs in a cloud bucket. DPL has the curves
of twelve text classification tasks under 1,000 settings of Adam, means over five replicas: a file for each task, a
list of settings ``hp`` with the losses of ``train``, ``valid`` and ``test``, NaN where a run diverged. Here they are
arrays of tasks x configs x 51 validation losses. The tasks are those of the benchmark; others are left for
checks of what was tuned on these.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import RisingBanditsError

SOURCE = "the folder data/taskset of a copy of machinelearningnuremberg/DPL"
PREFIX = "FixedTextRNNClassification_imdb_"
TASKS = (
    "patch128_LSTM128_avg_bs64",
    "patch128_LSTM128_embed128_bs64",
    "patch32_GRU64_avg_bs128",
    "patch32_IRNN64_relu_last_bs128",
    "patch32_LSTM128_bs128",
    "patch32_VRNN64_relu_avg_bs128",
)
SETTINGS = ("beta1", "beta2", "epsilon", "exponential_decay", "l1", "l2", "learning_rate", "linear_decay")


def convert(folder: Path, tasks: Iterable[str] = TASKS) -> dict[str, npt.NDArray[Any]]:
    """The arrays of taskset.npz."""
    names = tuple(tasks)
    read = [_read(folder / f"{PREFIX}{name}.json") for name in names]
    shapes = {losses.shape for losses, _ in read}
    if len(shapes) != 1:
        raise RisingBanditsError(f"the files of {folder} must have equal numbers of settings and losses, got {shapes}.")
    losses, settings = zip(*read, strict=True)
    return {
        "valid_loss": np.array(losses, np.float32),
        "hyper": np.array(settings, np.float32),
        "task": np.array(names),
        "hyper_names": np.array(SETTINGS),
    }


def _read(path: Path) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Losses and settings of a task, in the order of its file."""
    if not path.is_file():
        raise RisingBanditsError(f"source must be {SOURCE}, got {path.parent}, which has no {path.name}.")
    try:
        runs = json.loads(path.read_text())
        losses = np.array([run["valid"]["loss"] for run in runs], np.float64)
        settings = np.array([[run["hp"][name] for name in SETTINGS] for run in runs], np.float64)
    except (ValueError, TypeError, KeyError):
        wanted = "a list of runs, each with its settings hp and the same number of valid losses"
        raise RisingBanditsError(f"{path} must have {wanted}, has something else.") from None
    return losses, settings
