"""What earlier runs say, as tables and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from risingbandits._core.stats import normal_share
from risingbandits._core.tables import TextTable
from risingbandits.allocation.prior.reading import Findings
from risingbandits.allocation.prior.scores import normal_scores
from risingbandits.allocation.prior.tasks import EarlierTask
from risingbandits.allocation.starting.prior import Belief, Prior

_ARM = ("arm", "score", "pulls", "last value")
_LEAST_WEIGHT = 0.1  # of the strongest setting; what matters less is not shown


def quantile(belief: Belief) -> float:
    """The expected position of an arm among all: 0.5 is in the middle, 0.93 above 93 of 100.

    >>> round(quantile(Belief(1.5, 0.6, "12 tasks")), 2)
    0.93
    """
    return normal_share(belief.mean)


def best_first(prior: Prior, arms: Sequence[str]) -> list[str]:
    """The arms, the most promising first; equals as listed."""
    return sorted(arms, key=lambda arm: -prior.of(arm).mean)


def arms_table(prior: Prior, arms: Sequence[str]) -> TextTable:
    """The arms, the most promising first."""
    rows = []
    for place, arm in enumerate(best_first(prior, arms), start=1):
        belief = prior.of(arm)
        rows.append((str(place), arm, f"{quantile(belief):.2f}", f"{belief.deviation:.2f}", belief.source))
    return TextTable(("", "arm", "prior", "deviation", "from"), rows, frozenset({0, 2, 3}), "What to expect from arms")


def tasks_table(found: Findings) -> TextTable:
    """The earlier tasks, each compared with the others."""
    rows = [(task.name, str(task.arms), str(task.pulls), _figure(task.agreement)) for task in found.tasks]
    header = ("task", "arms", "pulls", "agreement with the others")
    return TextTable(header, rows, frozenset({1, 2, 3}), "Earlier tasks")


def matter_table(found: Findings) -> TextTable:
    """The settings that affect scores, as shares of the strongest."""
    strongest = max(found.matter.values(), default=1.0)
    rows = [
        (name, f"{weight / strongest:.2f}")
        for name, weight in found.matter.items()
        if weight >= _LEAST_WEIGHT * strongest
    ]
    return TextTable(("setting", "weight"), rows, frozenset({1}), "Settings that matter")


def task_table(task: EarlierTask) -> TextTable:
    """The arms of one task, the best first."""
    scores = dict(zip(task.arms, normal_scores(task.gains()).tolist(), strict=True))
    rows, records = [], []
    for arm in sorted(scores, key=lambda arm: -scores[arm]):
        curve = list(task.curves[arm])
        last = "failed" if arm in task.failed else f"{curve[-1]:.4g}"
        rows.append((arm, f"{normal_share(scores[arm]):.2f}", str(len(curve)), last))
        values = (arm, normal_share(scores[arm]), len(curve), None if arm in task.failed else float(curve[-1]))
        records.append(dict(zip(_ARM, values, strict=True)))
    return TextTable(_ARM, rows, frozenset({1, 2, 3}), task.name, records)


def head_line(found: Findings) -> str:
    """Where beliefs come from, and how far they can be trusted."""
    tasks = len(found.tasks)
    if tasks == 0:
        return "No earlier task has the 3 arms that are needed to say anything."
    if tasks == 1:
        return "1 earlier task: weak. One task says little about the next."
    agreement = found.prior.agreement
    if agreement is None:
        return f"{tasks} earlier tasks; they have too few arms in common to say how well they agree."
    line = f"{tasks} earlier tasks; agreement among them {_figure(agreement)} (leave one out)."
    return line if agreement > 0.0 else f"{line} They contradict each other: a prior from them may hurt."


def findings_dict(found: Findings, arms: Sequence[str]) -> dict[str, Any]:
    """The same as plain values for JSON."""
    prior = found.prior
    return {
        "arms": [
            {
                "arm": arm,
                "prior": quantile(prior.of(arm)),
                "mean": prior.of(arm).mean,
                "deviation": prior.of(arm).deviation,
                "from": prior.of(arm).source,
            }
            for arm in best_first(prior, arms)
        ],
        "tasks": [task._asdict() for task in found.tasks],
        "left_out": found.left_out,
        "ambiguous": found.ambiguous,
        "agreement": prior.agreement,
        "settings": found.matter,
    }


def _figure(agreement: float | None) -> str:
    return "-" if agreement is None else f"{agreement:.2f}"
