"""The command benchmark: every policy on real learning curves, made and simulated problems, compared alike."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.progress import progress_bar
from risingbandits.cli import _options as options
from risingbandits.cli._options import Backend, Jobs, Seed, given_command
from risingbandits.cli._output import Json, Output

EPILOG = """\
Examples:

risingbandits lab benchmark --quick

risingbandits lab benchmark --policies "recommended,my_policy.py:Mine(width=2)" --benchmarks real

Real curves are read from curves/ in the folder RISINGBANDITS_DATA; without it, only simulated problems are played.
"""
_FULL, _QUICK = (50, 100, 10), (4, 6, 2)  # runs, instances, orders


def benchmark(
    context: typer.Context,
    policies: Annotated[
        str | None,
        typer.Option(
            help="Names with parameters, FILE.py:CLASS, recommended, few-arms-ucb or all; default: a selection.",
            autocompletion=options.complete_policies,
        ),
    ] = None,
    benchmarks: Annotated[
        str | None, typer.Option(help="Names, groups or kinds: real, made, synthetic; default: all.")
    ] = None,
    objective: Annotated[str, typer.Option(help="cumulative, best-arm, or both.")] = "both",
    orders: Annotated[int | None, typer.Option(help="Orders of the arms of each real task; default: 10.")] = None,
    runs: Annotated[
        int | None, typer.Option(help="Runs of each simulated problem at its own horizon; default: 50.")
    ] = None,
    instances: Annotated[int | None, typer.Option(help="Random instances; default: 100.")] = None,
    seed: Seed = 0,
    quick: Annotated[bool, typer.Option("--quick", help="Tiny sizes, just to see it work.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for results; the same command continues.")] = Path("benchmark"),
    jobs: Jobs = None,
    backend: Backend = "local",
    as_json: Json = False,
) -> None:
    """Compare policies on real learning curves and simulated problems, with equal weight for each benchmark."""
    from risingbandits.lab.benchmark import _tables as tables
    from risingbandits.lab.benchmark._play import play_benchmarks
    from risingbandits.lab.benchmark._problems import OBJECTIVES
    from risingbandits.lab.benchmark._scores import summarise
    from risingbandits.lab.benchmark.synthetic import Sizes

    sizes = [
        usual if given is None else given
        for given, usual in zip((runs, instances, orders), _QUICK if quick else _FULL, strict=True)
    ]
    if out.exists() and not out.is_dir():
        raise RisingBanditsError(f"out must be a folder, got the file {out}.")
    outcome = play_benchmarks(
        policies,
        folder=out,
        benchmarks=None if benchmarks is None else [part.strip() for part in benchmarks.split(",")],
        objectives=OBJECTIVES if objective == "both" else (objective,),
        sizes=Sizes(runs=sizes[0], instances=sizes[1], orders=sizes[2], quick=quick),
        seed=seed,
        backend=backend,
        jobs=jobs,
        bar=partial(progress_bar, ""),
    )
    summary = summarise(outcome, given_command(context, "out"))
    tables.save(outcome, summary, out)
    with Output(as_json) as output:
        objectives = summary["objectives"].items()
        shown = [table for name, found in objectives for table in tables.objective_tables(name, found, intervals=False)]
        output.tables(shown, **summary)
        for sentence in tables.notes(summary):
            output.say(sentence)
        written = out / "benchmark.md"
        output.say(f"{outcome.played:,} runs played now. Tables: {written}", played=outcome.played, written=written)
    if any(found["failures"] for _, found in objectives):
        raise typer.Exit(1)
