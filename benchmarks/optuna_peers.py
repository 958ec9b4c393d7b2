"""`OptunaArms` beside Optuna's own pruners: the same search space, the same number of training steps.

    python benchmarks/optuna_peers.py                 # 6 tasks, ten seeds; ten minutes
    python benchmarks/optuna_peers.py --quick         # one task, two seeds, 102 steps

Real training runs of TaskSet (below RISINGBANDITS_DATA): 6 text classifiers, each trained 51 steps with 1,000 settings
of Adam. A trial suggests the settings and gets the curve of the nearest of the thousand that no trial of the run has
had: a sampler that refines would otherwise train the same few settings again and again. What is kept is judged by the
validation loss that it has reached: 0 is the best of all thousand at their end, 1 the median of them. Who prunes keeps
the trial that ended lowest, complete or not; `OptunaArms` the one that the allocator recommends.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import optuna
from optuna import pruners, samplers

from risingbandits.allocation import Allocator
from risingbandits.integrations import OptunaArms
from risingbandits.lab.paper.imdb._tables import Paired

__all__ = ["CONTENDERS", "Task", "main", "play", "tasks"]

STEPS = 51


class Task(NamedTuple):
    """Curves and settings of one task."""

    name: str
    losses: Any  # settings x steps; a run that diverged stays at the highest loss that there is
    places: Any  # settings x parameters, each from 0 to 1 on the scale on which it was drawn
    best: float
    median: float

    def curve(self, trial: optuna.Trial, had: dict[int, int]) -> Any:
        """The losses of the setting that is nearest to what the trial suggests, of those no other trial has ``had``."""
        wanted = np.array([trial.suggest_float(f"x{i}", 0.0, 1.0) for i in range(self.places.shape[1])])
        if trial.number not in had:
            far = np.sum((self.places - wanted) ** 2, axis=1)
            far[list(had.values())] = np.inf
            had[trial.number] = int(np.argmin(far))
        return self.losses[had[trial.number]]

    def judged(self, loss: float) -> float:
        """0 for the best, 1 for the median."""
        return (loss - self.best) / (self.median - self.best)


def tasks() -> Iterator[Task]:
    """All tasks of the file."""
    folder = os.environ.get("RISINGBANDITS_DATA")
    if folder is None:
        raise SystemExit("RISINGBANDITS_DATA must name the folder with curves/taskset.npz.")
    with np.load(Path(folder) / "curves" / "taskset.npz", allow_pickle=False) as file:
        names, curves, hyper = file["task"], file["valid_loss"].astype(float), file["hyper"]
    for name, losses, settings in zip(names, curves, hyper, strict=True):
        highest = np.nanmax(losses[:, 0])
        losses = np.minimum(np.where(np.isfinite(losses), losses, highest), highest)
        ranks = np.argsort(np.argsort(settings, axis=0, kind="stable"), axis=0, kind="stable")
        places = ranks / (len(ranks) - 1)
        yield Task(str(name), losses, places, float(losses[:, -1].min()), float(np.median(losses[:, -1])))


# -- contenders: each spends a budget of steps and returns the loss of what it keeps, and how many trials it began


def pruned(task: Task, budget: int, sampler: Any, pruner: Any, seed: int) -> tuple[float, int]:
    """Optuna's own loop, until the steps are spent. Hyperband draws brackets by the name of the study."""
    study = optuna.create_study(sampler=sampler, pruner=pruner, study_name=f"{task.name} {seed}")
    had: dict[int, int] = {}
    ends, spent = [], 0
    while spent < budget:
        trial = study.ask()
        losses, stopped = task.curve(trial, had), False
        for step in range(1, STEPS + 1):
            trial.report(losses[step - 1], step)
            spent += 1
            stopped = trial.should_prune()
            if stopped or spent == budget:
                break
        ends.append(losses[step - 1])
        done = step == STEPS and not stopped
        study.tell(trial, losses[step - 1] if done else None, None if done else optuna.trial.TrialState.PRUNED)
    return min(ends), len(ends)


def allocated(task: Task, budget: int, sampler: Any, seed: int) -> tuple[float, int]:
    """Trials of a study as arms of an allocator with its default policy."""

    had: dict[int, int] = {}

    def train(trial: optuna.Trial) -> Iterator[float]:
        yield from task.curve(trial, had)

    study = optuna.create_study(sampler=sampler)
    arms = OptunaArms(study, train)
    allocator = Allocator(
        arms,
        budget,
        objective="best-arm",
        direction=arms.direction,
        reward_range=None,
        max_pulls=STEPS,
        seed=seed,
    )
    allocator.run(progress=False)
    kept = allocator.recommend()
    arms.finish(kept)
    return allocator.rewards(kept)[-1], len(study.trials)


Contender = Callable[[Task, int, int], tuple[float, int]]


def _with(sampler: Any, pruner: Callable[[], Any]) -> Contender:
    return lambda task, budget, seed: pruned(task, budget, sampler(seed=seed), pruner(), seed)


def _ours(sampler: Any) -> Contender:
    return lambda task, budget, seed: allocated(task, budget, sampler(seed=seed), seed)


def _hyperband() -> Any:
    return pruners.HyperbandPruner(min_resource=1, max_resource=STEPS, reduction_factor=3)


CONTENDERS: dict[str, Contender] = {
    "OptunaArms, TPE": _ours(samplers.TPESampler),
    "OptunaArms, random": _ours(samplers.RandomSampler),
    "TPE, no pruning": _with(samplers.TPESampler, pruners.NopPruner),
    "TPE, MedianPruner": _with(samplers.TPESampler, pruners.MedianPruner),
    "TPE, HyperbandPruner": _with(samplers.TPESampler, _hyperband),
    "TPE, SuccessiveHalvingPruner": _with(samplers.TPESampler, pruners.SuccessiveHalvingPruner),
    "random, no pruning": _with(samplers.RandomSampler, pruners.NopPruner),
    "random, SuccessiveHalvingPruner": _with(samplers.RandomSampler, pruners.SuccessiveHalvingPruner),
}


def play(task: Task, budget: int, seeds: int) -> dict[str, list[tuple[float, int]]]:
    """Judged losses and numbers of trials, seed by seed."""
    found = {}
    for name, contender in CONTENDERS.items():
        runs = [contender(task, budget, seed) for seed in range(seeds)]
        found[name] = [(task.judged(loss), trials) for loss, trials in runs]
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=10 * STEPS, help="training steps, all trials together")
    parser.add_argument("--quick", action="store_true", help="one task, two seeds, 102 steps")
    options = parser.parse_args(arguments)
    seeds, budget = (2, 2 * STEPS) if options.quick else (options.seeds, options.budget)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    results = [play(task, budget, seeds) for task in list(tasks())[: 1 if options.quick else None]]
    # How paused trials are shown to samplers was chosen on every other task.
    for label, part in (("all tasks", results), ("chosen on", results[::2]), ("held out", results[1::2])):
        if part:
            show(f"{budget} steps, {label}", part)


def show(label: str, results: list[dict[str, list[tuple[float, int]]]]) -> None:
    """A table of some tasks."""
    base = next(iter(CONTENDERS))
    print(f"| {label} | loss of what is kept | over {base} | trials |\n| --- | ---: | ---: | ---: |")
    for name in CONTENDERS:
        # A number for each seed, the mean over the tasks, so that intervals are over seeds.
        own, ours = (np.array([[run[0] for run in result[who]] for result in results]) for who in (name, base))
        trials = np.mean([[run[1] for run in result[name]] for result in results])
        kept, over = Paired.of(own.mean(axis=0)), Paired.of((own - ours).mean(axis=0))
        paired = "" if name == base else f"{over.mean:+.3f} ± {over.half_width:.3f}"
        print(f"| {name} | {kept.mean:.3f} ± {kept.half_width:.3f} | {paired} | {trials:.0f} |", flush=True)
    print()


if __name__ == "__main__":
    main()
