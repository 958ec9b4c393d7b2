"""What it costs to boost in pulls: one call of the library, beside pulls of an arm in memory and of arms made anew.

Run: ``python benchmarks/boosting_switches.py [--rounds 200] [--rows 20000]`` where XGBoost, LightGBM and CatBoost are
installed. Prints a table. Every pull predicts the rows by the trees so far before it goes on, which one call does not.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import xgboost
from sklearn.datasets import load_digits

from risingbandits import Pull
from risingbandits.integrations import CatBoostArm, LightGBMArm, XGBoostArm

PARAMS: dict[Any, dict[str, Any]] = {
    XGBoostArm: {"objective": "multi:softprob", "num_class": 10, "max_depth": 4, "nthread": 1},
    LightGBMArm: {"objective": "multiclass", "num_class": 10, "num_leaves": 15, "num_threads": 1, "verbose": -1},
    CatBoostArm: {"loss_function": "MultiClass", "depth": 4, "learning_rate": 0.3, "thread_count": 1},
}


def data(kind: Any, X: Any, y: Any) -> Any:
    """Rows as the library has them."""
    if kind is CatBoostArm:
        return catboost.Pool(X, y)
    return {XGBoostArm: xgboost.DMatrix, LightGBMArm: lightgbm.Dataset}[kind](X, label=y)


def one_call(kind: Any, X: Any, y: Any, rounds: int) -> None:
    """As the library is used without us."""
    if kind is CatBoostArm:
        quiet = {"verbose": False, "allow_writing_files": False}
        catboost.CatBoost({**PARAMS[kind], **quiet, "iterations": rounds}).fit(data(kind, X, y))
    else:
        {XGBoostArm: xgboost, LightGBMArm: lightgbm}[kind].train(PARAMS[kind], data(kind, X, y), rounds)


def in_pulls(kind: Any, X: Any, y: Any, rounds: int, step: int, anew: bool, folder: Path) -> tuple[float, float, float]:
    """Seconds of CPU in all, of the last pull, and of a save and load; ``anew``: a new arm each time."""
    train, valid = data(kind, X, y), data(kind, X[:100], y[:100])
    arm = kind(PARAMS[kind], train, valid, rounds=step)
    began = time.process_time()
    last = switch = 0.0
    for n in range(1, rounds // step + 1):
        pull_began = time.process_time()
        arm.pull(Pull(n, "a", n))
        last = time.process_time() - pull_began
        if anew:
            switch_began = time.process_time()
            arm.save(folder / f"{n}")
            if kind is LightGBMArm:
                train, valid = data(kind, X, y), data(kind, X[:100], y[:100])
            arm = kind(PARAMS[kind], train, valid, rounds=step)
            arm.load(folder / f"{n}")
            switch = time.process_time() - switch_began
    return time.process_time() - began, last, switch


def timed(work: Callable[[], object]) -> float:
    """Seconds of CPU."""
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--step", type=int, default=10)
    parser.add_argument("--rows", type=int, default=20_000)
    chosen = parser.parse_args()
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = rng.integers(len(y), size=chosen.rows)
    X, y = X[rows] + rng.normal(scale=0.5, size=(chosen.rows, X.shape[1])), y[rows]
    print(f"{chosen.rows:,} rows, {chosen.rounds} rounds, {chosen.step} in a pull; seconds of CPU")
    print("| library | one call | pulls, in memory | pulls, each by a new arm | save and load | last pull |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind in PARAMS:
        with tempfile.TemporaryDirectory() as folder:
            whole = timed(lambda kind=kind: one_call(kind, X, y, chosen.rounds))  # type: ignore[misc]
            kept, _, _ = in_pulls(kind, X, y, chosen.rounds, chosen.step, False, Path(folder))
            anew, last, switch = in_pulls(kind, X, y, chosen.rounds, chosen.step, True, Path(folder))
        print(f"| {kind.library} | {whole:.1f} | {kept:.1f} | {anew:.1f} | {switch:.3f} | {last:.2f} |", flush=True)


if __name__ == "__main__":
    main()
