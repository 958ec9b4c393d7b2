"""A study as samplers see it while trials are paused: their values so far count, although they may continue."""

from __future__ import annotations

import copy
from collections.abc import Container
from typing import Any, cast

import numpy as np
from optuna import Study
from optuna.storages import BaseStorage
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from risingbandits.allocation.prior.scores import wins


def shown_to_samplers(study: Study, mark: str) -> Study:
    """The study, in which RUNNING trials with the attribute ``mark`` and a value look COMPLETE.

    Samplers learn from trials that are COMPLETE or PRUNED, and Optuna has no state for a paused one: a trial told as
    PRUNED can report nothing more. So nothing is told, and only the sampler sees it as COMPLETE.

    Last values after one step and after fifty say little about which settings are better, and PRUNED trials count for
    more the older they are. So every two paused trials are compared at the age of the younger one. The trial that wins
    most is shown with the best of their last values, the next with the second best, and so on.
    """
    storage = cast(BaseStorage, _PausedAreComplete(study._storage, mark, study.direction == StudyDirection.MAXIMIZE))
    return Study(study.study_name, storage, sampler=study.sampler, pruner=study.pruner)


class _PausedAreComplete:
    """A storage, unchanged except for the state and the value of paused trials in lists of trials."""

    def __init__(self, storage: BaseStorage, mark: str, higher: bool) -> None:
        self._storage, self._mark, self._higher = storage, mark, higher
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
        return trial.state == TrialState.RUNNING and self._mark in trial.user_attrs and bool(trial.intermediate_values)

    def _seen(self, trial: FrozenTrial) -> FrozenTrial:
        seen = copy.copy(trial)
        seen.state, seen.value = TrialState.COMPLETE, self._values[trial.number]
        return seen


def _comparable(trials: dict[int, FrozenTrial], higher: bool) -> dict[int, float]:
    """By the number of each trial: the last value whose rank is that of the trial at equal age.

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
