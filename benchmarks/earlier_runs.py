"""What earlier runs are worth: the allocator's default with and without a prior, on real curves.

The task itself, and all variants of it, are left out of its prior. 0 is the best arm, 1 a random one. Needs the real
curves below RISINGBANDITS_DATA.
"""

from __future__ import annotations

import argparse
import logging
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from risingbandits._core.stats import half_width, rank_correlation
from risingbandits.allocation import Allocator, EarlierTask, Prior, read_prior
from risingbandits.allocation.starting.prior import Belief
from risingbandits.lab.benchmark._curve_sets import curve_sets
from risingbandits.lab.benchmark._scores import interval, resampled_means
from risingbandits.lab.benchmark.curve_tasks import CurveTask

PULLS = (2, 5, 10)  # for each arm
STORED_PULLS = 5  # of an earlier run that the product made itself
CHAIN, CHAIN_START, CHAIN_ARMS = 12, 3, 50  # runs of a chain, of which those count that have as many before; arms
STORED_RUNS = 5  # such runs of each task; each is the earlier run of a fifth of the orders
KNOWN_BY_NAME = {"atari": "agent", "lcdb": "learner", "scikit-learn": "model"}
KNOWN_BY_WORD = {"algoperf": "submission", "tdmpc2": "method", "dmc": "method"}  # several arms have the same
FAMILIES = (*KNOWN_BY_NAME, *KNOWN_BY_WORD, "taskset")
HEADLINE = ("atari", "lcdb", "scikit-learn", "algoperf")
MOST_ARMS = 200  # of the tasks that are played
TASKSET_CURVES = 40  # of each earlier task

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """A task with what is known of its arms."""

    family: str
    group: str  # what is left out together
    name: str
    arms: tuple[str, ...]
    curves: Floats  # (K, L + 1), the last column is that of all later pulls
    settings: Mapping[str, Mapping[str, float | str]]

    def earlier(self, curves: Mapping[str, Iterable[float]] | None = None) -> EarlierTask:
        """As a task that is over, with the curves that are known of it."""
        named = self.family in KNOWN_BY_NAME
        known = dict(zip(self.arms, self.curves[:, :-1], strict=True)) if curves is None else curves
        return EarlierTask(self.name, known, self.settings, named=named)


@cache
def all_tasks() -> list[Task]:
    folder = Path(os.environ["RISINGBANDITS_DATA"]) / "curves"
    families, large = curve_sets(folder)
    tasks = [
        _task(name.split("-")[0] if name != "scikit-learn" else name, t) for name, ts in families.items() for t in ts
    ]
    return [task for task in tasks if task is not None] + [_taskset(task) for task in large]


def _task(family: str, task: CurveTask) -> Task | None:
    group = task.name.split(" ")[0].split("/")[-1]
    if family == "algoperf":
        group = task.source  # workloads and their variants
    if family in KNOWN_BY_NAME:
        arms = tuple(str(arm) for arm in task.features[KNOWN_BY_NAME[family]])
        return Task(family, group, task.name, arms, task.observed, {})
    if family in KNOWN_BY_WORD:
        words = [str(word) for word in task.features[KNOWN_BY_WORD[family]]]
        arms = tuple(f"{word} {place}" for place, word in enumerate(words))
        return Task(
            family, group, task.name, arms, task.observed, {a: {"word": w} for a, w in zip(arms, words, strict=True)}
        )
    return _taskset(task) if family == "taskset" else None


def _taskset(task: CurveTask) -> Task:
    arms = tuple(f"arm {place}" for place in range(len(task.observed)))
    settings = {arm: {n: float(v[i]) for n, v in task.features.items()} for i, arm in enumerate(arms)}
    return Task("taskset", task.name.split(" ")[0].strip(","), task.name, arms, task.observed, settings)


@cache
def others(family: str, group: str) -> list[Task]:
    """The tasks of other groups: of TaskSet the one with the most arms of each."""
    found = [task for task in all_tasks() if task.family == family and task.group != group]
    return [task for task in found if len(task.arms) > MOST_ARMS] if family == "taskset" else found


def some_arms(task: Task, number: int) -> Task:
    """The task with so many of its arms, drawn at random."""
    if len(task.arms) <= number:
        return task
    chosen = np.random.default_rng(zlib.crc32(task.name.encode())).permutation(len(task.arms))[:number]
    arms = tuple(task.arms[i] for i in chosen)
    return Task(
        task.family, task.group, task.name, arms, task.curves[chosen], {arm: task.settings[arm] for arm in arms}
    )


# -- priors ---------------------------------------------------------------------------------------------------------


@cache
def _stored(objective: str, name: str, number: int) -> EarlierTask:
    """What a run of the product has seen of a task; runs with another number have another seed."""
    task = next(task for task in all_tasks() if task.name == name)
    limited = some_arms(task, TASKSET_CURVES) if task.family == "taskset" else task
    seed = zlib.crc32(name.encode()) + number
    allocator, _ = played(limited, STORED_PULLS * len(limited.arms), objective, None, seed)
    return limited.earlier({arm: allocator.rewards(arm) for arm in limited.arms if allocator.rewards(arm)})


@cache
def true_prior(name: str, kind: str, order: int) -> Prior:
    """What earlier runs say of a task: all of them, some that the order draws, or what stores have of them."""
    task = next(task for task in all_tasks() if task.name == name)
    earlier = others(task.family, task.group)
    if kind[0].isdigit():
        rng = np.random.default_rng([order, zlib.crc32(name.encode())])
        earlier = [earlier[i] for i in rng.permutation(len(earlier))[: int(kind.split(" ")[0])]]
    if kind.startswith("stores"):
        tasks = [_stored(kind.split(" ")[1], other.name, order) for other in earlier]
    else:
        tasks = [some_arms(other, TASKSET_CURVES if task.family == "taskset" else 10**6).earlier() for other in earlier]
    return read_prior(tasks, task.arms, task.settings)


PRIORS: dict[
    str, Prior
] = {}  # of whole curves, by the task: found once, and known to all processes that are forked then


def prior_of(task: Task, kind: str, order: int = 0) -> Prior:
    """The prior of a row; some rows have a wrong one."""
    drawn = order if kind[0].isdigit() else order % STORED_RUNS if kind.startswith("stores") else 0
    whole = kind in ("full", "favourite", "shuffled", "reversed")
    prior = PRIORS[task.name] if whole else true_prior(task.name, kind, drawn)
    beliefs = [prior.of(arm) for arm in task.arms]
    if kind == "shuffled":
        rng = np.random.default_rng([order, zlib.crc32(task.name.encode())])
        beliefs = [beliefs[i] for i in rng.permutation(len(beliefs))]
    elif kind == "reversed":
        beliefs = [Belief(-mean, deviation, source) for mean, deviation, source in beliefs]
    return Prior(dict(zip(task.arms, beliefs, strict=True)), prior.tasks, prior.agreement)


# -- runs -----------------------------------------------------------------------------------------------------------


def played(task: Task, budget: int, objective: str, prior: Any, seed: int, **given: Any) -> tuple[Allocator, float]:
    """A run to its end, and the sum of its rewards."""
    length = task.curves.shape[1] - 1
    allocator = Allocator(
        task.arms,
        budget,
        objective=objective,
        prior=prior,
        seed=seed,
        max_pulls=length if objective == "best-arm" else None,
        **given,
    )
    rows = dict(zip(task.arms, task.curves.tolist(), strict=True))
    earned = 0.0
    while (pull := allocator.ask()) is not None:
        reward = min(1.0, max(0.0, rows[pull.arm][min(pull.n - 1, length)]))
        earned += reward
        allocator.tell(pull, reward)
    return allocator, earned


def lost(task: Task, budget: int, objective: str, kept: str, earned: float) -> float:
    """0: the best arm, 1: a random arm; by the arm that is kept, or by what was earned."""
    if objective == "best-arm":
        worth = task.curves[:, -1]
        got = float(worth[task.arms.index(kept)])
    else:
        worth = task.curves[:, np.minimum(np.arange(budget), task.curves.shape[1] - 1)].clip(0.0, 1.0).sum(axis=1)
        got = earned
    spread = float(worth.max() - worth.mean())
    return float(worth.max() - got) / spread if spread > 0 else 0.0


def one_task(number: int, kind: str, objective: str, orders: int) -> list[float]:
    """The values of a task: pulls for each arm by orders."""
    task = all_tasks()[number]
    values = []
    for order in range(orders):
        prior = None if kind == "none" else prior_of(task, kind, order)
        for pulls in PULLS:
            budget = pulls * len(task.arms)
            if objective == "best-arm" and pulls >= task.curves.shape[1] - 1:
                continue
            if kind == "favourite" and prior is not None:
                kept = max(task.arms, key={arm: prior.of(arm).mean for arm in task.arms}.__getitem__)
                row = task.curves[task.arms.index(kept), np.minimum(np.arange(budget), task.curves.shape[1] - 1)]
                earned = float(row.clip(0.0, 1.0).sum())
            else:
                allocator, earned = played(task, budget, objective, prior, order)
                kept = allocator.recommend()
            values.append(lost(task, budget, objective, kept, earned))
    return values


def chain(family: str, objective: str, order: int) -> list[tuple[float, float]]:
    """Losses of runs one after another on different tasks: with what one folder has of those before, and without."""
    rng = np.random.default_rng([order, zlib.crc32(family.encode())])
    tasks = {task.group: task for task in all_tasks() if task.family == family and len(task.arms) <= MOST_ARMS}
    if family == "taskset":
        tasks = {task.group: some_arms(task, CHAIN_ARMS) for task in all_tasks() if task.family == family}
    found = []
    with TemporaryDirectory() as folder:
        for group in rng.permutation(sorted(tasks))[:CHAIN].tolist():
            task, losses = tasks[group], []
            budget = STORED_PULLS * len(task.arms)
            for chained in (folder, None):
                known = {"configs": task.settings} if task.settings else {}
                allocator, earned = played(task, budget, objective, chained, order, remember=chained, **known)
                losses.append(lost(task, budget, objective, allocator.recommend(), earned))
                if chained:
                    allocator.remember()
            found.append((losses[0], losses[1]))
    return found


def agreement(number: int) -> float:
    """Of the prior with the final levels."""
    task = all_tasks()[number]
    prior = prior_of(task, "full")
    found = rank_correlation(np.array([prior.of(arm).mean for arm in task.arms]), task.curves[:, -1])
    return 0.0 if found is None else found


# -- tables ---------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=12, help="groups of a family at most, 0: all")
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--most-arms", type=int, default=MOST_ARMS)
    parser.add_argument(
        "--rows", default="none,favourite,full,1 earlier,4 earlier,shuffled,reversed,stores best-arm,stores cumulative"
    )
    parser.add_argument("--objectives", default="cumulative,best-arm")
    parser.add_argument("--chains", action="store_true", help="runs one after another through one folder instead")
    arguments = parser.parse_args()
    if not os.environ.get("RISINGBANDITS_DATA"):
        parser.exit(2, "RISINGBANDITS_DATA must name the folder with the real curves.\n")
    logging.getLogger("risingbandits").setLevel(logging.ERROR)  # priors that are dropped say so
    if arguments.chains:
        for objective in arguments.objectives.split(","):
            _print_chains(objective, arguments.families.split(","), arguments.orders)
        return
    chosen = _chosen(arguments.families.split(","), arguments.tasks, arguments.most_arms)
    numbers = [number for family in chosen.values() for number in family]
    names = [all_tasks()[number].name for number in numbers]
    with ProcessPoolExecutor(2) as pool:
        PRIORS.update(zip(names, pool.map(true_prior, names, ["full"] * len(names), [0] * len(names)), strict=True))
    agreements = {number: agreement(number) for number in numbers}
    with ProcessPoolExecutor(2) as pool:
        print(
            "agreement of the prior:",
            {f: round(float(np.mean([agreements[n] for n in ns])), 2) for f, ns in chosen.items()},
        )
        for objective in arguments.objectives.split(","):
            for kind in arguments.rows.split(","):
                found = pool.map(one_task, numbers, *([x] * len(numbers) for x in (kind, objective, arguments.orders)))
                _print_row(objective, kind, dict(zip(numbers, found, strict=True)), chosen, agreements)


def _print_chains(objective: str, families: Sequence[str], orders: int) -> None:
    """Paired differences of the runs from the fourth on; 95 % intervals over families' chains."""
    with ProcessPoolExecutor(2) as pool:
        for family in families:
            several = pool.map(chain, [family] * orders, [objective] * orders, range(orders))
            means = np.array([np.mean(losses[CHAIN_START:], axis=0) for losses in several if len(losses) > CHAIN_START])
            change = means[:, 0] - means[:, 1]
            print(
                f"{objective:10} chain {family:12} {means[:, 0].mean():.3f} with the folder, {means[:, 1].mean():.3f} "
                f"without; difference {change.mean():+.3f} +- {float(half_width(change)):.3f} ({len(means)} chains)",
                flush=True,
            )


def _chosen(families: Iterable[str], most: int, most_arms: int) -> dict[str, list[int]]:
    chosen: dict[str, list[int]] = {}
    for family in families:
        groups: dict[str, int] = {}
        for number, task in enumerate(all_tasks()):
            if task.family == family and len(task.arms) <= most_arms:
                variants = family in ("algoperf", "scikit-learn")  # few groups, so that all of these are played
                groups.setdefault(task.name if variants else task.group, number)
        numbers = list(groups.values())
        step = max(1, len(numbers) // most) if most else 1
        chosen[family] = numbers[::step]
    return chosen


def _print_row(
    objective: str,
    kind: str,
    values: Mapping[int, list[float]],
    chosen: Mapping[str, list[int]],
    agreements: Mapping[int, float],
) -> None:
    draws, means = {}, {}
    for place, (family, numbers) in enumerate(chosen.items()):
        kept = [np.array(values[number]) for number in numbers if values[number]]
        means[family] = float(np.mean([own.mean() for own in kept]))
        draws[family] = resampled_means(kept, [place])
    named = [family for family in HEADLINE if family in means]
    cells = [f"{family} {mean:.3f}" for family, mean in means.items()]
    if named:
        low, high = interval(np.mean([draws[family] for family in named], axis=0))
        cells.insert(0, f"by name {np.mean([means[family] for family in named]):.3f} [{low:.3f}, {high:.3f}]")
    against = [np.mean(values[n]) for n, agreed in agreements.items() if agreed < 0 and values[n]]
    if against:
        cells.append(f"negative agreement ({len(against)} tasks) {np.mean(against):.3f}")
    print(f"{objective:10} {kind:18} {', '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
