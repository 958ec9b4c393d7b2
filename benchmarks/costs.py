"""What it is worth to compare arms by their costs: the allocator's default on training runs with their wall clock.

Tasks are the studies of AlgoPerf, an arm is a training run and a pull its next evaluation. Costs are the recorded
seconds, or these times a factor that is drawn for each arm, up to 10. Nobody is told anything: costs are known from
pulls alone. Needs the real curves below RISINGBANDITS_DATA; an hour for all, minutes with ``--orders 1``.

For cumulative reward, a loss of 0 is the arm that earns most with the whole budget, 1 nothing; for the recommendation,
0 is the best arm and 1 a random one, by what they are worth at the end of their curves.
"""

from __future__ import annotations

import argparse
import os
import zlib
from collections.abc import Callable
from contextlib import nullcontext
from typing import NamedTuple
from unittest import mock

import numpy as np
import numpy.typing as npt

from risingbandits.allocation import Allocator, Budget
from risingbandits.lab.benchmark.curve_tasks import CurveTask
from risingbandits.lab.benchmark.suite import load_tasks
from risingbandits.policies import objective_names

BUDGETS = (2, 5, 10, 20)  # mean pulls for each arm
SPREAD = 10.0  # of drawn costs: from 1 to this, evenly in their logarithms
COSTS = ("recorded", "drawn")

Floats = npt.NDArray[np.float64]


class Setup(NamedTuple):
    """One play: arms in an order of their own, what their pulls give and cost, and the budget."""

    objective: str
    observed: Floats  # (K, L + 1), the last column is that of all later pulls
    finals: Floats
    costs: Floats  # (K, L + 1)
    budget: float
    longest: int | None
    seed: int

    def reward(self, arm: int, n: int) -> float:
        """Of pull n = 0, 1, ..."""
        return float(self.observed[arm, min(n, self.observed.shape[1] - 1)])

    def cost(self, arm: int, n: int) -> float:
        return float(self.costs[arm, min(n, self.costs.shape[1] - 1)])


class Played(NamedTuple):
    """What a play has earned, and the arm that it would keep."""

    earned: float
    kept: int


def setup(task: CurveTask, objective: str, costs: str, per_arm: int, order: int) -> Setup:
    """A task with its arms in the order of that number."""
    assert task.seconds is not None
    task = task.listed(task.order(order))
    assert task.seconds is not None
    means = np.nanmean(task.seconds, axis=1, keepdims=True)
    seconds = np.concatenate([np.where(np.isfinite(task.seconds), task.seconds, means), means], axis=1)
    if costs == "drawn":
        rng = np.random.default_rng([order, zlib.crc32(task.name.encode()), 1])
        seconds *= SPREAD ** rng.random((task.n_arms, 1))
    budget = per_arm * float(seconds[:, :-1].mean()) * task.n_arms
    longest = task.length if objective == "best-arm" else None
    return Setup(objective, task.observed, task.finals, seconds, budget, longest, order)


def loss(play: Setup, played: Played) -> float:
    """0 is the best, see above."""
    if play.objective == "best-arm":
        best = float(play.finals.max())
        return (best - float(play.finals[played.kept])) / (best - float(play.finals.mean()))
    most = max(alone(play, arm) for arm in range(len(play.finals)))
    return (most - played.earned) / most


def alone(play: Setup, arm: int) -> float:
    """What an arm earns with the whole budget."""
    spent = earned = 0.0
    n = 0
    while spent < play.budget:
        spent += play.cost(arm, n)
        earned += play.reward(arm, n)
        n += 1
    return earned


# -- who plays ---------------------------------------------------------------------------------------------------------


def allocator(costs: str) -> Callable[[Setup], Played]:
    """The allocator's default, which compares costs or ignores them."""

    def play(setup: Setup) -> Played:
        names = [str(arm) for arm in range(len(setup.finals))]
        ignored = mock.patch("risingbandits.allocation.deciding._costs.compares_costs", return_value=False)
        with (
            ignored if costs == "ignore" else nullcontext(),
            Allocator(
                names,
                Budget(cost=setup.budget),
                objective=setup.objective,
                max_pulls=setup.longest,
                seed=setup.seed,
            ) as made,
        ):
            earned = 0.0
            for pull in made:
                arm = int(pull.arm)
                reward = setup.reward(arm, pull.n - 1)
                earned += reward
                made.tell(pull, reward, setup.cost(arm, pull.n - 1))
            return Played(earned, int(made.recommend()))

    return play


def round_robin(setup: Setup) -> Played:
    """All arms in turn."""
    return _halved(setup, halvings=0)


def halving(setup: Setup) -> Played:
    """Successive halving by cost: equal money for each halving, and in it for each arm."""
    return _halved(setup, halvings=int(np.ceil(np.log2(len(setup.finals)))))


def _halved(setup: Setup, halvings: int) -> Played:
    n_arms = len(setup.finals)
    pulls, last, paid = [0] * n_arms, [-1.0] * n_arms, [0.0] * n_arms
    racing = list(range(n_arms))
    spent = earned = 0.0
    for stage in range(1, max(1, halvings) + 1):
        until = setup.budget * stage / max(1, halvings)
        start = list(paid)
        while spent < until:
            free = [arm for arm in racing if setup.longest is None or pulls[arm] < setup.longest]
            if not free:
                break
            arm = min(free, key=lambda arm: paid[arm] - start[arm] if halvings else pulls[arm])
            last[arm] = setup.reward(arm, pulls[arm])
            cost = setup.cost(arm, pulls[arm])
            pulls[arm] += 1
            paid[arm] += cost
            spent += cost
            earned += last[arm]
        if halvings:
            racing = sorted(racing, key=lambda arm: -last[arm])[: (len(racing) + 1) // 2]
    return Played(earned, max(range(n_arms), key=lambda arm: last[arm]))


ENTRANTS: dict[str, Callable[[Setup], Played]] = {
    "costs compared": allocator("compare"),
    "costs ignored": allocator("ignore"),
    "halving by cost": halving,
    "round robin": round_robin,
}


# -- what is printed ---------------------------------------------------------------------------------------------------


def measure(tasks: list[CurveTask], objective: str, costs: str, per_arm: int, orders: int) -> dict[str, Floats]:
    """The mean loss of everybody on each task."""
    losses: dict[str, list[float]] = {name: [] for name in ENTRANTS}
    for task in tasks:
        found: dict[str, list[float]] = {name: [] for name in ENTRANTS}
        for order in range(1, orders + 1):
            play = setup(task, objective, costs, per_arm, order)
            for name, player in ENTRANTS.items():
                found[name].append(loss(play, player(play)))
        for name, values in found.items():
            losses[name].append(float(np.mean(values)))
    return {name: np.array(values) for name, values in losses.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=10, help="orders of the arms, and drawn costs, for each task")
    parser.add_argument("--objective", choices=objective_names(), action="append", help="default: both")
    parser.add_argument("--costs", choices=COSTS, action="append", help="default: both")
    parser.add_argument("--budget", type=int, action="append", help=f"mean pulls for each arm, default: {BUDGETS}")
    parser.add_argument("--every", type=int, default=1, help="play only every so many-th task")
    given = parser.parse_args()
    families, _ = load_tasks(os.environ.get("RISINGBANDITS_DATA"))
    print("objective costs family pulls/arm tasks " + ", ".join(ENTRANTS) + "; gain of comparing and its error")
    for objective in given.objective or objective_names():
        for costs in given.costs or COSTS:
            for per_arm in given.budget or BUDGETS:
                parts: list[dict[str, Floats]] = []
                for family, tasks in families.items():
                    if family.startswith("algoperf"):
                        parts.append(measure(tasks[:: given.every], objective, costs, per_arm, given.orders))
                        report(f"{objective} {costs} {family.removeprefix('algoperf-')} {per_arm}", parts[-1])
                report(
                    f"{objective} {costs} all {per_arm}",
                    {name: np.concatenate([part[name] for part in parts]) for name in ENTRANTS},
                )


def report(label: str, losses: dict[str, Floats]) -> None:
    """One line: mean losses, and by which share of the regret comparing costs is better, with a standard error."""
    compared, ignored = losses["costs compared"], losses["costs ignored"]
    means = " ".join(f"{values.mean():.3f}" for values in losses.values())
    error = float((ignored - compared).std() / max(1, ignored.size - 1) ** 0.5 / ignored.mean())
    gain = 1.0 - float(compared.mean() / ignored.mean())
    print(f"{label} {ignored.size} {means}; {100 * gain:+.0f} % +- {100 * error:.0f}", flush=True)


if __name__ == "__main__":
    main()
