"""The command ``run``: spend a budget on commands, as a plan says, all of it or for a limited time."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from risingbandits._core.errors import RisingBanditsError, check_choice, shown
from risingbandits.cli import _options as options
from risingbandits.cli._interrupts import is_program
from risingbandits.cli._output import Json, Output
from risingbandits.cli._store import say_standing

if TYPE_CHECKING:
    from risingbandits._core.tables import TextTable
    from risingbandits.allocation import Allocator
    from risingbandits.allocation.commands._plan_check import Checked
    from risingbandits.allocation.commands._plan_file import Plan

_EPILOG = """\
A plan, in TOML:

budget = 30

defaults.command = ["python3", "train.py", "{arm}", "{previous}", "{checkpoint}"]

arms = [{name = "small"}, {name = "large"}]

A command trains a little more, from the file {previous}, which its first pull finds missing, saves to {checkpoint}, \
and prints its reward as the last line. A plan runs the commands that it names, with your permissions: do not run \
plans that you do not trust. Interrupt a run whenever you like; the same command continues where it stopped, and \
several may run at once. See the page "Commands as arms" of the documentation.
"""
_NO_ARM_LEFT = 1  # exit code where every arm was retired because its commands failed
_MARGIN = 20.0  # seconds to end what still runs: 5 to be asked to, 5 to be killed, and some for a slow disk
_SHARE = 0.25  # of a short time, at most
_SLURM = "SLURM_JOB_END_TIME"  # unix seconds

commands = typer.Typer()


@commands.command(epilog=_EPILOG)
def run(
    plan: Annotated[Path, typer.Argument(help="TOML file with arms as commands and a budget.")],
    jobs: Annotated[int | None, typer.Option(help="Commands at a time; default: as the plan says.")] = None,
    time_left: Annotated[
        str | None,
        typer.Option("--for", help="Time until this process is killed, such as 55m; default: Slurm's.", metavar="TIME"),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over; an earlier run's store is renamed.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Only show what would be run, or why it cannot be.")] = False,
    backend: Annotated[str, typer.Option(help="local, or ray: all nodes must see the plan's folder.")] = "local",
    resources: Annotated[str | None, typer.Option(help="What a command needs on Ray; default: CPU=1.")] = None,
    as_json: Json = False,
) -> None:
    """Spend a budget on the commands of a plan, or continue."""
    began = time.monotonic()
    seconds = _seconds(time_left)
    from risingbandits._core.errors import hide_password
    from risingbandits.allocation.arms._display import Lines, table_or, warnings_in
    from risingbandits.allocation.arms._driver import GRACE, Driver
    from risingbandits.allocation.arms._slots import Places
    from risingbandits.allocation.commands._command import added_command
    from risingbandits.allocation.commands._plan_check import check_fresh, check_plan, put_aside, running
    from risingbandits.allocation.commands._plan_file import read_plan
    from risingbandits.allocation.pull import folder_name

    check_choice("backend", backend, ("local", "ray"))
    if backend == "local" and resources is not None:
        raise RisingBanditsError(f"resources are for --backend ray, got {shown(resources)}.")
    chosen = read_plan(plan)
    jobs = chosen.jobs if jobs is None else Places(chosen.slots).jobs(jobs)
    if backend == "ray" and chosen.slots:
        raise RisingBanditsError("slots are for this machine; on a cluster give --resources, such as CPU=1,GPU=0.5.")
    if fresh or check:
        if fresh:
            check_fresh(chosen)
        with _named(chosen, fresh):  # before the earlier run makes way for one that cannot be
            found = check_plan(chosen, fresh)
        if check:
            _say_checked(chosen, found, Output(as_json))
            return
    output = Output(as_json)
    if fresh and (aside := put_aside(chosen)) is not None:
        output.say(f"The earlier run is now in {aside}", earlier_run=aside)
    _say_direction(chosen, output)
    margin = min(_MARGIN, _SHARE * seconds)
    with output, running(chosen), plan_allocator(chosen) as allocator:
        if allocator.taken_over:
            output.say(f"Changed: {allocator.taken_over}", taken_over=allocator.taken_over)
        with (
            _plan_arms(chosen, allocator, backend, resources) as arms,
            table_or(Lines(allocator), allocator) as display,
            warnings_in(display),
        ):
            driver = Driver(
                *(allocator, arms, jobs, display),
                patient=True,
                until=began + seconds - margin,
                warned=True,
                grace=min(GRACE, margin / 3.0),
                slots=chosen.slots,
                find=partial(added_command, chosen) if backend == "local" else None,
            )
            received = driver.run()
        entry = allocator.remember_at_end()
        ledger = allocator.ledger
        say_standing(ledger, output, chosen.states, in_flight=False)
        if received is not None:
            output.say(f"Stopped by {received.name}. Run the same command again to continue.")
        elif driver.closed and not ledger.finished:
            output.say("No time is left for another pull. Run the same command again to continue.")
        best = next((arm for arm in chosen.arms if arm.name == ledger.recommend()), None)
        if best is not None and best.uses_state:
            place = chosen.states / folder_name(best.name) / "state"
            output.say(f"{best.name} changes {{state}} in place, so only its last state is there: {place}")
        if any(arm.last is not None for arm in ledger.arms):
            output.say(f"Checkpoints: {chosen.states}", checkpoints=chosen.states)
        hidden = hide_password(chosen.store)
        output.say(f"Store: {hidden}\nOutput of every pull: {chosen.logs}", store=hidden, logs=chosen.logs)
        if entry is not None:
            output.say(f"Remembered: {entry}", remembered=entry)
        failed = ledger.finished and all(arm.retired is not None for arm in ledger.arms)
        if failed and any(arm.gave_up for arm in ledger.arms):
            hint = (
                f"The store remembers failures: once their cause is fixed, retries = {ledger.settings.retries + 3} in "
                f"{plan} lets the arms be tried again."
            )
            output.say(hint, hint=hint)
    limited = time_left is not None or seconds < math.inf
    code = 0 if received is None or limited else 128 + received
    raise typer.Exit(_NO_ARM_LEFT if failed and not code else code)


def _seconds(time_left: str | None) -> float:
    """The time that is given, or that Slurm says."""
    if time_left is not None:
        return options.parse_duration("for", time_left)
    try:
        return max(0.0, float(os.environ[_SLURM]) - time.time())
    except (KeyError, ValueError):
        return math.inf


def _say_checked(plan: Plan, found: Checked, output: Output) -> None:
    """What a plan would run."""
    from risingbandits._core.errors import hide_password
    from risingbandits.allocation.deciding._costs import cost_rule

    with output:
        _say_direction(plan, output)
        output.add(budget=plan.budget.amount, unit=plan.budget.unit)
        output.table(_table(plan), "arms")
        if found.settings.budget.pulls is None:
            rule = cost_rule(found.settings)
            output.say(f"Where costs differ between arms, {rule}.", costs=rule)
        if found.said:
            output.say(f"Would change: {found.said}", taken_over=found.said)
        hidden = hide_password(plan.store)
        output.say(f"{plan.path} can be run. Store: {hidden}", plan=plan.path, store=hidden)


def _say_direction(plan: Plan, output: Output) -> None:
    """Say which direction was inferred from the name of the metric, if it was."""
    if plan.inferred:
        output.say(plan.inferred, direction=plan.settings["direction"])


def _plan_arms(
    plan: Plan, allocator: Allocator, backend: str, resources: str | None
) -> AbstractContextManager[Mapping[str, Any]]:
    """The commands of a plan as arms, on this machine or on a cluster."""
    if backend == "ray":
        from risingbandits.allocation.cluster.ray_arms import commands_on_ray, parse_resources

        arms = commands_on_ray(plan, parse_resources(resources))
        arms.belong_to(allocator)
        return arms
    from risingbandits._core.processes import adopt_orphans
    from risingbandits.allocation.commands._command import command_arms

    if is_program():
        adopt_orphans()
    return nullcontext(command_arms(plan))


def plan_allocator(plan: Plan) -> Allocator:
    """The allocator of a plan: a new one, or the one in its store."""
    from risingbandits.allocation import Allocator
    from risingbandits.allocation.commands._plan_check import check_commands
    from risingbandits.allocation.settings import as_arguments

    Path(plan.folder).parent.mkdir(parents=True, exist_ok=True)
    with _named(plan):
        settings = as_arguments({"lease": plan.lease, **plan.settings})
        allocator = Allocator([arm.name for arm in plan.arms], plan.budget, store=plan.store, **settings)
        try:
            check_commands(allocator.ledger, plan)
        except RisingBanditsError:
            allocator.close()
            raise
        return allocator


@contextmanager
def _named(plan: Plan, fresh: bool = False) -> Iterator[None]:
    """Complaints name the plan, and say what helps where there is a store already."""
    there = not fresh and "://" not in plan.store and Path(plan.store).is_file()
    try:
        yield
    except RisingBanditsError as error:
        hint = " To start over, use run --fresh, which keeps the old store." if there else ""
        raise RisingBanditsError(f"{plan.path}: {error}{hint}") from error


def _table(plan: Plan) -> TextTable:
    from risingbandits._core.tables import TextTable

    rows = [(arm.name, arm.as_text(), str(arm.directory)) for arm in plan.arms]
    records = [
        {"arm": arm.name, "command": arm.command, "directory": arm.directory, "timeout": arm.timeout}
        for arm in plan.arms
    ]
    title = f"{plan.budget.amount:g} {plan.budget.unit}{', on ' if plan.slots else ''}{', '.join(plan.slots or ())}"
    return TextTable(("arm", "command", "directory"), rows, frozenset(), title, records)
