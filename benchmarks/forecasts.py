"""What `explain()` says of the end of a run, beside how real curves went on: the band, and the chance to be the best.

    python benchmarks/forecasts.py                # 13 families, four tasks, two orders; ten minutes
    python benchmarks/forecasts.py --quick        # one task and order of two families, to see that it works

Asked after an eighth, a quarter and a half of the training of 12 arms, and in runs of the default policy, with both
objectives, after a quarter, a half and all of ten pulls per arm. The end is the mean of the last 20th of a curve. How
far arms may still move is chosen anew for each family, with that family left out, by the log loss of the chances. Needs
the real curves below RISINGBANDITS_DATA.
"""

from __future__ import annotations

import argparse
import itertools
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from risingbandits.lab.benchmark.curve_tasks import CurveTask
from risingbandits.lab.benchmark.suite import load_tasks
from risingbandits.policies import Auto, objective_names
from risingbandits.policies.commit import forecast as model

__all__ = ["Case", "cases", "main", "moments"]

MOST_ARMS = 12
PULLS = 10  # for each arm, in runs of the policy
MOVES = (0.5, 0.75, 1.0, 1.5, 2.0)  # that are compared, in spreads
MADE_ON = ("deep_resnets", "lstm", "metaqnn", "atari", "lcdb", "scikit")  # families on which the band was widened
BINS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.01)

Floats = npt.NDArray[np.float64]


class Case(NamedTuple):
    """One moment: whether each end lay in its band, the chances for each of `MOVES`, and the arm that was best."""

    family: str
    kind: str
    held: float
    chances: list[Floats]
    best: int


def moments(task: CurveTask, seed: int) -> Iterator[tuple[str, list[Floats], int, Floats]]:
    """(kind, rewards so far of arms that have any, the age that is asked for, curves of these arms)."""
    length, n_arms = task.length, task.n_arms
    for share in (8, 4, 2):
        n = max(2, length // share)
        if n < length:
            yield f"1/{share}", list(task.observed[:, :n]), length, task.observed
    rounds = n_arms * min(PULLS, length // 2)
    for objective in objective_names():
        policy = Auto(objective=objective).reset(n_arms, rounds, seed=[seed, 0, 0])
        told: list[list[float]] = [[] for _ in range(n_arms)]
        for t in range(1, rounds + 1):
            arm = policy.ask(np.array([len(rewards) < length for rewards in told]))
            told[arm].append(float(task.observed[arm, len(told[arm])]))
            policy.tell(arm, told[arm][-1])
            tried = [arm for arm in range(n_arms) if told[arm]]
            if t in (rounds // 4, rounds // 2, rounds) and len(tried) > 1:
                curves = [np.array(told[arm]) for arm in tried]
                age = min(length, rounds - t + max(map(len, curves)))
                yield f"{objective}, {t / rounds:.2g}", curves, age, task.observed[tried]


def cases(families: dict[str, list[CurveTask]], tasks: int, orders: Sequence[int]) -> Iterator[Case]:
    """All moments, judged."""
    for family, all_tasks in families.items():
        for task in all_tasks[:: -(-len(all_tasks) // tasks)]:
            for order in orders:
                listed = task.listed(task.order(order)[:MOST_ARMS])
                for kind, curves, age, whole in moments(listed, order):
                    yield _judged(family, kind, curves, age, whole)


def _judged(family: str, kind: str, curves: list[Floats], age: int, whole: Floats) -> Case:
    ends = whole[:, max(0, int(0.95 * age) - 1) : age].mean(axis=1)
    found = model.forecast(curves, [age] * len(curves), (0.0, 1.0))
    held = float(np.mean((ends >= found.low - 1e-9) & (ends <= found.high + 1e-9)))
    progress = np.array([curve.size for curve in curves]) / age
    chances = [model.chances(curves, progress, found.error, moves) for moves in MOVES]
    return Case(family, kind, held, chances, int(np.argmax(ends)))


def log_loss(case: Case, place: int) -> float:
    """Of the chance that the best arm was given; a chance of 0 in a thousand draws counts half a draw."""
    chance = case.chances[place]
    return float(-np.log((1000 * chance[case.best] + 0.5) / (1000 + 0.5 * chance.size)))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=4, help="tasks of each family, evenly taken")
    parser.add_argument("--quick", action="store_true", help="one task and order of two families")
    options = parser.parse_args(arguments)
    families, _ = load_tasks(os.environ.get("RISINGBANDITS_DATA"))
    tasks, orders = (1, (31,)) if options.quick else (options.tasks, (31, 32))
    families = dict(list(families.items())[: 2 if options.quick else None])
    found = list(cases(families, tasks, orders))
    losses = {}
    for family in families:
        own = [case for case in found if case.family == family]
        losses[family] = np.array([np.mean([log_loss(case, place) for case in own]) for place in range(len(MOVES))])
    chosen = {f: int(np.argmin(sum(losses[g] for g in families if g != f))) for f in families}
    print("family: band held, spreads chosen on the others, log loss, of equal chances, first arm was best")
    for family in families:
        own = [case for case in found if case.family == family]
        place = chosen[family]
        equal = np.mean([np.log(case.chances[0].size) for case in own])
        first = np.mean([np.argmax(case.chances[place]) == case.best for case in own])
        held = np.mean([case.held for case in own if case.kind.startswith("1/")])
        print(
            f"{family}: {held:.2f}, {MOVES[place]}, {losses[family][place]:.2f}, {equal:.2f}, {first:.2f}", flush=True
        )
    for name, made in (("that the band was made on", True), ("others", False)):
        by_family: dict[str, list[float]] = {}
        for case in found:
            if case.family.startswith(MADE_ON) == made and case.kind.startswith("1/"):
                by_family.setdefault(case.family, []).append(case.held)
        if by_family:
            print(f"band held, families {name}: {np.mean([np.mean(held) for held in by_family.values()]):.3f}")
    _reliability(found, chosen)


def _reliability(found: Sequence[Case], chosen: dict[str, Any]) -> None:
    said = np.concatenate([case.chances[chosen[case.family]] for case in found])
    was = np.concatenate([np.arange(case.chances[0].size) == case.best for case in found])
    first = np.mean([np.argmax(case.chances[chosen[case.family]]) == case.best for case in found])
    print(f"the arm with the highest chance was best in {first:.2f} of {len(found)} moments; chance said, was, arms:")
    for low, high in itertools.pairwise(BINS):
        inside = (said >= low) & (said < high)
        if inside.any():
            figures = f"{said[inside].mean():.3f}, {was[inside].mean():.3f}, {inside.sum()}"
            print(f"{low:.2f} to {min(1.0, high):.2f}: {figures}")


if __name__ == "__main__":
    main()
