"""Opening few arms beside looking at all of them, by pulls per arm: real curves, ten synthetic arms, many arms.

    python benchmarks/opening_arms.py               # three tables, some minutes; the first needs RISINGBANDITS_DATA
    python benchmarks/opening_arms.py --quick       # small sizes, to see that it works

Everyone is told nothing. Figures are the regret divided by that of a random arm: 0 is the best arm, 1 a random one. The
seed has not been used to choose anything.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from risingbandits import Policy, RisingBandit, RisingBanditsError
from risingbandits._core.tables import TextTable
from risingbandits.lab.benchmark.entrants import FewArmsGaussianUCB
from risingbandits.lab.benchmark.rows import Problem, ReplayedProblem, SimulatedProblem, seed_of
from risingbandits.lab.benchmark.suite import load_tasks
from risingbandits.policies import KLUCB, CommitEnsemble, CommitUCB, OpenArms, OpenByValue
from risingbandits.problems import Bernoulli, ConstantCurve, Exponential, Gaussian, Noise, random_problem

SEED = 4_242
OPENING: dict[str, Policy] = {
    "open-by-value": OpenByValue(),
    "open-arms": OpenArms(),
    "Gaussian UCB on few arms": FewArmsGaussianUCB(),
}
ALL_ARMS: dict[str, Policy] = {
    "commit-ucb": CommitUCB(sigma="auto"),
    "commit-ensemble": CommitEnsemble(sigma="auto"),
}
NOISES: dict[str, Noise] = {"noise .01": Gaussian(0.01), "noise .1": Gaussian(0.1), "0 and 1": Bernoulli()}


def loss(policy: Policy, problems: Iterable[Problem]) -> float:
    """Mean over problems of the regret relative to a random arm."""
    losses = []
    for problem in problems:
        play = problem.player(policy)
        runs = [play(number) for number in range(problem.runs)]
        losses.append(sum(run.regret for run in runs) / sum(run.random for run in runs))
    return float(np.mean(losses))


def real(quick: bool) -> TextTable:
    """Real curves: the mean of the families, two tasks of each."""
    families, _ = load_tasks(os.environ.get("RISINGBANDITS_DATA"))
    per_arm = (2, 5) if quick else (2, 5, 10, 20, 50, 100, 200)
    rows = []
    for name, policy in {**OPENING, **ALL_ARMS}.items():
        row = [name]
        for pulls in per_arm:
            found = []
            for tasks in families.values():
                problems = [
                    ReplayedProblem(
                        task, pulls * task.n_arms, 1 if quick else 3, "cumulative", seed_of(SEED, task.name)
                    )
                    for task in (tasks[len(tasks) // 3], tasks[2 * len(tasks) // 3])
                ]
                found.append(loss(policy, problems))
            row.append(f"{np.mean(found):.2f}")
        rows.append(tuple(row))
    return TextTable(("pulls per arm", *map(str, per_arm)), rows, frozenset(range(1, 1 + len(per_arm))))


def stationary(noise: Noise, horizon: int, number: int) -> RisingBandit:
    """Ten arms without a curve."""
    levels = np.random.default_rng([SEED, number]).random(10)
    return RisingBandit([ConstantCurve(float(level)) for level in levels], noise, horizon)


def fast(noise: Noise, horizon: int, number: int) -> RisingBandit:
    """Ten exponential curves that take 3 to 30 pulls."""
    rng = np.random.default_rng([SEED, number])
    limits, times = rng.random(10), rng.uniform(3, 30, 10)
    curves = [Exponential(float(limit), 1 / float(time)) for limit, time in zip(limits, times, strict=True)]
    return RisingBandit(curves, noise, horizon)


def slow(noise: Noise, horizon: int, number: int) -> RisingBandit:
    """Ten curves of `random_problem`."""
    return random_problem(10, horizon, np.random.SeedSequence([SEED, number]), noise)


def ten_arms(quick: bool) -> TextTable:
    """Ten synthetic arms: open-by-value / commit-ucb / commit-ensemble / KL-UCB."""
    per_arm = (20,) if quick else (20, 50, 100, 200, 500)
    policies = {"open-by-value": OpenByValue(), **ALL_ARMS, "kl-ucb": KLUCB()}
    rows = []
    for kind in (stationary, fast, slow):
        for label, noise in NOISES.items():
            row = [f"{kind.__name__}, {label}"]
            for pulls in per_arm:
                problems = simulated(partial(kind, noise, 10 * pulls), 2 if quick else 30)
                row.append(" / ".join(f"{loss(policy, problems):.2f}" for policy in policies.values()))
            rows.append(tuple(row))
    return TextTable((" / ".join(policies), *map(str, per_arm)), rows, frozenset(range(1, 1 + len(per_arm))))


def simulated(draw: Callable[[int], RisingBandit], count: int) -> Sequence[Problem]:
    """Some problems, one run each."""
    return [SimulatedProblem(f"{number}", partial(draw, number), 1, SEED + number) for number in range(count)]


def crowd(n_arms: int, horizon: int, number: int) -> RisingBandit:
    """Levels uniform in [0, 0.9]; half of the distance is gained with every pull."""
    levels = 0.9 * np.random.default_rng([SEED, number]).random(n_arms)
    return RisingBandit([Exponential(float(level), float(np.log(2))) for level in levels], Gaussian(0.1), horizon)


def many_arms(quick: bool) -> TextTable:
    """Many arms, noise .1."""
    rows = []
    for n_arms, horizon in ((100, 500),) if quick else ((1_000, 10_000), (10_000, 20_000)):
        problems = simulated(partial(crowd, n_arms, horizon), 2 if quick else 10)
        rows.append((f"K = {n_arms:,}, T = {horizon:,}", *(f"{loss(one, problems):.2f}" for one in OPENING.values())))
    return TextTable(("", *OPENING), rows, frozenset(range(1, 4)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few problems and short runs")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")  # that rewards fall: some recorded curves do
    for table in (real, ten_arms, many_arms):
        try:
            print(f"{table.__doc__}\n\n{table(quick).markdown()}")
        except RisingBanditsError as error:
            print(f"{table.__doc__}\n\nLeft out: {error}\n")


if __name__ == "__main__":
    main()
