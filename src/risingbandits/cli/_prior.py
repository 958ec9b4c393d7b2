"""The command ``prior``: what earlier runs say about the arms of the next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from risingbandits._core.errors import RisingBanditsError, check_choice
from risingbandits.cli import _options as options
from risingbandits.cli._output import Json, Output

if TYPE_CHECKING:
    from risingbandits._core.tables import TextTable
    from risingbandits.allocation.starting.prior import Findings

_PRIOR_EPILOG = """\
A CSV file has either the columns task, arm, step and value (others are hyperparameters of the arm), or a column per \
arm, headed by its name, and a row per pull. prior is where an arm is expected to rank: 0.93 means above 93 of 100 arms.

Examples:

risingbandits prior runs curves.csv --plan plan.toml

risingbandits prior losses.csv --direction minimize --arms "small net,large net"
"""

_MOST_NAMES = 5  # in a sentence

commands = typer.Typer()


@commands.command(epilog=_PRIOR_EPILOG)
def prior(
    sources: Annotated[
        list[str],
        typer.Argument(help="Stores, logs, tables, folders of these, patterns, postgresql://..."),
    ],
    plan: Annotated[Path | None, typer.Option(help="Ask about the arms of this plan; default: all arms.")] = None,
    arms: Annotated[str | None, typer.Option(help="Ask about these arms, separated by commas.")] = None,
    direction: options.Direction = None,
    metric: options.Metric = None,
    as_json: Json = False,
) -> None:
    """See what earlier runs say about the arms of the next."""
    from risingbandits.allocation.starting.earlier_runs import Reading, read_sources
    from risingbandits.allocation.starting.prior import look_back
    from risingbandits.policies.base import DIRECTIONS

    if direction is not None:
        check_choice("direction", direction, DIRECTIONS)
    if plan is not None and arms is not None:
        raise RisingBanditsError(f"only one of plan and arms may be given, got {str(plan)!r} and {arms!r}.")
    names: list[str] | None = None
    configs: dict[str, dict[str, float | str | None]] = {}
    if plan is not None:
        from risingbandits.allocation.commands._plan_file import read_plan

        read = read_plan(plan)
        names, configs = [arm.name for arm in read.arms], read.settings.get("configs") or {}
    elif arms is not None:
        names = [name.strip() for name in arms.split(",") if name.strip()]
        if not names:
            raise RisingBanditsError(f"arms must be names separated by commas, got {arms!r}.")
    found = look_back(read_sources(sources, Reading(direction, metric=metric)), names, configs)
    tables, values = _tables(found, list(found.prior.beliefs) if names is None else names)
    with Output(as_json) as output:
        output.tables(tables, **values, left_out=found.left_out, ambiguous=found.ambiguous)
        if found.ambiguous:
            said = ", ".join(found.ambiguous[:_MOST_NAMES]) + (", ..." if len(found.ambiguous) > _MOST_NAMES else "")
            output.say(f"Not matched by name, because their configs differ between runs: {said}.")
        if found.left_out:
            output.say(f"Left out because they have fewer than 3 arms: {', '.join(found.left_out)}.")
        output.say(_head_line(found))


def _tables(found: Findings, arms: Sequence[str]) -> tuple[list[TextTable], dict[str, Any]]:
    """The arms with the most promising first, the earlier runs, the hyperparameters; and the same as plain values."""
    from risingbandits._core.stats import normal_share
    from risingbandits._core.tables import TextTable

    of_arms = []
    for arm in sorted(arms, key=lambda arm: -found.prior.of(arm).mean):
        mean, deviation, source = found.prior.of(arm)
        of_arms.append({"arm": arm, "prior": normal_share(mean), "deviation": deviation, "from": source, "mean": mean})
    of_runs = []
    for run, agreement in zip(found.runs, found.agreements, strict=True):
        facts = {"run": run.name, "arms": len(run.scores), "pulls": run.pulls, "direction": run.direction}
        of_runs.append({**facts, "best arm": max(run.scores, key=run.scores.__getitem__), "agreement": agreement})
    of_names = [{"hyperparameter": name, "length scale": length} for name, length in found.lengths.items()]
    tables = []
    for title, rows, columns in (
        ("What to expect of arms", of_arms, ("arm", "prior", "deviation", "from")),
        ("Earlier runs", of_runs, ("run", "arms", "pulls", "direction", "best arm", "agreement")),
        ("Hyperparameters, the one that matters most first", of_names, ("hyperparameter", "length scale")),
    ):
        cells = [tuple(_cell(row[column]) for column in columns) for row in rows]
        numbers = frozenset(i for i, column in enumerate(columns) if rows and not isinstance(rows[0][column], str))
        tables += [TextTable(columns, cells, numbers, title)] if cells else []
    return tables, {"arms": of_arms, "runs": of_runs, "hyperparameters": of_names, "agreement": found.prior.agreement}


def _cell(value: Any) -> str:
    return "-" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)


def _head_line(found: Findings) -> str:
    """Where the prior comes from, and how far it can be trusted."""
    runs, agreement = len(found.runs), found.prior.agreement
    if runs == 0:
        return "No earlier run has the 3 arms that are needed to say anything."
    if runs == 1:
        return "1 earlier run: weak. One run says little about the next."
    if agreement is None:
        return f"{runs} earlier runs; they have too few arms in common to say how well they agree."
    line = f"{runs} earlier runs; agreement among them {agreement:.2f} (leave one out)."
    return line if agreement > 0.0 else f"{line} They contradict each other: a prior from them may hurt."
