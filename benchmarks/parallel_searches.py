"""The searches of `searches.py` by an `Allocator` with 1, 4 and 16 workers, and with pulls that differ in cost.

Regret of the best value seen, as there, after 25 %, 50 % and 100 % of the budget, which is the same for any number of
workers. A pull takes as long as it costs. Costs are equal, or from 1/4 to 4 by the first hyperparameter of TaskSet, in
the order of its values: then the budget is in cost. Arms have no end that is given beforehand but the length of the
curves. Needs the real curves below RISINGBANDITS_DATA.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from risingbandits.allocation import Allocator, Budget, NoArmAvailable, Pull
from searches import Table, _half, as_dicts, tables, tasks_of

SHARES = (0.25, 0.5, 1.0)  # of the budget, at which regret is printed
WORKERS = (1, 4, 16)
COSTS = ("equal", "unequal")
ROWS = ("model", "asha")

Floats = npt.NDArray[np.float64]


def costs_of(table: Table, arms: npt.NDArray[np.int64], kind: str) -> Floats:
    """What a pull of each arm costs; the geometric mean is 1."""
    if kind == "equal":
        return np.ones(len(arms))
    ranks = np.argsort(np.argsort(table.configs[arms, 0], kind="stable"), kind="stable")
    costs: Floats = 4.0 ** (2.0 * (ranks + 0.5) / len(arms) - 1.0)
    return costs


def simulated(allocator: Allocator, workers: int, costs: Floats) -> Iterator[Pull]:
    """The pulls of an allocation in the order in which they are done; each is to be told before the next."""
    now, numbers = 0.0, itertools.count()
    flying: list[tuple[float, int, Pull]] = []
    while True:
        while len(flying) < workers:
            try:
                pull = allocator.ask()
            except NoArmAvailable:
                break
            if pull is None:
                break
            heapq.heappush(flying, (now + costs[int(pull.arm)], next(numbers), pull))
        if not flying:
            return
        now, _, pull = heapq.heappop(flying)
        yield pull


def play(table: Table, arms: npt.NDArray[np.int64], row: str, workers: int, kind: str, steps: int, seed: int) -> Any:
    """Regret at each of the shares of the budget, and how many arms were started."""
    curves, costs = table.curves[arms], costs_of(table, arms, kind)
    names = [str(arm) for arm in range(len(arms))]
    budget: Any = steps if kind == "equal" else Budget(cost=float(steps))
    knows: dict[str, Any] = (
        {"configs": dict(zip(names, as_dicts(table.configs[arms]), strict=True))} if row == "model" else {}
    )
    policy = None if row == "model" else row
    length = curves.shape[1]
    best, worst, seen, spent = curves.max(), curves.min(), -math.inf, 0.0
    found = [100.0] * len(SHARES)
    with Allocator(names, budget, objective="best-arm", policy=policy, max_pulls=length, seed=seed, **knows) as run:
        for pull in simulated(run, workers, costs):
            arm = int(pull.arm)
            value = float(curves[arm, pull.n - 1])
            run.tell(pull, value, cost=None if kind == "equal" else float(costs[arm]))
            seen, spent = max(seen, value), spent + costs[arm]
            for i, share in enumerate(SHARES):
                if spent <= share * steps + 1e-9:
                    found[i] = 100.0 * float(best - seen) / float(best - worst)
        started = sum(bool(run.rewards(name)) for name in names)
    return found, started


def searches(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Every row with every number of workers and both kinds of costs, on every task with every seed."""
    known, found = tables("taskset"), []
    for seed in given.seeds:
        for table, sample in tasks_of(known, "taskset", given.half, given.arms, seed):
            for kind, workers, row in itertools.product(COSTS, given.workers, given.rows):
                regret, started = play(table, sample, row, workers, kind, given.steps, seed)
                facts = {"half": given.half, "arms": given.arms, "steps": given.steps, "task": table.number}
                facts |= {"seed": seed, "costs": kind, "workers": workers, "row": row}
                found.append({**facts, "regret": [round(x, 3) for x in regret], "started": started})
                print(json.dumps(found[-1]), flush=True)
    return found


def report(results: Sequence[dict[str, Any]]) -> None:
    """Means with 95 % intervals over searches, and paired differences from one worker."""
    groups: dict[tuple[Any, ...], dict[tuple[int, int], Any]] = {}
    for one in results:
        key = tuple(one[name] for name in ("half", "arms", "steps", "costs", "row", "workers"))
        groups.setdefault(key, {})[one["task"], one["seed"]] = one
    before: Any = None
    for (*where, row, workers), own in groups.items():
        if where != before:
            print("\n{} tasks, {:,} configurations, budget {:,}, {} costs".format(*where))
            before = where
        values = np.array([each["regret"] for each in own.values()])
        shown = "  ".join(f"{m:5.1f} +-{h:4.1f}" for m, h in zip(values.mean(0), _half(values), strict=True))
        started = np.mean([each["started"] for each in own.values()])
        line = f"{row:6s} {workers:3} workers  {shown}  {started:4.0f} arms started, {len(own)} searches"
        alone = groups.get((*where, row, 1), {})
        pairs = [np.subtract(own[i]["regret"], alone[i]["regret"]) for i in own if i in alone and workers != 1]
        if pairs:
            over = np.array(pairs)
            beside = "  ".join(f"{m:+5.1f} +-{h:4.1f}" for m, h in zip(over.mean(0), _half(over), strict=True))
            line += f"; over 1 worker {beside}"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=["tuned", "reported"], default="tuned")
    parser.add_argument("--arms", type=int, default=1_000)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--workers", type=int, nargs="+", default=list(WORKERS))
    parser.add_argument("--rows", nargs="+", default=list(ROWS))
    parser.add_argument("--read", type=Path, nargs="+", help="files of earlier output: report them, play nothing")
    given = parser.parse_args()
    if given.read:
        lines = [line for path in given.read for line in path.read_text().splitlines() if line.startswith("{")]
        results = [json.loads(line) for line in lines]
    else:
        results = searches(given)
    report(sorted(results, key=lambda one: (one["half"], one["arms"], one["costs"], one["row"], one["workers"])))


if __name__ == "__main__":
    main()
