"""The commands that read a store: log, show, export, check-store."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from risingbandits._core.errors import RisingBanditsError, check_positive_int
from risingbandits._core.tables import printable
from risingbandits.cli import completion
from risingbandits.cli.output import Json, Output, show_ledger

if TYPE_CHECKING:
    from risingbandits.allocation.events import Event

Store = Annotated[
    str,
    typer.Argument(
        help="Store of a run: a file such as plan.db, or postgresql://...", autocompletion=completion.file(".db")
    ),
]

commands = typer.Typer()


@commands.command()
def log(
    store: Store,
    last: Annotated[int, typer.Option(help="Only the last N events; 0 for all.")] = 0,
    as_json: Json = False,
) -> None:
    """List the events of a run, one per line, oldest first."""
    from risingbandits.allocation.stores.reader import open_reader

    check_positive_int("last", last, minimum=0)
    with open_reader(store) as reader:
        wanted = reader.events() if last == 0 else deque(reader.events(), maxlen=last)
        with Output(as_json) as output:
            if as_json:
                output.whole([event._asdict() for event in wanted])
            else:
                for event in wanted:
                    output.say(_line(event))


@commands.command("show")
def show_store(store: Store, as_json: Json = False) -> None:
    """Show where a run stands: budget, arms, pulls in flight and the recommended arm."""
    from risingbandits.allocation.arms.pace import Pace
    from risingbandits.allocation.status.progress import abandoned, ended, progress_of
    from risingbandits.allocation.stores.reader import open_reader

    with open_reader(store) as reader, Output(as_json) as output:
        ledger = reader.ledger()
        show_ledger(ledger, output, reader.directory)
        if reader.directory is not None and any(arm.last is not None for arm in ledger.arms):
            output.say(f"Checkpoints: {reader.directory}", checkpoints=reader.directory)
        if ledger.in_flight or as_json:
            gone = abandoned(ledger, reader.one_machine)
            progress = progress_of(ledger, Pace(reader), time.time(), gone)
            said = f"Running: {progress}."
            if gone and len(gone) == len(ledger.in_flight):
                said = f"Stopped at {progress}: {ended(gone, ledger)}. Run it again to continue where it stopped."
            elif gone:
                who = ended(gone, ledger)
                said += f" {who[0].upper()}{who[1:]}; another attempt follows."
            output.say(said, progress=progress._asdict(), abandoned=len(gone))


@commands.command()
def export(
    store: Store,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="CSV or JSON file, by its extension; default: print CSV.")
    ] = None,
    events: Annotated[bool, typer.Option("--events", help="All events instead of the learning curves.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of CSV.")] = False,
) -> None:
    """Write the learning curves of a run, one column per arm, for simulate --curves, check and replay."""
    from risingbandits._core.files import write_whole
    from risingbandits.allocation.stores import reader as exports
    from risingbandits.allocation.stores.reader import open_reader

    if as_json and out is not None:
        raise RisingBanditsError(
            f"only one of out and json may be given: a file is JSON if its name ends in .json, got {out}."
        )
    ending = out.suffix.lower() if out is not None else ".json" if as_json else ".csv"
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
        Path | None, typer.Option(help="Copy all events before the first damaged one to this new store.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say which parts of a store are whole, and change nothing; exit with code 1 if any is damaged."""
    from risingbandits._core.errors import hide_password
    from risingbandits._core.tables import TextTable
    from risingbandits.allocation.stores.inspection import copy_whole_part, inspect_store

    findings = inspect_store(store)
    rows = [(finding.part, "whole" if finding.whole else "DAMAGED", finding.text) for finding in findings]
    records = [{"part": finding.part, "whole": finding.whole, "text": finding.text} for finding in findings]
    whole = all(finding.whole for finding in findings)
    with Output(as_json) as output:
        output.add(store=hide_password(store), whole=whole)
        output.table(TextTable(("part", "", ""), rows, frozenset(), hide_password(store), records), "parts")
        if copy is not None:
            copied = copy_whole_part(store, copy)
            output.say(f"{copied:,} events were copied to {copy}", copied=copied)
    if not whole:
        raise typer.Exit(1)


def _line(event: Event) -> str:
    """An entry as text."""
    from datetime import UTC, datetime

    from risingbandits.allocation import growth

    moment = datetime.fromtimestamp(event.time, UTC).strftime("%Y-%m-%d %H:%M:%S")
    number = f" {event.n}" if event.n else ""
    of_reward, of_cost = "reward", "cost"
    if event.kind == "bind":  # an arm is opened, by what is believed of it and how far that is confirmed
        number, of_reward, of_cost = f"  slot {event.n + 1}", "believed", "confirmed"
    reward = "" if event.reward is None else f"  {of_reward} {event.reward:g}"
    cost = "" if event.cost is None else f"  {of_cost} {event.cost:g}"
    # Reasons may quote what a command printed, and must not break the line.
    said = growth.said(event) if event.kind == "extend" else event.text
    if event.kind in ("tell", "checkpoint"):
        given_up = "given up" if event.kind == "checkpoint" else ""
        said = f"checkpoint of {int(said.split()[0]):,} bytes" if said else given_up
    reason = printable(said).replace("\n", " ")
    text = f"  {reason}" if reason else ""
    return f"{event.id:>6}  {moment}  {event.kind:<6}  {event.arm}{number}{reward}{cost}{text if event.arm else reason}"
