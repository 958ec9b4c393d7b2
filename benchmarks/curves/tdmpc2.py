"""tdmpc2.npz from the folder ``results`` of the repository nicklashansen/tdmpc2 (MIT licence).

There a file ``results/METHOD/TASK.csv`` has the columns step, reward and seed, one line for each evaluation. Here the
runs stand one after another; run j is ``value[offset[j]:offset[j + 1]]``. The tasks are those of the benchmark;
others are left for checks of what was tuned on these.
"""

from __future__ import annotations

import csv
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import RisingBanditsError

SOURCE = "the folder results of a copy of nicklashansen/tdmpc2"
_TASK = "U28"  # as wide as the longest name of all tasks
METHODS = ("dreamerv3", "sac", "tdmpc", "tdmpc2-pixels", "tdmpc2")
TASKS = frozenset(
    [
        "acrobot-swingup",
        "cartpole-balance-sparse",
        "cartpole-swingup-sparse",
        "cheetah-run",
        "cheetah-run-backwards",
        "cup-catch",
        "dog-run",
        "dog-trot",
        "finger-spin",
        "finger-turn-hard",
        "hopper-hop",
        "hopper-stand",
        "humanoid-stand",
        "lift-cube",
        "mw-basketball",
        "mw-box-close",
        "mw-button-press-topdown",
        "mw-button-press-wall",
        "mw-coffee-pull",
        "mw-dial-turn",
        "mw-door-close",
        "mw-door-open",
        "mw-drawer-close",
        "mw-faucet-close",
        "mw-hammer",
        "mw-handle-press",
        "mw-handle-pull",
        "mw-lever-pull",
        "mw-peg-unplug-side",
        "mw-pick-place",
        "mw-plate-slide",
        "mw-plate-slide-back-side",
        "mw-push",
        "mw-push-wall",
        "mw-reach-wall",
        "mw-soccer",
        "mw-stick-push",
        "mw-sweep-into",
        "mw-window-open",
        "myo-hand-key-turn-hard",
        "myo-hand-obj-hold-hard",
        "myo-hand-pen-twirl-hard",
        "myo-hand-pose-hard",
        "myo-hand-reach-hard",
        "pendulum-swingup",
        "pick-ycb",
        "quadruped-walk",
        "reacher-hard",
        "reacher-three-hard",
        "turn-faucet",
        "walker-run-backwards",
        "walker-walk",
    ]
)


def convert(results: Path, tasks: Collection[str] = TASKS) -> dict[str, npt.NDArray[Any]]:
    """The arrays of tdmpc2.npz."""
    runs: list[tuple[str, str, int, list[int], list[float]]] = []
    for method in METHODS:
        for path in sorted((results / method).glob("*.csv"), key=lambda path: path.name):
            if path.stem in tasks:
                by_seed = _runs(path)
                runs += [(path.stem, method, seed, *zip(*points, strict=True)) for seed, points in by_seed.items()]  # type: ignore[misc]
    if not runs:
        raise RisingBanditsError(f"source must be {SOURCE}, got {results}.")
    task, method_of, seeds, steps, values = zip(*runs, strict=True)
    return {
        "offset": np.cumsum([0, *map(len, steps)]),
        "step": np.concatenate([np.array(own, np.int64) for own in steps]),
        "value": np.concatenate([np.array(own, np.float32) for own in values]),
        "task": np.array(task, _TASK),
        "method": np.array(method_of),
        "seed": np.array(seeds, np.int16),
    }


def _runs(path: Path) -> dict[int, list[tuple[int, float]]]:
    """Steps and rewards of each seed, in the order of the file."""
    found: dict[int, list[tuple[int, float]]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(int(row["seed"]), []).append((int(row["step"]), float(row["reward"])))
    return found
