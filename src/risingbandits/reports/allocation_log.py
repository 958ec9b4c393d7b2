"""What the page of a store, its live view and its terminal view show, folded from the events as they come."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from risingbandits._core.tables import TextTable
from risingbandits._core.types import Floats, Ints
from risingbandits.allocation.arm_state import ArmState, Flight
from risingbandits.allocation.arms.pace import Pace
from risingbandits.allocation.events import Event
from risingbandits.allocation.ledger import Ledger
from risingbandits.allocation.settings import Settings
from risingbandits.allocation.status.progress import Progress, abandoned, progress_of
from risingbandits.allocation.status.status import allocation_table, arms_table

_FAILURES_KEPT = 100


class Decision(NamedTuple):
    """A pull that was given out, and what was known about the arms when it was decided."""

    event: Event
    known: TextTable
    why: str = ""


class Outlook(NamedTuple):
    """What a policy expects from an arm from now on, in the units of the rewards.

    The optimistic line starts at ``high`` and moves by ``slope`` with every pull, not beyond ``cap``; the pessimistic
    one stays at ``low``. NaN if there is none.
    """

    high: float
    slope: float
    cap: float
    low: float

    def optimistic(self, pulls: float) -> list[tuple[float, float]]:
        """The corners of the optimistic line over ``pulls`` further pulls: (further pulls, reward).

        >>> Outlook(high=0.5, slope=0.25, cap=1.0, low=0.25).optimistic(10.0)
        [(0.0, 0.5), (2.0, 1.0), (10.0, 1.0)]
        """
        corner = (self.cap - self.high) / self.slope if self.slope else np.inf
        if 0.0 <= corner < pulls:
            return [(0.0, self.high), (corner, self.cap), (pulls, self.cap)]
        return [(0.0, self.high), (pulls, self.high + self.slope * pulls)]


class AllocationLog:
    """The fold of an allocation's events for readers, from the settings that it was created with.

    ``one_machine`` says whether all that use its store are on this one.
    """

    def __init__(self, settings: Settings, one_machine: bool = False) -> None:
        self.ledger = Ledger(settings)
        self.one_machine = one_machine
        self.first_time: float | None = None
        self.last_time: float | None = None
        self.failures: deque[Event] = deque(maxlen=_FAILURES_KEPT)
        self.n_failures = 0
        self.extensions: list[Event] = []  # by which settings were changed
        self.decision: Decision | None = None
        self.pace = Pace()
        self._costs = array("d")
        self._times = array("d")

    @property
    def last_id(self) -> int:
        """The number of the last event that was taken in."""
        return self.ledger.last_id

    def take(self, events: Iterable[Event]) -> int:
        """Take in the next events; return how many.

        For a told pull, its arm, cost and time are kept. Only the last decision among the events is explained, by the
        policy as it was just before.
        """
        batch = list(events)
        asked = max((at for at, event in enumerate(batch) if event.kind == "ask"), default=-1)
        for at, event in enumerate(batch):
            if at == asked:
                table = allocation_table(self.ledger)
                reason = table.why_next if table.next == event.arm else ""
                self.decision = Decision(event, table.text_table(), reason)
            self.ledger.apply(event)
            self._note(event)
        return len(batch)

    def _note(self, event: Event) -> None:
        if self.first_time is None:
            self.first_time = event.time
        self.last_time = event.time
        self.pace.take((event,))
        if event.kind == "tell":
            self._costs.append(event.cost or 0.0)
            self._times.append(event.time)
        elif event.kind in ("fail", "expire"):
            self.failures.append(event)
            self.n_failures += 1
        elif event.kind == "extend":
            self.extensions.append(event)

    # -- views --------------------------------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """The present ones."""
        return self.ledger.settings

    @property
    def unit(self) -> str:
        """What the budget counts: "pulls", "cost" or "seconds"."""
        return self.settings.budget.unit

    @property
    def arms(self) -> Sequence[ArmState]:
        """All arms, in the order in which they were named."""
        return self.ledger.arms

    def abandoned(self) -> list[Flight]:
        """The pulls in flight whose process has ended, as far as this machine knows."""
        return abandoned(self.ledger, self.one_machine)

    def progress(self, now: float | None = None) -> Progress:
        """How far it is; see `progress_of`. Without ``now``, for a page that is kept, processes are not looked at."""
        return progress_of(self.ledger, self.pace, now, () if now is None else self.abandoned())

    def tells(self) -> tuple[Ints, Floats, Floats]:
        """Of each told pull: the number of its arm, what it took of the budget, and when it was told."""
        arms = np.array(self.ledger.told_arms, dtype=np.int64)
        amounts = np.ones(arms.size) if self.unit == "pulls" else np.array(self._costs)
        return arms, amounts, np.array(self._times)

    def spent_by_arm(self) -> Floats:
        """What each arm has received from the budget."""
        if self.unit == "pulls":
            return np.array([len(arm.rewards) - arm.warm for arm in self.arms], dtype=float)
        return np.array([arm.cost for arm in self.arms], dtype=float)

    def arms_table(self, most: int, known: TextTable | None = None) -> TextTable:
        """What is ``known`` about the arms, by default now: the ``most`` arms that got most, in that order."""
        table = arms_table(self.ledger) if known is None else known
        order = np.argsort(-self.spent_by_arm(), kind="stable")
        return table._replace(rows=[table.rows[arm] for arm in order if arm < len(table.rows)][:most])

    def outlooks(self) -> dict[str, Outlook]:
        """What the policy expects from each opened arm, if anything."""
        ledger = self.ledger
        if not ledger.opened or not ledger.told:
            return {}
        columns = ledger.policy.explain().columns
        nothing, slope = np.full(len(ledger.opened), np.nan), np.zeros(len(ledger.opened))
        level, width = columns.get("level", nothing), columns.get("width", nothing)
        if "line" in columns:  # CommitUCB
            high, low, slope = columns["line"], columns["sure"], columns["slope"].astype(float)
        elif "upper" in columns:
            high, low = columns["upper"], columns.get("lower", level)
        elif "value" in columns:
            high, low = columns["value"], level - width
        else:
            high, low = level + width, level - width
        cap = float(self._as_rewards(np.array(getattr(ledger.policy, "cap", np.inf), dtype=float)))
        highs, lows = self._as_rewards(high), self._as_rewards(low)
        return {
            arm.name: Outlook(float(highs[at]), float(slope[at]) * ledger.span, cap, float(lows[at]))
            for at, arm in enumerate(ledger.opened)
            if arm.index >= 0
        }

    def _as_rewards(self, values: Floats | Ints) -> Floats:
        """Values of the policy, which is told shares of the rewards' range, as rewards; NaN for what is infinite."""
        rewards = np.asarray(values, dtype=float) * self.ledger.span + self.ledger.zero
        return np.where(np.isfinite(rewards), rewards, np.nan)
