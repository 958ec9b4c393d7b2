"""What is read from logs: runs, each with one or more metrics over its steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.types import Floats

_LONGEST = 200  # characters of a name in a note that an error may repeat

Value = float | str | None
Point = tuple[float, float, float | None]  # step, value and the seconds of a clock, if there is one


class Series(NamedTuple):
    """The values of a metric, by step; steps rise."""

    steps: Floats
    values: Floats
    seconds: Floats | None = None  #: on the clock of the log, if it has one


@dataclass(frozen=True)
class RecordedRun:
    """One training run as its log has it."""

    name: str
    metrics: Mapping[str, Series]
    settings: Mapping[str, Value] = field(default_factory=dict)
    source: str = ""  #: the file or folder that it is from
    kind: str = ""  #: what wrote it, such as "TensorBoard"
    direction: str | None = None  #: whether high or low is good, if the log itself says so
    task: str = ""  #: which of several tasks it belongs to, if the log says so; then the name begins with it


@dataclass
class Recording:
    """Runs, and what had to be done to read them."""

    runs: list[RecordedRun] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    restarted: list[str] = field(default_factory=list)  #: runs that wrote some steps again
    _names: set[str] = field(default_factory=set, repr=False)  # of the runs, so that thousands are added quickly
    _steps: Floats = field(default_factory=lambda: np.empty(0), repr=False)  # of the metric that was added last

    def add(self, run: RecordedRun) -> None:
        """Add a run; a name that already exists gets a number."""
        if not run.metrics:
            name = run.name if len(run.name) <= _LONGEST else f"{run.name[:_LONGEST]}..."
            self.notes.append(f"{name} ({run.source}) has no numbers over steps and is left out.")
            return
        names = self._names
        name, number = run.name, 2
        while name in names:
            name, number = f"{run.name} ({number})", number + 1
        if name != run.name:
            self.notes.append(f"{run.name} is the name of several runs; the one in {run.source} is called {name}.")
            run = replace(run, name=name)
        names.add(name)
        self.runs.append(run)

    def add_log(
        self,
        name: str,
        written: Mapping[str, Series | Sequence[Point]],
        settings: Mapping[str, Value] | None = None,
        *,
        source: Path,
        kind: str,
        direction: str | None = None,
        task: str = "",
    ) -> None:
        """Add a run by its metrics as they were written, with steps that may go back."""
        metrics, again = {}, 0
        for metric, own in written.items():
            series = own if isinstance(own, Series) else series_of(own)
            if not len(series.steps):
                continue
            if not np.isfinite(series.steps).all():
                raise RisingBanditsError(f"{source} must have finite numbers as steps, but {name} has others.")
            one, rewritten = without_rewritten(series)
            again = max(again, rewritten)
            metrics[metric] = one._replace(steps=self._shared(one.steps))
        if again:
            self.notes.append(f"{name} went back by {again} values, as after a restart; what it wrote last counts.")
            self.restarted.append(name)
        self.add(RecordedRun(name, metrics, settings or {}, str(source), kind, direction, task))

    def _shared(self, steps: Floats) -> Floats:
        """The steps of the previous run if they are the same, so that thousands of runs store them once."""
        if not np.array_equal(steps, self._steps):
            self._steps = steps
        return self._steps

    @property
    def metrics(self) -> list[str]:
        """The names of all metrics, those of most runs first."""
        counts: dict[str, int] = {}
        for run in self.runs:
            for metric in run.metrics:
                counts[metric] = counts.get(metric, 0) + 1
        return sorted(counts, key=lambda metric: -counts[metric])


def series_of(points: Sequence[Point]) -> Series:
    """Points of (step, value, seconds) as arrays; without a clock if one of them has no seconds."""
    steps, values, clock = np.array(points, dtype=float).reshape(-1, 3).T  # None is NaN
    return Series(steps, values, None if np.isnan(clock).any() else clock)


def without_rewritten(written: Series) -> tuple[Series, int]:
    """A series with rising steps, and how many of its values were overwritten.

    A run that was resumed from a checkpoint writes some steps again, and continues from what it wrote last. So a value
    stays if all values written after it have later steps.

    >>> found, again = without_rewritten(series_of([(1, 0.3, None), (2, 0.4, None), (3, 0.1, None), (2, 0.5, None)]))
    >>> found.steps.tolist(), found.values.tolist(), again
    ([1.0, 2.0], [0.3, 0.5], 2)
    """
    steps = written.steps
    if len(steps) < 2 or bool((steps[1:] > steps[:-1]).all()):
        return written, 0
    least_after = np.minimum.accumulate(steps[::-1])[::-1][1:]
    stays = np.append(steps[:-1] < least_after, True)
    seconds = None if written.seconds is None else written.seconds[stays]
    return Series(steps[stays], written.values[stays], seconds), int(len(steps) - stays.sum())
