r"""The searches of `searches.py` with other libraries, each with its own code, in an environment of their own:

    python -m venv .venv-searches
    .venv-searches/bin/pip install --constraint constraints-searches.txt --editable . \
        optuna syne-tune huggingface_hub smac dehb
    .venv-searches/bin/python benchmarks/searches_peers.py --half reported --seeds 1 2 3 4 5 > peers.txt

Everybody has the same arms, the same number of steps, and hyperparameters from 0 to 1 by their rank. A proposal is
taken to be the nearest arm that was not tried yet, once all were tried the nearest one whose curve has not ended.
Curves go on where they stopped: an epoch is paid once. Settings are the defaults, with rungs from 1 epoch on.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import math
import tempfile
import time
import warnings
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from risingbandits.policies._config_points import Features
from searches import BENCHMARKS, Search, as_dicts, recorded, tables, tasks_of

Floats = npt.NDArray[np.float64]

METRIC, AGE = "value", "epoch"
IDLE = 300  # proposals in a row that train nothing, because all their epochs are known, after which a search ends


class Over(Exception):
    """All steps are spent, all curves have ended, or nothing new is trained any more."""


class Run:
    """One search: the arms as points, and what was trained of each."""

    def __init__(self, curves: Floats, points: Floats, steps: int, seed: int) -> None:
        self.points, self.seed, self.length = points, seed, curves.shape[1]
        self.names = [f"x{i}" for i in range(points.shape[1])]
        self._curves, self._counts = curves, np.zeros(len(curves), dtype=np.int64)
        self._tried = np.zeros(len(curves), bool)
        self._steps, self._seen, self._idle = steps, -math.inf, 0
        self._regret: list[float] = []
        self._seconds: list[float] = []
        self._since = time.process_time()

    def nearest(self, point: Any) -> int:
        """The arm for a proposal."""
        free = ~self._tried if not self._tried.all() else self._counts < self.length
        self._idle += 1
        if not free.any() or self._idle > IDLE:
            raise Over
        distances = ((self.points - np.asarray(point, float)) ** 2).sum(axis=1)
        arm = int(np.where(free, distances, np.inf).argmin())
        self._tried[arm] = True
        return arm

    def value(self, arm: int, age: int) -> float:
        """The value of an arm after ``age`` epochs, which are trained if they were not before."""
        best, worst = self._curves.max(), self._curves.min()
        while self._counts[arm] < age:
            if len(self._regret) == self._steps:
                raise Over
            self._seconds.append(time.process_time() - self._since)
            self._seen = max(self._seen, float(self._curves[arm, self._counts[arm]]))
            self._counts[arm] += 1
            self._idle = 0
            self._regret.append(100.0 * (best - self._seen) / (best - worst))
            self._since = time.process_time()
        return float(self._curves[arm, age - 1])

    def search(self) -> Search:
        """What is reported; where all curves ended early, the last regret stays."""
        missing = self._steps - len(self._regret)
        return Search(np.array(self._regret + self._regret[-1:] * missing), np.array(self._seconds))


# -- the libraries: each goes on until `Over` is raised ---------------------------------------------------------------


def optuna_tpe(run: Run, pruner: str) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rule: optuna.pruners.BasePruner
    if pruner == "hyperband":
        rule = optuna.pruners.HyperbandPruner(min_resource=1, max_resource=run.length)
    else:
        rule = optuna.pruners.SuccessiveHalvingPruner(min_resource=1)
    sampler = optuna.samplers.TPESampler(seed=run.seed)
    study = optuna.create_study(direction="maximize", sampler=sampler, pruner=rule)
    places: dict[str, Any] = {name: optuna.distributions.FloatDistribution(0.0, 1.0) for name in run.names}
    while True:
        trial = study.ask(places)
        arm = run.nearest([trial.params[name] for name in run.names])
        for age in range(1, run.length + 1):
            trial.report(value := run.value(arm, age), age)
            if trial.should_prune():
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                break
        else:
            study.tell(trial, value)


def syne_tune_asha(run: Run, searcher: str) -> None:
    from syne_tune.backend.trial_status import Trial
    from syne_tune.config_space import uniform
    from syne_tune.optimizer.scheduler import SchedulerDecision
    from syne_tune.optimizer.schedulers.asha import AsynchronousSuccessiveHalving

    np.random.seed(run.seed)  # noqa: NPY002 - Syne Tune draws brackets from it
    space = {name: uniform(0.0, 1.0) for name in run.names}
    scheduler = AsynchronousSuccessiveHalving(
        space, METRIC, do_minimize=False, searcher=searcher, time_attr=AGE, max_t=run.length, random_seed=run.seed
    )
    count = 0
    while True:
        config = scheduler.suggest().config
        arm = run.nearest([config[name] for name in run.names])
        trial = Trial(count, dict(zip(run.names, run.points[arm].tolist(), strict=True)), datetime.now())
        scheduler.on_trial_add(trial)
        for age in range(1, run.length + 1):
            if scheduler.on_trial_result(trial, {METRIC: run.value(arm, age), AGE: age}) != SchedulerDecision.CONTINUE:
                break
        count += 1


def smac(run: Run) -> None:
    from ConfigSpace import ConfigurationSpace, Float
    from smac import MultiFidelityFacade, Scenario
    from smac.runhistory.dataclasses import TrialValue

    space = ConfigurationSpace(seed=run.seed)
    space.add([Float(name, (0.0, 1.0)) for name in run.names])
    arms: dict[Any, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(
            space, output_directory=Path(folder), deterministic=True, n_trials=10_000, min_budget=1,
            max_budget=run.length, seed=run.seed,
        )  # fmt: skip
        facade = MultiFidelityFacade(
            scenario,
            lambda config, seed, budget: 0.0,
            initial_design=MultiFidelityFacade.get_initial_design(scenario, n_configs=10 * len(run.names)),
            logging_level=False,
            overwrite=True,
        )
        while True:
            info = facade.ask()
            if info.config not in arms:
                arms[info.config] = run.nearest([info.config[name] for name in run.names])
            facade.tell(info, TrialValue(cost=-run.value(arms[info.config], round(info.budget))), save=False)


def dehb(run: Run) -> None:
    from dehb import DEHB

    arms: dict[Any, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        made = DEHB(
            dimensions=len(run.names), configspace=False, min_fidelity=1, max_fidelity=run.length, n_workers=1,
            seed=run.seed, output_path=folder, save_freq="end", log_level="ERROR",
        )  # fmt: skip
        while True:
            job = made.ask()
            key = tuple(np.asarray(job["config"]).tolist())
            if key not in arms:
                arms[key] = run.nearest(key)
            age = min(run.length, max(1, round(job["fidelity"])))
            made.tell(job, {"fitness": -run.value(arms[key], age), "cost": float(age)})


ROWS: dict[str, Callable[[Run], None]] = {
    "Optuna TPE, halving": lambda run: optuna_tpe(run, "halving"),
    "Optuna TPE, Hyperband": lambda run: optuna_tpe(run, "hyperband"),
    "Syne Tune ASHA": lambda run: syne_tune_asha(run, "random_search"),
    "Syne Tune ASHA, CQR": lambda run: syne_tune_asha(run, "cqr"),
    "SMAC": smac,
    "DEHB": dehb,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--benchmark", choices=BENCHMARKS, default="taskset")
    parser.add_argument("--half", choices=["tuned", "reported"], default="tuned")
    parser.add_argument("--arms", type=int, default=1_000)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    given = parser.parse_args()
    logging.disable(logging.ERROR)
    warnings.simplefilter("ignore")
    for seed in given.seeds:
        for table, sample in tasks_of(tables(given.benchmark), given.benchmark, given.half, given.arms, seed):
            dicts = as_dicts(table.configs[sample])
            points = Features(dicts).points(dicts)
            for row in given.rows:
                run = Run(table.curves[sample], points, given.steps, seed)
                with contextlib.suppress(Over), contextlib.redirect_stdout(io.StringIO()):
                    ROWS[row](run)
                print(json.dumps(recorded(given, table.number, seed, row, run.search())), flush=True)


if __name__ == "__main__":
    main()
