"""What is read from logs: runs, each with one or more metrics over its steps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.types import Floats

Value = float | str | None
Point = tuple[float, float, float | None]  # step, value and the seconds of a clock, if there is one


class Series(NamedTuple):
    """The values of a metric, by step; steps rise."""

    steps: Floats
    values: Floats
    seconds: Floats | None = None  #: on the clock of the log, where it has one


@dataclass(frozen=True)
class RecordedRun:
    """One training run as its log has it."""

    name: str
    metrics: Mapping[str, Series]
    settings: Mapping[str, Value] = field(default_factory=dict)
    source: str = ""  #: the file or folder that it is from
    kind: str = ""  #: what wrote it, such as "TensorBoard"
    direction: str | None = None  #: where the log itself says whether high or low is good


@dataclass
class Recording:
    """Runs, and what had to be done to read them."""

    runs: list[RecordedRun] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    restarted: list[str] = field(default_factory=list)  #: runs that wrote some steps again
    _names: set[str] = field(default_factory=set, repr=False)  # of the runs, so that thousands are added quickly

    def add(self, run: RecordedRun) -> None:
        """Take in a run; a name that there is already gets a number."""
        if not run.metrics:
            self.notes.append(f"{run.name} ({run.source}) has no numbers over steps and is left out.")
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

    def add_points(
        self,
        name: str,
        points: Mapping[str, Iterable[Point]],
        settings: Mapping[str, Value] | None = None,
        *,
        source: Path,
        kind: str,
        direction: str | None = None,
    ) -> None:
        """Take in a run by the points of its metrics, in the order in which they were written."""
        made = {metric: series(own) for metric, own in points.items()}
        if not all(np.isfinite(one.steps).all() for one, _ in made.values()):
            raise RisingBanditsError(f"{source} must have steps that are finite numbers, {name} has others.")
        again = max((rewritten for _, rewritten in made.values()), default=0)
        if again:
            self.notes.append(f"{name} went back by {again} values, as after a restart; what it wrote last counts.")
            self.restarted.append(name)
        metrics = {metric: one for metric, (one, _) in made.items() if len(one.steps)}
        self.add(RecordedRun(name, metrics, settings or {}, str(source), kind, direction))

    @property
    def metrics(self) -> list[str]:
        """The names of all metrics, those of most runs first."""
        counts: dict[str, int] = {}
        for run in self.runs:
            for metric in run.metrics:
                counts[metric] = counts.get(metric, 0) + 1
        return sorted(counts, key=lambda metric: -counts[metric])


def series(points: Iterable[Point]) -> tuple[Series, int]:
    """Points of (step, value, seconds) in the order in which they were written, and how many were written over.

    A run that was resumed from a checkpoint writes some steps again; what it wrote last is what it went on with.

    >>> found, again = series([(1, 0.3, None), (2, 0.4, None), (3, 0.1, None), (2, 0.5, None)])
    >>> found.steps.tolist(), found.values.tolist(), again
    ([1.0, 2.0], [0.3, 0.5], 2)
    """
    kept: dict[float, tuple[float, float | None]] = {}
    again = 0
    last = -math.inf
    for step, value, seconds in points:
        if step <= last:
            later = [known for known in kept if known >= step]
            again += len(later)
            for known in later:
                del kept[known]
        kept[step] = (value, seconds)
        last = step
    steps = np.array(list(kept), dtype=float)
    values = np.array([value for value, _ in kept.values()], dtype=float)
    clock = [seconds for _, seconds in kept.values()]
    timed = bool(clock) and all(seconds is not None for seconds in clock)
    return Series(steps, values, np.array(clock, dtype=float) if timed else None), again
