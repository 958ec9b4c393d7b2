"""Which model of a stream is in charge, since when, and whether it has got worse."""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

from river import drift

_MESSAGE = (
    "{name} (model {number}) is in charge and has got worse, from {before:.2f} to {after:.2f}: the stream may have "
    "changed, and policies expect models that rise; models that restart by themselves help, such as "
    "river.drift.DriftRetrainingClassifier(model)."
)
_WORSE = 0.05  # of the range of rewards: a fall that is worth a warning
_KNOWN = 50  # samples in its window from which on a model's score is one to be compared with


class InCharge(NamedTuple):
    """The model that predicts now and learns from the next sample."""

    number: int  # its place in ``models``
    name: str  # its class; of a pipeline, that of its last step
    since: int  # the sample from which on it has been in charge without a break, counted from 1
    score: float  # its recent mean reward, from 0 to 1; 0 before its first


class Watch:
    """Follows the rewards of each model with ADWIN, which detects changes and forgets what is outdated."""

    def __init__(self, n_models: int) -> None:
        self._recent: list[Any] = [drift.ADWIN() for _ in range(n_models)]
        self._best = [0.0] * n_models  # the highest score that each has had
        self._last = -1  # the model in charge at the last sample
        self._since = 1
        self._samples = 0
        self._warned = False

    def see(self, number: int, model: Any, reward: float) -> None:
        """A sample for model ``number`` and its worth. Warns once, when the model gets worse."""
        self._samples += 1
        if number != self._last:
            self._last, self._since = number, self._samples
        recent = self._recent[number]
        recent.update(reward)
        if recent.width >= _KNOWN:
            self._best[number] = max(self._best[number], recent.estimation)
        best = self._best[number]
        if recent.drift_detected and recent.estimation < best - _WORSE and not self._warned:
            self._warned = True
            told = {"name": name_of(model), "number": number, "before": best, "after": recent.estimation}
            warnings.warn(_MESSAGE.format(**told), stacklevel=4)

    def in_charge(self, number: int, model: Any) -> InCharge:
        """What is known about the model that is to be pulled next."""
        since = self._since if number == self._last else self._samples + 1
        return InCharge(number, name_of(model), since, float(self._recent[number].estimation))


def name_of(model: Any) -> str:
    """The class of a model, or of the last step of a pipeline.

    >>> from river import linear_model, preprocessing
    >>> name_of(preprocessing.StandardScaler() | linear_model.LogisticRegression())
    'LogisticRegression'
    """
    steps = getattr(model, "steps", None)
    return type(list(steps.values())[-1] if steps else model).__name__
