"""One contest: entrants over rows, on a backend, reusing what was played before."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError, check_choice, check_positive_int
from risingbandits._version import __version__
from risingbandits.lab.benchmark._cells import Cell, Cells
from risingbandits.lab.benchmark._entrants import Entrant, default_entrants, given_entrants
from risingbandits.lab.benchmark._rows import OBJECTIVES, Row
from risingbandits.lab.benchmark.outcome import Outcome
from risingbandits.lab.benchmark.suite import suite
from risingbandits.lab.benchmark.synthetic import Sizes
from risingbandits.policies import Policy
from risingbandits.simulation._backends import Backend, backend_for

Bar = Callable[[int], AbstractContextManager[Callable[[str, int], None]]]
"""A progress bar for the given number of runs: called with the row and how many more runs are done."""


@dataclass(frozen=True)
class Contest:
    """What to play in the arena.

    Parameters
    ----------
    policies : dict of label -> policy, sequence of str or str, optional
        The entrants, as objects or as strings with settings: "red-ucb(eps=0.1)"; None is the recommended policy. By
        default the arena's own selection for each objective.
    rows : sequence of str, optional
        Regimes or kinds ("real", "made", "synthetic"); by default all.
    objectives : sequence of str
        "cumulative", "best-arm" or both.
    sizes : Sizes
        How much work.
    seed : int
        Decides instances, noise and draws.
    data : str, optional
        The folder that holds ``curves/``; by default that of RISINGBANDITS_DATA.
    """

    policies: str | Sequence[str] | Mapping[str, str | Policy | None] | None = None
    rows: Sequence[str] | None = None
    objectives: Sequence[str] = OBJECTIVES
    sizes: Sizes = field(default_factory=Sizes)
    seed: int = 0
    data: str | None = None

    def play(
        self,
        folder: Path,
        backend: str | Backend = "local",
        jobs: int | None = None,
        bar: Bar | None = None,
    ) -> tuple[Outcome, int]:
        """Play what is not in the folder yet; returns the outcome, and how many runs were played now."""
        for objective in self.objectives:
            check_choice("objective", objective, OBJECTIVES)
        data = os.environ.get("RISINGBANDITS_DATA") if self.data is None else self.data
        check_positive_int("seed", self.seed, minimum=0)
        rows, left_out = suite(self.rows, self.objectives, self.seed, self.sizes, data)
        if not rows:
            raise RisingBanditsError(" ".join(left_out) or "rows must leave at least one row, got none.")
        entrants = {row: self.entrants(row.objective, row.kind) for row in rows}
        total = sum(row.runs * len(entrants[row]) for row in rows)
        found: dict[Row, dict[str, Cell]] = {}
        with backend_for(backend, jobs) as players, (bar or _no_bar)(total) as advance:
            cells = Cells(folder, players)
            for row in rows:
                cells.advance = lambda label, runs, name=row.name: advance(f"{name}: {label}", runs)  # type: ignore[misc]
                asked = [Entrant(label, policy) for label, policy in entrants[row].items()]
                found[row] = {entrant.label: cell for entrant, cell in cells.of(row, asked).items()}
        return self._outcome(rows, found, left_out), cells.played

    def entrants(self, objective: str, kind: str) -> dict[str, Policy | None]:
        """The entrants for rows of a kind and an objective."""
        if self.policies is None:
            return default_entrants(objective, kind, self.sizes.quick)
        return given_entrants(self.policies)

    def _outcome(self, rows: Sequence[Row], found: dict[Row, dict[str, Cell]], left_out: Sequence[str]) -> Outcome:
        shown = {
            label: Entrant(label, policy).settings
            for row in rows
            for label, policy in self.entrants(row.objective, row.kind).items()
        }
        return Outcome(rows, shown, found, left_out, self.parameters())

    def parameters(self) -> dict[str, Any]:
        """What determines the figures besides the policies."""
        return {"version": __version__, "seed": self.seed, **vars(self.sizes)}


def _no_bar(_total: int) -> AbstractContextManager[Callable[[str, int], None]]:
    return nullcontext(lambda _what, _runs: None)
