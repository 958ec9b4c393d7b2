"""Where an allocation stands: the table of arms, the pulls in flight, and what is spent in a sentence."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import NamedTuple

from risingbandits._core.tables import TextTable
from risingbandits.allocation.arm_state import ArmState, Flight, recent_mean
from risingbandits.allocation.ledger import Ledger
from risingbandits.allocation.workers import in_short, several_hosts
from risingbandits.policies.explanation import Explanation

# What policies call the columns of `explain`, for each column here. CommitUCB's line is level, trend and width at once.
_LEVELS, _TRENDS, _WIDTHS, _VALUES = ("level",), ("trend", "slope"), ("width",), ("value", "commit value")

_NOT_OPENED = "not opened"
_OPENED = {
    "prior": "by the prior",
    "yardstick": "to test the prior",
    "random": "at random",
    "given": "as given",
    "dropped": "at random, prior dropped",
}


class ArmRow(NamedTuple):
    """One arm. Rewards are in the user's units; NaN where nothing is known."""

    arm: str
    pulls: int
    cost: float
    last: float  #: the last reward
    level: float  #: what it gives now
    trend: float  #: what a further pull may add
    width: float  #: how uncertain that is
    value: float  #: what the policy compares
    status: str  #: free, in flight, masked, retired, finished or closed (not opened, see max_arms)
    why: str
    prior: float = math.nan  #: what a prior believes of it, as a quantile: 0.93 is better than 93 % of the arms
    source: str = ""  #: where that is from: "12 tasks", "settings" or "stranger"
    slot: int = 0  #: its number for the policy, from 1; 0 while it is closed
    bound: str = (
        ""  #: why it was opened when it was: "prior", "yardstick", "random", "given", "dropped" or "warm start"
    )
    settings: str = ""  #: what it is


@dataclass(frozen=True)
class AllocationTable:
    """All arms, with the policy and the budget in the title."""

    title: str
    rows: list[ArmRow]
    prior: str = ""  #: what the prior is from and how far it is confirmed, where there is one

    def __getitem__(self, arm: str) -> ArmRow:
        return next(row for row in self.rows if row.arm == arm)

    def text_table(self) -> TextTable:
        """The same with numbers as text, for a terminal or a file."""
        header: tuple[str, ...]
        rows: list[tuple[str, ...]]
        shown = self._shown()
        rows = [(row.arm, str(row.pulls), f"{row.cost:g}", *map(_number, row[3:8]), *row[8:10]) for row in shown]
        header, numeric, title = ArmRow._fields[:10], set(range(1, 8)), self.title
        if self.prior:
            # Why an arm has its place stands beside what is believed of it; columns without a number make room.
            told = [at for at in range(10) if at not in numeric or any(row[at] != "-" for row in rows)]
            rows = [
                (*(row[at] for at in told), f"{its.prior:.2f}, {its.source}", _opened(its))
                for row, its in zip(rows, shown, strict=True)
            ]
            header = (*(header[at] for at in told), "prior", "opened")
            numeric = {at for at, before in enumerate(told) if before in numeric}
            title = f"{title};\n{self.prior}"
        if any(row.settings and row.settings.replace(" ", ",") != row.arm for row in shown):  # arms of a matrix say it
            rows = [(*row, its.settings) for row, its in zip(rows, shown, strict=True)]
            header = (*header, "settings")
        return TextTable(header, rows, frozenset(numeric), title)

    def _shown(self) -> list[ArmRow]:
        """The rows, but for arms that nothing is known of yet and that are made when they are opened: one for all."""
        idle = [row for row in self.rows if row.why == _NOT_OPENED and not row.settings and not self.prior]
        if len(idle) < 2:
            return self.rows
        names = {row.arm for row in idle}
        return [*(row for row in self.rows if row.arm not in names), idle[0]._replace(arm=f"{len(idle)} more")]

    def __str__(self) -> str:
        return self.text_table().plain()


def allocation_table(ledger: Ledger) -> AllocationTable:
    """The table of a ledger, which is not changed."""
    explanation = ledger.policy.explain()
    following = _next_arm(ledger)
    rows = [_row(ledger, arm, explanation, following) for arm in ledger.arms]
    title = f"{ledger.policy.described()}, {spent(ledger)} spent, {len(ledger.in_flight)} in flight"
    return AllocationTable(title, rows, prior_sentence(ledger))


def prior_sentence(ledger: Ledger) -> str:
    """What the prior is from and how far it is confirmed; nothing where there is none.

    >>> from risingbandits.allocation import Allocator
    >>> from risingbandits.allocation.prior.beliefs import Belief, Prior
    >>> prior = Prior({"a": Belief(1.0, 0.5, "12 tasks")}, tasks=12, agreement=0.61)
    >>> prior_sentence(Allocator(["a", "b"], budget=10, prior=prior).ledger)
    'prior from 12 tasks, agreement among them 0.61'
    """
    prior, rule = ledger.settings.prior, ledger.rule
    if prior is None or rule is None:
        return ""
    said = f"prior from {prior.tasks} task{'' if prior.tasks == 1 else 's'}" if prior.tasks else "prior from scores"
    if prior.agreement is not None:
        said += f", agreement among them {prior.agreement:.2g}"
    if ledger.dropped:
        why = next((arm.bound for arm in ledger.opened if ": " in arm.bound), "the run contradicts it")
        return f"{said}, dropped: {why.partition(': ')[2] or why}"
    told = [arm for arm in ledger.opened if arm.rewards]
    if len(told) > 1:  # 1 is as much as was expected, and it may be more
        said += f", so far confirmed {rule.trust(told, math.copysign(1.0, ledger.span)):.2g} by {len(told)} arms"
    return said


def arms_table(ledger: Ledger) -> TextTable:
    """The table of a ledger as text."""
    return allocation_table(ledger).text_table()


def flights_table(ledger: Ledger) -> TextTable:
    """The pulls in flight: who has them and for how long yet."""
    now = time.time()
    slots = any(flight.slot for flight in ledger.in_flight.values())
    rows = [
        (
            flight.arm.name,
            str(flight.n),
            str(flight.attempt),
            f"{now - flight.asked:,.0f} s",
            f"{flight.deadline - now:,.0f} s",
            _host_and_process(flight),
            *((flight.slot or "-",) if slots else ()),
        )
        for flight in ledger.in_flight.values()
    ]
    header = ("arm", "pull", "attempt", "for", "lease left", "host and process", *(("slot",) if slots else ()))
    return TextTable(header, rows, frozenset({1, 2, 3, 4}), "In flight")


def _host_and_process(flight: Flight) -> str:
    return ":".join(flight.worker.split(":")[:2])


def spent(ledger: Ledger) -> str:
    """How much of the budget is spent.

    >>> from risingbandits.allocation import Allocator
    >>> spent(Allocator(["a"], budget=10).ledger)
    '0 of 10 pulls'
    """
    budget = ledger.settings.budget
    return f"{_amount(ledger.spent)} of {_amount(budget.amount)} {budget.unit}"


def _amount(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,g}"


def standing(ledger: Ledger) -> str:
    """What is spent and which arm to keep, in a sentence or two."""
    if not ledger.told:
        return f"Spent {spent(ledger)}. No pull is done yet."
    done = "The budget is spent." if ledger.spent >= ledger.settings.budget.amount else f"Spent {spent(ledger)}."
    if ledger.finished and ledger.spent < ledger.settings.budget.amount:
        done += " No arm is left that can be pulled."
    return f"{done} Recommended: {ledger.recommend()}"


# -- rows of the table -----------------------------------------------------------------------------------------------


def _next_arm(ledger: Ledger) -> ArmState | None:
    """Whose pull would be next; found with a copy of the policy, for asking may change it."""
    if ledger.finished or ledger.committed:
        return None
    policy, choice = ledger.policy, ledger.choice
    ledger.policy = policy.clone()
    try:
        arm = ledger.decide()
        return ledger.next_binding().arm if arm is not None and arm.index < 0 else arm
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
    last = arm.rewards[-1] if arm.rewards else math.nan
    row = ArmRow(arm.name, len(arm.rewards), arm.cost, last, level, trend, width, value, status, why)
    if arm.settings:
        row = row._replace(settings=" ".join(f"{name}={_setting(value)}" for name, value in arm.settings.items()))
    if ledger.settings.prior is None:
        return row
    mean, _, source = ledger.settings.prior.of(arm.name)
    quantile = 0.5 * math.erfc(-mean / math.sqrt(2.0))
    return row._replace(prior=quantile, source=source, slot=arm.place + 1, bound=arm.bound.partition(":")[0])


def _opened(row: ArmRow) -> str:
    """As which one an arm was opened, and what decided that."""
    return f"{row.slot}, {_OPENED.get(row.bound, row.bound)}" if row.slot else "-"


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
        return _running(ledger, arm.flight)
    if status == "retired":
        return arm.retired or ""
    if status == "closed":
        return "next: opened" if following else _NOT_OPENED if ledger.rule is not None else "not opened (max_arms)"
    if status == "finished":
        return f"has had its {arm.limit} pulls"
    if not following:
        return ""
    if arm in ledger.repeat_first:
        return f"next: pull {len(arm.rewards) + 1} was given back"
    if not arm.rewards:
        return "next: never pulled"
    return "next: chosen by its value" if math.isfinite(value) else "next: the policy's turn"


def _running(ledger: Ledger, flight: Flight) -> str:
    """Which pull runs, and where if that says anything: on its slot, and on its host if there are several."""
    elsewhere = several_hosts(other.worker for other in ledger.in_flight.values())
    where = [flight.slot] if flight.slot else []
    where += [in_short(flight.worker, with_host=True)] if elsewhere else []
    return f"pull {flight.n} runs{' on ' if where else ''}{', '.join(where)}"


def _setting(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4g}"
