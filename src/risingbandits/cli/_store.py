"""The commands about a run: ``status``, ``report``, and ``store``, which asks and tells from any language."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from risingbandits._core.errors import RisingBanditsError, hide_password
from risingbandits._core.tables import printable
from risingbandits.cli import _options as options
from risingbandits.cli._options import Store
from risingbandits.cli._output import Json, Output

if TYPE_CHECKING:
    from risingbandits.allocation import Allocator
    from risingbandits.allocation._ledger import Ledger
    from risingbandits.allocation.events import Event
    from risingbandits.allocation.stores.reader import StoreReader

_STATUS_EPILOG = """\
The page of --live opens only on this machine, and the store is only read. From another machine, forward the port that \
it names: [bold]ssh -L 8765:127.0.0.1:8765 HOST[/].
"""
_REPORT_EPILOG = """\
Examples:

risingbandits report risingbandits-demo -o demo.html

risingbandits report run.db -o run.html
"""
_STORE_EPILOG = """\
A training script in any language:

risingbandits store create run.db small large --budget 60

pull=$(risingbandits store ask run.db)

risingbandits store tell run.db ID --reward 0.7

All print JSON. ask ends with code 1 when no pull follows, and with code 3 when no arm is available now.
"""
_ENDED, _NONE_AVAILABLE = 1, 3  # exit codes

commands = typer.Typer()
of_store = typer.Typer(
    help="Create a store; ask and tell from any language; export and check.",
    epilog=_STORE_EPILOG,
    no_args_is_help=True,
    rich_markup_mode="rich",
)

# -- where a run stands -----------------------------------------------------------------------------------------------


@commands.command(epilog=_STATUS_EPILOG)
def status(
    store: Store,
    events: Annotated[bool, typer.Option("--events", help="List what happened, one line each, oldest first.")] = False,
    live: Annotated[bool, typer.Option("--live", help="Show a page that follows the run in the browser.")] = False,
    as_json: Json = False,
) -> None:
    """Show where a run stands, its events, or a live page."""
    if live and (events or as_json):
        raise RisingBanditsError("live cannot be combined with events or json.")
    from risingbandits.allocation.stores.reader import open_reader

    if live:
        from risingbandits.reports._live_page import serve

        try:
            serve(store, ready=lambda address: typer.echo(f"Live at {address} (Ctrl-C to stop)"))
        except KeyboardInterrupt:
            typer.echo("Stopped watching; the run goes on.", err=True)
        return
    with open_reader(store) as reader, Output(as_json) as output:
        if as_json and events:
            output.whole([event._asdict() for event in reader.events()])
        elif events:
            for event in reader.events():
                output.say(_line(event))
        else:
            _say_status(reader, output)


def _say_status(reader: StoreReader, output: Output) -> None:
    from risingbandits.allocation.arms._pace import Pace
    from risingbandits.allocation.status._progress import abandoned, ended, progress_of

    ledger = reader.ledger()
    say_standing(ledger, output, reader.directory)
    if reader.directory is not None and any(arm.last is not None for arm in ledger.arms):
        output.say(f"Checkpoints: {reader.directory}", checkpoints=reader.directory)
    if ledger.in_flight or output.as_json:
        gone = abandoned(ledger, reader.one_machine)
        progress = progress_of(ledger, Pace(reader), time.time(), gone)
        said = f"Running: {progress}."
        if gone and len(gone) == len(ledger.in_flight):
            said = f"Stopped at {progress}: {ended(gone, ledger)}. Run it again to continue where it stopped."
        elif gone:
            who = ended(gone, ledger)
            said += f" {who[0].upper()}{who[1:]}; another attempt follows."
        output.say(said, progress=progress._asdict(), abandoned=len(gone))


def say_standing(ledger: Ledger, output: Output, folder: Path | None, in_flight: bool = True) -> None:
    """Where a run stands, with its folder of checkpoints; for people with the pulls in flight, or without."""
    from risingbandits.allocation.status._status import allocation_table, flights_table, standing, status_dict

    table = allocation_table(ledger)
    flights = [flights_table(ledger)] if in_flight and ledger.in_flight else []
    output.tables([table.text_table(), *flights], **(status_dict(ledger, table) if output.as_json else {}))
    output.say("\n".join([*table.reasons(), standing(ledger, folder)]))


def _line(event: Event) -> str:
    """An entry as text."""
    from datetime import UTC, datetime

    from risingbandits.allocation import _growth as growth

    moment = datetime.fromtimestamp(event.time, UTC).strftime("%Y-%m-%d %H:%M:%S")
    number = f" {event.n}" if event.n else ""
    reward = "" if event.reward is None else f"  reward {event.reward:g}"
    cost = "" if event.cost is None else f"  {'decided after event' if event.kind == 'ask' else 'cost'} {event.cost:g}"
    # Reasons may quote what a command printed, and must not break the line.
    said = growth.said(event) if event.kind == "extend" else event.text
    if event.kind in ("tell", "checkpoint"):
        given_up = "given up" if event.kind == "checkpoint" else ""
        said = f"checkpoint of {int(said.split()[0]):,} bytes" if said else given_up
    reason = printable(said).replace("\n", " ")
    text = f"  {reason}" if reason else ""
    return f"{event.id:>6}  {moment}  {event.kind:<6}  {event.arm}{number}{reward}{cost}{text if event.arm else reason}"


@commands.command(epilog=_REPORT_EPILOG)
def report(
    source: Annotated[str, typer.Argument(help="Store of a run, or folder of a study.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file to write.")] = Path("report.html"),
) -> None:
    """Write one page with pictures and tables of a run or study."""
    from risingbandits.reports.pages import write_html

    typer.echo(f"Report: {write_html(source, out)}")


# -- ask and tell from any language -----------------------------------------------------------------------------------

Id = Annotated[int, typer.Argument(help="The id of the pull, as ask printed it.")]


@contextmanager
def _opened(store: str) -> Iterator[tuple[Allocator, Output]]:
    """The allocator in a store, and a document with where it stands at the end."""
    from risingbandits.allocation import Allocator

    with Allocator.open(store) as allocator, Output(as_json=True) as output:
        yield allocator, output
        ledger = allocator.ledger
        output.add(spent=ledger.spent, finished=ledger.finished, recommended=ledger.recommend())


@of_store.command()
def create(
    store: Store,
    arms: Annotated[list[str], typer.Argument(help="Names of the arms.")],
    budget: Annotated[float, typer.Option(help="Budget, in pulls unless --unit says otherwise.")],
    unit: Annotated[str, typer.Option(help="pulls, cost or seconds.")] = "pulls",
    objective: options.Objective = None,
    direction: Annotated[str, typer.Option(help="maximize, or minimize for losses.")] = "maximize",
    reward_range: Annotated[
        str | None, typer.Option("--range", help="Smallest and largest possible reward, such as 0,1, or unknown.")
    ] = None,
    policy: Annotated[
        str | None, typer.Option(help="Default: by the objective.", autocompletion=options.complete_policy)
    ] = None,
    lease: Annotated[float, typer.Option(help="Seconds until a pull that was not told is given out again.")] = 3600.0,
    seed: options.Seed = 0,
) -> None:
    """Create the store of a run, or join one with the same settings."""
    from risingbandits.allocation import Allocator, Execution

    settings: dict[str, Any] = {"objective": objective, "direction": direction, "policy": policy, "seed": seed}
    if reward_range is not None:
        settings["reward_range"] = None if reward_range == "unknown" else options.parse_range(reward_range)
    # The process that asks has ended when another one tells.
    settings["execution"] = Execution(lease=lease, reclaim=False)
    with Allocator(arms, options.parse_budget(unit, budget), store=store, **settings) as made:
        taken_over = {"taken_over": made.taken_over} if made.taken_over else {}
    with _opened(store) as (allocator, output):
        output.add(**taken_over)
        output.add(store=hide_password(store), arms=allocator.arms, policy=str(allocator.ledger.policy._described()))


@of_store.command()
def ask(
    store: Store,
    wait: Annotated[float, typer.Option(help="Seconds to wait while no arm is available.")] = 0.0,
) -> None:
    """Print the next pull: its id, arm, n (1 is the arm's first) and attempt."""
    from risingbandits.allocation import NoArmAvailable

    code = 0
    with _opened(store) as (allocator, output):
        try:
            pull = allocator.ask(wait)
            if pull is None:
                code = _ENDED
            else:
                output.add(id=pull.id, arm=pull.arm, n=pull.n, attempt=pull.attempt)
        except NoArmAvailable as reason:
            code = _NONE_AVAILABLE
            output.add(reason=str(reason))
    if code:
        raise typer.Exit(code)


@of_store.command()
def tell(
    store: Store,
    id: Id,
    reward: Annotated[float | None, typer.Option(help="The reward of the pull.")] = None,
    cost: Annotated[float | None, typer.Option(help="What it has cost; default: 1, or the seconds it took.")] = None,
    finished: Annotated[bool, typer.Option("--finished", help="The arm cannot be pulled any further.")] = False,
) -> None:
    """Report the reward of a pull."""
    if reward is None and not finished:
        raise RisingBanditsError("reward must be given, or finished if the arm had nothing left to do.")
    with _opened(store) as (allocator, output):
        output.add(counts=allocator.tell(id, reward, cost, finished=finished))


@of_store.command()
def fail(
    store: Store,
    id: Id,
    reason: Annotated[str, typer.Option(help="Why, for the log.")] = "",
    retry: Annotated[bool, typer.Option(help="Whether another attempt could succeed.")] = True,
) -> None:
    """Give back a pull that has failed."""
    with _opened(store) as (allocator, _):
        allocator.fail(id, reason, retry=retry)


@of_store.command()
def renew(store: Store, id: Id) -> None:
    """Extend the lease of a long pull; held is false if it is lost."""
    with _opened(store) as (allocator, output):
        output.add(held=allocator.renew(id))


@of_store.command()
def recommend(store: Store) -> None:
    """Print the recommended arm; an error before any reward."""
    with _opened(store) as (allocator, _):
        allocator.recommend()


@of_store.command()
def export(
    store: Store,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="CSV or JSON file; default: print CSV.")] = None,
    events: Annotated[bool, typer.Option("--events", help="All events instead of the learning curves.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of CSV.")] = False,
) -> None:
    """Write the learning curves of a run, a column per arm."""
    from risingbandits._core.files import write_whole
    from risingbandits.allocation.stores import reader as exports

    if as_json and out is not None:
        raise RisingBanditsError(
            f"only one of out and json may be given: a file is JSON if its name ends in .json, got {out}."
        )
    ending = out.suffix.lower() if out is not None else ".json" if as_json else ".csv"
    if ending not in (".csv", ".json"):
        raise RisingBanditsError(f"out must end in .csv or .json, got {str(out)!r}.")
    what = "events" if events else "curves"
    with exports.open_reader(store) as reader:
        text = getattr(exports, f"{what}_{ending[1:]}")(reader)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_whole(out, text.encode())
        typer.echo(f"Written: {out}")


@of_store.command()
def check(
    store: Store,
    copy: Annotated[Path | None, typer.Option(help="New store for all events before the first damaged one.")] = None,
    as_json: Json = False,
) -> None:
    """Say which parts are whole; exit with code 1 if any is damaged."""
    from risingbandits._core.tables import TextTable
    from risingbandits.allocation.stores._inspection import copy_whole_part, inspect_store

    findings = inspect_store(store)
    rows = [(finding.part, "whole" if finding.whole else "DAMAGED", finding.text) for finding in findings]
    whole = all(finding.whole for finding in findings)
    with Output(as_json) as output:
        output.add(store=hide_password(store), whole=whole)
        parts = [finding._asdict() for finding in findings]
        output.table(TextTable(("part", "", ""), rows, frozenset(), hide_password(store), parts), "parts")
        if copy is not None:
            copied = copy_whole_part(store, copy)
            output.say(f"{copied:,} events were copied to {copy}", copied=copied)
    if not whole:
        raise typer.Exit(1)
