"""The group arena: every policy over real learning curves, made and simulated problems, judged alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from risingbandits._core.errors import RisingBanditsError
from risingbandits.cli import _options as options
from risingbandits.cli._options import Backend, Jobs, Seed, given_command
from risingbandits.cli._output import Json, Output

_EPILOG = """\
Examples:

risingbandits lab benchmark --quick

risingbandits lab benchmark --policies "recommended,my_policy.py:Mine(width=2)" --rows real

Real curves are read from curves/ in the folder RISINGBANDITS_DATA; without it, only the other rows are played.
"""
_FULL, _QUICK = (50, 100, 10), (4, 6, 2)  # runs, instances, orders

commands = typer.Typer(invoke_without_command=True)


@commands.callback(epilog=_EPILOG)
def arena(
    context: typer.Context,
    policies: Annotated[
        str | None,
        typer.Option(
            help="Names with settings, FILE.py:CLASS, recommended, few-arms-ucb or all; default: a selection.",
            autocompletion=options.complete_policies,
        ),
    ] = None,
    rows: Annotated[
        str | None, typer.Option(help="Families, regimes or kinds: real, made, synthetic; default: all.")
    ] = None,
    objective: Annotated[str, typer.Option(help="cumulative, best-arm, or both.")] = "both",
    orders: Annotated[int | None, typer.Option(help="Orders of the arms of each real task; default: 10.")] = None,
    runs: Annotated[
        int | None, typer.Option(help="Runs of each simulated problem at its own horizon; default: 50.")
    ] = None,
    instances: Annotated[int | None, typer.Option(help="Fresh random instances; default: 100.")] = None,
    seed: Seed = 0,
    quick: Annotated[bool, typer.Option("--quick", help="Tiny sizes, just to see it work.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for results; the same command continues.")] = Path("arena"),
    record: Annotated[Path | None, typer.Option(help="Also save the figures in this new JSON file.")] = None,
    jobs: Jobs = None,
    backend: Backend = "local",
    as_json: Json = False,
) -> None:
    """Compare policies on real learning curves and simulated problems, with equal weight for each family."""
    if context.invoked_subcommand is not None:
        return
    from risingbandits.lab.benchmark import _files as files
    from risingbandits.lab.benchmark import _records as records
    from risingbandits.lab.benchmark import _tables as tables
    from risingbandits.lab.benchmark._entrants import parse_entrants
    from risingbandits.lab.benchmark._rows import OBJECTIVES
    from risingbandits.lab.benchmark.contest import Contest
    from risingbandits.lab.benchmark.synthetic import Sizes

    sizes = [
        usual if given is None else given
        for given, usual in zip((runs, instances, orders), _QUICK if quick else _FULL, strict=True)
    ]
    contest = Contest(
        policies=None if policies is None else parse_entrants(policies),
        rows=None if rows is None else [part.strip() for part in rows.split(",")],
        objectives=OBJECTIVES if objective == "both" else (objective,),
        sizes=Sizes(runs=sizes[0], instances=sizes[1], orders=sizes[2], quick=quick),
        seed=seed,
    )
    if record is not None and record.exists():
        raise RisingBanditsError(f"record must be a new file, but {record} already exists.")
    if out.exists() and not out.is_dir():
        raise RisingBanditsError(f"out must be a folder, got the file {out}.")
    outcome, played = contest.play(out, backend, jobs, _bar)
    boards = files.boards_of(outcome)
    command = given_command(context, "out", "record")
    files.save(outcome, boards, out, command)
    if record is not None:
        records.write_record(records.record_of(outcome, boards, command), record)
    found = []
    for board in boards.values():
        parts = (tables.regimes_table(board, kinds, name, intervals=False) for kinds, name in files.PARTS)
        found += [tables.overall_table(board), *(table for table in parts if table.rows)]
    with Output(as_json) as output:
        output.tables(found, **files.summary(outcome, boards))
        for sentence in files.notes(outcome, boards):
            output.say(sentence)
        written = out / "arena.md"
        output.say(f"{played:,} runs played now. Tables: {written}", played=played, written=written)
    if any(board.failures for board in boards.values()):
        raise typer.Exit(1)


@commands.command("records")
def show_records(
    folder: Annotated[Path, typer.Argument(help="Folder of records written with --record.")] = Path("records"),
    as_json: Json = False,
) -> None:
    """Print a leaderboard of the records in a folder."""
    from risingbandits.lab.benchmark._records import leaderboard

    with Output(as_json) as output:
        tables = leaderboard(folder)
        output.tables(tables)
        output.whole([row for table in tables for row in table.values()])


@contextmanager
def _bar(total: int) -> Iterator[Callable[[str, int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _what, _runs: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda what, runs: bar.update(task, advance=runs, description=what)
