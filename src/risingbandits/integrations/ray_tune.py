"""A scheduler for Ray Tune: a trial is an arm, an iteration a pull; all trials that do not run are paused.

Tune runs trials, `Allocator` says which. The allocator's event log is the only state: a restored experiment continues
from it. To switch from one trial to another Tune saves a checkpoint, ends a process, starts another and loads a
checkpoint, which takes seconds; see docs/cluster.md for the cost and for when to prefer `RayArms`.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError, check_choice, check_positive_int, missing, shown
from risingbandits._core.ray_connection import import_ray
from risingbandits.allocation.allocator import Allocator
from risingbandits.allocation.budget import Budget, as_budget
from risingbandits.allocation.pull import NoArmAvailable, Pull
from risingbandits.allocation.settings import Execution, check_execution
from risingbandits.allocation.stores.base import open_store
from risingbandits.policies.objectives import DEFAULT

import_ray("RisingScheduler", "tune")
try:
    from ray.tune.experiment import Trial
    from ray.tune.schedulers import TrialScheduler
except ImportError as error:  # Ray without what Tune needs
    raise missing("Ray Tune", "RisingScheduler", "tune") from error

log = logging.getLogger("risingbandits")

_ITERATION, _SECONDS = "training_iteration", "time_this_iter_s"
_BY_TRIAL = ("configs", "max_pulls", "prior", "remember", "warm_start")  # settings that name trials, or read files


class RisingScheduler(TrialScheduler):  # type: ignore[misc, unused-ignore]
    """Spend a budget of iterations on the trials of a Tune experiment.

    A trial runs only when it is asked for. If the next iteration is of the same trial, it just continues. When the
    budget is spent, all trials end.

    Parameters
    ----------
    budget : int or Budget
        Iterations of all trials together, or ``Budget(seconds=...)`` or ``Budget(cost=...)``.
    store : path or "postgresql://..."
        Where the events are kept; one for each experiment. With ``Tuner.restore`` the scheduler continues from it.
    metric, mode : str, optional
        The result to improve and "max" or "min"; by default those of ``TuneConfig``.
    jobs : int
        The largest number of trials that run at a time.
    cost : str, optional
        The result that says what an iteration has cost, for ``Budget(cost=...)``.
    **settings
        Further settings of `Allocator`: objective ("best-arm" by default, because tuning keeps the best), policy (by
        default `Auto` for the objective), reward_range (None by default; for cumulative reward, and with policies that
        need to know it, it must be given), sigma, retries, seed.

    Notes
    -----
    Trials must make checkpoints: a class with ``save_checkpoint`` and ``load_checkpoint``, or a function that passes
    one with every report. Iterations that a trial repeats because its last checkpoint is older do not count again.

    Examples
    --------
    >>> from ray import tune  # doctest: +SKIP
    >>> scheduler = RisingScheduler(300, "tune.db")  # doctest: +SKIP
    >>> config = tune.TuneConfig(metric="score", mode="max", num_samples=20, scheduler=scheduler)  # doctest: +SKIP
    >>> results = tune.Tuner(Trainable, param_space=space, tune_config=config).fit()  # doctest: +SKIP
    """

    _supports_buffered_results = False  # every result decides what runs next

    def __init__(
        self,
        budget: int | Budget,
        store: str | Path,
        *,
        metric: str | None = None,
        mode: str | None = None,
        jobs: int = 1,
        cost: str | None = None,
        **settings: Any,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.budget = as_budget("budget", budget)
        self.store = str(store) if "://" in str(store) else str(Path(store).absolute())
        self.jobs = check_positive_int("jobs", jobs)
        if self.budget.cost is not None and cost is None:
            raise RisingBanditsError("cost must name the result that says what an iteration has cost, got None.")
        self.cost = cost
        self.settings: dict[str, Any] = {"objective": DEFAULT.name, "reward_range": None, **settings}
        # Ray may start another process, which goes on with what this one has asked for.
        execution = check_execution(self.settings.get("execution", Execution()))
        self.settings["execution"] = replace(execution, reclaim=False)
        sound = {name: value for name, value in self.settings.items() if name not in _BY_TRIAL}
        Allocator(["trial"], self.budget, **sound)  # complains now rather than in the middle of `Tuner.fit`
        self._metric, self._mode = metric, None if mode is None else check_choice("mode", mode, ("max", "min"))
        self._begin()

    def _begin(self) -> None:
        self._allocator: Allocator | None = None
        self._held: dict[str, Pull] = {}  # asked for and not told, by trial
        self._early: dict[tuple[str, int], tuple[float, float | None]] = {}  # told before they are asked for
        self._waiting: list[str] = []  # trials that the allocator does not know yet
        self._added: set[str] = set()
        self._seen = -1
        self._over = False

    def __getstate__(self) -> dict[str, Any]:
        """Settings only: the state is in the store."""
        names = ("budget", "store", "jobs", "cost", "settings", "_metric", "_mode")
        return {name: self.__dict__[name] for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def set_search_properties(self, metric: str | None, mode: str | None, **spec: Any) -> bool:
        """Take metric and mode from the experiment; False if they are given twice."""
        if (self._metric and metric) or (self._mode and mode):
            return False
        self._metric, self._mode = self._metric or metric, self._mode or mode
        if self._metric is None or self._mode is None:
            raise RisingBanditsError("metric and mode must be given, to RisingScheduler or to TuneConfig, got None.")
        return True

    # -- what Tune tells ----------------------------------------------------------------------------------------

    def on_trial_add(self, tune_controller: Any, trial: Any) -> None:
        """A new or recovered trial: an arm."""
        if trial.status == Trial.TERMINATED:
            return
        if trial.trial_id in self._added:
            return  # recovered: Tune starts it again by itself
        self._added.add(trial.trial_id)
        self._waiting.append(trial.trial_id)
        if trial.status == Trial.PENDING:
            trial.set_status(Trial.PAUSED)  # Tune starts whatever is pending; this one is to wait for its turn

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        """A pull is done: tell its reward and decide which trial is next."""
        self._tell(trial, result)
        self._ask()
        if self._over:
            self._stop_others(tune_controller, trial)
            return str(TrialScheduler.STOP)
        return str(TrialScheduler.CONTINUE if trial.trial_id in self._held else TrialScheduler.PAUSE)

    def on_trial_complete(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> None:
        """A trial has ended by itself: its arm is finished."""
        self._tell(trial, result, finished=True)
        self._retire(trial, "complete")

    def on_trial_remove(self, tune_controller: Any, trial: Any) -> None:
        """A waiting trial was stopped."""
        self._retire(trial, "stopped")

    def on_trial_error(self, tune_controller: Any, trial: Any) -> None:
        """A trial has failed: the pull is given back. Tune recovers those that it has marked already."""
        pull = self._held.pop(trial.trial_id, None)
        if pull is not None:
            self._open().fail(pull, "the trial has failed")
        if trial.status != Trial.ERROR:
            self._retire(trial, "the trial has failed")

    def choose_trial_to_run(self, tune_controller: Any) -> Any:
        """A trial whose pull was asked for and that does not run yet."""
        trials = {trial.trial_id: trial for trial in tune_controller.get_trials()}
        if len(trials) != self._seen:  # more may come with the next step; the policy is to see them all
            self._seen = len(trials)
            return None
        if not self._over:
            self._ask()
        if self._over:
            self._stop_others(tune_controller, None)
            return None
        for name in self._held:
            if name not in trials:
                raise RisingBanditsError(f"{self.store} holds another experiment: it has trial {shown(name)}.")
            if trials[name].status in (Trial.PAUSED, Trial.PENDING):
                return trials[name]
        return None

    def debug_string(self) -> str:
        """One line for Tune's status."""
        if self._allocator is None:
            return "RisingScheduler: nothing spent yet."
        spent, best = self._allocator.spent, self._allocator.ledger.recommend() or "-"
        return f"RisingScheduler: {spent:g} of {self.budget.amount:g} {self.budget.unit} spent, best {best}."

    # -- the allocator ------------------------------------------------------------------------------------------

    def _open(self) -> Allocator:
        """The allocator, with all trials that Tune has named."""
        if self._allocator is None:
            direction = {"max": "maximize", "min": "minimize"}[str(self._mode)]
            if _exists(self.store):
                self._allocator = Allocator.open(self.store)
            else:
                arms = list(dict.fromkeys(self._waiting))
                self._allocator = Allocator(arms, self.budget, store=self.store, direction=direction, **self.settings)
            for flight in list(self._allocator.ledger.in_flight.values()):
                self._allocator.release(flight.pull, "the experiment was restored")
        known = set(self._allocator.arms)
        for name in dict.fromkeys(self._waiting):
            if name not in known:
                self._allocator.add(name)
        self._waiting.clear()
        return self._allocator

    def _ask(self) -> None:
        """Hold as many pulls as trials may run."""
        allocator = self._open()
        while len(self._held) < self.jobs:
            try:
                pull = allocator.ask()
            except NoArmAvailable:
                return
            if pull is None:
                self._over = not self._held
                return
            early = self._early.pop((pull.arm, pull.n), None)
            if early is None:
                self._held[pull.arm] = pull
            else:
                allocator.tell(pull, *early)

    def _tell(self, trial: Any, result: dict[str, Any], finished: bool = False) -> None:
        """Tell the result of an iteration, if it is the one that was asked for."""
        if self._metric not in result:
            if finished and (pull := self._held.pop(trial.trial_id, None)) is not None:
                self._open().tell(pull, finished=True)
            return
        reward, n = float(result[self._metric]), int(result[_ITERATION])
        cost = result.get(_SECONDS) if self.budget.seconds is not None else result.get(str(self.cost))
        pull = self._held.get(trial.trial_id)
        if pull is None:
            told = len(self._open().rewards(trial.trial_id)) if trial.trial_id in self._open().arms else 0
            if n > told:
                self._early[trial.trial_id, told + 1] = (reward, cost)
        elif n >= pull.n:
            del self._held[trial.trial_id]
            self._open().tell(pull, reward, cost, finished=finished)
        else:
            log.debug("%s repeats iteration %d, on its way to %d", trial.trial_id, n, pull.n)

    def _retire(self, trial: Any, reason: str) -> None:
        allocator = self._open()
        pull = self._held.pop(trial.trial_id, None)
        if pull is not None:
            allocator.release(pull, reason)
        if not self._over and trial.trial_id in allocator.arms and not allocator.ledger.arm(trial.trial_id).over:
            allocator.retire(trial.trial_id, reason)

    def _stop_others(self, tune_controller: Any, trial: Any) -> None:
        for other in list(tune_controller.get_trials()):
            if other is not trial and other.status in (Trial.PAUSED, Trial.PENDING):
                tune_controller.stop_trial(other)

    def best_trial(self) -> str:
        """The id of the trial to keep."""
        if self._allocator is None and not _exists(self.store):
            raise RisingBanditsError(f"{self.store} holds no experiment yet.")
        return self._open().recommend()


def _exists(store: str) -> bool:
    opened = open_store(store)
    try:
        return opened.settings() is not None
    finally:
        opened.close()
