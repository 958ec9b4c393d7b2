"""Optuna (https://optuna.org): trials that are paused and resumed instead of killed, and whole studies as arms.

Optuna chooses settings and keeps the results; the allocator decides which trial continues. Each pull reports a value to
the study, so Optuna's dashboard shows the curves while they grow.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from risingbandits._core.errors import RisingBanditsError, check_choice, check_positive_int, missing, shown
from risingbandits.allocation.pull import Pull

try:
    from optuna import Study, Trial, TrialPruned
    from optuna.study import StudyDirection
    from optuna.trial import FrozenTrial, TrialState

    from risingbandits.integrations._optuna_view import shown_to_samplers
except ImportError:
    raise missing("Optuna", "OptunaArms and StudyArm", "optuna") from None

# Attribute of trials that are arms: the name of the arm, or the number of the pull; of a study: which arms were
# started.
_MARK = "risingbandits"
_MOST_ARMS = 1000  # where their number is left open

Objective = Callable[..., Iterator[float]]


class TrialArm:
    """A trial as an arm: a pull is one step of its training, reported to the study as step ``pull.n``.

    The study is asked for the trial in the first pull. If the training is not where the pull needs it, because the
    process was restarted or the last pull failed, it starts again: at step ``pull.n`` if the objective has a parameter
    ``start``, otherwise at step 1, skipping the values of steps that were told before.
    """

    restores_itself = True

    def __init__(self, name: str, make: Callable[[str], Trial], objective: Objective) -> None:
        self.name = name
        self.objective = objective
        self._make = make
        self._trial: Trial | None = None
        self._steps: Iterator[float] | None = None
        self._done = 0
        self._takes_start = "start" in inspect.signature(objective).parameters

    @property
    def trial(self) -> Trial:
        """The trial; the study is asked for it if there is none yet."""
        if self._trial is None:
            self._trial = self._make(self.name)
        return self._trial

    @property
    def frozen(self) -> FrozenTrial:
        """The trial as the study's storage has it now."""
        return self.trial.storage.get_trial(self.trial._trial_id)

    @property
    def settings(self) -> dict[str, Any]:
        """What the sampler has suggested, once it is known."""
        return {} if self._trial is None else dict(self._trial.params)

    def pull(self, pull: Pull) -> float:
        """Train one step."""
        frozen = self.frozen
        if frozen.state.is_finished():
            if pull.n in frozen.intermediate_values:  # told by a process that died before the allocator knew
                return frozen.intermediate_values[pull.n]
            raise self._no_step(pull.n, max(frozen.intermediate_values, default=0))
        if self._steps is None or self._done != pull.n - 1:
            self.close()
            if self._takes_start:
                self._steps, self._done = iter(self.objective(self.trial, start=pull.n)), pull.n - 1
            else:
                self._steps, self._done = iter(self.objective(self.trial)), 0
        value = math.nan
        try:
            while self._done < pull.n:
                value = float(next(self._steps))
                self._done += 1
        except StopIteration:
            values = self.frozen.intermediate_values
            if values:  # the sampler need not wait for the end of the allocation
                self.trial.study.tell(self.trial, values[max(values)], skip_if_finished=True)
            raise self._no_step(pull.n, self._done) from None
        except BaseException:
            self.close()
            raise
        if pull.n not in frozen.intermediate_values:
            self.trial.report(value, step=pull.n)
        return value

    def _no_step(self, n: int, last: int) -> RisingBanditsError:
        return RisingBanditsError(f"{self.name} has no step {n}: its objective ended after step {last}.")

    def close(self) -> None:
        """End the training of a trial that is not needed now; a later pull starts it again."""
        close = getattr(self._steps, "close", None)
        if close is not None:
            close()
        self._steps = None


class OptunaArms(Mapping[str, TrialArm]):
    """Trials of a study as arms of an allocator: "trial 0", "trial 1", ... in the order of their first pulls.

    The study is asked for a trial when its arm is first pulled, so that the sampler has seen the results of earlier
    trials: while they are paused they look COMPLETE to it, ranked by comparisons at equal age. They stay RUNNING until
    `finish`, or until the objective ends. Unfinished trials of an earlier process are continued with their settings. An
    arm is named after the number of its trial in the study, unless others ask the same study for trials meanwhile.

    Parameters
    ----------
    study : optuna.Study
        With one objective, in any storage.
    objective : callable ``objective(trial)`` or ``objective(trial, start)``, a generator
        Asks ``trial`` for its settings, trains, and yields a value after each step. ``start`` is the first step wanted
        (counted from 1), for objectives with their own checkpoints.
    n_trials : int or None
        The largest number of arms, including those already RUNNING. None: as many as the allocator's budget opens, at
        most 1,000.

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
    >>> allocator = Allocator(arms, budget=100, direction=arms.direction)
    >>> allocator.run(progress=False)
    >>> arms.finish(allocator.recommend())
    >>> study.best_trial.number, [trial.state.name for trial in study.trials]
    (1, ['PRUNED', 'COMPLETE', 'PRUNED', 'PRUNED'])
    """

    lazy = True  # arms get their places in an allocator when they are first pulled

    def __init__(self, study: Study, objective: Objective, n_trials: int | None = None) -> None:
        self.study = study
        self.objective = objective
        self.direction = _direction(study)
        if n_trials is not None:
            check_positive_int("n_trials", n_trials)
        trials = study.get_trials(deepcopy=False)
        # Unfinished arms, and trials from before the study recorded them.
        begun = study.user_attrs.get(_MARK) or {"first": len(trials), "count": 0}
        self._first: int = begun["first"]
        self._count = 0
        older = [trial for trial in trials[: self._first] if self._is_arm(trial)]
        self._arms = {name: TrialArm(name, self._trial, objective) for name in (t.user_attrs[_MARK] for t in older)}
        self._endless = n_trials is None and not begun["count"]
        self._grow(max(begun["count"], (n_trials or 0) - len(older)))

    def supply(self, pulls: int | None) -> None:
        """Names for as many arms as a budget of ``pulls`` pulls can open, if their number was left open."""
        if self._endless:
            self._endless = False
            self._grow(_MOST_ARMS if pulls is None else min(pulls, _MOST_ARMS))

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
                self.study.tell(trial.number, values[max(values)], skip_if_finished=True)
            else:
                self.study.tell(trial.number, state=TrialState.PRUNED, skip_if_finished=True)
        self.study.set_user_attr(_MARK, None)

    def _grow(self, count: int) -> None:
        """Use the first ``count`` names, and record that in the study for a process that continues the trials."""
        if count > self._count:
            for number in range(self._first + self._count, self._first + count):
                self._arms[f"trial {number}"] = TrialArm(f"trial {number}", self._trial, self.objective)
            self._count = count
            begun = {"first": self._first, "count": count}
            if self.study.user_attrs.get(_MARK) != begun:
                self.study.set_user_attr(_MARK, begun)

    def _is_arm(self, trial: FrozenTrial) -> bool:
        return _MARK in trial.user_attrs and (trial.number >= self._first or trial.state == TrialState.RUNNING)

    def _trial(self, name: str) -> Trial:
        """The trial of an arm: the one that another process has made for it, or a new one."""
        study = shown_to_samplers(self.study, _MARK)
        for trial in self.study.get_trials(deepcopy=False):
            if self._is_arm(trial) and trial.user_attrs[_MARK] == name:
                return Trial(study, trial._trial_id)
        new = study.ask()
        new.set_user_attr(_MARK, name)
        return new


class StudyArm:
    """A whole study as an arm: a pull is one trial, the reward the best value that the study has found so far.

    For choosing among model families, search spaces or samplers, each with a study of its own. The best value never
    gets worse, so such arms rise by construction.

    Parameters
    ----------
    study : optuna.Study
        With one objective, in any storage.
    objective : callable ``objective(trial) -> float``
        As for `Study.optimize`. An exception makes the trial FAIL and the pull fail; `TrialPruned` is not a failure.
    reward : {"best", "trial"}
        The best value so far, or the trial's own.

    Examples
    --------
    >>> import optuna
    >>> from risingbandits.allocation import Allocator
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> def arm(top):
    ...     study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    ...     return StudyArm(study, lambda trial: top - trial.suggest_float("x", -1, 1) ** 2 / 4)
    >>> arms = {"forest": arm(0.7), "network": arm(0.9)}
    >>> allocator = Allocator(arms, budget=30)
    >>> allocator.run(progress=False)
    >>> allocator.recommend(), sum(len(arm.study.trials) for arm in arms.values())
    ('network', 30)
    """

    restores_itself = True

    def __init__(self, study: Study, objective: Callable[[Trial], float], *, reward: str = "best") -> None:
        self.study = study
        self.objective = objective
        self.reward = check_choice("reward", reward, ("best", "trial"))
        self.direction = _direction(study)

    def pull(self, pull: Pull) -> float:
        """Run one trial, or use the one that a process ran for this pull before it died."""
        trials = self.study.get_trials(deepcopy=False)
        done = [trial for trial in trials if trial.state in (TrialState.COMPLETE, TrialState.PRUNED)]
        if not any(trial.user_attrs.get(_MARK) == pull.n for trial in done):
            for trial in trials:
                if trial.state == TrialState.RUNNING and trial.user_attrs.get(_MARK) == pull.n:
                    self.study.tell(trial.number, state=TrialState.FAIL)
            self._run(pull.n)
            done = self.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED))
        return self._reward(done, pull.n)

    def _run(self, n: int) -> None:
        trial = self.study.ask()
        trial.set_user_attr(_MARK, n)
        try:
            value = self.objective(trial)
        except TrialPruned:
            self.study.tell(trial, state=TrialState.PRUNED)
        except BaseException:
            self.study.tell(trial, state=TrialState.FAIL)
            raise
        else:
            self.study.tell(trial, value)

    def _reward(self, done: Sequence[FrozenTrial], n: int) -> float:
        wanted = done if self.reward == "best" else [trial for trial in done if trial.user_attrs.get(_MARK) == n]
        values = [trial.value for trial in wanted if trial.value is not None]
        if not values:
            raise RisingBanditsError(f"study {self.study.study_name!r} has no value yet: its trials were pruned.")
        return min(values) if self.direction == "minimize" else max(values)


def _direction(study: Study) -> str:
    """For the allocator."""
    if len(study.directions) != 1:
        raise RisingBanditsError(f"study must have one objective, got {len(study.directions)}.")
    return "minimize" if study.direction == StudyDirection.MINIMIZE else "maximize"
