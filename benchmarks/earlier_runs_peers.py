"""Earlier runs beside Optuna's and Syne Tune's own ways to use them: TaskSet, 1,000 arms, best-arm identification.

Everybody knows the same: the settings of the arms and 40 whole curves of each of 5 other tasks. Settings are numbers
from 0 to 1 by their rank. A proposal of a peer is taken to be the nearest arm that was not tried; one pull after
another. The arm with the highest last value is kept. Peers that are not installed are left out. Needs the real curves
below RISINGBANDITS_DATA.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import io
import logging
import os
import time
import warnings
import zlib
from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from earlier_runs import TASKSET_CURVES, Task, all_tasks, lost, others, played, some_arms, true_prior
from risingbandits.allocation import Allocator
from risingbandits.lab.benchmark._scores import interval, resampled_means
from risingbandits.policies._config_points import Features

ARMS = 1_000
BEST = 3  # of each earlier task, that Optuna tries first
BOX = 10  # of each earlier task, around which Syne Tune draws its box
METRIC, AGE = "value", "epoch"

Floats = npt.NDArray[np.float64]
Config = dict[str, float]


class Known(NamedTuple):
    """A task as peers see it: places of arms, and places and curves of earlier tasks."""

    names: list[str]
    points: Floats
    curves: Floats
    earlier: list[tuple[Floats, Floats]]
    shared: list[tuple[Floats, Floats]]  # of the same settings in all earlier tasks, for who wants that

    def config(self, point: Floats) -> Config:
        return dict(zip(self.names, point.tolist(), strict=True))


@cache
def known(name: str) -> Known:
    task = next(task for task in all_tasks() if task.name == name)
    features = Features([task.settings[arm] for arm in task.arms])
    parts = [some_arms(other, TASKSET_CURVES) for other in others(task.family, task.group)]
    earlier = [(features.points([part.settings[arm] for arm in part.arms]), part.curves[:, :-1]) for part in parts]
    points = features.points([task.settings[arm] for arm in task.arms])
    same = np.random.default_rng(zlib.crc32(name.encode())).permutation(len(task.arms))[:TASKSET_CURVES]
    wanted = [tuple(task.settings[task.arms[i]].items()) for i in same]
    shared = []
    for other in others(task.family, task.group):
        places = {tuple(other.settings[arm].items()): place for place, arm in enumerate(other.arms)}
        shared.append((points[same], other.curves[[places[settings] for settings in wanted], :-1]))
    return Known(features.names, points, task.curves[:, :-1].clip(0.0, 1.0), earlier, shared)


class Run:
    """Pulls that are left, and which arms were tried."""

    def __init__(self, task: Known, budget: int) -> None:
        self.task, self.left = task, budget
        self._free = np.ones(len(task.points), bool)
        self._last: dict[int, float] = {}

    def nearest(self, config: Config) -> int:
        """The arm for a proposal."""
        point = np.array([config[name] for name in self.task.names])
        distances = ((self.task.points - point) ** 2).sum(axis=1)
        arm = int(np.where(self._free, distances, np.inf).argmin())
        self._free[arm] = False
        return arm

    def train(self, arm: int, goes_on: Callable[[int, float], bool]) -> float:
        """Pull an arm until its curve, the budget or the patience of the peer ends; its last value."""
        value = 0.0
        for age, value in enumerate(self.task.curves[arm].tolist(), start=1):
            self.left -= 1
            self._last[arm] = value
            if self.left <= 0 or not goes_on(age, value):
                break
        return value

    @property
    def over(self) -> bool:
        return self.left <= 0 or not self._free.any()

    def kept(self) -> int:
        return max(self._last, key=self._last.__getitem__)


# -- Optuna ---------------------------------------------------------------------------------------------------------


def optuna_run(task: Known, budget: int, way: str, seed: int) -> int:
    """TPE with Hyperband; ``way`` is what is done with earlier trials."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    places: dict[str, Any] = {name: optuna.distributions.FloatDistribution(0.0, 1.0) for name in task.names}
    pruner = optuna.pruners.HyperbandPruner(1, task.curves.shape[1], 3)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed), pruner=pruner)
    for points, curves in task.earlier:
        for i in np.argsort(-curves[:, -1]).tolist()[: BEST if way == "enqueue" else None]:
            if way == "enqueue":
                study.enqueue_trial(task.config(points[i]))
            elif way == "add":
                params, value = task.config(points[i]), float(curves[i, -1])
                study.add_trial(optuna.trial.create_trial(params=params, distributions=places, value=value))
    run = Run(task, budget)
    while not run.over:
        trial = study.ask(places)

        def goes_on(age: int, value: float, trial: Any = trial) -> bool:
            trial.report(value, age)
            return not trial.should_prune()

        last = run.train(run.nearest(trial.params), goes_on)
        if trial.should_prune():
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        else:
            study.tell(trial, last)
    return run.kept()


# -- Syne Tune ------------------------------------------------------------------------------------------------------


class _Proposals:
    """Proposals that follow from earlier tasks alone, for a scheduler of Syne Tune."""

    def __init__(self, propose: Callable[[], Config | None]) -> None:
        self.suggest = propose

    def on_trial_result(self, *given: Any, **named: Any) -> None:
        """They do not change."""

    on_trial_complete = on_trial_error = on_trial_result


def _evaluations(task: Known, space: Any) -> dict[str, Any]:
    """Earlier tasks with losses, which all of Syne Tune's ways take."""
    import pandas as pd
    from syne_tune.optimizer.schedulers.transfer_learning.transfer_learning_task_evaluation import (
        TransferLearningTaskEvaluations,
    )

    return {
        f"task {place}": TransferLearningTaskEvaluations(
            space, pd.DataFrame(points, columns=task.names), [METRIC], -curves[:, None, :, None]
        )
        for place, (points, curves) in enumerate(task.earlier)
    }


def _zero_shot(task: Known, space: Any, seed: int) -> Callable[[], Config]:
    """The settings that were jointly best in the earlier tasks, then random ones."""
    from syne_tune.optimizer.schedulers.transfer_learning.zero_shot import ZeroShotTransfer

    transfer = ZeroShotTransfer(space, METRIC, _evaluations(task._replace(earlier=task.shared), space), True, False)
    rng = np.random.default_rng(seed)

    def propose() -> Config:
        found = transfer.get_config()
        return task.config(rng.random(len(task.names))) if found is None else dict(found)

    return propose


@cache
def _candidates(name: str, seed: int) -> Any:
    """The quantile searcher of a task: drawing and judging its 100,000 candidates takes seconds."""
    from syne_tune.config_space import uniform
    from syne_tune.optimizer.schedulers.transfer_learning.quantile_based.quantile_based_searcher import (
        QuantileBasedSurrogateSearcher,
    )

    space = {setting: uniform(0.0, 1.0) for setting in known(name).names}
    return QuantileBasedSurrogateSearcher(space, _evaluations(known(name), space), random_seed=seed)


def syne_tune_run(name: str, budget: int, way: str, seed: int) -> int:
    """ASHA that stops trials; ``way`` is what proposes them.

    ZeroShotTransfer wants every setting in all tasks, so it gets the curves of the same 40 settings of each. Where it
    is to fill in what is missing it fails in version 0.16: it draws before it has made its generator, and for each task
    other candidates, which it then takes for the same. When its 40 proposals are used up, random ones follow.
    """
    from syne_tune.backend.trial_status import Trial
    from syne_tune.config_space import uniform
    from syne_tune.optimizer.scheduler import SchedulerDecision
    from syne_tune.optimizer.schedulers.asha import AsynchronousSuccessiveHalving
    from syne_tune.optimizer.schedulers.transfer_learning.bounding_box import BoundingBox

    np.random.seed(seed)  # noqa: NPY002 - Syne Tune draws brackets from it
    task = known(name)
    space = {setting: uniform(0.0, 1.0) for setting in task.names}

    def asha(space: Any, searcher: Any = "random_search") -> Any:
        length = task.curves.shape[1]
        return AsynchronousSuccessiveHalving(
            space, METRIC, searcher=searcher, time_attr=AGE, max_t=length, random_seed=seed
        )

    scheduler: Any
    if way == "bounding box":
        scheduler = BoundingBox(
            lambda box, metric, minimize, seed: asha(box),
            space,
            METRIC,
            _evaluations(task, space),
            num_hyperparameters_per_task=BOX,
            random_seed=seed,
        )
    elif way == "zero shot":
        scheduler = asha(space, _Proposals(_zero_shot(task, space, seed)))
    elif way == "quantiles":
        scheduler = asha(space, _Proposals(_candidates(name, seed).suggest))
    else:
        scheduler = asha(space)
    run, count = Run(task, budget), 0
    while not run.over:
        suggestion = scheduler.suggest()
        arm = run.nearest(suggestion.config)
        trial = Trial(count, task.config(task.points[arm]), datetime.now())
        scheduler.on_trial_add(trial)

        def goes_on(age: int, value: float, trial: Any = trial) -> bool:
            decision = scheduler.on_trial_result(trial, {METRIC: -value, AGE: age})
            return bool(decision == SchedulerDecision.CONTINUE)

        run.train(arm, goes_on)
        count += 1
    return run.kept()


# -- rows -----------------------------------------------------------------------------------------------------------


def ours(task: Task, budget: int, way: str, seed: int) -> str:
    if way != "settings":
        prior = true_prior(task.name, "full", 0) if way == "prior" else None
        return played(task, budget, "best-arm", prior, seed)[0].recommend()
    length = task.curves.shape[1] - 1
    settings = {arm: dict(own) for arm, own in task.settings.items()}
    allocator = Allocator(task.arms, budget, objective="best-arm", configs=settings, max_pulls=length, seed=seed)
    rows = dict(zip(task.arms, task.curves.clip(0.0, 1.0).tolist(), strict=True))
    while (pull := allocator.ask()) is not None:
        allocator.tell(pull, rows[pull.arm][pull.n - 1])
    return allocator.recommend()


ROWS = (
    "ours: none, ours: settings, ours: prior, optuna: none, optuna: enqueue, optuna: add, "
    "syne-tune: none, syne-tune: bounding box, syne-tune: zero shot, syne-tune: quantiles"
)


def kept_by(row: str, task: Task, budget: int, seed: int) -> str:
    peer, _, way = row.partition(": ")
    if peer == "ours":
        return ours(task, budget, way, seed)
    if peer == "optuna":
        return task.arms[optuna_run(known(task.name), budget, way, seed)]
    return task.arms[syne_tune_run(task.name, budget, way, seed)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=3)
    parser.add_argument("--pulls", default="1,2", help="for each arm")
    parser.add_argument("--rows", default=ROWS)
    arguments = parser.parse_args()
    if not os.environ.get("RISINGBANDITS_DATA"):
        parser.exit(2, "RISINGBANDITS_DATA must name the folder with the real curves.\n")
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    tasks = [task for task in all_tasks() if task.family == "taskset" and len(task.arms) == ARMS]
    for row in arguments.rows.split(", "):
        peer = row.partition(":")[0]
        try:
            version = "" if peer == "ours" else importlib.metadata.version(peer)
        except importlib.metadata.PackageNotFoundError:
            print(f"{row}: not installed", flush=True)
            continue
        for pulls in map(int, arguments.pulls.split(",")):
            before, values = time.perf_counter(), []
            for task in tasks:
                with contextlib.redirect_stdout(io.StringIO()):
                    kept = [kept_by(row, task, pulls * ARMS, seed) for seed in range(arguments.orders)]
                values.append(np.array([lost(task, pulls * ARMS, "best-arm", arm, 0.0) for arm in kept]))
            low, high = interval(resampled_means(values, [0]))
            mean, seconds = np.mean([own.mean() for own in values]), time.perf_counter() - before
            print(
                f"{row} {version}, {pulls} pulls an arm: {mean:.3f} [{low:.3f}, {high:.3f}], {seconds:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
