"""What each number of the default for sums of rewards is worth: it is changed, or goes.

    python benchmarks/default_ablation.py            # needs RISINGBANDITS_DATA
    python benchmarks/default_ablation.py --quick    # little of everything, to see that it works
    python benchmarks/default_ablation.py --only apart,alike

What is played: every fourth task of each family of real curves with 5, 20 and 50 rounds per arm, the same tasks with
flat starts with 5 and 20, and three and five arms of each with 20 and 100, in ten orders of the arms (normalised
regret); problems whose curves cross, with all kinds of noise, and arms that do not rise (per cent of what the best arm
brings); the problem of the paper with 15 arms (thousands of rewards). No task is one that `benchmarks/default.py` plays
to report. Figures of a variant are differences from the rule as it is, paired run by run, with two standard errors over
tasks.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from risingbandits import get_problem
from risingbandits._core.types import Floats
from risingbandits.lab.benchmark._crossing import crossing
from risingbandits.lab.benchmark._problems import Problem, ReplayedProblem, SimulatedProblem, seed_of
from risingbandits.lab.benchmark.suite import few_arms, load_tasks, made_benchmarks
from risingbandits.lab.benchmark.synthetic import Sizes, stationary
from risingbandits.policies.default._cumulative import BackTest
from risingbandits.policies.default._seen import NUMBERS
from risingbandits.policies.default.auto import Auto

SEED, ORDERS, FEW, SUMS = 50, 10, (3, 5), "cumulative"

NEVER = 1e12
VARIANTS: dict[str, float] = {  # what each number is changed to: its absence, or what is nearest to it
    "apart": 0.05,
    "behind": 0.0,
    "drift": 0.0,
    "chance": 1.0,
    "on_the_way": 0.0,
    "hold": 0.0,
    "rise": 0.4,
    "start": 0.4,
    "tail": 0.5,
    "sunk": 0.0,
    "stray": 1e-4,
    "prior": 1.0,
    "alike": 0.01,
    "most": 0.0,
    "floor": 0.0,
    "deep": NEVER,
}


class Varied(Auto):
    """The default with other numbers."""

    def __init__(self, **changed: float) -> None:
        super().__init__(SUMS)
        self.changed = changed

    def chosen(self) -> BackTest:
        chosen = super().chosen()
        assert isinstance(chosen, BackTest)
        chosen.numbers = {**NUMBERS, **self.changed}
        return chosen

    def replace(self, **settings: object) -> Varied:
        return Varied(**self.changed)


class Played(NamedTuple):
    """A problem, its column, the task that it is a part of, and the unit in which its runs are counted."""

    column: str
    task: str
    unit: str
    problem: Problem


def problems(data: str | None, quick: bool) -> Iterator[Played]:
    real, _ = load_tasks(data)
    orders = 1 if quick else ORDERS
    some_tasks = {family: tasks[:1] if quick else tasks[::4] for family, tasks in real.items()}
    for family, tasks in some_tasks.items():
        for task in tasks:
            for budget in task.budgets(SUMS, (5, 20, 50)):
                number = seed_of(SEED, f"{family} {task.name}", budget)
                problem: Problem = ReplayedProblem(task, budget, orders, SUMS, number)
                yield Played("real", f"{family} {task.name}", "share", problem)
            for n_arms in FEW:
                some = few_arms(task, n_arms, SEED)
                for budget in some.budgets(SUMS, (20, 100)):
                    number = seed_of(SEED, f"{family} {some.name}", budget)
                    problem = ReplayedProblem(some, budget, orders, SUMS, number)
                    yield Played("few arms", f"{family} {task.name}", "share", problem)
    for task in made_benchmarks(some_tasks, [])["flat-starts"]:
        for budget in task.budgets(SUMS, (5, 20)):
            number = seed_of(SEED, f"flat-starts {task.name}", budget)
            yield Played("flat starts", task.name, "share", ReplayedProblem(task, budget, orders, SUMS, number))
    sizes = Sizes(runs=2 if quick else 20, instances=2 if quick else 40)
    for seed in SEED, SEED + 1:
        for row in crossing(SUMS, seed, sizes):
            for problem in row.problems:
                yield Played("crossing", f"{seed} {problem.task}", "percent", problem)
    for row in stationary(SEED, sizes):
        for problem in row.problems:
            yield Played("stationary", problem.task, "percent", problem)
    paper = SimulatedProblem("paper-15arms", partial(get_problem, "paper-15arms"), sizes.runs, seed_of(SEED, "paper"))
    yield Played("15 arms", paper.task, "regret", paper)


Values = Mapping[str, list[Floats]]
"""By column: the runs of each task."""


def played_by(policy: Varied, played: Sequence[Played]) -> Values:
    found: dict[str, dict[str, list[float]]] = {}
    for column, task, unit, problem in played:
        play = problem.player(policy)
        scale = 1e-3 if unit == "regret" else 1.0
        runs = found.setdefault(column, {}).setdefault(task, [])
        runs += [scale * getattr(play(number), unit) for number in range(problem.runs)]
    return {column: [np.array(runs) for runs in tasks.values()] for column, tasks in found.items()}


def cell(values: Sequence[Floats], others: Sequence[Floats] | None) -> str:
    """The mean, or the mean difference, and two standard errors over tasks, or over the runs of a single one."""
    runs = [own if others is None else own - others[i] for i, own in enumerate(values)]
    means = runs[0] if len(runs) == 1 else np.array([own.mean() for own in runs])
    error = 2 * means.std(ddof=1) / np.sqrt(means.size) if means.size > 1 else np.nan
    return f"{means.mean():.3f}" if others is None else f"{means.mean():+.3f} ± {error:.3f}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default=",".join(VARIANTS), help="some of the numbers")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")  # that rewards fall: some recorded curves do
    played = list(problems(os.environ.get("RISINGBANDITS_DATA"), options.quick))
    as_it_is = played_by(Varied(), played)
    print(f"| variant | {' | '.join(as_it_is)} |")
    print(f"| --- |{' ---: |' * len(as_it_is)}")
    print(f"| as it is | {' | '.join(cell(values, None) for values in as_it_is.values())} |", flush=True)
    for name in options.only.split(","):
        found = played_by(Varied(**{name: VARIANTS[name]}), played)
        cells = (cell(values, as_it_is[column]) for column, values in found.items())
        print(f"| {name} = {VARIANTS[name]:g} instead of {NUMBERS[name]:.3g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
