"""The default policy on both kinds of problems: curves that cross, and real curves, which seldom do.

    python benchmarks/default.py --out here.json                      # all parts, the half for tuning
    python benchmarks/default.py --half report --out here.json --against there.json
    python benchmarks/default.py --part scan,real --policy "auto(objective='cumulative')" --out here.json

FILE.json keeps every run, so that two source trees are compared without importing both: play the same parts with each
tree in PYTHONPATH and give the other one's file with --against. Differences are paired: same problems, orders and
seeds. Intervals are 95 %, from resampling tasks and, within each, runs. The half "tune" has the tasks with even
numbers and the generated problems 1 to 3; "report" the others and the problems from 11 on, with other seeds and orders.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from risingbandits import Policy, RisingBandit, get_policy, get_problem
from risingbandits._core.tables import TextTable
from risingbandits._core.types import Floats
from risingbandits.lab.benchmark import synthetic
from risingbandits.lab.benchmark._crossing import HORIZONS, SCANNED, crossing, crossing_means, scan
from risingbandits.lab.benchmark._problems import Benchmark, Problem, ReplayedProblem, SimulatedProblem, seed_of
from risingbandits.lab.benchmark._scores import interval, resampled_means
from risingbandits.lab.benchmark.curve_tasks import CurveTask
from risingbandits.lab.benchmark.suite import FEW_ARMS, few_arms, load_tasks, made_benchmarks
from risingbandits.lab.benchmark.synthetic import Sizes
from risingbandits.problems import Gaussian

Runs = dict[str, dict[str, list[float]]]
"""By group, whose means have the same weight, and task: the value of every run."""


LEVELS: dict[str, dict[int, float]] = {  # by problem and horizon: bars, in % of J*
    "three arms": {120: math.inf, 400: 13.0, 500: 8.0, 599: 6.5, 601: 6.5, 800: 6.5, 1_200: 6.5},
    "two arms": {200: math.inf, 399: math.inf, 401: math.inf},
    "shell example": {120: 21.0, 300: 5.5, 500: 3.5},
}


class Half(NamedTuple):
    """What tuning may look at, or what it may not."""

    first: int  # task of every family, of which each second one is taken
    seeds: tuple[int, ...]  # of the generated problems
    seed: int
    orders: int  # number of the first one


HALVES = {"tune": Half(0, (1, 2, 3), 50, 1), "report": Half(1, (11, 12, 13), 5_050, 1_001)}
OF_TASK = " | "  # before what names a part of a task: intervals resample whole tasks
ORDERS = 10  # of the arms of a real task
CUMULATIVE, BEST_ARM = "auto(objective='cumulative')", "auto(objective='best-arm')"


class Player:
    """Plays problems with one policy, and keeps what it lost in each run."""

    def __init__(self, policy: Policy, half: Half) -> None:
        self.policy, self.half, self.found = policy, half, dict[str, Runs]()

    def add(self, measure: str, group: str, task: str, values: Iterable[float]) -> None:
        """Keep runs of a task."""
        kept = self.found.setdefault(measure, {}).setdefault(group, {}).setdefault(task, [])
        kept += [round(value, 6) for value in values]

    def play(self, problem: Problem, runs: range, measures: Mapping[str, str], group: str) -> None:
        """Play one problem; ``measures`` has the unit ("share", "percent" or "regret") by the name of the measure."""
        play = problem.player(self.policy)
        played = [play(number) for number in runs]
        for measure, unit in measures.items():
            self.add(measure, group, problem.task.partition(OF_TASK)[0], (getattr(run, unit) for run in played))

    def play_row(self, row: Benchmark, measure: str, unit: str, by_task: bool = False) -> None:
        for problem in row.problems:
            self.play(problem, range(problem.runs), {measure: unit}, problem.task if by_task else row.name)

    def play_tasks(
        self,
        measures: Mapping[str, str],
        objective: str,
        families: Mapping[str, Sequence[CurveTask]],
        per_arm: Sequence[int],
        orders: int = ORDERS,
        by_budget: str = "",
    ) -> None:
        """Play real tasks; ``by_budget`` also names a measure for each number of pulls per arm."""
        for family, tasks in families.items():
            for task in tasks:
                for budget in task.budgets(objective, per_arm):
                    number = seed_of(self.half.seed, f"{family} {task.name}", budget)
                    problem = ReplayedProblem(task, budget, orders, objective, number)
                    more = {f"{by_budget}, q = {budget // task.n_arms}": "share"} if by_budget else {}
                    runs = range(self.half.orders, self.half.orders + orders)
                    self.play(problem, runs, {**measures, **more}, family)


# -- the parts --------------------------------------------------------------------------------------------------------


def families_of(half: Half) -> dict[str, list[CurveTask]]:
    """The half of the tasks of every family of real curves."""
    real, _ = load_tasks(os.environ.get("RISINGBANDITS_DATA"))
    return {family: tasks[half.first :: 2] for family, tasks in real.items()}


def few_of(half: Half, draws: int) -> dict[str, list[CurveTask]]:
    """Three, five and eight random arms of each of these tasks."""
    return {
        family: [
            few_arms(task, number, half.orders + draw) for task in tasks for number in FEW_ARMS for draw in range(draws)
        ]
        for family, tasks in families_of(half).items()
    }


def play_scan(player: Player) -> None:
    """Every horizon from 60 to 1,200 in steps of 2 %: three fixed problems, and 20 generated ones.

    Some horizons of the fixed problems have more runs.
    """
    for row in scan(player.half.seed, Sizes(runs=50)):
        player.play_row(row, row.name, "percent", by_task=True)
    for name, limits in LEVELS.items():
        for horizon in limits:
            build = partial(RisingBandit, list(SCANNED[name]), Gaussian(0.01), horizon)
            problem = SimulatedProblem(name, build, 300, seed_of(player.half.seed, name, horizon))
            player.play(problem, range(300), {f"{name}, T = {horizon}": "percent"}, name)
    for number in range(20):
        key = (player.half.seeds[0], 2 + number % 4, number)
        means = crossing_means(key[1], HORIZONS[-1], np.random.default_rng(key))
        for horizon in HORIZONS:
            build = partial(RisingBandit.from_array, means, Gaussian(0.01), horizon)
            problem = SimulatedProblem(f"T = {horizon}", build, GENERATED_RUNS, seed_of(player.half.seed, f"{key}"))
            player.play(problem, range(GENERATED_RUNS), {"scan, generated": "percent"}, f"{number}")


GENERATED_RUNS = 15


def play_crossing(player: Player, objective: str = "cumulative") -> None:
    """The generated problems, with every kind of noise."""
    for seed in player.half.seeds:
        for row in crossing(objective, seed, Sizes()):
            if objective == "best-arm":
                player.play_row(row, "best-arm, crossing", "share")
                continue
            player.play_row(row, "crossing", "percent")
            for problem in row.problems:
                if row.name.endswith("no noise"):
                    means = problem.instance().means(np.arange(1, problem.horizon + 1))
                    lost = 100 * (1 - oracle_commit(means) / means.sum(axis=1).max())
                    player.add("oracle explore-then-commit", row.name, problem.task, [lost])


def oracle_commit(means: Floats) -> float:
    """The largest sum of means by explore-then-commit with the best number of pulls for exploring.

    Every arm gets the same number of pulls, and the arm with the highest mean after these gets all others. The number
    is chosen in hindsight, and the means are known without noise.
    """
    n_arms, horizon = means.shape
    sums = np.concatenate([np.zeros((n_arms, 1)), means.cumsum(axis=1)], axis=1)
    pulls = np.arange(1, horizon // n_arms + 1)
    chosen = means[:, pulls - 1].argmax(axis=0)
    gained = sums[:, pulls].sum(axis=0) + sums[chosen, horizon - (n_arms - 1) * pulls] - sums[chosen, pulls]
    return float(gained.max())


def play_real(player: Player) -> None:
    """Real curves with all arms, and the same with flat starts."""
    families = families_of(player.half)
    player.play_tasks({"real": "share"}, "cumulative", families, (2, 5, 10, 20, 50), by_budget="real")
    flat = {"flat-starts": made_benchmarks(families, [])["flat-starts"]}
    player.play_tasks({"flat starts": "share"}, "cumulative", flat, (2, 5, 10, 20, 50))


def play_few(player: Player) -> None:
    """Few real arms."""
    measures = {"few arms": "percent", "few arms, share": "share"}
    player.play_tasks(measures, "cumulative", few_of(player.half, 4), (10, 20, 50, 100), 1, "few arms, share")


def play_noise(player: Player) -> None:
    """0/1 rewards, and arms that do not rise."""
    for row in synthetic.noisy_short("cumulative", player.half.seed, Sizes()):
        player.play_row(row, row.name, "share")
    for row in synthetic.stationary(player.half.seed, Sizes()):
        player.play_row(row, "stationary", "percent")


def play_paper(player: Player) -> None:
    """The two problems of the paper, 100 runs of each."""
    for name in ("paper-15arms", "paper-2arms"):
        problem = SimulatedProblem(name, partial(get_problem, name), 100, seed_of(player.half.seed, name))
        player.play(problem, range(100), {name: "regret"}, name)


def play_unknown(player: Player) -> None:
    """Few real arms and generated problems, asked and told without a horizon."""
    for family, tasks in few_of(player.half, 1).items():
        for task in tasks:
            for budget in task.budgets("cumulative", (10, 20, 50, 100)):
                seed = seed_of(player.half.seed, f"{family} {task.name}", budget)
                lost = unknown_horizon(player.policy, task.observed, task.truth, budget, 0.0, seed)
                player.add("unknown horizon, few arms", family, task.name.partition(OF_TASK)[0], [lost])
    for seed in player.half.seeds:
        for row in crossing("cumulative", seed, Sizes(instances=50)):
            if not row.name.endswith("0.01"):
                continue
            for problem in row.problems:
                if problem.horizon <= 200 * problem.n_arms:
                    means = problem.instance().means(np.arange(1, problem.horizon + 1))
                    lost = unknown_horizon(player.policy, means, means, problem.horizon, 0.01, seed)
                    player.add("unknown horizon, crossing", row.name, problem.task, [lost])


def unknown_horizon(policy: Policy, observed: Floats, truth: Floats, rounds: int, sigma: float, seed: int) -> float:
    """What is lost, in % of J*."""
    last = observed.shape[1] - 1
    noise = sigma * np.random.default_rng(seed).standard_normal(rounds)
    playing = policy.replace().reset(len(observed), seed=seed)
    gained = 0.0
    for t in range(rounds):
        arm = playing.ask()
        n = min(int(playing.pulls[arm]), last)
        playing.tell(arm, float(observed[arm, n] + noise[t]))
        gained += truth[arm, n]
    best = truth[:, np.minimum(np.arange(rounds), last)].sum(axis=1).max()
    return float(100 * (1 - gained / best)) if best > 0 else 0.0


def play_best_arm(player: Player) -> None:
    """The arm that is recommended: real curves, generated problems, and the share of errors on mussi-5arms."""
    families = families_of(player.half)
    player.play_tasks({"best-arm, real": "share"}, "best-arm", families, (1, 2, 5, 20), by_budget="best-arm, real")
    play_crossing(player, "best-arm")
    for horizon in (300, 500, 700, 1_000):
        build = partial(mussi, horizon)
        name = f"mussi-5arms, T = {horizon}"
        problem = SimulatedProblem(name, build, 50, seed_of(player.half.seed, name), objective="best-arm")
        play = problem.player(player.policy)
        player.add(f"best-arm, errors, {name}", name, name, (float(play(number).regret > 0) for number in range(50)))


def mussi(horizon: int) -> RisingBandit:
    return get_problem("mussi-5arms").with_horizon(horizon)


PARTS: dict[str, Callable[[Player], None]] = {
    "scan": play_scan,
    "crossing": play_crossing,
    "real": play_real,
    "few": play_few,
    "noise": play_noise,
    "paper": play_paper,
    "unknown": play_unknown,
    "best-arm": play_best_arm,
}

# -- what is printed --------------------------------------------------------------------------------------------------


class Bar(NamedTuple):
    """What a figure must not exceed: of this tree alone, or of the difference to the other one."""

    limit: float
    upper: bool = False  # whether the upper end of the interval counts


DIFFERENCES = {
    "crossing": Bar(0.0, upper=True),
    "real": Bar(0.015),
    "few arms": Bar(0.3),
    "noisy-short Bernoulli": Bar(0.02),
    "stationary": Bar(0.0),
    "unknown horizon, few arms": Bar(0.0),
    "unknown horizon, crossing": Bar(0.0),
    "best-arm, real": Bar(0.01, upper=True),
}
LARGEST_STEP, MEAN_STEP = 5.0, 2.0  # in % of J*


def mean_of(runs: Runs) -> float:
    return float(np.mean([np.mean([np.mean(values) for values in tasks.values()]) for tasks in runs.values()]))


def draws_of(runs: Runs, measure: str) -> Floats:
    """Means of resampled tasks and runs, every group alike."""
    key = zlib.crc32(measure.encode())
    draws: Floats = np.mean(
        [
            resampled_means([np.array(values) for values in tasks.values()], [key, number])
            for number, tasks in enumerate(runs.values())
        ],
        axis=0,
    )
    return draws


def difference(own: Runs, other: Runs) -> Runs:
    """Run by run; both files must have the same ones."""
    return {
        group: {
            task: [a - b for a, b in zip(values, other[group][task], strict=True)] for task, values in tasks.items()
        }
        for group, tasks in own.items()
    }


def figure_lines(own: Mapping[str, Runs], other: Mapping[str, Runs]) -> Iterator[tuple[str, ...]]:
    """A line for each measure: its mean in both trees, the paired difference, and its bar."""
    for measure, runs in own.items():
        if measure.startswith(tuple(LEVELS)):
            continue
        low, high = interval(draws_of(runs, measure))
        line = [measure, f"{mean_of(runs):.3f} [{low:.3f}, {high:.3f}]", "", "", ""]
        if measure in other:
            less = difference(runs, other[measure])
            low, high = interval(draws_of(less, measure))
            line[2:4] = f"{mean_of(other[measure]):.3f}", f"{mean_of(less):+.3f} [{low:+.3f}, {high:+.3f}]"
            bar = DIFFERENCES.get(measure)
            if bar is not None:
                kept = high < bar.limit if bar.upper else mean_of(less) <= bar.limit
                line[4] = f"{'upper limit' if bar.upper else 'mean'} at most {bar.limit:+g}: {said(kept)}"
        yield tuple(line)


def limit_lines(found: Mapping[str, Runs]) -> Iterator[tuple[str, str, str]]:
    """The bars that a tree keeps or breaks alone: figure, measured, bar."""
    for measure in [name for name in found if name.startswith("scan, ") and name != "scan, generated"]:
        means = scan_means({horizon: float(np.mean(tasks[horizon])) for horizon, tasks in found[measure].items()})
        step, at = largest_step(means)
        yield f"{measure}: largest step", f"{step:.1f}, at T = {at}", bar_of(step, LARGEST_STEP)
        most = max(means, key=means.__getitem__)
        yield f"{measure}: largest loss", f"{means[most]:.1f}, at T = {most}", ""
    for name, limits in LEVELS.items():
        for horizon, limit in limits.items():
            measure = f"{name}, T = {horizon}"
            if measure in found:
                yield measure, f"{mean_of(found[measure]):.1f}", bar_of(mean_of(found[measure]), limit)
    if "scan, generated" in found:
        scans = [
            scan_means({t: float(np.mean(v)) for t, v in tasks.items()}) for tasks in found["scan, generated"].values()
        ]
        largest = float(np.mean([largest_step(means)[0] for means in scans]))
        usual = float(np.mean([np.abs(np.diff(list(means.values()))).mean() for means in scans]))
        yield "scan, generated: largest step, mean of the problems", f"{largest:.2f}", bar_of(largest, MEAN_STEP)
        yield "scan, generated: mean step", f"{usual:.2f}", bar_of(usual, MEAN_STEP)
    for measure, limit in {"paper-15arms": 1_300.0, "paper-2arms": 800.0}.items():
        if measure in found:
            yield measure, f"{mean_of(found[measure]):,.0f}", bar_of(mean_of(found[measure]), limit)
    if "paper-15arms" in found:
        worst = max(found["paper-15arms"]["paper-15arms"]["paper-15arms"])
        yield "paper-15arms: worst run", f"{worst:,.0f}", bar_of(worst, 4_000.0)


def scan_means(by_task: Mapping[str, float]) -> dict[int, float]:
    return dict(sorted((int(task.removeprefix("T = ")), float(value)) for task, value in by_task.items()))


def largest_step(means: Mapping[int, float]) -> tuple[float, int]:
    """The largest change between neighbouring horizons, and the second of the two."""
    horizons, values = list(means), list(means.values())
    steps = np.abs(np.diff(values))
    return float(steps.max()), horizons[int(steps.argmax()) + 1]


def bar_of(value: float, limit: float) -> str:
    return f"at most {limit:,g}: {said(value <= limit)}" if limit < math.inf else ""


def said(kept: bool) -> str:
    return "yes" if kept else "NO"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", default=",".join(PARTS), help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--half", choices=HALVES, default="tune")
    parser.add_argument("--policy", default=CUMULATIVE, help="plays all parts but best-arm")
    parser.add_argument("--out", type=Path, required=True, help="file for every run; parts that it has are kept")
    parser.add_argument("--against", type=Path, help="file of another tree or policy")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # that rewards fall: some recorded curves do
    written = json.loads(options.out.read_text()) if options.out.exists() else {}
    if written and (written["half"], written["policy"]) != (options.half, options.policy):
        parser.error(f"--out has the half {written['half']} with {written['policy']}.")
    parts: dict[str, dict[str, Runs]] = written.get("parts", {})
    for name in options.part.split(","):
        if name not in PARTS:
            parser.error(f"--part has {name}, which is none of {', '.join(PARTS)}.")
        if name in parts:
            continue
        begin = time.process_time()
        player = Player(get_policy(BEST_ARM if name == "best-arm" else options.policy), HALVES[options.half])
        PARTS[name](player)
        parts[name] = player.found
        print(f"{name}: {time.process_time() - begin:.0f} CPU seconds", file=sys.stderr)
        options.out.write_text(json.dumps({"half": options.half, "policy": options.policy, "parts": parts}))
    own = {measure: runs for found in parts.values() for measure, runs in found.items()}
    other: dict[str, Runs] = {}
    if options.against is not None:
        read = json.loads(options.against.read_text())
        if read["half"] != options.half:
            parser.error(f"--against has the half {read['half']}.")
        other = {measure: runs for found in read["parts"].values() for measure, runs in found.items()}
    heads = ("measure", "this tree", "the other", "difference", "bar")[: 5 if other else 2]
    lines = [line[: len(heads)] for line in figure_lines(own, other)]
    print(TextTable(heads, lines, frozenset({1, 2, 3} & {*range(len(heads))})).markdown())
    if alone := list(limit_lines(own)):
        print(TextTable(("of this tree alone", "measured", "bar"), alone, frozenset({1})).markdown())


if __name__ == "__main__":
    main()
