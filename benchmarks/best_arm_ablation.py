"""What each number of halving after a pilot, the default for best-arm identification, is worth: it is changed, or goes.

    python benchmarks/best_arm_ablation.py               # every second task of each family; needs RISINGBANDITS_DATA
    python benchmarks/best_arm_ablation.py --half odd    # the others
    python benchmarks/best_arm_ablation.py --quick       # few tasks and variants, to see that it works

A variant is the source of the policy with a text replaced, so that what is measured is the policy itself. Figures are
normalised simple regret, 0 the best arm and 1 a random one, as means over families; those of a variant are differences
from the policy as it is, with 95 % intervals over tasks (real curves) or problems (noisy rewards).
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from risingbandits import Policy
from risingbandits._core.types import Floats
from risingbandits.lab.benchmark._problems import Problem, ReplayedProblem, seed_of
from risingbandits.lab.benchmark.suite import load_tasks
from risingbandits.lab.benchmark.synthetic import Sizes, noisy_short
from risingbandits.policies.default import _best_arm as best_arm

SEED, BEST_ARM = 5, "best-arm"
_FEW, _FEW_TASKS, _FEW_BUDGETS = (3, 5, 8), 8, (5, 10, 20, 50, 100)
_NOISY_PROBLEMS = 60
_WEIGHT, _LEAST = "carried * math.sqrt(math.log(_affordable(state, n, pulls)))", "min(carried, _agreement(state, n))"
_DEPTH = "int(math.sqrt(plan))"

VARIANTS: dict[str, tuple[str, str]] = {
    "2 pilots": ("_PILOTS = 3", "_PILOTS = 2"),
    "4 pilots": ("_PILOTS = 3", "_PILOTS = 4"),
    "pilots are pulled sqrt(T) / 2 times": (_DEPTH, "int(0.5 * math.sqrt(plan))"),
    "pilots are pulled 2 sqrt(T) times": (_DEPTH, "int(2.0 * math.sqrt(plan))"),
    "30 % of the pulls left start arms": ("_STARTING = 0.6", "_STARTING = 0.3"),
    "all pulls left start arms": ("_STARTING = 0.6", "_STARTING = 1.0"),
    "levels of the last reward": ("window = (state.tenths[0] * n + 9) // 10", "window = 1"),
    "levels of three tenths without noise, too": ("_TENTHS, _NOISY_TENTHS = 1, 3", "_TENTHS, _NOISY_TENTHS = 3, 3"),
    "levels of one tenth with noise, too": ("_TENTHS, _NOISY_TENTHS = 1, 3", "_TENTHS, _NOISY_TENTHS = 1, 1"),
    "noise is much from 0.5 variances on": ("_NOISY = 2.0", "_NOISY = 0.5"),
    "noise is much from 8 variances on": ("_NOISY = 2.0", "_NOISY = 8.0"),
    "as many arms as possible are not worth more": (_WEIGHT, "carried"),
    "r(n) at n alone": (_LEAST, "_agreement(state, n)"),
    "the best pilot may be dropped early": ("place == marks[_BEST] and goal < marks[_DEPTH]", "False"),
}


class Played(NamedTuple):
    """A problem, the group of its table column and the family that it is averaged with."""

    group: str
    family: str
    problem: Problem


def problems(data: str | None, half: int, orders: int, quick: bool) -> Iterator[Played]:
    """Real tasks, the same with flat starts, some arms of each, and noisy rewards."""
    real, made = load_tasks(data)
    step = 20 if quick else 2
    for family, tasks in real.items():
        for task in tasks[half::step]:
            for budget in task.budgets(BEST_ARM):
                yield Played("real curves", family, _replayed(task, budget, orders, family))
        for task in tasks[half::step][:_FEW_TASKS]:
            for n_arms in _FEW:
                rng = np.random.default_rng([n_arms, zlib.crc32(f"{family} {task.name}".encode())])
                few = task.listed(rng.permutation(task.n_arms)[:n_arms], f"{task.name}, {n_arms} arms")
                for budget in few.budgets(BEST_ARM, _FEW_BUDGETS):
                    yield Played("3 to 8 arms", family, _replayed(few, budget, orders, family))
    for task in made["flat-starts"][half::step]:
        for budget in task.budgets(BEST_ARM):
            yield Played("flat starts", task.source, _replayed(task, budget, orders, "flat"))
    for row in noisy_short(BEST_ARM, 100 + half, Sizes(instances=2 if quick else _NOISY_PROBLEMS)):
        for problem in row.problems:
            yield Played("noisy", row.name, problem)


def _replayed(task, budget: int, orders: int, family: str) -> ReplayedProblem:  # type: ignore[no-untyped-def]
    return ReplayedProblem(task, budget, orders, BEST_ARM, seed_of(SEED, f"{family} {task.name}", budget))


def variant(folder: Path, number: int, old: str, new: str) -> Policy:
    """The policy with a text of its source replaced."""
    source = Path(best_arm.__file__).read_text()
    if source.count(old) != 1:
        raise SystemExit(f"{old!r} is {source.count(old)} times in the source, not once.")
    name = f"best_arm_{number}"
    path = folder / f"{name}.py"
    path.write_text(source.replace(old, new))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    policy: Policy = module.PilotHalving()
    return policy


def normalised_regret(policy: Policy, played: Sequence[Played]) -> Floats:
    """Of each problem, NaN where all arms are equally good."""
    found = np.full(len(played), np.nan)
    for i, (_, _, problem) in enumerate(played):
        play = problem.player(policy)
        runs = [play(number) for number in range(problem.runs)]
        if runs[0].random > 0:
            found[i] = np.mean([run.regret for run in runs]) / runs[0].random
    return found


def summary(group: str, played: Sequence[Played], values: Floats) -> tuple[float, float]:
    """Mean over families of the mean over tasks, and half of its 95 % interval."""
    families: dict[str, dict[str, list[float]]] = {}
    for (own, family, problem), value in zip(played, values, strict=True):
        if own == group and math.isfinite(value):
            families.setdefault(family, {}).setdefault(problem.task, []).append(float(value))
    means = [np.array([np.mean(values) for values in tasks.values()]) for tasks in families.values()]
    variance = sum(float(own.var(ddof=1)) / own.size for own in means if own.size > 1)
    return float(np.mean([own.mean() for own in means])), 1.96 * math.sqrt(variance) / len(means)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("even", "odd"), default="even")
    parser.add_argument("--orders", type=int, default=10, help="of the arms of a real task")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    orders = 1 if options.quick else options.orders
    data = os.environ.get("RISINGBANDITS_DATA")
    played = list(problems(data, ("even", "odd").index(options.half), orders, options.quick))
    groups = list(dict.fromkeys(one.group for one in played))
    print(f"| {options.half} tasks | {' | '.join(groups)} |")
    print(f"| --- |{' ---: |' * len(groups)}")
    as_it_is = normalised_regret(best_arm.PilotHalving(), played)
    cells = [f"{mean:.3f} ± {half:.3f}" for mean, half in (summary(group, played, as_it_is) for group in groups)]
    print(f"| as it is | {' | '.join(cells)} |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for number, (label, texts) in enumerate(list(VARIANTS.items())[: 1 if options.quick else None]):
            differences = normalised_regret(variant(Path(folder), number, *texts), played) - as_it_is
            figures = [summary(group, played, differences) for group in groups]
            cells = [f"{mean:+.3f} ± {half:.3f}" for mean, half in figures]
            print(f"| {label} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
