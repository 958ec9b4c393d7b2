"""The commands ``prior``: earlier runs in a folder, and what they say about the arms of the next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from risingbandits._core.errors import RisingBanditsError, check_choice
from risingbandits.cli import _options as options
from risingbandits.cli._output import Json, Output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from risingbandits.allocation.prior.reading import Findings
    from risingbandits.allocation.prior.tasks import EarlierTask

_PRIOR_EPILOG = """\
A CSV file has either the columns task, arm, step and value (any others are settings of the arm), or a column per arm, \
headed by its name, and a row per pull. prior is where an arm is expected to rank: 0.93 means above 93 of 100 arms.

Examples:

risingbandits prior compare last.db curves.csv --plan plan.toml

risingbandits prior compare losses.csv --direction minimize --arms "small net,large net"
"""

_MOST_NAMES = 5  # in a sentence
_RUN = ("run", "arms", "pulls", "direction", "best arm")

Memory = Annotated[str, typer.Argument(help="Folder of the memory, or postgresql://...")]

commands = typer.Typer(help="See what earlier runs say about the arms of the next.", no_args_is_help=True)


@commands.command(epilog=_PRIOR_EPILOG)
def compare(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Stores, CSV files, logs, folders of a memory or of logs, patterns, postgresql://...",
            autocompletion=options.complete_file(".db", ".csv"),
        ),
    ],
    plan: Annotated[Path | None, typer.Option(help="Ask about the arms of this plan; default: all arms.")] = None,
    arms: Annotated[str | None, typer.Option(help="Ask about these arms, separated by commas.")] = None,
    direction: options.Direction = None,
    metric: options.Metric = None,
    as_json: Json = False,
) -> None:
    """Show what earlier runs say about arms, and how far to trust them."""
    from risingbandits.allocation.prior.reading import look_back
    from risingbandits.allocation.prior.sources import read_sources
    from risingbandits.policies.base import DIRECTIONS

    if direction is not None:
        check_choice("direction", direction, DIRECTIONS)
    if plan is not None and arms is not None:
        raise RisingBanditsError(f"only one of plan and arms may be given, got {str(plan)!r} and {arms!r}.")
    names: list[str] | None = None
    settings: dict[str, dict[str, float | str | None]] = {}
    present: str | None = None
    if plan is not None:
        from risingbandits.allocation.commands.plan_file import read_plan

        read = read_plan(plan)
        names = [arm.name for arm in read.arms]
        settings, present = read.settings.get("configs") or {}, read.store
    elif arms is not None:
        names = [name.strip() for name in arms.split(",") if name.strip()]
        if not names:
            raise RisingBanditsError(f"arms must be names separated by commas, got {arms!r}.")
    sources = read_sources(files, direction, present, metric, told=direction is not None)
    if direction is None:
        _say_inferred(sources.tasks)
    found = look_back(sources, names, settings)
    _present(found, list(found.prior.beliefs) if names is None else names, as_json)


@commands.command("list")
def list_memory(memory: Memory, as_json: Json = False) -> None:
    """List the runs in a memory, with the best arm of each."""
    from risingbandits._core.errors import hide_password
    from risingbandits._core.tables import TextTable
    from risingbandits.allocation.prior.memory import tasks_in
    from risingbandits.allocation.prior.scores import normal_scores

    rows, records = [], []
    for task in tasks_in(memory):
        scores = dict(zip(task.arms, normal_scores(task.gains()), strict=True)) if task.arms else {}
        best = max(scores, key=lambda arm: scores[arm], default=None)
        rows.append((task.name, str(len(task.arms)), str(task.pulls), task.direction, best or "-"))
        values = (task.name, len(task.arms), task.pulls, task.direction, best)
        records.append(dict(zip(_RUN, values, strict=True)))
    with Output(as_json) as output:
        output.table(TextTable(_RUN, rows, frozenset({1, 2}), hide_password(memory), records))


@commands.command("show")
def show_memory(
    memory: Memory,
    name: Annotated[str | None, typer.Argument(help="Only this run.")] = None,
    as_json: Json = False,
) -> None:
    """Show what all runs in a memory have taught, or the arms of one run."""
    from risingbandits.allocation.prior.memory import run_called, tasks_in
    from risingbandits.allocation.prior.reading import look_back
    from risingbandits.allocation.prior.sources import Sources
    from risingbandits.allocation.prior.tables import task_table

    if name is None:
        found = look_back(Sources(tasks_in(memory), []))
        _present(found, list(found.prior.beliefs), as_json)
        return
    with Output(as_json) as output:
        output.table(task_table(run_called(memory, name)))


@commands.command("forget")
def forget_run(memory: Memory, name: Annotated[str, typer.Argument(help="Name of the run.")]) -> None:
    """Remove a run from a memory."""
    from risingbandits.allocation.prior.memory import forget

    typer.echo(f"Forgotten: {forget(memory, name)}")


def _say_inferred(tasks: Sequence[EarlierTask]) -> None:
    """Which files are taken for losses, on standard error: nobody has said so."""
    losses = [task for task in tasks if task.suggests[0] == "minimize"]
    for task in losses[:_MOST_NAMES]:
        typer.echo(f"{task.name}: {task.direction} ({task.suggests[1]}); {len(task.arms)} runs.", err=True)
    if len(losses) > _MOST_NAMES:
        typer.echo(f"The same holds for {len(losses) - _MOST_NAMES} more.", err=True)


def _present(found: Findings, arms: Sequence[str], as_json: bool) -> None:
    from risingbandits.allocation.prior import tables

    shown = [tables.arms_table(found.prior, arms)] if arms else []
    shown += [tables.tasks_table(found)] if found.tasks else []
    shown += [tables.matter_table(found)] if found.matter else []
    with Output(as_json) as output:
        output.tables(shown, **tables.findings_dict(found, arms))
        if found.ambiguous:
            names = ", ".join(found.ambiguous[:_MOST_NAMES]) + (", ..." if len(found.ambiguous) > _MOST_NAMES else "")
            output.say(f"Not matched by name, because their settings differ between tasks: {names}.")
        if found.left_out:
            output.say(f"Left out because they have fewer than 3 arms: {', '.join(found.left_out)}.")
        output.say(tables.head_line(found))
