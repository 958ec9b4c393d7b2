"""Whole searches among many configurations: how far the best value seen is from the best of the table, over time.

100 x (best value of the table - best value seen) / (best - worst value of the table) after 10 %, 25 %, 50 % and 100 %
of the steps; a step is one epoch of one configuration. TaskSet: rewards 1 - loss / (2 ln 2), cut to [0, 1]. LCBench:
accuracies as a surrogate predicts them. The arms of every search are a random sample in random order, the same for all
rows. Needs the real curves below RISINGBANDITS_DATA. Parameters were chosen on TaskSet's tasks 0, 2 and 4 and on
LCBench's tasks with even numbers (`--half tuned`).
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import itertools
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from risingbandits.policies import Policy, get_policy
from risingbandits.policies import _config_process as process
from risingbandits.policies._config_points import Features
from risingbandits.policies._knowledge import Knowledge
from risingbandits.policies.config_model import ConfigModel

Floats = npt.NDArray[np.float64]

SHARES = (0.1, 0.25, 0.5, 1.0)  # of the steps, at which regret is printed
EARLIER, CURVES = 5, 40  # earlier tasks, and curves of each
PATH = 40  # of how many points a drawn line consists
ROWS = ("model", "model without configs", "model, earlier tasks", "auto", "asha")
MISINFORMED = (
    "model, configs shuffled",
    "model, best 20 configs exchanged",
    "model, earlier tasks shuffled",
    "model, earlier tasks half wrong",
)
BENCHMARKS = ("taskset", "lcbench")


class Table(NamedTuple):
    """A task: curves in rows, more is better, and configs."""

    name: str
    number: int  # within its benchmark
    curves: Floats
    configs: Floats


def tables(benchmark: str) -> list[Table]:
    folder = Path(os.environ["RISINGBANDITS_DATA"]) / "curves"
    with np.load(folder / ("taskset.npz" if benchmark == "taskset" else "lcbench_surrogate.npz")) as file:
        names = [str(name) for name in file["task"]]
        if benchmark == "taskset":
            losses = file["valid_loss"].astype(float)
            curves = np.where(np.isfinite(losses), np.clip(1.0 - losses / (2.0 * math.log(2.0)), 0.0, 1.0), 0.0)
            configs = list(file["hyper"].astype(float))
        else:
            curves = file["accuracy"] / 10_000.0
            configs = [file["configs"].astype(float)] * len(names)
    return [Table(name, i, curves[i], configs[i]) for i, name in enumerate(names)]


def earlier(now: Table, others: Sequence[Table], arms: npt.NDArray[np.int64], seed: int) -> Floats:
    """What the final scores of some configurations in other tasks lead us to expect of these arms."""
    rng = np.random.default_rng([seed, now.number, 5])
    tasks = rng.permutation([other.number for other in others if other.number != now.number])[:EARLIER]
    rows, scores = [], []
    for table in (other for number in tasks for other in others if other.number == number):
        picked = rng.permutation(len(table.curves))[:CURVES]
        rows.append(table.configs[picked])
        scores.append(process.normal_scores(table.curves[picked, -1]))
    features = Features(as_dicts(np.concatenate([now.configs[arms], *rows])))
    points = [features.points(as_dicts(part)) for part in (np.concatenate(rows), now.configs[arms])]
    return process.scores_from_earlier(points[0], features.groups(), np.concatenate(scores), points[1]).means


def misinformed(row: str, table: Table, arms: npt.NDArray[np.int64], prior: Any, seed: int) -> tuple[Floats, Any]:
    """Configs and prior with which a row of `MISINFORMED` plays: they are those of other arms."""
    configs, count = table.configs[arms].copy(), len(arms)
    rng = np.random.default_rng([seed, table.number, 9])
    if row == "model, configs shuffled":
        return configs[rng.permutation(count)], None
    if row == "model, best 20 configs exchanged":
        order = np.argsort(-table.curves[arms, -1], kind="stable")
        best, others = order[:20], rng.permutation(order[20:])[:20]
        configs[best], configs[others] = configs[others], configs[best]
        return configs, None
    wrong = rng.permutation(count)[: count if row == "model, earlier tasks shuffled" else count // 2]
    changed = prior.copy()
    changed[wrong] = prior[rng.permutation(wrong)]
    return configs, changed


def as_dicts(configs: Floats) -> list[dict[str, float | str | None]]:
    return [{str(i): value for i, value in enumerate(row)} for row in configs.tolist()]


class Search(NamedTuple):
    """What a row leaves: the regret after each step, and CPU seconds of each decision."""

    regret: Floats
    seconds: Floats


def play(table: Table, arms: npt.NDArray[np.int64], steps: int, chooser: Any) -> Search:
    """One search; ``chooser`` has ask(available) and tell(arm, reward)."""
    curves = table.curves[arms]
    counts = np.zeros(len(arms), dtype=np.int64)
    best, worst, seen = curves.max(), curves.min(), -math.inf
    regret, seconds = np.zeros(steps), np.zeros(steps)
    for t in range(steps):
        before = time.process_time()
        arm = chooser.ask(counts < curves.shape[1])
        value = float(curves[arm, counts[arm]])
        chooser.tell(arm, value)
        seconds[t] = time.process_time() - before
        counts[arm] += 1
        seen = max(seen, value)
        regret[t] = 100.0 * (best - seen) / (best - worst)
    return Search(regret, seconds)


class _Prototype:
    """The class ConfigModel of a file, which asks without a mask."""

    def __init__(self, model: Any) -> None:
        self._model, self.tell = model, model.tell

    def ask(self, available: Any) -> int:
        return int(self._model.ask())


def choosers(prototype: Path | None) -> dict[str, Callable[..., Any]]:
    """For each row what makes its policy: (arms, steps, length, configs, prior or None, seed)."""

    def model(count: int, steps: int, length: int, configs: Any, prior: Any, seed: int) -> Policy:
        policy = ConfigModel(max_pulls=length)
        policy.inform(Knowledge(None if configs is None else as_dicts(configs), prior))
        return policy.reset(count, steps, seed)

    def named(name: str) -> Callable[..., Any]:
        def make(count: int, steps: int, length: int, configs: Any, prior: Any, seed: int) -> Policy:
            policy = get_policy(name)
            return policy.replace(**({"max_pulls": length} if "max_pulls" in policy.get_params() else {})).reset(
                count, steps, seed
            )

        return make

    found: dict[str, Callable[..., Any]] = {
        "model": lambda count, steps, length, configs, prior, seed: model(count, steps, length, configs, None, seed),
        "model without configs": lambda count, steps, length, _configs, _prior, seed: model(
            count, steps, length, None, None, seed
        ),
        "model, earlier tasks": model,
        "auto": named("auto"),
        "asha": named("asha"),
        **dict.fromkeys(MISINFORMED, model),
    }
    if prototype is not None:
        spec = importlib.util.spec_from_file_location("prototype", prototype)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)

        def original(count: int, steps: int, length: int, configs: Any, prior: Any, seed: int) -> Any:
            return _Prototype(module.ConfigModel(count, configs, length, steps, seed, prior))

        found["prototype, earlier tasks"] = original
        found["prototype"] = lambda count, steps, length, configs, _prior, seed: original(
            count, steps, length, configs, None, seed
        )
        found["prototype without configs"] = lambda count, steps, length, _configs, _prior, seed: original(
            count, steps, length, None, None, seed
        )
    return found


def searches(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Every row on every task of the half with every seed."""
    known = tables(given.benchmark)
    makers, found = choosers(given.prototype), []
    for seed in given.seeds:
        for table, sample in tasks_of(known, given.benchmark, given.half, given.arms, seed):
            configs = table.configs[sample]
            prior = earlier(table, known, sample, seed) if any("earlier" in row for row in given.rows) else None
            for row in given.rows:
                known_of = misinformed(row, table, sample, prior, seed) if row in MISINFORMED else (configs, prior)
                chooser = makers[row](given.arms, given.steps, table.curves.shape[1], *known_of, seed)
                found.append(recorded(given, table.number, seed, row, play(table, sample, given.steps, chooser)))
                print(json.dumps(found[-1]), flush=True)
    return found


def tasks_of(
    known: Sequence[Table], benchmark: str, half: str, arms: int, seed: int
) -> Iterator[tuple[Table, npt.NDArray[np.int64]]]:
    """The tasks of a half, each with the arms of its search in their order."""
    for table in known:
        tuned = table.number in {0, 2, 4} if benchmark == "taskset" else table.number % 2 == 0
        if tuned == (half == "tuned"):
            yield table, np.random.default_rng([seed, table.number]).permutation(len(table.curves))[:arms]


def recorded(given: argparse.Namespace, task: int, seed: int, row: str, search: Search) -> dict[str, Any]:
    """A line of the output: the regret at four times, that along a line, and CPU milliseconds of a decision."""
    at, path = (
        [round(float(search.regret[math.ceil(share * given.steps) - 1]), 3) for share in shares]
        for shares in (SHARES, np.arange(1, PATH + 1) / PATH)
    )
    usual, high = 1_000.0 * np.quantile(search.seconds, [0.5, 0.95])
    return {
        "benchmark": given.benchmark, "half": given.half, "arms": given.arms, "steps": given.steps, "task": task,
        "seed": seed, "row": row, "regret": at, "path": path, "ms": round(1_000.0 * float(search.seconds.mean()), 2),
        "ms_95": round(float(high), 2), "ms_50": round(float(usual), 2),
    }  # fmt: skip


def decision_costs() -> None:
    """CPU milliseconds of the decisions that ask the model, by numbers of arms, of started arms and of their pulls."""
    curves = tables("lcbench")[0]
    print("arms  started  pulls each: CPU ms of a decision that asks the model (half, 95 %), decisions")
    for count, started, each in ((100, 0, 0), (1_000, 0, 0), (1_000, 300, 5), (1_000, 1_000, 10), (10_000, 1_000, 3)):
        rng = np.random.default_rng(0)
        drawn = rng.integers(0, len(curves.curves), count)
        values = curves.curves[drawn] + rng.normal(0.0, 0.002, (count, curves.curves.shape[1]))
        policy = ConfigModel(max_pulls=values.shape[1])
        configs = as_dicts(curves.configs[drawn] * rng.uniform(0.99, 1.01, (count, curves.configs.shape[1])))
        policy.inform(Knowledge(configs))
        policy.reset(count, 100_000, 1)
        counts = np.zeros(count, dtype=np.int64)
        counts[:started] = each
        for arm in range(started):
            for value in values[arm, :each].tolist():
                policy.tell(arm, value)
        times = []
        for _ in range(1_000):
            run, free = policy._state.run, counts < values.shape[1]
            decides = not (free & (run.counts < run.goals)).any()
            before = time.process_time()
            arm = policy.ask(free)
            times += [1_000.0 * (time.process_time() - before)] if decides else []
            policy.tell(arm, float(values[arm, counts[arm]]))
            counts[arm] += 1
        half, most = np.quantile(times, [0.5, 0.95])
        print(f"{count:6,} {started:6,} {each:4}: {half:6.1f} {most:6.1f} {len(times):5}", flush=True)


def report(results: Sequence[dict[str, Any]], against: Sequence[str]) -> None:
    """Means with 95 % intervals over searches, and paired differences from some rows."""
    groups: dict[tuple[Any, ...], dict[str, dict[tuple[int, int], Any]]] = {}
    for one in results:
        key = (one["benchmark"], one["half"], one["arms"], one["steps"])
        groups.setdefault(key, {}).setdefault(one["row"], {})[one["task"], one["seed"]] = one
    for key, by_row in groups.items():
        print(f"\n{key[0]}, {key[1]} tasks, {key[2]:,} configurations, {key[3]:,} steps")
        for row, own in by_row.items():
            values = np.array([each["regret"] for each in own.values()])
            shown = "  ".join(f"{m:5.1f} +-{h:4.1f}" for m, h in zip(values.mean(0), _half(values), strict=True))
            usual, high = (np.mean([each[key] for each in own.values()]) for key in ("ms", "ms_95"))
            print(f"{row:32s} {shown}   {usual:.1f} CPU ms a step, 95 % within {high:.1f} ({len(own)} searches)")
        for other, (row, own) in itertools.product(against, by_row.items()):
            if other in by_row and row != other:
                pairs = [(own[i]["regret"], by_row[other][i]["regret"]) for i in own if i in by_row[other]]
                values = np.array([np.subtract(*pair) for pair in pairs])
                shown = "  ".join(f"{m:+5.1f} +-{h:4.1f}" for m, h in zip(values.mean(0), _half(values), strict=True))
                print(f"{row} - {other}: {shown} ({len(pairs)} pairs)")


def write_lines(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Write the lines of a picture: for each row and time the mean regret with its 95 % interval."""
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for one in results:
        groups.setdefault((one["benchmark"], one["arms"], one["row"], one["steps"]), []).append(one["path"])
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["benchmark", "arms", "row", "step", "mean", "low", "high", "searches"])
        for (benchmark, arms, row, steps), paths in groups.items():
            values = np.array(paths)
            for i, three in enumerate(zip(values.mean(0), *_interval(values), strict=True), start=1):
                shown = [f"{number:.2f}" for number in three]
                writer.writerow([benchmark, arms, row, math.ceil(i / PATH * steps), *shown, len(values)])


def _interval(values: Floats) -> tuple[Floats, Floats]:
    """Both ends of the 95 % interval of the mean, by resampling searches."""
    rng = np.random.default_rng(0)
    means = np.stack([values[rng.integers(0, len(values), len(values))].mean(0) for _ in range(2_000)])
    low, high = np.quantile(means, [0.025, 0.975], axis=0)
    return low, high


def _half(values: Floats) -> Floats:
    """Half the width of that interval."""
    low, high = _interval(values)
    half: Floats = (high - low) / 2
    return half


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--benchmark", choices=BENCHMARKS, default="taskset")
    parser.add_argument("--half", choices=["tuned", "reported"], default="tuned")
    parser.add_argument("--arms", type=int, default=1_000)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--rows", nargs="+", default=list(ROWS))
    parser.add_argument("--prototype", type=Path, help="a file with another ConfigModel, for rows named prototype")
    parser.add_argument("--costs", action="store_true", help="measure CPU time per decision instead")
    parser.add_argument("--read", type=Path, nargs="+", help="files of earlier output: report them, play nothing")
    parser.add_argument(
        "--lines", type=Path, help="the file to which the lines of the picture are written, with --read"
    )
    parser.add_argument("--against", nargs="+", default=[], help="rows from which differences are taken")
    given = parser.parse_args()
    if given.costs:
        decision_costs()
        return
    if given.read:
        lines = [line for path in given.read for line in path.read_text().splitlines() if line.startswith("{")]
        results = [json.loads(line) for line in lines]
        if given.lines:
            write_lines(results, given.lines)
    else:
        results = searches(given)
    report(results, given.against)


if __name__ == "__main__":
    main()
