"""The command reproduce: the paper's synthetic study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from risingbandits._core.errors import check_choice, check_positive_int
from risingbandits.cli._options import Backend, Jobs, Seed, given_command
from risingbandits.cli._output import Json, Output

_NAMES = ("15arms", "2arms", "lower-bounds", "rates")
_EPILOG = """\
Interrupt it whenever you like: the same command continues with the unfinished panel.
"""

commands = typer.Typer()


@commands.command(epilog=_EPILOG)
def reproduce(
    context: typer.Context,
    what: Annotated[
        str,
        typer.Argument(help="15arms, 2arms, lower-bounds, rates or all."),
    ] = "all",
    runs: Annotated[int | None, typer.Option(help="Runs of each policy; default: 100, as in the paper.")] = None,
    jobs: Jobs = None,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder for tables, figures and summary.md.")] = Path(
        "risingbandits-reproduction"
    ),
    extra: Annotated[
        bool,
        typer.Option(help="Also play panels that the paper lacks: other noise, the published program's deviations."),
    ] = True,
    quick: Annotated[bool, typer.Option("--quick", help="12 runs of 2,000 rounds, just to see it work.")] = False,
    redraw: Annotated[bool, typer.Option("--redraw", help="Only redraw the figures from the CSV files.")] = False,
    backend: Backend = "local",
    as_json: Json = False,
) -> None:
    """Recompute the paper's synthetic figures and tables."""
    names = list(_NAMES) if check_choice("what", what, (*_NAMES, "all")) == "all" else [what]
    if runs is not None:
        check_positive_int("runs", runs)
    check_positive_int("seed", seed, minimum=0)
    if jobs is not None:
        check_positive_int("jobs", jobs)

    from dataclasses import replace

    from risingbandits.lab.paper import reproduce as study

    if redraw:
        study.redraw(names, out)
        with Output(as_json) as output:
            output.say(f"Figures: {out}", written=out)
        return
    size = replace(study.QUICK if quick else study.Size(), seed=seed, extra=extra)
    if runs is not None:
        size = replace(size, runs=runs)
    command = given_command(context, "out", runs=size.runs)
    played = study.reproduce(names, out, size, jobs, command, True, backend)
    with Output(as_json) as output:
        tables = {name: study.EXPERIMENTS[name].tables(out) for name in names}
        of_each = {
            name: [{"title": table.title, "rows": table.values()} for table in own] for name, own in tables.items()
        }
        output.tables([table for own in tables.values() for table in own], experiments=of_each)
        output.say(
            f"{played:,} runs played; the others were already there." if played else "All runs were already there.",
            played=played,
        )
        output.say(f"Tables, figures and data: {out / 'summary.md'}", written=out / "summary.md")
