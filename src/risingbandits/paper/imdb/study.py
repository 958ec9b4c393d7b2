"""Online model selection: which of several online learners should see the next review.

The paper's real-world experiment, on the IMDB reviews or, for everyone, on the digits of scikit-learn: seven learners,
each trained only when it is chosen; and the pair of logistic regressions alone. Regret is counted against averaged
learning curves, as in the paper, and right predictions are counted as they come.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from risingbandits._core.errors import check_choice, check_positive_int
from risingbandits._core.progress import Advance
from risingbandits._core.stats import half_width
from risingbandits._core.tables import TextTable
from risingbandits._core.types import Floats
from risingbandits.paper.imdb import Learner, LiveArms, LogisticRegression, Network, Rows, load_digits, load_imdb
from risingbandits.paper.imdb.averages import Averages
from risingbandits.paper.published.one_by_one import PublishedREdUCB
from risingbandits.policies import REdUCB
from risingbandits.policies.base import Policy
from risingbandits.policies.registry import get_policy
from risingbandits.reports.study import Study
from risingbandits.simulation import Result, simulate
from risingbandits.simulation.backends.base import Backend

ARMS: tuple[Learner, ...] = (
    LogisticRegression(rate=0.003),
    LogisticRegression(rate=0.1, scheme="inverse-sqrt", clip=2.0),
    Network((1,)),
    Network((2,)),
    Network((2, 2)),
    Network((2, 2, 2)),
    Network((1, 1, 2)),
)
DATASETS = ("imdb", "digits")
HORIZONS = {"imdb": 50_000, "digits": 10_000}
# Mean reward over 50,000 pulls with 1,000 features, from the published curves (1,000 runs).
PUBLISHED_MEANS = (0.7969, 0.8131, 0.7652, 0.8309, 0.7634, 0.7012, 0.6076)
_COMPARED = "commit-ucb"  # whose lead the tables show
_PAPER = ("rexp3", "kl-ucb", "ser4", "sw-ucb", "sw-kl-ucb", "sw-ts")


def load_rows(dataset: str, data: Path | None, features: int) -> Rows:
    """The rows of a named data set."""
    check_choice("dataset", dataset, DATASETS)
    return load_imdb(data, features) if dataset == "imdb" else load_digits()


def study_policies(published: bool = False) -> dict[str, Policy]:
    """The paper's seven policies with its settings, CommitUCB and round robin.

    sigma is 1/2, which 0/1 rewards have. ``published`` adds R-ed-UCB as the published program runs it: sigma 0.1,
    alpha 4, the bonus never above 1.
    """
    chosen: dict[str, Policy] = {_COMPARED: get_policy(_COMPARED), "red-ucb": REdUCB(eps=1 / 32, sigma=0.5)}
    if published:
        chosen[PublishedREdUCB.name] = PublishedREdUCB(clip_bonus=True, eps=1 / 32, sigma=0.1, alpha=4.0)
    chosen.update({name: get_policy(name) for name in _PAPER})
    chosen["round-robin"] = get_policy("round-robin")
    return chosen


def play_studies(
    rows: Rows,
    averages: Averages,
    policies: dict[str, Policy],
    runs: int,
    seed: int,
    numbers: Sequence[int],
    progress: Advance | None = None,
    backend: str | Backend = "local",
) -> list[Study]:
    """Play the policies with the first ``n`` arms, for each n of ``numbers``; the rest as for `simulate`."""
    studies = []
    for number in numbers:
        check_positive_int("arms", number)
        curves = averages.problem(f"{rows.name}-{number}arms", range(number))
        arms = partial(LiveArms, rows, ARMS[:number])
        result = simulate(
            policies, curves, averages.horizon, runs, seed, progress=progress or False, backend=backend, arms=arms
        )
        studies.append(Study(curves, result))
    return studies


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


def _right(result: Result) -> dict[str, Floats]:
    """Right predictions of each policy by the horizon, one number per run."""
    assert result.reward is not None, "live learners count their rewards"
    return {label: rewards[:, -1] for label, rewards in result.reward.items()}


def curves_table(averages: Averages, published: bool) -> TextTable:
    """Mean reward of each learner with its standard error, and how many runs end as guesses."""
    rows, records = [], []
    means, errors = averages.means.mean(axis=0), averages.standard_errors()
    lates, deads = averages.late.mean(axis=0), averages.dead()
    for arm, (name, mean, error, late, dead) in enumerate(zip(averages.arms, means, errors, lates, deads, strict=True)):
        record = {"learner": name, "mean": mean, "standard_error": error, "last_tenth": late, "dead_share": dead}
        row: tuple[str, ...] = (name, f"{mean:.4f} ± {error:.4f}", f"{late:.4f}", f"{100 * dead:.0f} %")
        if published:
            away = (mean - PUBLISHED_MEANS[arm]) / error
            row = (*row, f"{PUBLISHED_MEANS[arm]:.4f}", f"{away:+.1f}")
            record |= {"published": PUBLISHED_MEANS[arm], "standard_errors_away": away}
        rows.append(row)
        records.append(record)
    header: tuple[str, ...] = ("learner", "mean reward ± s.e.", "last tenth", "dead runs")
    if published:
        header = (*header, "published", "s.e. away")
    title = f"average learning curves, {averages.horizon:,} pulls, {averages.runs} runs"
    return TextTable(header, rows, frozenset(range(1, len(header))), title, records)


def live_table(study: Study) -> TextTable:
    """Right predictions of each policy, CommitUCB's lead, and the regret against averaged curves; best first."""
    problem, result = study
    right = _right(result)
    rows, records = [], []
    for label in sorted(right, key=lambda label: -float(right[label].mean())):
        total = Paired.of(right[label])
        row = [label, str(total), f"{100 * total.mean / result.horizon:.2f} %"]
        lead = Paired.of(right[_COMPARED] - right[label]) if label != _COMPARED and _COMPARED in right else None
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
    header = ("policy", "right predictions", "of all", f"lead of {_COMPARED}", "regret", pulls)
    runs = f"{result.runs} run{'' if result.runs == 1 else 's'}"
    title = f"{result.problem}, {result.horizon:,} rounds, {runs}, seed {result.seed} (± 95 %)"
    return TextTable(header, rows, frozenset({1, 2, 3, 4}), title, records)


def live_csv(studies: Sequence[Study]) -> str:
    """The same numbers for a file: a line per problem and policy."""
    names = ["problem", "policy", "right", "right_half_width", "lead_of_commit_ucb", "lead_half_width"]
    names += ["regret", "regret_half_width", *(f"pulls_{arm + 1}" for arm in range(len(ARMS)))]
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(names)
    for _, result in studies:
        right = _right(result)
        for label in right:
            total = Paired.of(right[label])
            numbers = [total.mean, total.half_width]
            lead = Paired.of(right[_COMPARED] - right[label]) if _COMPARED in right else None
            numbers += [float("nan")] * 2 if lead is None else [lead.mean, lead.half_width]
            numbers += [float(result.mean(label)[-1]), float(result.half_width(label)[-1])]
            numbers += result.pulls[label].mean(axis=0).tolist()
            cells = ["" if number != number else f"{number:.1f}" for number in numbers]
            cells += [""] * (len(names) - 2 - len(cells))
            lines.writerow([result.problem, label, *cells])
    return text.getvalue()
