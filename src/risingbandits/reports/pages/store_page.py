"""The page of an allocation: which arms got the budget when, learning curves with lines, the last decision."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from risingbandits._core.tables import TextTable
from risingbandits.allocation.growth import said
from risingbandits.allocation.status.status import allocation_table, in_short, several_hosts, standing
from risingbandits.reports.allocation_log import AllocationLog
from risingbandits.reports.pages.layout import Block, Facts, Page, Section, Table, Text
from risingbandits.reports.pages.store_figures import learning_curves, shown_arms, spent_by_block, spent_over_time
from risingbandits.reports.pages.store_glance import answers, leader, progress_bar
from risingbandits.reports.store_follower import Follower

_MOST_ROWS = 200
_HOW_TO_READ = (
    "Each arm makes one pull at a time; what a pull takes from the budget is counted when its reward is told. Level is "
    "an estimate of what an arm gives now, sure a lower bound on that, width how uncertain it is, trend what a further "
    "pull may add, value what the policy compares, brings and costs the reward that trying the arm may bring and lose; "
    "which of these are shown depends on the policy. End, band and chance come from a curve model."
)


def store_page(store: str | Path) -> Page:
    """The page of the allocation in ``store``, as it is now."""
    with Follower(store) as follower:
        follower.read_all()
        return allocation_page(follower.log, follower.shown_store)


def allocation_page(log: AllocationLog, shown: str, live: bool = False, brief: bool = False) -> Page:
    """The page of what ``log`` has taken in from the store ``shown``.

    Its blocks are always the same, only their contents change. A ``brief`` one has only the cheap ones, for a live view
    between two whole pages.
    """
    bar, told, counts = progress_bar(log), answers(log, live), Facts("counts", _counts(log))
    failures = Section("failures", "Failures", [_failures(log)], folded=True)
    title = f"Allocation: {shown if '://' in shown else Path(shown).name}"
    event = log.last_id if live else None
    lead = standing(log.ledger, None if "://" in shown else Path(f"{shown}.state"))
    if brief:
        return Page(title, lead, [Section("summary", "", [bar, told, counts]), failures], event)
    arms, best = shown_arms(log), log.ledger.recommend() if log.ledger.told else None
    found = allocation_table(log.ledger)
    table = log.arms_table(_MOST_ROWS, found.text_table())._replace(title="Arms, most spent first")
    reasons = Text("reasons", "; ".join(found.sentences()) or "Nothing is known yet.")
    sections = [
        Section("summary", "At a glance", [bar, leader(found, log.ledger.finished), told, counts]),
        Section("budget", "Where the budget went, and when", [spent_over_time(log, arms), spent_by_block(log, arms)]),
        Section("learning", "Learning curves", [learning_curves(log, arms)]),
        Section("arms", "Arms", [_arms("arms-table", table, len(log.arms), best, "recommended"), reasons]),
        Section("decision", "The last decision", _decision(log), folded=True),
        failures,
        Section("settings", "Settings", _settings(log, shown), folded=True),
    ]
    return Page(title, lead, sections, event)


def _counts(log: AllocationLog) -> list[tuple[str, str]]:
    retired = sum(arm.retired is not None for arm in log.arms)
    return [
        ("pulls told", f"{log.ledger.told:,}"),
        ("pulls in flight", f"{len(log.ledger.in_flight):,}"),
        ("arms", f"{len(log.arms):,}" + (f", {retired:,} retired" if retired else "")),
        ("first event (UTC)", clock(log.first_time)),
        ("last event (UTC)", clock(log.last_time)),
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
    hidden = ("arms", "budget", "policy", "warm_start", "version", "lazy", "learns", "arm_settings")
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
