"""Is the advice of a replay good for tasks that it has not seen? Halves of families of real curves tell.

``python benchmarks/advice.py`` plays the tasks of each family below RISINGBANDITS_DATA as `logs replay` does,
takes the advice on one half of them and looks up, on the other half, how much its policy loses. Halves are drawn at
random, many times. The rule is that of the package; one part of it was added with these
families in view (docs/replay.md says which). Two bars are counted for each objective:

- strict: what the policy loses on the other half is at most 10 % more than the least that any of the policies loses;
- of a random arm: it is at most 10 % of what a random arm loses more than that least.

Beside the advice stand always `auto`, and the policy that is best on both halves together, which nobody can know: what
even that misses is chance.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

import numpy as np

from risingbandits._core.types import Floats
from risingbandits.lab.benchmark.curve_tasks import CurveTask
from risingbandits.lab.benchmark.suite import load_tasks
from risingbandits.logs.advice import policy_for
from risingbandits.logs.replay import Replay, replay
from risingbandits.policies import Objective

_NEAR = 0.1


def played(task: CurveTask, objective: str, orders: int) -> Replay:
    """A task as a user's folder of logs would be played, with a quarter of all pulls."""
    curves = {f"arm {arm}": values.tolist() for arm, values in enumerate(task.observed[:, :-1])}
    return replay(curves, objective=objective, orders=orders)


def losses(outcome: Replay, objective: str) -> Floats:
    """What each policy loses, as a share of what a random arm loses."""
    wanted = Objective.get(objective)
    random = wanted.random_regret(outcome) or 1.0
    return np.array([wanted.replay_regret(outcome, label).mean() / random for label in outcome.reward])


def some(tasks: list[CurveTask], most: int) -> list[CurveTask]:
    places = np.unique(np.linspace(0, len(tasks) - 1, min(most, len(tasks))).astype(int))
    return [tasks[place] for place in places]


def judged(
    outcomes: list[Replay], objective: str, splits: int, choose: Callable[[list[int]], str]
) -> tuple[float, float]:
    """How often a choice on one half meets the two bars on the other."""
    lost = np.array([losses(outcome, objective) for outcome in outcomes])
    labels = list(outcomes[0].reward)
    rng = np.random.default_rng(0)
    strict = loose = 0
    for _ in range(splits):
        order = rng.permutation(len(outcomes))
        first, second = order[: len(order) // 2], order[len(order) // 2 :]
        mean = lost[second].mean(axis=0)
        own = mean[labels.index(choose(first.tolist()))]
        strict += own <= (1.0 + _NEAR) * mean.min() + 1e-12
        loose += own <= mean.min() + _NEAR
    return strict / splits, loose / splits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=24, help="of a family, at most")
    parser.add_argument("--orders", type=int, default=10)
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="few tasks, orders and splits")
    given = parser.parse_args()
    most, orders, splits = (4, 2, 5) if given.quick else (given.tasks, given.orders, given.splits)
    real, _ = load_tasks(os.environ.get("RISINGBANDITS_DATA"))
    for objective in ("best-arm", "cumulative"):
        totals: dict[str, list[tuple[float, float]]] = {"advice": [], "auto": [], "best on both halves": []}
        for family, tasks in real.items():
            outcomes = [played(task, objective, orders) for task in some(tasks, most)]
            labels = list(outcomes[0].reward)
            both = labels[int(np.argmin(np.mean([losses(outcome, objective) for outcome in outcomes], axis=0)))]
            rules: dict[str, Callable[[list[int]], str]] = {
                "advice": lambda half, outcomes=outcomes: policy_for([outcomes[place] for place in half])[0],  # type: ignore[misc]
                "auto": lambda half: "auto",
                "best on both halves": lambda half, both=both: both,  # type: ignore[misc]
            }
            for name, rule in rules.items():
                totals[name].append(judged(outcomes, objective, splits, rule))
            strict, loose = totals["advice"][-1]
            print(
                f"{objective}, {family}, {len(outcomes)} tasks: strict {strict:.2f}, of a random arm {loose:.2f}; "
                f"best on both halves is {both}",
                flush=True,
            )
        for name, found in totals.items():
            strict, loose = np.mean(found, axis=0)
            print(f"{objective}, all families, {name}: strict {strict:.2f}, of a random arm {loose:.2f}", flush=True)


if __name__ == "__main__":
    main()
