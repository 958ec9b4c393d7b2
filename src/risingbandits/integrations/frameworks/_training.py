"""What the arms of all frameworks share: a pull, its metric, its cost, and a warning about schedules."""

from __future__ import annotations

import functools
import logging
import math
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from numbers import Real
from typing import Any

from risingbandits._core.errors import RisingBanditsError, check_choice, check_positive_int, shown
from risingbandits.allocation.arms.base import Outcome
from risingbandits.allocation.pull import Pull
from risingbandits.integrations.frameworks._randomness import Randomness
from risingbandits.logs.curves import direction_by_name

_MODES = {"max": "maximize", "min": "minimize"}  # Lightning's and Keras's word for it, and the allocator's
log = logging.getLogger("risingbandits")


class TrainingArm(ABC):
    """A training loop; a pull is a piece of it. Subclasses train and return the result.

    Without a ``direction``, the name of the metric says which way is good, also if only the first result tells it; if
    it does not, the allocator does.
    """

    def __init__(self, metric: str | None, direction: str | None, cost: Any, costs: tuple[str, ...], seed: int) -> None:
        self.metric = metric
        self.direction = (
            _inferred(metric) if direction is None else check_choice("direction", direction, _MODES.values())
        )
        if cost is not None and not callable(cost):
            check_choice("cost", cost, costs)
        self.cost = cost
        self.pulls = 0
        self._randomness = Randomness(check_positive_int("seed", seed, minimum=0))
        self._spent = 0.0  # of what ``cost`` counts, in this pull

    def pull(self, pull: Pull) -> Outcome:
        """Train a piece further and evaluate."""
        self._spent = 0.0
        with self._randomness.inside():
            results = self._trained_further(pull)
        reward = reward_of(results, self.metric, pull.arm)
        self.pulls += 1
        if self.direction is None and isinstance(results, Mapping) and len(results) == 1:
            self.direction = _inferred(next(iter(results)))  # an allocator that says the opposite stops
        return Outcome(reward, None if self.cost is None else float(self._spent))

    @abstractmethod
    def _trained_further(self, pull: Pull) -> Any:
        """Train; returns a number, or numbers by name."""


def direction_of(mode: str | None) -> str | None:
    """The direction of a ``mode``, None if that is None."""
    return None if mode is None else _MODES[check_choice("mode", mode, _MODES)]


@functools.cache
def _inferred(metric: str | None) -> str | None:
    """The direction by the name of the metric; that of a loss is logged once for each name."""
    named = None if metric is None else direction_by_name(metric)
    if named is not None and named[0] == "minimize":
        log.warning("%s is minimised, %s.", metric, named[1])
    return None if named is None else named[0]


def reward_of(results: Any, metric: str | None, arm: str) -> float:
    """The number among ``results`` that ``metric`` names, if it is finite.

    >>> reward_of({"loss": 0.5, "accuracy": 0.75}, "accuracy", "a")
    0.75
    >>> reward_of({"loss": 0.5, "accuracy": 0.75}, "acuracy", "a")
    Traceback (most recent call last):
        ...
    risingbandits.RisingBanditsError: metric must be one of loss, accuracy; got 'acuracy', did you mean 'accuracy'?
    """
    if isinstance(results, Mapping):
        if not results:
            raise RisingBanditsError(f"metric {metric!r} of arm {arm!r} is missing: its evaluation returned nothing.")
        if metric is None and len(results) == 1:
            metric = next(iter(results))
        value = results[check_choice("metric", metric, results)]
    else:
        value = results
    named = metric or "the evaluation"
    if not isinstance(value, Real):
        try:
            value = value.item()
        except (AttributeError, RuntimeError, ValueError, TypeError):
            raise RisingBanditsError(f"{named} of arm {arm!r} must be a number, got {shown(value)}.") from None
    if not math.isfinite(value):
        raise RisingBanditsError(
            f"{named} of arm {arm!r} is {value}, so this pull does not count: try a smaller learning rate, or retire "
            "the arm."
        )
    return float(value)


def check_loss(loss: float, arm: str) -> None:
    """Raise an error for a training loss that is not finite."""
    if not math.isfinite(loss):
        raise RisingBanditsError(
            f"the training loss of arm {arm!r} is {loss}, so this pull does not count: try a smaller learning rate, "
            "or retire the arm."
        )


def rows_of(batch: Any) -> int:
    """The number of samples in a batch: the length of its first tensor."""
    while not hasattr(batch, "shape"):
        batch = next(iter(batch.values() if isinstance(batch, Mapping) else batch))
    return int(batch.shape[0])


def warn_user(text: str) -> None:
    """Warn at the line that called this package, however deep in it the reason was found."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("risingbandits."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, UserWarning, stacklevel=level)


def warn_of_schedule(schedule: str) -> None:
    """Warn that a schedule depends on the planned end of training."""
    warnings.warn(
        f"{schedule} is bound to a planned length, so that the rewards of this arm depend on where its plan ends and "
        "not on its pulls alone: use a constant rate, one that stays constant after its warm-up, or a schedule-free "
        "optimiser (docs/training-loops.md).",
        UserWarning,
        stacklevel=4,
    )


def not_a_checkpoint(path: Any, arm: str, error: Exception) -> RisingBanditsError:
    """The error for a checkpoint that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return RisingBanditsError(f"{path} does not exist.")
    said = str(error).strip().splitlines() or [""]
    return RisingBanditsError(f"{path} is not a checkpoint of this {arm} ({type(error).__name__}: {said[0][:200]}).")
