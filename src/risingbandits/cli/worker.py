"""The command worker: pulls for a while, for schedulers that give a process so much time and no more."""

from __future__ import annotations

import math
import os
import re
import time
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.cli import completion
from risingbandits.cli.run_plan import NO_ARM_LEFT, no_arm_left, plan_allocator, plan_arms, retry_hint

_EPILOG = """\
Start as many as you like, one after another or at once. Several machines need a store in PostgreSQL and the plan on a \
shared disk. A plan runs the commands that it names, with your permissions.
"""
_MARGIN = 20.0  # seconds to end what still runs: 5 to be asked to, 5 to be killed, and some for a slow disk
_SHARE = 0.25  # of a short time, at most
_SLURM = "SLURM_JOB_END_TIME"  # unix seconds

commands = typer.Typer()


@commands.command(epilog=_EPILOG)
def worker(
    plan: Annotated[Path, typer.Argument(help="A plan.", autocompletion=completion.file(".toml"))],
    time_left: Annotated[
        str | None,
        typer.Option(
            help="Time until this process is killed: 55m, 1h30m, 3300 (seconds), 00:55:00. Default: what Slurm says, "
            "else until the budget is spent.",
            metavar="TIME",
        ),
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Commands at a time; default: as for run.")] = None,
    store: Annotated[str | None, typer.Option(help="Use this store instead of the plan's.")] = None,
) -> None:
    """Pull the arms of a plan while there is time, give back what is not done, and exit with code 0.

    A worker starts no pull that would not end in time, judging by earlier ones.

    SIGTERM gives running pulls back at once; SIGUSR1 and the first SIGINT let them finish if there is time.
    """
    began = time.monotonic()
    seconds = _seconds(time_left)
    from risingbandits.allocation.arms.display import lines_or_table
    from risingbandits.allocation.arms.driver import GRACE, Driver
    from risingbandits.allocation.arms.slots import Places
    from risingbandits.allocation.commands.command import added_command
    from risingbandits.allocation.commands.plan_check import running
    from risingbandits.allocation.commands.plan_file import read_plan
    from risingbandits.allocation.remembering import remember_quietly
    from risingbandits.allocation.status.status import standing

    chosen = read_plan(plan, store)
    jobs = chosen.jobs if jobs is None else Places(chosen.slots).jobs(jobs)
    margin = min(_MARGIN, _SHARE * seconds)
    until, grace = began + seconds - margin, min(GRACE, margin / 3.0)
    with running(chosen), plan_allocator(chosen) as allocator:
        if allocator.taken_over:
            typer.echo(f"Changed: {allocator.taken_over}")
        with plan_arms(chosen, allocator) as arms, lines_or_table(allocator) as display:
            driver = Driver(
                allocator,
                arms,
                jobs,
                display,
                patient=True,
                until=until,
                warned=True,
                grace=grace,
                slots=chosen.slots,
                find=partial(added_command, chosen),
            )
            received = driver.run()
        remember_quietly(allocator)
        ledger = allocator.ledger
        failed = no_arm_left(ledger)
        if received is not None:
            typer.echo(f"Stopped by {received.name}: nothing is in flight here.")
        elif driver.closed and not ledger.finished:
            typer.echo("No time left for another pull: nothing is in flight here.")
        typer.echo(standing(ledger, chosen.states))
        if any(arm.last is not None for arm in ledger.arms):
            typer.echo(f"Checkpoints: {chosen.states}")
        if failed and (hint := retry_hint(ledger, chosen)):
            typer.echo(hint)
    raise typer.Exit(NO_ARM_LEFT if failed else 0)


def _seconds(time_left: str | None) -> float:
    if time_left is not None:
        return parse_duration("time_left", time_left)
    try:
        return max(0.0, float(os.environ[_SLURM]) - time.time())
    except (KeyError, ValueError):
        return math.inf


_UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}
_WITH_UNITS = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d*)?)s)?")
_CLOCK = re.compile(r"(?:(\d+)-)?(\d+):(\d+)(?::(\d+))?")


def parse_duration(name: str, text: str) -> float:
    """Seconds, positive, from seconds, units, or the time that Slurm shows; "unlimited" is infinity.

    >>> [parse_duration("time_left", text) for text in ("3300", "55m", "1h30m", "90.5s", "2d")]
    [3300.0, 3300.0, 5400.0, 90.5, 172800.0]
    >>> [parse_duration("time_left", text) for text in ("00:55:00", "55:00", "1-02:00:00", "1-02:30")]
    [3300.0, 3300.0, 93600.0, 95400.0]
    """
    given = text.strip().lower()
    seconds = 0.0
    if given == "unlimited":
        return math.inf
    if given and (match := _WITH_UNITS.fullmatch(given)):
        seconds = sum(float(part) * unit for part, unit in zip(match.groups(), _UNITS.values(), strict=True) if part)
    elif match := _CLOCK.fullmatch(given):
        days, *clock = match.groups()
        parts = [float(part) for part in clock if part is not None]
        if days is not None:  # Slurm: days-hours:minutes[:seconds]
            parts = [*parts, 0.0][:3]
        # Without days two parts are minutes and seconds.
        seconds = sum(part * unit for part, unit in zip(reversed(parts), (1.0, 60.0, 3_600.0), strict=False))
        seconds += float(days or 0) * _UNITS["d"]
    else:
        try:
            seconds = float(given)
        except ValueError:
            seconds = math.nan
    if not 0.0 < seconds < math.inf:
        raise RisingBanditsError(
            f"{name} must be a time > 0 such as 55m, 1h30m, 3300 (seconds) or 00:55:00, got {shown(text)}."
        )
    return seconds
