"""What it costs to keep fewer checkpoints than arms: pulls that are made again, by who gives up its checkpoint first.

Runs of the allocator's default on real curves are replayed. Every pull needs the checkpoint of its arm, as it does
where a process makes one pull; where there is none, all pulls of the arm so far are made again. Needs the real curves
below RISINGBANDITS_DATA; twenty minutes, less with ``--tasks 1``.

The rules: "keep" is that of ``Allocator.run(keep=...)``, the arm with the lowest last reward; "oldest" removes the file
that was written first, which is that of the arm that was not pulled for longest; "foresight" that of the arm with the
fewest pulls for each round until it is pulled again.
"""

from __future__ import annotations

import argparse
import os
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from risingbandits.allocation import Allocator
from risingbandits.allocation.arms._economy import who_gives_up_first
from risingbandits.lab.benchmark.curve_tasks import CurveTask
from risingbandits.lab.benchmark.suite import load_tasks
from risingbandits.policies import objective_names

RULES = ("keep", "oldest", "foresight")
SHARES = (8, 4, 2)  # arms for each checkpoint
BUDGETS = (5, 20)  # pulls for each arm
MOST_ARMS = 30


class Step(NamedTuple):
    """A pull, and what was known after it."""

    arm: str
    n: int
    order: dict[str, int]  # of giving up
    best: str  # the recommended arm


def played(task: CurveTask, objective: str, pulls: int, seed: int) -> list[Step]:
    """A run of the allocator on a task."""
    observed = task.observed if objective == "cumulative" else task.observed[:, :-1]
    longest = None if objective == "cumulative" else task.length
    names = [str(arm) for arm in range(task.n_arms)]
    steps = []
    with Allocator(names, pulls, objective=objective, max_pulls=longest, seed=seed) as allocator:
        for pull in allocator:
            allocator.tell(pull, float(observed[int(pull.arm), min(pull.n, observed.shape[1]) - 1]))
            ledger = allocator.ledger
            tried = [arm.name for arm in ledger.arms if arm.rewards]
            order = {name: place for place, name in enumerate(who_gives_up_first(ledger, tried))}
            steps.append(Step(pull.arm, pull.n, order, allocator.recommend()))
    return steps


def made_again(steps: list[Step], rule: str, keep: int) -> float:
    """Pulls that are made again for each that counts, if only so many arms have checkpoints."""
    written: dict[str, tuple[int, int]] = {}  # by arm: when its checkpoint was written, and after how many pulls
    pulled = defaultdict(list)
    for time, step in enumerate(steps):
        pulled[step.arm].append(time)
    again = 0
    for time, step in enumerate(steps):
        if step.n > 1 and step.arm not in written:
            again += step.n - 1
        written[step.arm] = (time, step.n)

        def price(name: str, time: int = time, step: Step = step) -> float:
            when, pulls = written[name]
            if rule == "oldest":
                return when
            if rule == "keep":
                return np.inf if name == step.best else step.order[name]
            later = next((then for then in pulled[name] if then > time), None)
            return 0.0 if later is None else pulls / (later - time)

        while len(written) > keep:
            del written[min((name for name in written if name != step.arm), key=price)]
    return again / len(steps)


def measure(tasks: list[tuple[str, CurveTask]], objective: str, per_arm: int, say: Callable[[str], None]) -> None:
    """A line of the table for each bound: means over families with their standard errors."""
    found: dict[tuple[int, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for family, task in tasks:
        if objective == "best-arm" and per_arm >= task.length:
            continue
        listed = task.listed(task.order(1)[:MOST_ARMS])
        steps = played(listed, objective, per_arm * listed.n_arms, seed=1)
        for share in SHARES:
            for rule in RULES:
                found[share, rule][family].append(made_again(steps, rule, max(2, listed.n_arms // share)))
    for share in SHARES:
        cells = []
        for rule in RULES:
            means = np.array([np.mean(values) for values in found[share, rule].values()])
            cells.append(f"{means.mean():.3f} ± {means.std(ddof=1) / len(means) ** 0.5:.3f}")
        say(f"| {objective} | {per_arm} | 1 in {share} | {' | '.join(cells)} |")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objective", choices=objective_names(), action="append", help="default: both")
    parser.add_argument("--budget", type=int, action="append", help=f"pulls for each arm, default: {BUDGETS}")
    parser.add_argument("--tasks", type=int, default=3, help="tasks of each family, evenly taken")
    given = parser.parse_args()
    families, _ = load_tasks(os.environ.get("RISINGBANDITS_DATA"))
    tasks = [(name, task) for name, own in families.items() for task in own[:: -(-len(own) // given.tasks)]]
    print("pulls made again for each that counts")
    print(f"| objective | pulls per arm | arms with checkpoints | {' | '.join(RULES)} |")
    print("| --- " * (3 + len(RULES)) + "|")
    for objective in given.objective or objective_names():
        for per_arm in given.budget or BUDGETS:
            measure(tasks, objective, per_arm, lambda line: print(line, flush=True))


if __name__ == "__main__":
    main()
