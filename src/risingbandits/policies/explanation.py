"""The answer of ``Policy.explain``: a small table, one row per arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from risingbandits._core.tables import TextTable
from risingbandits._core.types import Floats, Ints


@dataclass(frozen=True)
class Explanation:
    """The parts of each arm's index before a round, as columns of equal length.

    Attributes
    ----------
    policy : str
        The policy and its settings.
    round : int
        The round that is about to be decided.
    columns : dict of arrays
        "pulls" and, for index policies, "level" (reward now), "trend" (what it may still gain), "width" (uncertainty)
        and "value" (the index); NaN where an arm has no estimate yet.
    """

    policy: str
    round: int
    columns: dict[str, Floats | Ints]

    def __getitem__(self, column: str) -> Floats | Ints:
        return self.columns[column]

    def __str__(self) -> str:
        header = ("arm", *self.columns)
        arms = range(len(self.columns["pulls"]))
        rows = [(str(arm), *(_text(column[arm]) for column in self.columns.values())) for arm in arms]
        return TextTable(header, rows, frozenset(range(len(header))), f"{self.policy}, round {self.round}").plain()


def _text(value: Any) -> str:
    if isinstance(value, np.integer):
        return str(value)
    return "-" if np.isnan(value) else f"{value:.4g}"
