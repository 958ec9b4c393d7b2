"""The page of an allocation: which arms got the budget when, learning curves with lines, the last decision.

Its first screen says in words how it is going.
"""

from __future__ import annotations

import math
import textwrap
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from risingbandits._core.tables import TextTable
from risingbandits.allocation._arm_state import Flight
from risingbandits.allocation._growth import said
from risingbandits.allocation.status._progress import ended
from risingbandits.allocation.status._status import allocation_table, in_short, left, several_hosts, spent, standing
from risingbandits.allocation.status.arm_table import AllocationTable, ArmRow
from risingbandits.reports._allocation_log import AllocationLog, Follower
from risingbandits.reports.pages._store_figures import learning_curves, shown_arms, spent_by_block
from risingbandits.reports.pages.layout import Bar, Block, Fact, Facts, Page, Section, Table, Text

_LATELY = 20  # pulls told last that say who is being fed
_MOST_NAMES = 3
_LONGEST_REASON = 120
_MOST_ROWS = 200
_HOW_TO_READ = (
    "Each arm makes one pull at a time; what a pull takes from the budget is counted when its reward is told. Estimate "
    "is the level of an arm now, lcb that less its standard error; predicted is what it will be worth at the resource "
    "that the last sentence below the table states, interval holds that with 90 %, and p_best is the probability that "
    "the arm is the best one then."
)


def progress_bar(log: AllocationLog) -> Bar:
    """The share of the budget that is spent."""
    progress = log.progress()
    return Bar("progress", progress.share, f"{progress.percent()} of the budget is spent: {spent(log.ledger)}")


def leader(found: AllocationTable) -> Facts:
    """The recommended arm if everything ended now, and what is known of it."""
    if found.recommended is None:
        return Facts("leader", [Fact("leader", "none yet", "no reward has been told")], "answers")
    row = found[found.recommended]
    return Facts("leader", [Fact("leader", row.arm, _prospect(row))], "answers")


def _prospect(row: ArmRow) -> str:
    """What an arm is and will be worth, as far as that is known.

    >>> row = ArmRow("a", 22, 22.0, 0.5, 0.515, 0.51, 0.6, 0.55, 0.65, 0.41, "paused", "")
    >>> _prospect(row)
    'estimate 0.515, predicted 0.6, p_best 0.41'
    """
    known = {"estimate": row.estimate, "predicted": row.predicted, "p_best": row.p_best}
    return ", ".join(f"{name} {value:.3g}" for name, value in known.items() if not math.isnan(value))


def answers(log: AllocationLog, live: bool) -> Facts:
    """What is left, who is fed, what was never tried, and what failed."""
    gone = log.abandoned() if live else []
    return Facts("answers", [_left(log, live, gone), _fed(log, gone), _untried(log), _failed(log)], "answers")


def _left(log: AllocationLog, live: bool, gone: Sequence[Flight]) -> Fact:
    """The time that is left where somebody works and looks; what is left of the budget."""
    word, ledger = "time left" if live else "left", log.ledger
    if ledger.finished:
        return Fact(word, "none", "the run is over")
    progress = log.progress(time.time()) if live else log.progress()
    about, amount = progress.left(), f"{left(ledger)} left"
    if not ledger.in_flight:
        idle = Fact(word, left(ledger), "no pull is in flight")
        return Fact(word, "nothing is running", amount) if live else idle
    if gone and len(gone) == len(ledger.in_flight):
        return Fact(word, "stopped", f"{ended(gone, ledger)}: run it again to continue; {amount}", True)
    if not live:
        return Fact(word, left(ledger), f"{about} at the latest pace" if about else "")
    if not about:
        return Fact(word, "not known yet", f"no pull is done; {amount}")
    return Fact(word, about, ", ".join(said for said in (progress.throughput(), amount) if said))


def _fed(log: AllocationLog, gone: Sequence[Flight]) -> Fact:
    """Whose pulls run, and who got the last ones."""
    ledger = log.ledger
    lately = Counter(ledger.told_arms[-_LATELY:])
    shares = [f"{count} \N{MULTIPLICATION SIGN} {log.arms[arm].name}" for arm, count in lately.most_common(_MOST_NAMES)]
    others = sum(lately.values()) - sum(count for _, count in lately.most_common(_MOST_NAMES))
    shares += [f"{others} \N{MULTIPLICATION SIGN} others"] if others else []
    detail = f"of the last {sum(lately.values())} pulls: {', '.join(shares)}" if shares else ""
    running = [flight.arm.name for flight in ledger.in_flight.values() if flight not in gone]
    return Fact("being pulled", several(running) if running else "none now", detail)


def _untried(log: AllocationLog) -> Fact:
    names = [arm.name for arm in log.arms if not (arm.rewards or arm.over)]
    if not names:
        return Fact("never tried", "none", f"all {len(log.arms):,} arms were tried, or are finished or retired")
    return Fact("never tried", f"{len(names):,} of {len(log.arms):,} arms", several(names))


def _failed(log: AllocationLog) -> Fact:
    if not log.failures:
        return Fact("failed or expired", "none")
    last = log.failures[-1]
    reason = textwrap.shorten(last.text or last.kind, _LONGEST_REASON, placeholder=" \N{HORIZONTAL ELLIPSIS}")
    return Fact("failed or expired", f"{log.n_failures:,}", f"the last: {last.arm}, pull {last.n:,}: {reason}", True)


def several(names: Sequence[str]) -> str:
    """The first names, and how many more there are.

    >>> several(["a"]), several(["a", "b", "c", "d", "e"])
    ('a', 'a, b, c and 2 more')
    """
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def store_page(store: str | Path) -> Page:
    """The page of the allocation in ``store``, as it is now."""
    with Follower(store) as follower:
        follower.read_all()
        return allocation_page(follower.log, follower.shown_store)


def allocation_page(log: AllocationLog, shown: str, live: bool = False) -> Page:
    """The page of what ``log`` has taken in from the store ``shown``.

    Its blocks are always the same, only their contents change.
    """
    title = f"Allocation: {shown if '://' in shown else Path(shown).name}"
    event = log.last_id if live else None
    lead = standing(log.ledger, None if "://" in shown else Path(f"{shown}.state"))
    arms, best = shown_arms(log), log.ledger.recommend()
    found = allocation_table(log.ledger)
    table = log.arms_table(_MOST_ROWS, found.text_table())._replace(title="Arms, most spent first")
    reasons = " ".join(f"{text[:1].upper()}{text[1:]}." for text in found.sentences()) or "Nothing is known yet."
    sections = [
        Section(
            "summary",
            "At a glance",
            [progress_bar(log), leader(found), answers(log, live), Facts("counts", _counts(log))],
        ),
        Section("budget", "Where the budget went", [spent_by_block(log, arms)]),
        Section("learning", "Learning curves", [learning_curves(log, arms, found)]),
        Section(
            "arms",
            "Arms",
            [_arms("arms-table", table, len(log.arms), best, "recommended"), Text("reasons", reasons)],
        ),
        Section("decision", "The last decision", _decision(log), folded=True),
        Section("failures", "Failures", [_failures(log)], folded=True),
        Section("settings", "Settings", _settings(log, shown), folded=True),
    ]
    return Page(title, lead, sections, event)


def _counts(log: AllocationLog) -> list[Fact]:
    states = Counter(arm.state for arm in log.arms)
    over = [f", {states[state]:,} {state}" for state in ("finished", "retired") if states[state]]
    return [
        Fact("pulls told", f"{log.ledger.told:,}"),
        Fact("pulls in flight", f"{len(log.ledger.in_flight):,}"),
        Fact("arms", f"{len(log.arms):,}{''.join(over)}"),
        Fact("first event (UTC)", clock(log.first_time)),
        Fact("last event (UTC)", clock(log.last_time)),
    ]


def _decision(log: AllocationLog) -> list[Block]:
    decision = log.decision
    if decision is None:
        empty = TextTable((), (), frozenset(), "What the policy knew")
        return [Text("chosen", "No pull has been given out yet."), Table("known", empty, "There is nothing yet.")]
    event, known, why = decision
    said = f"{event.arm} got its pull number {event.n:,} (event {event.id:,}) on {clock(event.time)} UTC."
    said += f" Why: {why}." if why else ""
    table = log.arms_table(_MOST_ROWS, known)._replace(title=f"What was known before it: {known.title}")
    return [Text("chosen", said), _arms("known", table, len(log.arms), event.arm, "chosen")]


def _arms(key: str, table: TextTable, there: int, marked: str | None, mark: str) -> Table:
    """A table of arms in which the ``marked`` one says so."""
    rows = [(f"{arm} ({mark})" if arm == marked else arm, *others) for arm, *others in table.rows]
    return Table(key, table._replace(rows=rows), note=_cut(there, len(rows), "arms"))


def _failures(log: AllocationLog) -> Table:
    words = {"fail": "failed", "expire": "expired"}
    elsewhere = several_hosts(event.worker for event in log.failures)
    rows = [
        (
            clock(event.time),
            event.arm,
            f"{event.n:,}",
            words[event.kind],
            event.text or "-",
            in_short(event.worker, elsewhere) if event.worker else "-",
        )
        for event in reversed(log.failures)
    ]
    header = ("time (UTC)", "arm", "pull of the arm", "what", "reason", "worker")
    table = TextTable(header, rows, frozenset({2}), "Pulls that failed or were not told in time, newest first")
    return Table("failures-table", table, "No pull has failed or expired.", _cut(log.n_failures, len(rows), "failures"))


def _settings(log: AllocationLog, shown: str) -> list[Block]:
    settings = log.settings
    plain = settings.to_dict()
    # Settings of arms are in the table of arms.
    hidden = ("arms", "budget", "policy", "warm_start", "version", "configs")
    rows = [
        ("policy", repr(settings.policy)),
        ("budget", f"{settings.budget.amount:,.10g} {settings.budget.unit}"),
        *((key, _setting(value)) for key, value in plain.items() if key not in hidden),
    ]
    if settings.warm_start:
        rows.append(("rewards of earlier runs", f"{sum(map(len, settings.warm_start.values())):,}"))
    if any(arm.last is not None for arm in log.ledger.arms):
        rows.append(("checkpoints", "in the folder of the plan" if "://" in shown else f"{shown}.state"))
    rows += [("store", shown), ("written by risingbandits", settings.version)]
    table = TextTable(("setting", "value"), rows, frozenset(), "Settings of the allocation")
    return [Table("settings-table", table), _extensions(log), Text("how-to-read", _HOW_TO_READ)]


def _extensions(log: AllocationLog) -> Table:
    rows = [(clock(event.time), f"{event.id:,}", said(event)) for event in reversed(log.extensions)]
    table = TextTable(("time (UTC)", "event", "what"), rows, frozenset({1}), "What was changed, newest first")
    return Table("extensions-table", table, "Nothing was changed since the run began.")


def clock(moment: float | None) -> str:
    """A time of the store in UTC, to the second.

    >>> clock(0.0), clock(None)
    ('1970-01-01 00:00:00', '-')
    """
    return "-" if moment is None else datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _setting(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " to ".join(f"{part:g}" for part in value)
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _cut(there: int, shown: int, what: str) -> str:
    return f"{shown:,} of {there:,} {what} are listed." if shown < there else ""
