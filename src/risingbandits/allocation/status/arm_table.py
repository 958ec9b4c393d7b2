"""The table of the arms of an allocation: what is known about each, which is next, which is recommended, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from risingbandits._core.errors import check_choice
from risingbandits._core.tables import TextTable
from risingbandits.policies.explanation import WIDTH, end_sentence, folded, plain_number

KNOWN = ("estimate", "lcb", "predicted", "low", "high", "p_best")  # what the posterior says of an arm
_MOST_ROWS = 30  # that are shown if nothing is known of some
_NUMBERS = ("cost", "last", "estimate", "lcb", "predicted", "interval", "p_best")
_OPTIONAL = ("lcb", "interval", "last", "estimate", "config")  # left out of short lines, in this order


class ArmRow(NamedTuple):
    """One arm. Rewards are in the user's units; NaN if nothing is known."""

    arm: str
    pulls: int
    cost: float
    last: float  #: the last reward
    estimate: float  #: its level now: the mean of the last quarter of its rewards
    lcb: float  #: that less its standard error (more for a loss)
    predicted: float  #: its value at the end that the table states
    low: float  #: the ends of the 90 % interval of that
    high: float
    p_best: float  #: the probability that it is the best one then
    status: str  #: waiting (for its first pull), in flight, paused (between two pulls), finished or retired
    why: str  #: why it is next, or why it cannot be
    prior: float = math.nan  #: what a prior believes about it, as a quantile: 0.93 is better than 93 % of the arms
    source: str = ""  #: where that is from: "12 tasks", "settings" or "unknown"
    config: str = ""  #: its hyperparameters
    best: float = math.nan  #: its best reward
    best_pull: int = 0  #: which pull of this run gave it
    best_checkpoint: str = ""  #: of the best pull that left one, below the folder of checkpoints
    last_checkpoint: str = ""  #: of the last pull that left one
    masked: bool = False  #: whether it is not pulled for now


@dataclass(frozen=True)
class AllocationTable:
    """All arms, with the policy and the budget in the title, and the reasons.

    It prints as a table at most 120 characters wide, without empty columns, and in a notebook as an HTML table;
    `to_dict` has all of it for JSON.
    """

    title: str
    rows: list[ArmRow]
    prior: str = ""  #: where the prior is from, and how far this run agrees with it
    next: str | None = None  #: the arm whose pull would be next
    why_next: str = ""
    recommended: str | None = None  #: the best arm if everything ended now; None before the first reward
    why_recommended: str = ""
    against: str = ""  #: what speaks against that
    untried: str = ""  #: at the end of a run: how many arms were never tried
    rounds: str = ""  #: what the reasons count, if arms are compared by cost
    doubt: str = ""  #: that most curves go the wrong way, if they do
    end: float = 0.0  #: the resource, in pulls of each arm, for which values are predicted
    at_end: str = ""  #: what that is

    def __getitem__(self, arm: str) -> ArmRow:
        check_choice("arm", arm, [row.arm for row in self.rows])
        return next(row for row in self.rows if row.arm == arm)

    def sentences(self) -> list[str]:
        """All sentences, a line each."""
        return [*self.reasons(), *([self.untried] if self.untried else [])]

    def reasons(self) -> list[str]:
        """Which arm is next, which is recommended, why, and what to doubt, a line each."""
        said = []
        if self.next is not None:
            said.append(f"next: {self.next}, {self.why_next}")
        if self.recommended is not None:
            said.append(f"recommended: {self.recommended}, {self.why_recommended}")
        if self.against:
            said.append(f"against that: {self.against}")
        ends = end_sentence(self.end, self.at_end) if self.at_end else ""
        return [*said, *(more for more in (ends, self.rounds, self.doubt) if more)]

    def text_table(self) -> TextTable:
        """The same with numbers as strings, for a terminal or a file; columns without a number are left out."""
        shown = self._shown()
        texts = {name: [_text(row, name) for row in shown] for name in _NUMBERS}
        if all(row.cost == row.pulls for row in self.rows):
            del texts["cost"]  # it says nothing new
        texts = {name: column for name, column in texts.items() if any(text != "-" for text in column)}
        columns = {"arm": [row.arm for row in shown], "pulls": [str(row.pulls) for row in shown], **texts}
        numeric = frozenset(range(1, len(columns)))
        columns["status"] = [f"{row.status}, masked" if row.masked else row.status for row in shown]
        columns["why"] = ["next" if row.arm == self.next else row.why for row in shown]  # the reason stands below
        title = self.title
        if self.prior:
            columns["prior"] = [f"{row.prior:.2f}, {row.source}" for row in shown]
            title = f"{title};\n{self.prior}"
        if any(row.config and row.config.replace(" ", ",") != row.arm for row in shown):  # arms of a matrix say it
            columns["config"] = [row.config for row in shown]
        return TextTable(tuple(columns), list(zip(*columns.values(), strict=True)), numeric, title, optional=_OPTIONAL)

    def _shown(self) -> list[ArmRow]:
        """The rows; many arms of which nothing is known share one."""
        if len(self.rows) <= _MOST_ROWS or self.prior:
            return self.rows
        idle = [row for row in self.rows if row.status == "waiting" and not (row.why or row.config)]
        if len(idle) < 2:
            return self.rows
        names = {row.arm for row in idle}
        return [*(row for row in self.rows if row.arm not in names), idle[0]._replace(arm=f"{len(idle)} more")]

    def to_dict(self) -> dict[str, Any]:
        """All of it in plain Python, for JSON: None for missing numbers."""
        told = {name: getattr(self, name) for name in ("next", "why_next", "recommended", "why_recommended", "against")}
        said = {name: getattr(self, name) for name in ("untried", "rounds", "prior", "doubt", "end", "at_end")}
        return {"title": self.title, "arms": [_plain(row) for row in self.rows], **told, **said}

    def __str__(self) -> str:
        return "\n".join([self.text_table().plain(WIDTH), *map(folded, self.sentences())])

    def _repr_html_(self) -> str:
        return self.text_table().html(self.sentences())


def _plain(row: ArmRow) -> dict[str, Any]:
    values = row._asdict()
    return {name: value if isinstance(value, str | bool) else plain_number(value) for name, value in values.items()}


def _text(row: ArmRow, column: str) -> str:
    if column == "interval":
        return "-" if math.isnan(row.low) else f"{row.low:.3g} to {row.high:.3g}"
    value = getattr(row, column)
    if column == "p_best":
        return "-" if math.isnan(value) else f"{value:.2f}"
    return f"{value:g}" if column == "cost" else _number(value)


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4g}"
