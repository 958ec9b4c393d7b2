"""Which benchmarks are played: all, or those of some groups or kinds."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_choice
from risingbandits._core.types import Ints
from risingbandits.lab.benchmark import _crossing as crossing
from risingbandits.lab.benchmark import synthetic
from risingbandits.lab.benchmark._curve_sets import curve_sets
from risingbandits.lab.benchmark._problems import KINDS, OBJECTIVES, Benchmark, Problem, ReplayedProblem, seed_of
from risingbandits.lab.benchmark.curve_tasks import BUDGETS, CurveTask
from risingbandits.lab.benchmark.synthetic import Sizes

_QUICK_BUDGETS, _QUICK_TASKS = BUDGETS[:2], 2
_OTHER_BUDGETS = {"few-arms-real": (10, 20, 50, 100), "many-arms-real": (2, 5, 10)}
FEW_ARMS = (3, 5, 8)

_OF_DATA = (  # benchmarks that need files; known also where these are missing
    *("metaqnn_cifar10", "deep_resnets_tinyimagenet", "lstm_ptb", "atari", "lcdb", "scikit-learn", "taskset"),
    *("algoperf-fastmri", "algoperf-librispeech", "algoperf-ogbg", "tdmpc2", "dmc-proprio", "dmc-vision"),
    *("flat-starts", "slow-starters", "sorted-worst-first"),
    *("few-arms-real", "many-arms-real"),
)

_SYNTHETIC: dict[str, Callable[[int, Sizes], Iterator[Benchmark]]] = {
    "presets": synthetic.presets,
    "random": synthetic.random_instances,
    "pairs": synthetic.pairs,
    "noisy-short": partial(synthetic.noisy_short, "cumulative"),
    "stationary": synthetic.stationary,
    "crossing": partial(crossing.crossing, "cumulative"),
    "scan": crossing.scan,
    "many-arms": synthetic.many_arms,
}
_SYNTHETIC_BEST_ARM: dict[str, Callable[[int, Sizes], Iterator[Benchmark]]] = {
    "noisy-short": partial(synthetic.noisy_short, "best-arm"),
    "crossing": partial(crossing.crossing, "best-arm"),
}


def suite(
    names: Sequence[str] | None, objectives: Sequence[str], seed: int, sizes: Sizes, data: str | None
) -> tuple[list[Benchmark], list[str]]:
    """All benchmarks of the named groups or kinds, in a fixed order, and sentences on what was left out.

    ``data`` is the folder that holds ``curves/``; without it, or where files are missing, the others are played.
    """
    for objective in objectives:
        check_choice("objective", objective, OBJECTIVES)
    left_out: list[str] = []
    try:
        real, made = load_tasks(data)
    except RisingBanditsError as error:
        real, made = {}, {}
        left_out.append(f"real curves left out: {error}")
    known = dict.fromkeys([*KINDS, *_SYNTHETIC, *_OF_DATA, *real, *made])
    wanted = [check_choice("benchmarks", name, known) for name in names or KINDS]
    chosen: list[Benchmark] = []
    for objective in OBJECTIVES:
        if objective not in objectives:
            continue
        for kind, by_name in (("real", real), ("made", made)):
            for name, tasks in by_name.items():
                if {kind, name} & set(wanted):
                    chosen.append(replayed_benchmark(name, kind, objective, tasks, seed, sizes))
        makers = _SYNTHETIC if objective == "cumulative" else _SYNTHETIC_BEST_ARM
        for group, maker in makers.items():
            if {"synthetic", group} & set(wanted):
                chosen.extend(maker(seed, sizes))
    return [benchmark for benchmark in chosen if benchmark.problems], left_out


def replayed_benchmark(
    name: str, kind: str, objective: str, tasks: Sequence[CurveTask], seed: int, sizes: Sizes
) -> Benchmark:
    """Recorded tasks, each with several budgets and orders of the arms."""
    problems: list[Problem] = []
    for task in tasks[:_QUICK_TASKS] if sizes.quick else tasks:
        per_arm = _QUICK_BUDGETS if sizes.quick else _OTHER_BUDGETS.get(name, BUDGETS)
        for budget in task.budgets(objective, per_arm):
            number = seed_of(seed, f"{name} {task.name}", budget)
            problems.append(ReplayedProblem(task, budget, sizes.orders, objective, number))
    return Benchmark(name, name, kind, objective, "share", tuple(problems))


def load_tasks(data: str | None) -> tuple[dict[str, list[CurveTask]], dict[str, list[CurveTask]]]:
    """By benchmark, the tasks of real curves and those made from them."""
    if not data:
        raise RisingBanditsError("set RISINGBANDITS_DATA to the folder that holds curves/.")
    folder = Path(data) / "curves"
    if not any(folder.glob("*.npz")):
        raise RisingBanditsError("the folder that RISINGBANDITS_DATA names has no curves/*.npz.")
    try:
        return _load(folder)
    except (OSError, KeyError, ValueError) as error:
        raise RisingBanditsError(f"curves/ cannot be read ({type(error).__name__}: {error}).") from error


@cache
def _load(folder: Path) -> tuple[dict[str, list[CurveTask]], dict[str, list[CurveTask]]]:
    real, many = curve_sets(folder)
    return real, made_benchmarks(real, many)


_FLAT_TASKS, _SORTED_TASKS = 8, 3  # taken from each benchmark


def made_benchmarks(real: Mapping[str, Sequence[CurveTask]], many: Sequence[CurveTask]) -> dict[str, list[CurveTask]]:
    """Tasks made from those of real curves; benchmarks without a suitable task are left out."""
    every = [task for tasks in real.values() for task in tasks]
    some = [task for tasks in real.values() for task in tasks[:_SORTED_TASKS]]
    made = {
        "flat-starts": [
            flat_start(task, 0.1 if number % 2 else 0.2)
            for tasks in real.values()
            for number, task in enumerate(tasks[:_FLAT_TASKS])
        ],
        "slow-starters": [replace(task, name=_named(task)) for task in every if starts_slowly(task)],
        "sorted-worst-first": [_sorted(task, np.argsort(task.finals, kind="stable")) for task in some],
        "few-arms-real": [few_arms(task, number) for task in some for number in FEW_ARMS if number < task.n_arms],
        "many-arms-real": list(many),
    }
    return {name: tasks for name, tasks in made.items() if tasks}


def flat_start(task: CurveTask, share: float) -> CurveTask:
    """The task with the first values of all arms, a share of the curve but at least two, at its lowest start level."""
    number = max(2, int(share * task.length))
    observed, truth = task.observed.copy(), task.truth.copy()
    observed[:, :number] = observed[:, 0].min()
    truth[:, :number] = truth[:, 0].min()
    return replace(task, name=f"{_named(task)}, flat {number}", observed=observed, truth=truth)


def few_arms(task: CurveTask, number: int, draw: int = 0) -> CurveTask:
    """The task with some of its arms, drawn at random."""
    rng = np.random.default_rng([number, draw, zlib.crc32(_named(task).encode())])
    return task.listed(rng.choice(task.n_arms, number, replace=False), f"{_named(task)} | {number} arms, draw {draw}")


def starts_slowly(task: CurveTask) -> bool:
    """Whether the arm that is best in the end is outside the top third at 10 and at 20 % of its curve."""
    best = int(np.argmax(task.finals))
    top = math.ceil(task.n_arms / 3)
    for share in (0.1, 0.2):
        values = task.truth[:, max(1, round(share * task.length)) - 1]
        if (values > values[best]).sum() < top:
            return False
    return True


def _sorted(task: CurveTask, order: Ints) -> CurveTask:
    return replace(task.listed(order, _named(task)), shuffled=False)


def _named(task: CurveTask) -> str:
    """Unique among all benchmarks."""
    return f"{task.source}: {task.name}"
