"""A study as samplers see it while trials are paused: what they have shown counts, though they may yet go on."""

from __future__ import annotations

import copy
from collections.abc import Container
from typing import Any, cast

from optuna import Study
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState


def shown_to_samplers(study: Study, mark: str) -> Study:
    """The study, in which RUNNING trials with the attribute ``mark`` and a value look PRUNED.

    Samplers learn from trials that are COMPLETE or PRUNED, and Optuna has no state for one that is paused: a trial that
    is told to be PRUNED can report no further value. So nothing is told, and only the sampler is shown it so.
    """
    storage = cast(BaseStorage, _PausedArePruned(study._storage, mark))
    return Study(study.study_name, storage, sampler=study.sampler, pruner=study.pruner)


class _PausedArePruned:
    """A storage as it is, but for the state of paused trials in lists of trials."""

    def __init__(self, storage: BaseStorage, mark: str) -> None:
        self._storage, self._mark = storage, mark

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def get_all_trials(
        self, study_id: int, deepcopy: bool = True, states: Container[TrialState] | None = None
    ) -> list[FrozenTrial]:
        """All trials, or those in ``states``."""
        trials = map(self._seen, self._storage.get_all_trials(study_id, deepcopy=deepcopy))
        return [trial for trial in trials if states is None or trial.state in states]

    def _seen(self, trial: FrozenTrial) -> FrozenTrial:
        if trial.state != TrialState.RUNNING or self._mark not in trial.user_attrs or not trial.intermediate_values:
            return trial
        seen = copy.copy(trial)
        seen.state = TrialState.PRUNED
        seen.value = trial.intermediate_values[max(trial.intermediate_values)]
        return seen
