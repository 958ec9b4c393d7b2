"""Learning curves from recorded runs: one metric, one direction, one grid of steps, and what had to be decided."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_choice, check_finite, shown
from risingbandits._core.files import flush, whole
from risingbandits._core.types import Floats
from risingbandits.logs.runs import RecordedRun, Recording, Series, Value

# Words in the name of a metric that say which way is good; the last one in the name counts ("loss_improvement").
LOW = {
    "loss", "losses", "error", "err", "perplexity", "ppl", "rmse", "mse", "mae", "mape", "wer", "cer", "nll", "bpb",
    "bpc", "logloss", "mlogloss", "merror", "crossentropy", "entropy", "fid", "regret", "cost", "deviance",
}  # fmt: skip
HIGH = {
    "acc", "accuracy", "auc", "auroc", "f1", "score", "return", "reward", "precision", "recall", "map", "bleu", "rouge",
    "r2", "ndcg", "iou", "dice", "ssim", "psnr", "success", "likelihood", "kappa", "mcc",
}  # fmt: skip
_NEGATED = {"neg", "negative", "negated", "minus"}
_CLEAR = 0.8  # of the runs go one way: then the values say which way is good
_MOST_STEPS = 1_000_000  # of a grid; more is a wrong step in a log
_ROWS = 100  # that are written at a time
_SAME = 1e-9  # relative difference of steps that are equal


@dataclass(frozen=True)
class Curves:
    """Curves of one metric; value n of an arm is what it had after n steps of the grid."""

    metric: str
    direction: str
    reason: str  #: why that direction
    values: dict[str, Floats]
    step: float  #: between two values, in steps of the logs; NaN where steps are not even
    hours: dict[str, Floats] = field(
        default_factory=dict
    )  #: at each value, since the start of the run, if logs have a clock
    settings: dict[str, dict[str, Value]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    restarted: list[str] = field(default_factory=list)  #: runs that went back to an earlier step


def curves_of(
    recording: Recording,
    metric: str | None = None,
    direction: str | None = None,
    step: float | None = None,
    otherwise: str | None = None,
) -> Curves:
    """The curves of one metric of a recording; the arguments are those of `load_curves`.

    ``otherwise`` is the direction if nothing says one; without it that is an error.
    """
    name = choose_metric(recording, metric)
    runs = {run.name: run for run in recording.runs if name in run.metrics}
    notes = list(recording.notes)
    if len(runs) < len(recording.runs):
        notes.append(
            f"{len(recording.runs) - len(runs)} of {len(recording.runs)} runs have no {name} and are left out."
        )
    finite: dict[str, Series] = {}
    for arm, run in runs.items():
        kept = _until_it_diverged(run.metrics[name])
        if len(kept.values) < len(run.metrics[name].values):
            notes.append(
                f"{arm} diverged: its values from step {run.metrics[name].steps[len(kept.values)]:g} on are left out."
            )
        if len(kept.values):
            finite[arm] = kept
    if not finite:
        raise RisingBanditsError(f"metric must have finite values, got {shown(name)}, which has none.")
    way, reason = choose_direction(name, list(runs.values()), finite, direction, otherwise)
    grid, step_of, note = _grid(list(finite.values()), step)
    if note:
        notes.append(note)
    values, hours = {}, {}
    for arm, own in finite.items():
        at: Any = slice(None)
        if own.steps is not grid:  # thousands of runs may share their steps
            found = np.searchsorted(own.steps, grid * (1.0 + _SAME), side="right") - 1
            at = found[(found >= 0) & (grid <= own.steps[-1] * (1.0 + _SAME))]
        if not len(own.values[at]):
            notes.append(f"{arm} has no value on the grid of steps and is left out.")
            continue
        values[arm] = own.values[at]
        if (since := _hours(own)) is not None:
            hours[arm] = since[at]
    settings = {arm: dict(runs[arm].settings) for arm in values if runs[arm].settings}
    timed = hours if len(hours) == len(values) else {}
    restarted = [arm for arm in recording.restarted if arm in values]
    return Curves(name, way, reason, values, step_of, timed, settings, notes, restarted)


def write_csv(curves: Curves, path: Path) -> None:
    """Write a column for each run and a row for each step of the grid, atomically."""
    columns = list(curves.values.values())
    with whole(path) as temporary:
        with temporary.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(curves.values)
            for start in range(0, max(map(len, columns)), _ROWS):
                block = [values[start : start + _ROWS].tolist() for values in columns]
                writer.writerows(zip_longest(*block, fillvalue=""))
        flush(temporary)


def choose_metric(recording: Recording, wanted: str | None) -> str:
    """The metric to read; an error that lists all of them if that is unclear."""
    names = recording.metrics
    if wanted is None:
        if len(names) == 1:
            return names[0]
        arms = " If each column is an arm, leave out the column that counts." if len(recording.runs) == 1 else ""
        said = ", ".join(shown(name, 60) for name in names[:20])
        raise RisingBanditsError(f"metric must be given, because there are several: one of {said}.{arms}")
    if wanted in names:
        return wanted
    ending = [name for name in names if re.split(r"[/.\s]", name)[-1] == wanted]
    if len(ending) == 1:
        return ending[0]
    raise RisingBanditsError(
        f"metric must be one of {', '.join(shown(name, 60) for name in ending or names[:20])}, got {shown(wanted)}."
    )


def choose_direction(
    metric: str,
    runs: Sequence[RecordedRun],
    curves: dict[str, Series],
    wanted: str | None,
    otherwise: str | None = None,
) -> tuple[str, str]:
    """Whether high or low is good, and how that is known."""
    if wanted is not None:
        return check_choice("direction", wanted, ("maximize", "minimize")), "as told"
    said = {run.direction for run in runs if run.direction}
    if len(said) == 1:
        return said.pop(), "as the log says"
    if (named := direction_by_name(metric)) is not None:
        return named
    way, reason = direction_of_values([own.values for own in curves.values()])
    if way is not None:
        return way, reason
    if otherwise is not None:
        return otherwise, "the default, because nothing else says"
    raise RisingBanditsError(
        f"direction must be given for {shown(metric)}, maximize or minimize: its name does not say, and it {reason}."
    )


def direction_by_name(metric: str) -> tuple[str, str] | None:
    """Which way is good by the name of a metric, and the word that says so; None if it says nothing.

    >>> direction_by_name("val/MSE"), direction_by_name("ZeroOneLoss")
    (('minimize', "by the word 'mse' in its name"), ('minimize', "by the word 'loss' in its name"))
    >>> direction_by_name("neg_log_loss"), direction_by_name("width")
    (('maximize', "by the words 'neg' and 'loss' in its name"), None)
    """
    words: list[str] = []
    for part in re.split(r"[^A-Za-z0-9]+", metric):
        known = part.lower() in LOW | HIGH  # "mAP" is one word, "ZeroOneLoss" three
        words += [part.lower()] if known else re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", part).lower().split()
    said = next((word for word in reversed(words) if word in LOW | HIGH), None)
    if said is None:
        return None
    negated = next((word for word in words if word in _NEGATED), None)
    low = (said in LOW) != (negated is not None)
    by = f"by the word {said!r}" if negated is None else f"by the words {negated!r} and {said!r}"
    return ("minimize" if low else "maximize"), f"{by} in its name"


def direction_of_values(curves: Sequence[Floats]) -> tuple[str | None, str]:
    """Whether high or low is good by where most curves go, None if that is not clear, and where they go.

    Values are finite, at least one of each curve.

    >>> direction_of_values([np.array([0.9, 0.5, 0.4]), np.array([0.8, 0.7])])
    ('minimize', 'falls in 100% of the runs')
    >>> direction_of_values([np.array([0.9, 0.5]), np.array([0.7, 0.8])])
    (None, 'rises in 50% of the runs and falls in 50%')
    """
    with np.errstate(all="ignore"):  # the mean of huge values is infinite, and such a curve goes nowhere
        changes = np.array([np.mean(own[-_third(own) :]) - np.mean(own[: _third(own)]) for own in curves])
    falling, rising = float(np.mean(changes < 0.0)), float(np.mean(changes > 0.0))
    if max(falling, rising) < _CLEAR or min(falling, rising) >= 1 - _CLEAR:
        return None, f"rises in {rising:.0%} of the runs and falls in {falling:.0%}"
    if falling > rising:
        return "minimize", f"falls in {falling:.0%} of the runs"
    return "maximize", f"rises in {rising:.0%} of the runs"


def _hours(own: Series) -> Floats | None:
    """Hours since the start of the run, None without a clock that advances.

    Most clocks tell the time of day, so the start of the run is not known: the first value is assumed to have taken the
    median time of the others.
    """
    if own.seconds is None or not np.isfinite(own.seconds).all() or (np.diff(own.seconds) < 0.0).any():
        return None
    usual = float(np.median(np.diff(own.seconds))) if len(own.seconds) > 1 else 0.0
    since: Floats = (own.seconds - own.seconds[0] + usual) / 3600.0
    return since


def _third(own: Floats) -> int:
    return max(1, len(own) // 3)


def _until_it_diverged(own: Series) -> Series:
    bad = np.flatnonzero(~np.isfinite(own.values))
    if not len(bad):
        return own
    end = int(bad[0])
    return Series(own.steps[:end], own.values[:end], None if own.seconds is None else own.seconds[:end])


def _grid(curves: Sequence[Series], step: float | None) -> tuple[Floats, float, str]:
    """The steps at which all curves are read: their own if they agree, otherwise even ones."""
    longest: Floats = max(curves, key=lambda own: len(own.steps)).steps
    last = max(float(own.steps[-1]) for own in curves)
    if step is not None:
        step = check_finite("step", step, above=0.0)
        count = _count(last / step)
        if count < 1:
            raise RisingBanditsError(f"step must be at most {last:g}, the last step of the logs, got {step:g}.")
        return step * np.arange(1.0, count + 1.0), step, ""
    if all(
        own.steps is longest or np.allclose(own.steps, longest[: len(own.steps)], rtol=_SAME, atol=0.0)
        for own in curves
    ):
        apart = np.diff(longest)
        even = len(apart) == 0 or np.allclose(apart, apart[0], rtol=1e-6)
        return longest, float(apart[0]) if len(apart) and even else (1.0 if even else math.nan), ""
    usual = max((float(np.median(np.diff(own.steps))) for own in curves if len(own.steps) > 1), default=1.0)
    start = max(float(own.steps[0]) for own in curves)
    count = _count((last - start) / usual) + 1
    grid: Floats = start + usual * np.arange(float(count))
    return (
        grid,
        usual,
        f"The runs were measured at different steps: each is read every {usual:g} steps from {start:g} on.",
    )


def _count(steps: float) -> int:
    if steps > _MOST_STEPS:
        raise RisingBanditsError(
            f"step must leave at most {_MOST_STEPS:,} values per curve, but would leave {steps:,.4g}: use a larger one."
        )
    return math.floor(steps * (1.0 + _SAME))
