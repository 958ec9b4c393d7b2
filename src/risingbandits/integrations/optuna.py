"""Optuna (https://optuna.org): trials that are paused and resumed instead of killed.

Optuna chooses configs and keeps the results; the allocator decides which trial continues. Each pull reports a value to
the study, so Optuna's dashboard shows the curves while they grow.
"""

from __future__ import annotations

import copy
import inspect
import math
import queue
import threading
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, cast

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_positive_int, missing, shown
from risingbandits.allocation.arms.base import Outcome
from risingbandits.allocation.pull import Pull
from risingbandits.policies._config_process import wins

try:
    from optuna import Study, Trial, TrialPruned
    from optuna.storages import BaseStorage
    from optuna.study import StudyDirection
    from optuna.trial import FrozenTrial, TrialState
except ImportError:
    raise missing("Optuna", "OptunaArms", "optuna") from None

# Attribute of trials that are arms: the name of the arm; of a study: which arms were started.
_MARK = "risingbandits"
_MOST_ARMS = 1000  # where their number is left open

Objective = Callable[..., Any]


class TrialArm:
    """A trial as an arm: a pull is one step of its training, reported to the study as step ``pull.n``.

    The study is asked for the trial in the first pull. If the training is not where the pull needs it, because the
    process was restarted or the last pull failed, it starts again: at step ``pull.n`` if the objective has a parameter
    ``start``, otherwise at step 1, skipping the values of steps that were told before.
    """

    restores_itself = True

    def __init__(self, name: str, arms: OptunaArms) -> None:
        self.name = name
        self._arms = arms
        self._trial: Trial | None = None
        self._steps: Iterator[float] | None = None
        self._done = 0
        self.pulled = 0.0  # when, by `time.monotonic`; infinity while a pull is made

    @property
    def trial(self) -> Trial:
        """The trial; the study is asked for it if there is none yet."""
        if self._trial is None:
            self._trial = self._arms._trial(self.name)
        return self._trial

    @property
    def frozen(self) -> FrozenTrial:
        """The trial as the study's storage has it now."""
        return self.trial.storage.get_trial(self.trial._trial_id)

    @property
    def config(self) -> dict[str, Any]:
        """What the sampler has suggested, once it is known."""
        return {} if self._trial is None else dict(self.frozen.params)

    @property
    def is_live(self) -> bool:
        """Whether its training is held in memory."""
        return self._steps is not None

    def pull(self, pull: Pull) -> float | Outcome:
        """Train one step."""
        frozen = self.frozen
        known = frozen.intermediate_values.get(pull.n, math.nan)
        if math.isfinite(known):  # reported for a pull that was not told, here or by a process that died
            return known
        if frozen.state.is_finished():
            return Outcome(finished=True)
        self._arms._make_room(self)
        try:
            return self._trained(pull.n)
        finally:
            self.pulled = time.monotonic()

    def _trained(self, n: int) -> float | Outcome:
        if self._steps is None or self._done != n - 1:
            self._start(n)
        value = math.nan
        try:
            while self._done < n:
                value = float(self._next())
                self._done += 1
        except StopIteration as end:
            return self._end(n, end.value)
        except TrialPruned:
            if self._steps is None:  # it was closed meanwhile
                raise
            self.close()  # by the objective itself
            self._arms._tell(self.trial.number, state=TrialState.PRUNED)
            return Outcome(finished=True)
        except BaseException:
            self.close()
            raise
        Trial.report(self.trial, value, step=n)
        return value

    def _start(self, n: int) -> None:
        """Start the objective at step ``n``, or where it always starts: a generator here, any other in a thread."""
        self.close()
        objective = self._arms.objective
        from_step = {"start": n} if "start" in inspect.signature(objective).parameters else {}
        self._done = n - 1 if from_step else 0
        if inspect.isgeneratorfunction(objective):
            self._steps = objective(_ArmTrial(self.trial), **from_step)
        else:
            self._steps = _Reports(objective, self.trial, from_step)

    def _next(self) -> float:
        assert self._steps is not None
        try:
            return next(self._steps)
        except StopIteration as end:
            if not isinstance(end.value, Iterator):
                raise
            self._steps = end.value  # a function that returned a generator
            return next(self._steps)

    def _end(self, n: int, value: Any) -> Outcome:
        """The training is over, and the trial COMPLETE: the sampler need not wait for the end of the allocation."""
        self.close()
        values = self.frozen.intermediate_values
        if value is None and values:
            value = values[max(values)]
        if self._done or value is None:
            outcome = Outcome(finished=True)
        else:  # it reports nothing: its result is the one reward
            outcome = Outcome(float(value), finished=True)
            Trial.report(self.trial, float(value), step=n)
        self._arms._tell(self.trial.number, value)
        return outcome

    def close(self) -> None:
        """End the training of a trial that is not needed now; a later pull starts it again."""
        close = getattr(self._steps, "close", None)
        self._steps = None
        if close is not None:
            close()


class _ArmTrial(Trial):
    """A trial as its objective sees it: the allocator prunes, and `report` hands over where there is somebody to."""

    def __init__(self, trial: Trial, reports: _Reports | None = None) -> None:
        vars(self).update(vars(trial))
        self._reports = reports

    def report(self, value: float, step: int) -> None:
        if self._reports is None:
            super().report(value, step)
        else:
            self._reports.hand_over(float(value))

    def should_prune(self) -> bool:
        return False


class _Reports(Iterator[float]):
    """The reports of an objective that runs in a thread of its own, and waits in `report` for the next to be wanted.

    The iterator ends with what the objective returns. `close` raises TrialPruned in the objective.
    """

    def __init__(self, objective: Objective, trial: Trial, arguments: Mapping[str, Any]) -> None:
        self._wanted = threading.Semaphore(0)
        self._answers: queue.SimpleQueue[float | BaseException] = queue.SimpleQueue()
        self._closed = False
        self._is_waiting = True  # whether the objective waits, or has ended
        call = (objective, _ArmTrial(trial, self), arguments)
        # A daemon: a training that does not come to its next report must not keep the program alive.
        self._thread = threading.Thread(target=self._run, args=call, name=f"trial-{trial.number}", daemon=True)
        self._thread.start()

    def _run(self, objective: Objective, trial: Trial, arguments: Mapping[str, Any]) -> None:
        answer: BaseException
        try:
            self._wait()
            answer = StopIteration(objective(trial, **arguments))
        except BaseException as error:
            answer = error
        self._answers.put(answer)

    def hand_over(self, value: float) -> None:
        """In the thread: give a value to whoever waits for it, and wait until the next one is wanted."""
        if not self._closed:
            self._answers.put(value)
        self._wait()

    def _wait(self) -> None:
        self._wanted.acquire()
        if self._closed:
            self._wanted.release()  # for an objective that goes on reporting
            raise TrialPruned("the run was closed")

    def __next__(self) -> float:
        self._is_waiting = False
        self._wanted.release()
        answer = self._answers.get()
        self._is_waiting = True
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def close(self) -> None:
        """End the objective; one that is in the middle of a step, because that was interrupted, ends after it."""
        self._closed = True
        self._wanted.release()
        if self._is_waiting:
            self._thread.join()


class OptunaArms(Mapping[str, TrialArm]):
    """Trials of a study as arms of an allocator: "trial 0", "trial 1", ... in the order of their first pulls.

    The study is asked for a trial when its arm is first pulled, so that the sampler has seen the results of earlier
    trials: while they are paused they look COMPLETE to it, ranked by comparisons at equal resource. They stay RUNNING
    until `finish`, or until the objective ends. Unfinished trials of an earlier process are continued with their
    configs. An arm is named after the number of its trial in the study, unless others ask the same study for trials
    meanwhile.

    Parameters
    ----------
    study : optuna.Study
        With one objective, in any storage.
    objective : callable ``objective(trial)`` or ``objective(trial, start)``
        Asks ``trial`` for its config and trains. A generator yields a value after each step. Any other, such as the
        objective of `Study.optimize`, calls ``trial.report`` after each step and runs in a thread of its own, which
        waits there for the next pull: the n-th report is the n-th pull whatever its ``step``, ``should_prune`` is
        False, and at the end `report` raises `TrialPruned` in trials that are paused. What the objective returns is the
        value of the trial. ``start`` is the first step wanted (counted from 1), for objectives with their own
        checkpoints.
    n_trials : int or None
        The largest number of arms, including those already RUNNING. None: as many as the allocator's budget starts, at
        most 1,000.
    live_trials : int or None
        The largest number of unfinished trials whose training, with its model, is held in memory. Beyond it, the trial
        that was pulled longest ago is closed, and trained again from its first step if it is pulled later. None: all.

    Examples
    --------
    >>> import optuna
    >>> from risingbandits.allocation import Allocator
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> def train(trial):
    ...     limit = trial.suggest_float("limit", 0.5, 1.0)
    ...     for epoch in range(1, 1000):
    ...         yield limit * epoch / (epoch + 5)
    >>> study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1))
    >>> arms = OptunaArms(study, train, n_trials=4)
    >>> allocator = Allocator(arms, budget=100)
    >>> allocator.run(progress=False)
    >>> arms.finish(allocator.recommend())
    >>> study.best_trial.number, [trial.state.name for trial in study.trials]
    (1, ['PRUNED', 'COMPLETE', 'PRUNED', 'PRUNED'])
    """

    def __init__(
        self, study: Study, objective: Objective, n_trials: int | None = None, *, live_trials: int | None = None
    ) -> None:
        self.study = study
        self.objective = objective
        self.direction = _direction(study)
        for name, number in (("n_trials", n_trials), ("live_trials", live_trials)):
            if number is not None:
                check_positive_int(name, number)
        self.live_trials = live_trials
        self._changing = threading.Lock()  # which trials are live
        trials = study.get_trials(deepcopy=False)
        # Unfinished arms, and trials from before the study recorded them.
        begun = study.user_attrs.get(_MARK) or {"first": len(trials), "count": 0}
        self._first: int = begun["first"]
        self._count = 0
        older = [trial for trial in trials[: self._first] if self._is_arm(trial)]
        self._arms = {name: TrialArm(name, self) for name in (t.user_attrs[_MARK] for t in older)}
        self._endless = n_trials is None and not begun["count"]
        self._grow(max(begun["count"], (n_trials or 0) - len(older)))

    def supply(self, pulls: int | None) -> None:
        """Names for as many arms as a budget of ``pulls`` pulls can start, if their number was left open."""
        if self._endless:
            self._endless = False
            most = min(_MOST_ARMS, getattr(self.study.sampler, "_n_min_trials", _MOST_ARMS))  # the size of a grid
            self._grow(most if pulls is None else min(pulls, most))

    def __getitem__(self, name: str) -> TrialArm:
        return self._arms[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arms)

    def __len__(self) -> int:
        return len(self._arms)

    def add(self) -> tuple[str, TrialArm]:
        """One more trial from the study, for `Allocator.add`: ``allocator.add(*arms.add())``."""
        self._grow(self._count + 1)
        name = next(reversed(self._arms))
        return name, self._arms[name]

    def finish(self, keep: str | Iterable[str]) -> None:
        """Finish the study: trials in ``keep`` become COMPLETE with their last value, the others PRUNED.

        A trial whose objective ended is COMPLETE too. Arms that were never pulled have no trial. Calling it again
        changes nothing.
        """
        kept = {keep} if isinstance(keep, str) else set(keep)
        trials = self.study.get_trials(deepcopy=False)
        made = {trial.user_attrs[_MARK]: trial for trial in trials if self._is_arm(trial)}
        for name in kept:
            if name not in self._arms:
                raise RisingBanditsError(f"keep must name arms, one of {shown(list(self._arms))}, got {shown(name)}.")
            if name not in made or not made[name].intermediate_values:
                raise RisingBanditsError(f"keep must name arms that were pulled, got {shown(name)}.")
        for name, trial in made.items():
            self._arms[name].close()
            values = trial.intermediate_values
            if name in kept:
                self._tell(trial.number, values[max(values)])
            else:
                self._tell(trial.number, state=TrialState.PRUNED)
        self.study.set_user_attr(_MARK, None)

    def _grow(self, count: int) -> None:
        """Use the first ``count`` names, and record that in the study for a process that continues the trials."""
        if count > self._count:
            for number in range(self._first + self._count, self._first + count):
                self._arms[f"trial {number}"] = TrialArm(f"trial {number}", self)
            self._count = count
            begun = {"first": self._first, "count": count}
            if self.study.user_attrs.get(_MARK) != begun:
                self.study.set_user_attr(_MARK, begun)

    def _is_arm(self, trial: FrozenTrial) -> bool:
        return _MARK in trial.user_attrs and (trial.number >= self._first or trial.state == TrialState.RUNNING)

    def _trial(self, name: str) -> Trial:
        """The trial of an arm: the one that another process has made for it, or a new one."""
        study = shown_to_samplers(self.study)
        for trial in self.study.get_trials(deepcopy=False):
            if self._is_arm(trial) and trial.user_attrs[_MARK] == name:
                return Trial(study, trial._trial_id)
        new = study.ask()
        new.set_user_attr(_MARK, name)
        return new

    def _tell(self, number: int, value: float | None = None, state: TrialState | None = None) -> None:
        shown_to_samplers(self.study).tell(number, value, state, skip_if_finished=True)

    def _make_room(self, arm: TrialArm) -> None:
        """Close the trials that were pulled longest ago, for an arm that is going to be pulled."""
        with self._changing:
            arm.pulled = math.inf
            if self.live_trials is None:
                return
            live = sorted((each for each in self._arms.values() if each.is_live and each is not arm), key=_pulled)
            for each in live[: len(live) + 1 - self.live_trials]:
                if each.pulled < math.inf:
                    each.close()


def _direction(study: Study) -> str:
    """For the allocator."""
    if len(study.directions) != 1:
        raise RisingBanditsError(f"study must have one objective, got {len(study.directions)}.")
    return "minimize" if study.direction == StudyDirection.MINIMIZE else "maximize"


def _pulled(arm: TrialArm) -> float:
    return arm.pulled


def shown_to_samplers(study: Study) -> Study:
    """The study, in which RUNNING trials that are arms and have a value look COMPLETE.

    Samplers learn from trials that are COMPLETE or PRUNED, and Optuna has no state for a paused one: a trial told as
    PRUNED can report nothing more. So nothing is told, and only the sampler sees it as COMPLETE.

    Last values after one step and after fifty say little about which configs are better, and PRUNED trials count for
    more the more steps they have. So every two paused trials are compared at equal resource, that of the shorter one.
    The trial that wins most is shown with the best of their last values, the next with the second best, and so on.
    """
    storage = cast(BaseStorage, _PausedAreComplete(study._storage, study.direction == StudyDirection.MAXIMIZE))
    return _ViewedStudy(study.study_name, storage, sampler=study.sampler, pruner=study.pruner)


class _ViewedStudy(Study):
    def stop(self) -> None:
        """GridSampler stops a study when its grid is used up; there is no loop here that could be stopped."""


class _PausedAreComplete:
    """A storage, unchanged except for the state and the value of paused trials in lists of trials."""

    def __init__(self, storage: BaseStorage, higher: bool) -> None:
        self._storage, self._higher = storage, higher
        self._lengths: dict[int, int] = {}  # by the number of a trial: what the values below were made from
        self._values: dict[int, float] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def get_all_trials(
        self, study_id: int, deepcopy: bool = True, states: Container[TrialState] | None = None
    ) -> list[FrozenTrial]:
        """All trials, or those in ``states``."""
        trials = self._storage.get_all_trials(study_id, deepcopy=deepcopy)
        paused = {trial.number: trial for trial in trials if self._is_paused(trial)}
        lengths = {number: len(trial.intermediate_values) for number, trial in paused.items()}
        if lengths != self._lengths:  # a sampler asks several times for each trial
            self._lengths, self._values = lengths, _comparable(paused, self._higher)
        shown = [self._seen(trial) if trial.number in paused else trial for trial in trials]
        return [trial for trial in shown if states is None or trial.state in states]

    def _is_paused(self, trial: FrozenTrial) -> bool:
        return trial.state == TrialState.RUNNING and _MARK in trial.user_attrs and bool(trial.intermediate_values)

    def _seen(self, trial: FrozenTrial) -> FrozenTrial:
        seen = copy.copy(trial)
        seen.state, seen.value = TrialState.COMPLETE, self._values[trial.number]
        return seen


def _comparable(trials: dict[int, FrozenTrial], higher: bool) -> dict[int, float]:
    """By the number of each trial: the last value whose rank is that of the trial at equal resource.

    Trials that tie share the mean of their places.
    """
    sign = 1.0 if higher else -1.0
    curves = [
        sign * np.array([value for _, value in sorted(trial.intermediate_values.items())]) for trial in trials.values()
    ]
    if not curves:
        return {}
    won = wins(curves, share=0.0)
    last = np.array([curve[-1] for curve in curves])
    finite = np.isfinite(last)
    last[~finite] = last[finite].min(initial=np.inf)  # a failed trial is shown the worst value: Optuna takes no NaN
    last = np.sort(last)
    _, places, counts = np.unique(won, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    means = np.array([last[end - count : end].mean() for end, count in zip(ends, counts, strict=True)])
    return dict(zip(trials, (sign * means[places]).tolist(), strict=True))
