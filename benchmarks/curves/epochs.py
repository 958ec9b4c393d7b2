"""epochs_*.npz from the folder ``data`` of the repository MITAutoML/accelerating_nas (MIT licence).

There a file ``NAME.csv`` has one line for each network: what it is, its settings, and its score after each epoch. Here
the scores become an array of networks x epochs and the settings one JSON text for each network, in the order of the
file. All that follows the settings is a score: the header of lstm_ptb.csv names one epoch fewer than its lines have.
Other files of that folder are left for checks of what was tuned on these.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import RisingBanditsError

SOURCE = "the folder data of a copy of MITAutoML/accelerating_nas"

_Settings = Mapping[str, Callable[[str], Any]]
FILES: Mapping[str, tuple[str, _Settings]] = {  # the first column of scores, and how settings are read
    "metaqnn_cifar10": ("acc_1", {"net": str, "num_params": int, "depth": int, "lr": float}),
    "deep_resnets_tinyimagenet": (
        "acc_0",
        {"num_blocks": float, "num_filters": float, "filter_size": float, "lr": float, "ss": float},
    ),
    "lstm_ptb": ("ep_0", {"n_layer": float, "n_inputs": float, "base_lr": float, "ss": float}),
}


def convert(folder: Path) -> dict[str, dict[str, npt.NDArray[Any]]]:
    """The arrays of the three files, by the name of the file."""
    for name in FILES:
        if not (folder / f"{name}.csv").is_file():
            raise RisingBanditsError(f"source must be {SOURCE}, got {folder}, which has no {name}.csv.")
    return {f"epochs_{name}.npz": _arrays(folder / f"{name}.csv", *form) for name, form in FILES.items()}


def _arrays(path: Path, first: str, settings: _Settings) -> dict[str, npt.NDArray[Any]]:
    with path.open(newline="") as file:
        header, *rows = [*csv.reader(file)] or [[]]
    absent = [name for name in (*settings, first) if name not in header]
    if absent:
        raise RisingBanditsError(f"{path} must have the columns {', '.join((*settings, first))}, lacks {absent[0]}.")
    lengths = {len(row) for row in rows}
    if len(lengths) != 1 or min(lengths) < len(header):
        raise RisingBanditsError(f"{path} must have lines of equal length, at least that of the header.")
    places = {name: header.index(name) for name in settings}
    try:
        arms = [json.dumps({name: read(row[places[name]]) for name, read in settings.items()}) for row in rows]
        curves = np.array([row[header.index(first) :] for row in rows], np.float64)
    except ValueError as error:
        raise RisingBanditsError(f"{path} must have numbers after the settings: {error}.") from None
    return {"curves": curves.astype(np.float32), "arms": np.array(arms)}
