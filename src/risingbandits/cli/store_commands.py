"""The commands that read a store: log, show, export, check-store."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from risingbandits._core.errors import RisingBanditsError, check_choice, check_positive_int
from risingbandits.cli.shared_options import show

if TYPE_CHECKING:
    from risingbandits.allocation.events import Event

Store = Annotated[str, typer.Argument(help="Store of a run: a file such as plan.db, or postgresql://...")]

commands = typer.Typer()


@commands.command()
def log(
    store: Store,
    last: Annotated[int, typer.Option(help="Only the last so many entries; 0 for all.")] = 0,
    arm: Annotated[str | None, typer.Option(help="Only entries about this arm.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only entries of this kind, such as tell or fail.")] = None,
) -> None:
    """List what happened in a run, one line each, the oldest first."""
    from risingbandits.allocation.events import KINDS
    from risingbandits.allocation.stores.reader import open_reader

    if kind is not None:
        check_choice("kind", kind, KINDS)
    check_positive_int("last", last, minimum=0)
    with open_reader(store) as reader:
        events = (event for event in reader.events() if arm in (None, event.arm) and kind in (None, event.kind))
        for event in events if last == 0 else deque(events, maxlen=last):
            typer.echo(_line(event))


@commands.command("show")
def show_store(store: Store) -> None:
    """Show where a run stands: budget, arms, pulls in flight, the arm to keep."""
    from risingbandits.allocation.arms.pace import Pace
    from risingbandits.allocation.progress import progress_of
    from risingbandits.allocation.status import allocation_table, flights_table, standing
    from risingbandits.allocation.stores.reader import open_reader

    with open_reader(store) as reader:
        ledger = reader.ledger()
        table = allocation_table(ledger)
        show(table.text_table())
        if ledger.in_flight:
            show(flights_table(ledger))
        typer.echo("\n".join([*table.reasons(), standing(ledger)]))
        if ledger.in_flight:
            typer.echo(f"Running: {progress_of(ledger, Pace.of(reader), time.time())}.")


@commands.command()
def export(
    store: Store,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="CSV or JSON file, by its ending; else CSV is printed.")
    ] = None,
    events: Annotated[bool, typer.Option("--events", help="All entries instead of the learning curves.")] = False,
) -> None:
    """Write the learning curves of a run, one column per arm, for simulate --curves, check and replay."""
    from risingbandits._core.files import write_whole
    from risingbandits.allocation.stores import export as exports
    from risingbandits.allocation.stores.reader import open_reader

    ending = ".csv" if out is None else out.suffix.lower()
    if ending not in (".csv", ".json"):
        raise RisingBanditsError(f"out must end in .csv or .json, got {str(out)!r}.")
    with open_reader(store) as reader:
        if events:
            text = exports.events_csv(reader) if ending == ".csv" else exports.events_json(reader)
        else:
            text = exports.curves_csv(reader) if ending == ".csv" else exports.curves_json(reader)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_whole(out, text.encode())
        typer.echo(f"Written: {out}")


@commands.command("check-store")
def check_store(
    store: Store,
    copy: Annotated[
        Path | None, typer.Option(help="Copy what is whole, up to the first damaged entry, to this new store.")
    ] = None,
) -> None:
    """Say which parts of a store are whole, and change nothing; the exit code is 1 if any is not."""
    from risingbandits._core.tables import TextTable
    from risingbandits.allocation.stores.base import hide_password
    from risingbandits.allocation.stores.inspection import copy_whole_part, inspect_store

    findings = inspect_store(store)
    rows = [(finding.part, "whole" if finding.whole else "DAMAGED", finding.text) for finding in findings]
    show(TextTable(("part", "", ""), rows, frozenset(), hide_password(store)))
    if copy is not None:
        typer.echo(f"{copy_whole_part(store, copy):,} entries were copied to {copy}")
    if not all(finding.whole for finding in findings):
        raise typer.Exit(1)


def _line(event: Event) -> str:
    """An entry as text."""
    from datetime import UTC, datetime

    from risingbandits.allocation import extension

    moment = datetime.fromtimestamp(event.time, UTC).strftime("%Y-%m-%d %H:%M:%S")
    number = f" {event.n}" if event.n else ""
    of_reward, of_cost = "reward", "cost"
    if event.kind == "bind":  # an arm is opened, by what is believed of it and how far that is confirmed
        number, of_reward, of_cost = f"  slot {event.n + 1}", "believed", "confirmed"
    reward = "" if event.reward is None else f"  {of_reward} {event.reward:g}"
    cost = "" if event.cost is None else f"  {of_cost} {event.cost:g}"
    # Reasons may quote what a command printed: nothing in them may steer a terminal or break the line.
    said = extension.said(event) if event.kind == "extend" else event.text
    reason = "".join(letter if letter.isprintable() else " " for letter in said)
    text = f"  {reason}" if reason else ""
    return f"{event.id:>6}  {moment}  {event.kind:<6}  {event.arm}{number}{reward}{cost}{text if event.arm else reason}"
