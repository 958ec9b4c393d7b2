"""Tables of a `Replay`: what policies got out of recorded curves, and what they spent on each arm."""

from __future__ import annotations

from collections import Counter

import numpy as np

from risingbandits._core.stats import half_width
from risingbandits._core.tables import TextTable
from risingbandits._core.types import Floats
from risingbandits.logs.replay import Replay
from risingbandits.policies.explanation import counted
from risingbandits.policies.objectives import Objective


def outcome_table(outcome: Replay) -> TextTable:
    """One row for each policy, the best one for the objective first; with several orders means and 95 % intervals."""
    objective = Objective.get(outcome.objective)
    rows, records = [], []
    for label in sorted(outcome.reward, key=lambda label: float(objective.replay_regret(outcome, label).mean())):
        pulls = outcome.pulls[label]
        arm, times = _most_recommended(outcome, label)
        record = {
            "policy": label,
            "pulls": pulls.sum(axis=1).mean(),
            "arms_opened": (pulls > 0).sum(axis=1).mean(),
            "recommended": outcome.arms[arm],
            "recommended_share": times / outcome.orders,
        }
        figures = {
            "reward": outcome.reward[label],
            "regret": outcome.regret(label),
            "final_value": outcome.final[outcome.recommended[label]],
            "final_regret": outcome.recommendation_regret(label),
        }
        for name, values in figures.items():
            record |= {name: values.mean(), f"{name}_half_width": half_width(values)}
        records.append(record)
        rows.append(
            (
                label,
                f"{pulls.sum(axis=1).mean():,.0f}",
                f"{(pulls > 0).sum(axis=1).mean():.1f}".removesuffix(".0"),
                _mean(outcome.reward[label]),
                _mean(outcome.regret(label)),
                _recommended(outcome, label),
                _mean(outcome.final[outcome.recommended[label]]),
                _mean(outcome.recommendation_regret(label)),
            )
        )
    header = (
        "policy",
        "pulls",
        "arms opened",
        "loss per pull" if outcome.direction == "minimize" else "reward per pull",
        "regret per pull",
        "recommends",
        "final value",
        "its regret",
    )
    best = outcome.arms[outcome.best_arm]
    orders = "the arms as listed" if outcome.orders == 1 else f"{outcome.orders} orders of the arms"
    arms = "1 arm" if len(outcome.arms) == 1 else f"{len(outcome.arms)} arms"
    title = (
        f"{arms}, {counted(outcome.budget)}, {orders}; best single arm {outcome.best_constant:.4f} per pull, best in "
        f"the end {best} with {outcome.final[outcome.best_arm]:.4f}"
    )
    return TextTable(header, rows, frozenset({1, 2, 3, 4, 6, 7}), title, records)


def spending_table(outcome: Replay) -> TextTable:
    """Mean pulls that each policy spent on each arm, the arms that are best in the end first."""
    sign = 1 if outcome.direction == "minimize" else -1
    order = np.argsort(sign * outcome.final, kind="stable")
    shares = [outcome.pulls[label].mean(axis=0) for label in outcome.pulls]
    rows = [
        (outcome.arms[arm], f"{outcome.final[arm]:.4f}", *(f"{share[arm]:,.1f}".removesuffix(".0") for share in shares))
        for arm in order
    ]
    header = ("arm", "final value", *outcome.pulls)
    records = [
        {
            "arm": outcome.arms[arm],
            "final_value": outcome.final[arm],
            "pulls": {label: share[arm] for label, share in zip(outcome.pulls, shares, strict=True)},
        }
        for arm in order
    ]
    return TextTable(header, rows, frozenset(range(1, len(header))), "Pulls spent on each arm", records)


def replay_csv(outcome: Replay) -> str:
    """Every order of every policy in one line: order, policy, reward, regrets, the recommended arm, pulls of each."""
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    head = ["policy", "order", "reward_per_pull", "regret_per_pull", "recommended", "final_value", "final_regret"]
    writer.writerow([*head, *(f"pulls {name}" for name in outcome.arms)])
    for label in outcome.reward:
        regret, later = outcome.regret(label), outcome.recommendation_regret(label)
        for number in range(outcome.orders):
            arm = outcome.recommended[label][number]
            earned = map(_exact, (outcome.reward[label][number], regret[number]))
            ends = map(_exact, (outcome.final[arm], later[number]))
            pulls = outcome.pulls[label][number].tolist()
            writer.writerow([label, number + 1, *earned, outcome.arms[arm], *ends, *pulls])
    return text.getvalue()


def _recommended(outcome: Replay, label: str) -> str:
    """The arm that is recommended most often, and how often, if not always."""
    arm, times = _most_recommended(outcome, label)
    return outcome.arms[arm] + ("" if times == outcome.orders else f" ({100 * times / outcome.orders:.0f} %)")


def _most_recommended(outcome: Replay, label: str) -> tuple[int, int]:
    return Counter(outcome.recommended[label].tolist()).most_common(1)[0]


def _mean(values: Floats) -> str:
    mean = f"{round(float(values.mean()), 4) + 0.0:.4f}"
    if len(values) == 1:
        return mean
    return f"{mean} ± {half_width(values):.4f}"


def _exact(value: float) -> str:
    return repr(float(value))
