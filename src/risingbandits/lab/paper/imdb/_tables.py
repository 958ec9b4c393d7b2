"""The tables of the experiment: learners, and policies on live learners; for the terminal, for a page and as CSV."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from risingbandits._core.stats import half_width, share_interval
from risingbandits._core.tables import TextTable
from risingbandits._core.types import Floats
from risingbandits.lab.paper._csv_tables import write_rows
from risingbandits.lab.paper.imdb._averages import Averages, LearningCurve, bin_edges
from risingbandits.lab.paper.imdb._study import COMPARED
from risingbandits.reports.study import Study
from risingbandits.simulation import Result

# Mean reward over 50,000 pulls with 1,000 features, from the published curves, with the program's learners.
PUBLISHED_MEANS = (0.7969, 0.8131, 0.7652, 0.8309, 0.7634, 0.7012, 0.6076)
PUBLISHED_RUNS = 1_000
_MOST_ARMS = len(PUBLISHED_MEANS)
_FEWEST_RUNS, _FEWEST_OF_A_KIND = 30, 5


@dataclass(frozen=True)
class Paired:
    """A mean over runs and half the width of its 95 % interval (Student t; NaN for a single run)."""

    mean: float
    half_width: float

    @classmethod
    def of(cls, values: Floats) -> Paired:
        """Of one number per run."""
        return cls(float(np.mean(values)), float(half_width(values)))

    def __str__(self) -> str:
        end = "" if self.half_width != self.half_width else f" ± {self.half_width:,.0f}"
        return f"{round(self.mean) + 0:,}{end}"


def difference_from_published(learner: LearningCurve, published: float) -> Paired | None:
    """Mean reward minus the published one, with a 95 % interval; None where an interval would mislead.

    The published mean is one of 1,000 runs, whose spread is taken to be that of ours. Student's interval needs enough
    runs, and where some are dead and some live, so that their mean is that of two kinds, enough of both: 30 runs, and
    5 of each kind that occurs. With fewer, a run more or less that died moves the mean by more than the interval says.
    """
    kinds = (learner.dead, learner.runs - learner.dead)
    if learner.runs < _FEWEST_RUNS or any(0 < number < _FEWEST_OF_A_KIND for number in kinds):
        return None
    wider = math.sqrt(1.0 + learner.runs / PUBLISHED_RUNS)
    return Paired(learner.mean - published, learner.half_width * wider)


def curves_table(averages: Averages, published: bool) -> TextTable:
    """Mean reward of each learner, how many runs end as guesses, and how far from the published mean it is."""
    rows, records = [], []
    for arm, learner in enumerate(averages.learners):
        record = _record(learner)
        end = "" if math.isnan(learner.half_width) else f" ± {learner.half_width:.4f}"
        low, high = share_interval(learner.dead / learner.runs, learner.runs)
        row = [learner.name, f"{learner.runs:,}", f"{learner.mean:.4f}{end}", f"{learner.late.mean():.4f}"]
        row.append(f"{100 * learner.dead / learner.runs:.0f} % ({100 * low:.0f} to {100 * high:.0f})")
        row.append("-" if math.isnan(learner.living_end) else f"{learner.living_end:.3f}")
        if published:
            away = difference_from_published(learner, PUBLISHED_MEANS[arm])
            row.append(f"{PUBLISHED_MEANS[arm]:.4f}")
            row.append("too few runs" if away is None else f"{away.mean:+.4f} ± {away.half_width:.4f}")
            record |= {
                "published": PUBLISHED_MEANS[arm],
                "difference": None if away is None else away.mean,
                "difference_half_width": None if away is None else away.half_width,
            }
        rows.append(tuple(row))
        records.append(record)
    header = ["learner", "runs", "mean reward ± 95 %", "last tenth", "dead runs (95 %)", "living runs end at"]
    header += ["published", "difference ± 95 %"] if published else []
    title = f"average learning curves, {averages.horizon:,} pulls"
    return TextTable(tuple(header), rows, frozenset(range(1, len(header))), title, records)


def _record(learner: LearningCurve) -> dict[str, str | float | None]:
    return {
        "learner": learner.name,
        "runs": learner.runs,
        "mean": learner.mean,
        "half_width": learner.half_width,
        "last_tenth": float(learner.late.mean()),
        "dead_share": learner.dead / learner.runs,
        "living_end": learner.living_end,
        "falling_share": learner.falling / learner.runs,
    }


def write_averages(averages: Averages, folder: Path) -> None:
    """``learners.csv``, a line for each learner, and ``curves.csv``, the mean reward of each in bins of pulls."""
    records = [_record(learner) for learner in averages.learners]
    rows = [[_cell(value, 6) if isinstance(value, float) else value for value in one.values()] for one in records]
    write_rows(folder / "learners.csv", list(records[0]), rows)
    ends = bin_edges(averages.horizon)[1:].tolist()
    bins = [
        (end, *(f"{value:.5f}" for value in column)) for end, column in zip(ends, averages.in_bins().T, strict=True)
    ]
    write_rows(folder / "curves.csv", ("last pull", *averages.arms), bins)


def right_predictions(result: Result) -> dict[str, Floats]:
    """Right predictions of each policy by the horizon, one number per run."""
    assert result.reward is not None, "live learners count their rewards"
    return {label: rewards[:, -1] for label, rewards in result.reward.items()}


def live_table(study: Study) -> TextTable:
    """Right predictions of each policy, CommitUCB's lead, and the regret against averaged curves; best first."""
    problem, result = study
    right = right_predictions(result)
    rows, records = [], []
    for label in sorted(right, key=lambda label: -float(right[label].mean())):
        total = Paired.of(right[label])
        row = [label, str(total), f"{100 * total.mean / result.horizon:.2f} %"]
        lead = Paired.of(right[COMPARED] - right[label]) if label != COMPARED and COMPARED in right else None
        row.append("-" if lead is None else str(lead))
        row.append(f"{result.mean(label)[-1]:,.0f} ± {result.half_width(label)[-1]:,.0f}")
        shares = 100 * result.pulls[label].mean(axis=0) / result.horizon
        row.append(" ".join(f"{share:.0f}" for share in shares))
        rows.append(tuple(row))
        records.append(
            {
                "policy": label,
                "right": total.mean,
                "right_half_width": total.half_width,
                "lead_of_commit_ucb": None if lead is None else lead.mean,
                "lead_half_width": None if lead is None else lead.half_width,
                "regret": result.mean(label)[-1],
                "regret_half_width": result.half_width(label)[-1],
                "pulls": dict(zip(problem.arm_names, result.pulls[label].mean(axis=0).tolist(), strict=True)),
            }
        )
    pulls = f"pulls (%): {' '.join(problem.arm_names)}"
    header = ("policy", "right predictions", "of all", f"lead of {COMPARED}", "regret", pulls)
    runs = f"{result.runs} run{'' if result.runs == 1 else 's'}"
    title = f"{result.problem}, {result.horizon:,} rounds, {runs}, seed {result.seed} (± 95 %)"
    return TextTable(header, rows, frozenset({1, 2, 3, 4}), title, records)


def write_live(studies: Sequence[Study], folder: Path) -> None:
    """``predictions.csv``, the same numbers, and ``top-arms.csv``, which arms have most pulls; a line per policy."""
    names = ["problem", "policy", "right", "right_half_width", "lead_of_commit_ucb", "lead_half_width"]
    names += ["regret", "regret_half_width", *(f"pulls_{arm + 1}" for arm in range(_MOST_ARMS))]
    lines: list[list[Any]] = []
    for _, result in studies:
        right = right_predictions(result)
        for label in right:
            total = Paired.of(right[label])
            numbers = [total.mean, total.half_width]
            lead = Paired.of(right[COMPARED] - right[label]) if COMPARED in right else None
            numbers += [float("nan")] * 2 if lead is None else [lead.mean, lead.half_width]
            numbers += [float(result.mean(label)[-1]), float(result.half_width(label)[-1])]
            numbers += result.pulls[label].mean(axis=0).tolist()
            cells = [_cell(number, 1) for number in numbers]
            cells += [""] * (len(names) - 2 - len(cells))
            lines.append([result.problem, label, *cells])
    write_rows(folder / "predictions.csv", names, lines)
    tops = ["problem", "policy", "runs", "locked_runs", *(f"top_{arm + 1}" for arm in range(_MOST_ARMS))]
    write_rows(folder / "top-arms.csv", tops, [line for _, result in studies for line in _top_arms(result)])


def _top_arms(result: Result) -> Iterator[list[Any]]:
    """In how many runs one arm has over 95 % of the pulls, and which has the most."""
    for label, pulls in result.pulls.items():
        locked = int((pulls.max(axis=1) > 0.95 * result.horizon).sum())
        tops = np.bincount(pulls.argmax(axis=1), minlength=pulls.shape[1]).tolist()
        yield [result.problem, label, result.runs, locked, *tops, *[""] * (_MOST_ARMS - len(tops))]


def _cell(number: float, digits: int) -> str:
    return "" if math.isnan(number) else f"{number:.{digits}f}"
