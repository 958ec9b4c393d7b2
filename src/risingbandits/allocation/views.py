"""What an `Allocator` tells about the state of its run, including what other processes have done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from risingbandits.allocation.ledger import Ledger
from risingbandits.allocation.session import Session
from risingbandits.allocation.settings import Settings

if TYPE_CHECKING:
    from risingbandits.allocation.arm_table import AllocationTable


class Views:
    """The read-only properties and methods of an `Allocator`."""

    _session: Session

    @property
    def settings(self) -> Settings:
        """The present settings: those at creation, with all changes since."""
        return self._session.settings

    @property
    def ledger(self) -> Ledger:
        """The present state, including what other processes have done; do not change it."""
        return self._session.ledger()

    @property
    def spent(self) -> float:
        """How much of the budget is told: pulls, cost or seconds."""
        return self.ledger.spent

    @property
    def remaining(self) -> float:
        """What is left of the budget, 0 if it is overdrawn."""
        ledger = self.ledger
        return max(0, ledger.settings.budget.amount - ledger.spent)

    @property
    def finished(self) -> bool:
        """Whether no pull can follow."""
        return self.ledger.finished

    @property
    def arms(self) -> list[str]:
        """The names of all arms, retired ones too."""
        return list(self.ledger.by_name)

    def recommend(self) -> str:
        """The arm to keep if everything ended now."""
        return self.ledger.recommend()

    def rewards(self, name: str) -> list[float]:
        """The rewards of an arm in the order of its pulls."""
        return self.ledger.rewards(name)

    def explain(self) -> AllocationTable:
        """A table for people: each arm's level, trend, width, value, pulls, cost and status, and why it is next."""
        with self._session.lock:
            return self.ledger.explain()
