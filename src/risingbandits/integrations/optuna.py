"""Optuna (https://optuna.org): trials that are paused and resumed instead of killed, and whole studies as arms.

Optuna chooses settings and keeps the results, the allocator decides which trial trains on. Each pull reports a value to
the study, so Optuna's dashboard shows the curves while they grow.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from risingbandits._core.errors import RisingBanditsError, check_choice, check_positive_int, missing, shown
from risingbandits.allocation.pull import Pull

try:
    from optuna import Study, Trial, TrialPruned
    from optuna.study import StudyDirection
    from optuna.trial import FrozenTrial, TrialState
except ImportError:
    raise missing("Optuna", "OptunaArms and StudyArm", "optuna") from None

_MARK = "risingbandits"  # attribute of trials that are arms: the name of the arm, or the number of the pull

Objective = Callable[..., Iterator[float]]


class TrialArm:
    """A running trial as an arm: a pull is one step of its training, reported to the study as step ``pull.n``.

    Where the training is not where the pull needs it, because the process was restarted or the last pull failed, it
    begins again: at step ``pull.n`` if the objective has a parameter ``start``, otherwise at step 1, and the values of
    steps that were told before are passed over.
    """

    restores_itself = True

    def __init__(self, trial: Trial, objective: Objective) -> None:
        self.trial = trial
        self.objective = objective
        self.ended = False  # whether the objective has no more steps
        self._steps: Iterator[float] | None = None
        self._done = 0
        self._takes_start = "start" in inspect.signature(objective).parameters

    def pull(self, pull: Pull) -> float:
        """Train one step."""
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
            self.ended = True
            raise RisingBanditsError(
                f"trial {self.trial.number} has no step {pull.n}: its objective ended after step {self._done}."
            ) from None
        except BaseException:
            self.close()
            raise
        if pull.n not in self.frozen.intermediate_values:  # told by a process that died before the allocator knew
            self.trial.report(value, step=pull.n)
        return value

    @property
    def frozen(self) -> FrozenTrial:
        """The trial as the study's storage has it now."""
        return self.trial.storage.get_trial(self.trial._trial_id)

    def close(self) -> None:
        """End the training, as for a trial that is not needed now; a later pull begins it again."""
        close = getattr(self._steps, "close", None)
        if close is not None:
            close()
        self._steps = None


class OptunaArms(Mapping[str, TrialArm]):
    """Trials of a study as arms of an allocator, by the names "trial 0", "trial 1", ...

    Trials are asked from the study, whose sampler suggests their settings, and stay RUNNING until `finish`. Trials that
    an earlier process made so and did not finish are taken up again, with the settings that they had.

    Parameters
    ----------
    study : optuna.Study
        With one objective, in any storage.
    objective : callable ``objective(trial)`` or ``objective(trial, start)``, a generator
        Asks ``trial`` for its settings, trains, and yields a value after each step. ``start`` is the first step that is
        wanted (counted from 1), for objectives that keep checkpoints of their own.
    n_trials : int
        How many arms; those that are RUNNING already count.

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

    def __init__(self, study: Study, objective: Objective, n_trials: int) -> None:
        self.study = study
        self.objective = objective
        self.direction = _direction(study)
        n_trials = check_positive_int("n_trials", n_trials)
        running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        trials = [Trial(study, trial._trial_id) for trial in running if _MARK in trial.user_attrs]
        while len(trials) < n_trials:
            trials.append(study.ask())
            trials[-1].set_user_attr(_MARK, _name(trials[-1]))
        self._arms = {_name(trial): TrialArm(trial, objective) for trial in trials}

    def __getitem__(self, name: str) -> TrialArm:
        return self._arms[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arms)

    def __len__(self) -> int:
        return len(self._arms)

    def add(self) -> tuple[str, TrialArm]:
        """One more trial from the study, for `Allocator.add`: ``allocator.add(*arms.add())``."""
        trial = self.study.ask()
        trial.set_user_attr(_MARK, _name(trial))
        self._arms[_name(trial)] = TrialArm(trial, self.objective)
        return _name(trial), self._arms[_name(trial)]

    def finish(self, keep: str | Iterable[str]) -> None:
        """Tell the study the end: trials in ``keep`` are COMPLETE with their last value, the others PRUNED.

        A trial whose objective came to its end is COMPLETE too. Calling it again changes nothing.
        """
        kept = {keep} if isinstance(keep, str) else set(keep)
        for name in kept:
            if name not in self._arms:
                raise RisingBanditsError(f"keep must name arms, one of {shown(list(self._arms))}, got {shown(name)}.")
            if not self._arms[name].frozen.intermediate_values:
                raise RisingBanditsError(f"keep must name arms that were pulled, got {shown(name)}.")
        for name, arm in self._arms.items():
            arm.close()
            values = arm.frozen.intermediate_values
            if values and (name in kept or arm.ended):
                self.study.tell(arm.trial, values[max(values)], skip_if_finished=True)
            else:
                self.study.tell(arm.trial, state=TrialState.PRUNED, skip_if_finished=True)


class StudyArm:
    """A whole study as an arm: a pull is one trial, the reward the best value that the study has found so far.

    For choosing among model families, search spaces or samplers, each with a study of its own. The best value never
    gets worse, so such arms rise by construction.

    Parameters
    ----------
    study : optuna.Study
        With one objective, in any storage.
    objective : callable ``objective(trial) -> float``
        As for `Study.optimize`. An exception makes the trial FAIL and the pull fail; `TrialPruned` is no failure.
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
        """Run one trial, or take the one that a process ran for this pull before it died."""
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


def _name(trial: Trial) -> str:
    return f"trial {trial.number}"


def _direction(study: Study) -> str:
    """For the allocator."""
    if len(study.directions) != 1:
        raise RisingBanditsError(f"study must have one objective, got {len(study.directions)}.")
    return "minimize" if study.direction == StudyDirection.MINIMIZE else "maximize"
