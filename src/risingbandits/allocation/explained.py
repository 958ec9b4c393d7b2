"""The answer of ``explain``: a table that a person can read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from risingbandits.allocation.ledger import ArmState, Ledger, recent_mean
from risingbandits.policies.explanation import Explanation

__all__ = ["AllocationTable", "ArmRow", "allocation_table"]

# What policies call the columns of `explain`, for each column here. CommitUCB's line is level, trend and width at once.
_LEVELS, _TRENDS, _WIDTHS, _VALUES = ("level",), ("trend", "slope"), ("width",), ("value", "commit value")


class ArmRow(NamedTuple):
    """One arm. Rewards are in the user's units; NaN where nothing is known."""

    arm: str
    level: float  #: what it gives now
    trend: float  #: what a further pull may add
    width: float  #: how uncertain that is
    value: float  #: what the policy compares
    pulls: int
    cost: float
    status: str  #: free, in flight, masked, retired, finished or closed (not opened, see max_arms)
    why: str


@dataclass(frozen=True)
class AllocationTable:
    """All arms, with the policy and the budget in the title."""

    title: str
    rows: list[ArmRow]

    def __getitem__(self, arm: str) -> ArmRow:
        return next(row for row in self.rows if row.arm == arm)

    def __str__(self) -> str:
        head = list(ArmRow._fields)
        body = [[_text(value) for value in row] for row in self.rows]
        widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]
        left = {0, 7, 8}
        lines = [
            "  ".join(
                c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in [head, *body]
        ]
        return "\n".join([self.title, *(line.rstrip() for line in lines)])


def allocation_table(ledger: Ledger) -> AllocationTable:
    """The table of a ledger, which is not changed."""
    budget = ledger.settings.budget
    spent = f"{ledger.spent:g} of {budget.amount:g} {budget.unit} spent, {len(ledger.in_flight)} in flight"
    explanation = ledger.policy.explain()
    following = _next_arm(ledger)
    rows = [_row(ledger, arm, explanation, following) for arm in ledger.arms]
    return AllocationTable(f"{ledger.policy!r}, {spent}", rows)


def _next_arm(ledger: Ledger) -> ArmState | None:
    """Whose pull would be next; found with a copy of the policy, for asking may change it."""
    if ledger.finished or ledger.committed:
        return None
    policy, choice = ledger.policy, ledger.choice
    ledger.policy = policy.clone()
    try:
        return ledger.decide()
    finally:
        ledger.policy, ledger.choice = policy, choice


def _row(ledger: Ledger, arm: ArmState, explanation: Explanation, following: ArmState | None) -> ArmRow:
    level, trend = _part(explanation, arm, _LEVELS), _part(explanation, arm, _TRENDS)
    width, value = _part(explanation, arm, _WIDTHS), _part(explanation, arm, _VALUES)
    level, value = ledger.zero + ledger.span * level, ledger.zero + ledger.span * value
    trend, width = ledger.span * trend, abs(ledger.span) * width
    if not any(name in explanation.columns for name in _LEVELS) and arm.rewards:
        level = recent_mean(arm)
    if not any(name in explanation.columns for name in _TRENDS) and len(arm.rewards) > 1:
        half = len(arm.rewards) // 2
        trend = (sum(arm.rewards[-half:]) - sum(arm.rewards[:half])) / half / (len(arm.rewards) - half)
    status = _status(arm)
    why = _why(ledger, arm, status, arm is following, value)
    return ArmRow(arm.name, level, trend, width, value, len(arm.rewards), arm.cost, status, why)


def _part(explanation: Explanation, arm: ArmState, names: tuple[str, ...]) -> float:
    for name in names:
        if name in explanation.columns and arm.place >= 0:
            return float(explanation[name][arm.place])
    return math.nan


def _status(arm: ArmState) -> str:
    if arm.flight is not None:
        return "in flight"
    if arm.retired is not None:
        return "retired"
    if arm.place < 0:
        return "closed"
    if arm.exhausted:
        return "finished"
    return "masked" if arm.masked else "free"


def _why(ledger: Ledger, arm: ArmState, status: str, following: bool, value: float) -> str:
    if following and arm.flight is not None:
        return f"next, once pull {arm.flight.n} is told"
    if status == "in flight" and arm.flight is not None:
        return f"pull {arm.flight.n} is with {arm.flight.worker.split(':0:')[0]}"
    if status == "retired":
        return arm.retired or ""
    if status == "closed":
        return "not opened (max_arms)"
    if status == "finished":
        return f"has had its {arm.limit} pulls"
    if not following:
        return ""
    if arm in ledger.returned:
        return f"next: pull {len(arm.rewards) + 1} was given back"
    if not arm.rewards:
        return "next: never pulled"
    return "next: chosen by its value" if math.isfinite(value) else "next: the policy's turn"


def _text(value: object) -> str:
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.4g}"
    return str(value)
