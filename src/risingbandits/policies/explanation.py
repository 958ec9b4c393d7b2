"""The answer of ``Policy.explain``: a small table, one row per arm, and the reasons for what follows from it."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.tables import TextTable
from risingbandits._core.types import Floats, Ints

WIDTH = 120  # letters of a line, which most terminals have


class Units(NamedTuple):
    """Rewards in the user's units: the policy's x is zero + span x."""

    zero: float = 0.0
    span: float = 1.0

    def level(self, value: float) -> str:
        """A reward.

        >>> Units(zero=10.0, span=-10.0).level(0.25)
        '7.5'
        """
        return f"{self.zero + self.span * value:.4g}"

    def amount(self, value: float) -> str:
        """A difference between rewards, or a sum of such."""
        return f"{abs(self.span) * value:.2g}"


class Moment(NamedTuple):
    """What a policy may use for its reasons: a run before round t, the arm in question, the columns of `explain`."""

    state: Any
    t: int
    arm: int
    pulls: Ints
    parts: dict[str, Floats]
    units: Units

    def leads(self, column: str) -> bool:
        """Whether no arm has more in this column than the arm in question; False without such a column."""
        values = self.parts.get(column)
        return values is not None and bool(values[self.arm] >= np.nanmax(values, initial=-np.inf))

    def level(self, column: str) -> str:
        """The arm's number in this column, as people read it."""
        return self.units.level(float(self.parts[column][self.arm]))


@dataclass(frozen=True)
class Explanation:
    """What is known about each arm before a round, as columns of equal length, and what follows from it.

    Attributes
    ----------
    policy : str
        The policy and its settings.
    round : int
        The round that is about to be decided.
    columns : dict of arrays
        What is known about each arm: "pulls", "estimate" (its level now), "lcb" (that less its standard error),
        "predicted" (its value at ``end``), "low" and "high" (the 90 % interval of that) and "p_best" (the probability
        that it is the best one then); and what the policy compares, under names of its own. NaN if an arm has none.
    arm : int or None
        The arm that would be pulled next, if every arm were available.
    why : str
        Why: which rule of the policy says so.
    kept : int or None
        The recommended arm if the run ended now; None before the first pull.
    why_kept : str
        Why.
    against : str
        What speaks against it; empty if nothing does.
    end : float
        The resource, in pulls of each arm, for which values are predicted.
    at_end : str
        What that is.
    """

    policy: str
    round: int
    columns: dict[str, Floats | Ints]
    arm: int | None = None
    why: str = ""
    kept: int | None = None
    why_kept: str = ""
    against: str = ""
    end: float = 0.0
    at_end: str = ""

    def __getitem__(self, column: str) -> Floats | Ints:
        return self.columns[column]

    def text_table(self) -> TextTable:
        """The numbers as strings; columns without any are left out."""
        told = {name: column for name, column in self.columns.items() if name == "pulls" or not np.isnan(column).all()}
        texts = {name: [_text(value) for value in column] for name, column in told.items()}
        if "low" in texts:
            texts["low"] = [f"{low} to {high}" for low, high in zip(texts["low"], texts.pop("high"), strict=True)]
        header = ("arm", *("interval" if name == "low" else name for name in texts))
        rows = [(str(arm), *row) for arm, row in enumerate(zip(*texts.values(), strict=True))]
        return TextTable(header, rows, frozenset(range(len(header))), f"{self.policy}, round {self.round}")

    def sentences(self) -> list[str]:
        """The reasons, a line each."""
        said = []
        if self.arm is not None:
            said.append(f"next: {self.arm}, {self.why}")
        if self.kept is not None:
            said.append(f"recommended: {self.kept}, {self.why_kept}")
        if self.against:
            said.append(f"against that: {self.against}")
        if self.at_end:
            said.append(end_sentence(self.end, self.at_end))
        return said

    def to_dict(self) -> dict[str, Any]:
        """All of it in plain Python, for JSON: None for missing numbers."""
        columns = {name: [plain_number(value) for value in column] for name, column in self.columns.items()}
        known = {"policy": self.policy, "round": self.round, "columns": columns, "next": self.arm, "why": self.why}
        kept = {"recommended": self.kept, "why_recommended": self.why_kept, "against": self.against}
        return {**known, **kept, "end": self.end, "at_end": self.at_end}

    def __str__(self) -> str:
        return "\n".join([self.text_table().plain(WIDTH), *map(folded, self.sentences())])

    def _repr_html_(self) -> str:
        return self.text_table().html(self.sentences())


def end_sentence(end: float, meaning: str) -> str:
    """For which resource values are predicted.

    >>> end_sentence(60.0, "the most pulls that an arm may have")
    'predicted, interval and p_best: at 60 pulls of each arm, the most pulls that an arm may have'
    """
    return f"predicted, interval and p_best: at {counted(int(end))} of each arm, {meaning}"


def folded(sentence: str) -> str:
    """A sentence in lines that fit."""
    return textwrap.fill(sentence, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def counted(pulls: int) -> str:
    """A number of pulls.

    >>> counted(1), counted(1_200)
    ('1 pull', '1,200 pulls')
    """
    return f"{pulls:,} pull{'' if pulls == 1 else 's'}"


def plain_number(value: Any) -> int | float | None:
    """A JSON number; None if it is not finite."""
    if isinstance(value, (int, np.integer)):
        return int(value)
    return float(value) if math.isfinite(value) else None


def _text(value: Any) -> str:
    if isinstance(value, np.integer):
        return str(value)
    return "-" if np.isnan(value) else f"{value:.4g}"
