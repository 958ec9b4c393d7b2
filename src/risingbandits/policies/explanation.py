"""The answer of ``Policy.explain``: a small table, one row per arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


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
    columns: dict[str, npt.NDArray[np.float64] | npt.NDArray[np.int64]]

    def __getitem__(self, column: str) -> npt.NDArray[np.float64] | npt.NDArray[np.int64]:
        return self.columns[column]

    def __str__(self) -> str:
        head = ["arm", *self.columns]
        rows = [
            [str(arm), *(_text(column[arm]) for column in self.columns.values())]
            for arm in range(len(self.columns["pulls"]))
        ]
        widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in [head, *rows]]
        return "\n".join([f"{self.policy}, round {self.round}", *lines])


def _text(value: Any) -> str:
    if isinstance(value, np.integer):
        return str(value)
    return "-" if np.isnan(value) else f"{value:.4g}"
