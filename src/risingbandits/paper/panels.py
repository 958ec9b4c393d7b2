"""A panel of a study: a problem and the policies that play it. Its result is kept, and never played twice.

The folder of a kept result is named by a hash of all that decides its numbers, so results of other settings, or of
another version of the program, lie beside each other and are never taken for this one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from risingbandits._core.errors import RisingBanditsError
from risingbandits.policies import Policy
from risingbandits.problems import RisingBandit
from risingbandits.simulation import Result, simulate
from risingbandits.simulation.backends.base import Backend
from risingbandits.simulation.backends.ray import program_stamp

KEPT = ".kept"  # below the folder of a study; hidden, so that a report shows no panel twice


@dataclass(frozen=True)
class Panel:
    """A problem and the policies that play it."""

    name: str  # for files and tables
    problem: RisingBandit  # one with a name
    policies: dict[str, Policy]  # who plays
    horizon: int  # this and what follows as for `simulate`
    runs: int
    seed: int
    record_at: int

    def kept_in(self, folder: Path) -> Path:
        """Where the result is kept below the folder of a study."""
        numbers = (self.horizon, self.runs, self.seed, self.record_at)
        causes = (program_stamp(), self.problem.name, self.problem.noise, self.policies, numbers)
        return folder / KEPT / hashlib.sha256(repr(causes).encode()).hexdigest()[:24]

    def kept(self, folder: Path) -> Result | None:
        """The result that is there already; None where there is none, or a damaged one."""
        try:
            return Result.load(self.kept_in(folder))
        except RisingBanditsError:
            return None

    def play(self, folder: Path, backend: Backend, progress: bool = False) -> Result:
        """Play all runs, and keep the result."""
        result = simulate(
            self.policies,
            self.problem,
            self.horizon,
            self.runs,
            self.seed,
            record_at=self.record_at,
            progress=progress,
            backend=backend,
        )
        result.save(self.kept_in(folder))
        return result
