"""How far the posterior behind `explain` can be trusted, on real curves: intervals, probabilities, predicted values.

    python benchmarks/posterior.py [--half tuning]

The default policy looks for the best arm with 2, 5 and 20 pulls per arm; its posterior at the end of the run is then
asked about the ends of the curves. Constants were chosen on the tuning half, the tasks with even numbers in each set.
Needs RISINGBANDITS_DATA; a minute.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np

from risingbandits._core.stats import half_width
from risingbandits._core.tables import TextTable
from risingbandits.lab.benchmark._problems import ReplayedProblem
from risingbandits.lab.benchmark.curve_tasks import CurveTask
from risingbandits.lab.benchmark.suite import load_tasks
from risingbandits.policies import Auto
from risingbandits.policies import _posterior as model
from risingbandits.policies._kernels import levels
from risingbandits.simulation._engine import Runner

PULLS, MOST_TASKS, ORDERS = (2, 5, 20), 10, 3
HALVES = ("tuning", "report")


def state(task: CurveTask, pulls: int, order: int) -> np.ndarray:
    """What the posterior sees at the end of a run."""
    arms, rounds = task.order(order), pulls * task.n_arms
    problem = ReplayedProblem(task.listed(arms), rounds, 1, "best-arm", 0)
    runner = Runner(Auto(), problem.instance(), rounds, np.array([rounds]), after_end="stop")
    run = runner.play(np.random.SeedSequence(0, spawn_key=(order,)))
    known = levels.new_levels(task.n_arms, task.length)
    for place, number in enumerate(run.pulls):
        for reward in task.observed[arms[place], :number]:
            levels.add(known, arms[place], reward)
    return known


def judged(task: CurveTask, known: np.ndarray) -> list[float]:
    """Coverage, log loss of the best of the arms that were pulled, error, and two regrets of recommendations."""
    found, finals = model.posterior(known, task.length, limits=(0.0, 1.0)), task.finals
    tried = ~np.isnan(found.predicted)
    covered = (found.low <= finals + 1e-12) & (finals - 1e-12 <= found.high)
    chances = (2_000 * found.p_best[tried] + 0.5) / (2_000 + 0.5 * tried.sum())  # a draw more or less is luck
    best = finals[tried] == finals[tried].max()
    short = (finals.max() - finals) / max(1e-9, finals.max() - finals.mean())
    recent = int(np.nanargmax(levels.columns(known)["estimate"]))
    recommended = model.best(known, known[:-1, levels.PULLS].max())
    return [
        float(covered[tried].mean()),
        float(-np.log(chances[best].sum())),
        float(np.abs(found.predicted - finals)[tried].mean()),
        float(found.high[np.nanargmax(found.p_best)] < np.nanmax(found.low)),
        float(short[recommended]),
        float(short[recent]),
    ]


def speed() -> list[tuple[str, ...]]:
    """CPU time of one posterior."""
    rows: list[tuple[str, ...]] = []
    rng = np.random.default_rng(0)
    for arms in (10, 100, 1_000):
        known, took = levels.new_levels(arms, 64), []
        for arm in range(arms):
            for reward in np.sort(rng.random(rng.integers(1, 64))):
                levels.add(known, arm, reward)
        for _ in range(5):
            start = time.process_time()
            model.posterior(known, 200)
            took.append(time.process_time() - start)
        rows.append((f"{arms:,}", f"{1e3 * min(took):.0f} ms"))
    return rows


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=HALVES, default="report")
    half = HALVES.index(parser.parse_args().half)
    real, _ = load_tasks(os.environ.get("RISINGBANDITS_DATA"))
    tasks = [task for every in real.values() for task in every[half::2][:MOST_TASKS]]
    rows = []
    for pulls in PULLS:
        every = [task for task in tasks if pulls < task.length]
        each = [np.mean([judged(task, state(task, pulls, i)) for i in range(ORDERS)], axis=0) for task in every]
        coverage, loss, error, below, predicted, recent = np.mean(each, axis=0)
        more = np.array(each)[:, 4] - np.array(each)[:, 5]
        rows.append(
            (
                str(pulls),
                str(len(every)),
                f"{coverage:.3f}",
                f"{loss:.2f}",
                f"{error:.3f}",
                f"{100 * below:.1f} %",
                f"{predicted:.3f}",
                f"{recent:.3f}",
                f"{more.mean():+.3f} \N{PLUS-MINUS SIGN} {float(half_width(more)):.3f}",
            )
        )
    measures = ("coverage of 90 %", "log loss", "error", "favourite wholly below")
    header = ("pulls per arm", "tasks", *measures, "regret: predicted", "recent level", "difference")
    title = f"The posterior at the end of a run, {HALVES[half]} half, {ORDERS} orders"
    print(TextTable(header, rows, frozenset(range(9)), title).plain(), end="\n\n")
    print(TextTable(("arms", "CPU time"), speed(), frozenset({0, 1}), "One posterior").plain())


if __name__ == "__main__":
    main()
