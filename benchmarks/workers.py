"""What several workers lose against one with as many pulls: the allocator's default on real curves.

An arm has at most one pull at a time, so that j workers share their pulls among j arms or more. Pulls take equally
long, or times that are drawn (lognormal, deviation 0.7). Everything is decided by an `Allocator` in memory, asked and
told as workers would. Needs the real curves below RISINGBANDITS_DATA; an hour, minutes with ``--tasks 1 --orders 1``.

For cumulative reward, a loss of 0 is what j workers earn who know the best arms, 1 nothing; for the recommendation, 0
is the best arm and 1 a random one, by what they are worth at the end of their curves.
"""

from __future__ import annotations

import argparse
import heapq
import os
from collections.abc import Iterator
from contextlib import nullcontext
from typing import NamedTuple
from unittest import mock

import numpy as np
import numpy.typing as npt

from risingbandits.allocation import Allocator, NoArmAvailable, Pull
from risingbandits.allocation._ledger import Ledger
from risingbandits.lab.benchmark.curve_tasks import CurveTask
from risingbandits.lab.benchmark.suite import load_tasks
from risingbandits.policies import objective_names

WORKERS = (1, 2, 4)
RULES = ("joint", "fill")  # a policy that is told how many pulls are made at a time, or one that is not
DURATIONS = ("equal", "drawn")
BUDGETS = (5, 20)  # pulls for each arm
MOST_ARMS = 30

Floats = npt.NDArray[np.float64]


class Played(NamedTuple):
    """What a run has earned, the arm that it would keep, and how many arms it has tried."""

    earned: float
    kept: int
    tried: int


def play(task: CurveTask, objective: str, pulls: int, workers: int, rule: str, durations: str, seed: int) -> Played:
    """One run: whoever is done tells and asks again."""
    observed = task.observed if objective == "cumulative" else task.observed[:, :-1]
    names = [str(arm) for arm in range(task.n_arms)]
    longest = None if objective == "cumulative" else task.length
    rng = np.random.default_rng([seed, workers])
    earned = 0.0
    patch = nullcontext() if rule == "joint" else mock.patch.object(Ledger, "_expect_workers")
    with patch, Allocator(names, pulls, objective=objective, max_pulls=longest, seed=seed) as allocator:
        for pull in simulated(allocator, workers, durations, rng):
            reward = float(observed[int(pull.arm), min(pull.n, observed.shape[1]) - 1])
            earned += reward
            allocator.tell(pull, reward)
        tried = sum(bool(allocator.rewards(name)) for name in names)
        return Played(earned, int(allocator.recommend()), tried)


def simulated(allocator: Allocator, workers: int, durations: str, rng: np.random.Generator) -> Iterator[Pull]:
    """The pulls in the order in which they end; each has to be told before the next."""
    running: list[tuple[float, int, Pull]] = []
    now = 0.0
    while True:
        while len(running) < workers:
            try:
                pull = allocator.ask()
            except NoArmAvailable:
                break
            if pull is None:
                break
            takes = 1.0 if durations == "equal" else float(rng.lognormal(0.0, 0.7))
            heapq.heappush(running, (now + takes, pull.id, pull))
        if not running:
            return
        now, _, ended = heapq.heappop(running)
        yield ended


def loss(task: CurveTask, objective: str, pulls: int, workers: int, played: Played) -> float:
    """0 is the best, see above."""
    if objective == "best-arm":
        best = float(task.finals.max())
        return (best - float(task.finals[played.kept])) / (best - float(task.finals.mean()))
    each = pulls // workers
    seen = min(each, task.length)
    sums = task.observed[:, :seen].sum(axis=1) + (each - seen) * task.observed[:, -1]
    most = float(np.sort(sums)[-workers:].sum()) * pulls / (each * workers)
    return 1.0 - played.earned / most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objective", choices=objective_names(), action="append", help="default: both")
    parser.add_argument("--budget", type=int, action="append", help=f"pulls for each arm, default: {BUDGETS}")
    parser.add_argument("--tasks", type=int, default=5, help="tasks of each family, evenly taken")
    parser.add_argument("--orders", type=int, default=4, help="orders of the arms for each task")
    given = parser.parse_args()
    families, _ = load_tasks(os.environ.get("RISINGBANDITS_DATA"))
    print("objective pulls/arm workers rule durations: loss, error, against one worker; earned against one; arms tried")
    for objective in given.objective or objective_names():
        for per_arm in given.budget or BUDGETS:
            measure(families, objective, per_arm, given.tasks, given.orders)


def measure(families: dict[str, list[CurveTask]], objective: str, per_arm: int, tasks: int, orders: int) -> None:
    """Mean losses over families, and a line for each way to play."""
    rules = RULES if objective == "cumulative" else RULES[:1]  # for best-arm identification both decide alike
    ways = [(1, "fill", "equal"), *((j, rule, took) for j in WORKERS[1:] for rule in rules for took in DURATIONS)]
    found: dict[tuple[int, str, str], dict[str, list[tuple[float, float, float]]]] = {way: {} for way in ways}
    for family, all_tasks in families.items():
        for task in all_tasks[:: -(-len(all_tasks) // tasks)]:
            if objective == "best-arm" and per_arm >= task.length:
                continue
            for order in range(1, orders + 1):
                listed = task.listed(task.order(order)[:MOST_ARMS])
                pulls = per_arm * listed.n_arms
                for way in ways:
                    played = play(listed, objective, pulls, *way, seed=order)
                    values = (loss(listed, objective, pulls, way[0], played), played.earned / pulls, played.tried)
                    found[way].setdefault(family, []).append(values)
    means = {way: np.array([np.mean(runs, axis=0) for runs in by.values()]) for way, by in found.items()}
    alone = means[ways[0]]
    for (workers, rule, took), mean in means.items():
        more = mean[:, 0] - alone[:, 0]
        error = float(more.std() / max(1, len(more) - 1) ** 0.5 / alone[:, 0].mean())
        print(
            f"{objective} {per_arm} {workers} {rule} {took}: {mean[:, 0].mean():.3f} "
            f"{100 * more.mean() / alone[:, 0].mean():+.0f} % +- {100 * error:.0f}; "
            f"{100 * (mean[:, 1].mean() / alone[:, 1].mean() - 1):+.1f} %; {mean[:, 2].mean():.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
