"""What settings of arms are worth without earlier runs: the recommendation among many arms, on real curves.

0 is the best arm, 1 a random one. "Shuffled" has the settings of other arms: they say nothing. Needs the real curves
below RISINGBANDITS_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from risingbandits.allocation import Allocator
from risingbandits.lab.benchmark.curve_sets import curve_sets
from risingbandits.lab.benchmark.scores import interval, resampled_means

PULLS = (1, 2, 5)  # for each arm
ARMS = 1_000
NETWORKS = ("epochs_metaqnn_cifar10", "epochs_deep_resnets_tinyimagenet")
ROWS = ("none", "settings", "shuffled")

Floats = npt.NDArray[np.float64]
Known = dict[str, float | str]
Task = tuple[str, Floats, list[Known]]  # name, curves with their final level, settings of arms


def tasks() -> list[Task]:
    """TaskSet's tasks with 1,000 arms and two sets of networks."""
    folder = Path(os.environ["RISINGBANDITS_DATA"]) / "curves"
    found: list[Task] = []
    for task in curve_sets(folder)[1]:
        if len(task.observed) == ARMS:
            numbers = [(name, values.tolist()) for name, values in task.features.items()]
            settings: list[Known] = [{name: values[i] for name, values in numbers} for i in range(ARMS)]
            found.append((task.name.partition(",")[0], task.observed, settings))
    for name in NETWORKS:
        with np.load(folder / f"{name}.npz") as file:
            curves = file["curves"].astype(np.float64)
            known = [json.loads(str(text)) for text in file["arms"]]
        found.append((name, np.column_stack([curves, curves[:, -1]]), [_of_network(each) for each in known]))
    return found


def _of_network(known: Known) -> Known:
    """Numbers as they are; of a list of layers how it begins, how it ends and how many convolutions it has."""
    layers = known.pop("net", None)
    if isinstance(layers, str):
        known |= {"first": layers.partition(",")[0], "pooled": str("GAP" in layers), "convolutions": layers.count("C(")}
    return known


def lost(task: Task, pulls: int, row: str, seed: int) -> tuple[float, float]:
    """What the arm that is kept lacks, and the processor time of the longest question."""
    _, curves, settings = task
    names = [f"arm {i}" for i in range(len(curves))]
    order = range(len(curves)) if row != "shuffled" else np.random.default_rng([seed, 9]).permutation(len(curves))
    given = None if row == "none" else {name: settings[i] for name, i in zip(names, order, strict=True)}
    length = curves.shape[1] - 1
    allocator = Allocator(names, pulls * len(names), objective="best-arm", configs=given, max_pulls=length, seed=seed)
    rows = dict(zip(names, curves.clip(0.0, 1.0).tolist(), strict=True))
    longest = 0.0
    while True:
        before = time.process_time()
        pull = allocator.ask()
        longest = max(longest, time.process_time() - before)
        if pull is None:
            break
        allocator.tell(pull, rows[pull.arm][pull.n - 1])
    worth = curves[:, -1]
    kept = worth[names.index(allocator.recommend())]
    return float((worth.max() - kept) / (worth.max() - worth.mean())), longest


def _cells(values: Sequence[Floats]) -> str:
    low, high = interval(resampled_means(list(values), [0]))
    return f"{np.mean([own.mean() for own in values]):.3f} [{low:.3f}, {high:.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=20)
    parser.add_argument("--pulls", default=",".join(map(str, PULLS)), help="for each arm")
    parser.add_argument("--rows", default=",".join(ROWS))
    arguments = parser.parse_args()
    if not os.environ.get("RISINGBANDITS_DATA"):
        parser.exit(2, "RISINGBANDITS_DATA must name the folder with the real curves.\n")
    known = tasks()
    for pulls in map(int, arguments.pulls.split(",")):
        for row in arguments.rows.split(","):
            values, longest = {}, 0.0
            for task in known:
                found = np.array([lost(task, pulls, row, seed) for seed in range(arguments.orders)])
                values[task[0]], longest = found[:, 0], max(longest, float(np.quantile(found[:, 1], 0.5)))
            taskset = _cells([own for name, own in values.items() if name not in NETWORKS])
            others = ", ".join(f"{name} {values[name].mean():.3f}" for name in NETWORKS)
            print(f"{pulls} pulls an arm, {row:9} TaskSet {taskset}, {others}; longest ask {longest:.3f} s", flush=True)


if __name__ == "__main__":
    main()
