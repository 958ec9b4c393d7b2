"""The commands about a user's own learning curves: check their shape, replay policies on them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from risingbandits._core.errors import RisingBanditsError, check_finite
from risingbandits.cli import completion
from risingbandits.cli.output import Json, Output
from risingbandits.cli.recorded_commands import Direction, Metric, Range, Step, curves_from, range_of, say_notes
from risingbandits.cli.shared_options import Objective, given_command

if TYPE_CHECKING:
    from risingbandits.logs import Curves

_REPLAY_EPILOG = """\
The file has a column per arm, headed by its name, and a row per pull; [bold]risingbandits export[/] writes one from \
a store. Logs of other programs are read as well. Regret per pull: how much more the best single arm earns. Final \
value: the mean of the last 5 % of a curve. The advice below the tables compares with training every arm to the end.
"""


_CHECK_EPILOG = """\
The file has a column per arm, headed by its name, and a row per pull. p is how often pure noise around a constant \
(rising) or straight (concave) curve looks this bad; below 0.05 the shape counts as violated.
"""

Recorded = Annotated[
    Path,
    typer.Argument(
        help="CSV file of learning curves, or logs (see curves import --help).",
        autocompletion=completion.file(".csv", ".json", ".jsonl", ".db", ".parquet"),
    ),
]
Page = Annotated[Path | None, typer.Option(help="Self-contained HTML file for pictures (needs the report extra).")]

commands = typer.Typer()


@commands.command(epilog=_CHECK_EPILOG)
def check(
    context: typer.Context,
    curves: Recorded,
    metric: Metric = None,
    direction: Direction = None,
    step: Step = None,
    reward_range: Range = None,
    noise: Annotated[
        float | None, typer.Option(help="Standard deviation of one value, 0 if exact; default: estimated.")
    ] = None,
    simulations: Annotated[int, typer.Option(help="Simulated curves of pure noise behind each p-value.")] = 999,
    seed: Annotated[int, typer.Option(help="Seed of these curves.")] = 0,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Check whether measured curves rise and flatten, how early they reveal the best arm, and what that means."""
    from risingbandits.reports.tables import check_table, verdicts_table
    from risingbandits.theory.estimators._measured import check_curve
    from risingbandits.theory.estimators._questions import check_curves

    reports = []
    found = curves_from([curves], metric, direction, step)
    if reward_range is not None:
        range_of(found, reward_range)  # values beyond what is possible are wrong data
    sign = -1.0 if found.direction == "minimize" else 1.0
    gains = {name: sign * values for name, values in found.values.items() if len(values) >= 3}
    short = [name for name in found.values if name not in gains]
    if not gains:
        longest = max(found.values.items(), key=lambda item: len(item[1]))
        raise RisingBanditsError(f"{curves}, column {longest[0]!r} must have at least 3 values, has {len(longest[1])}.")
    if short:
        say_notes([f"{name} has fewer than 3 values and is left out." for name in short])
    for name, values in gains.items():
        reports.append(check_curve(values, noise, name=name, simulations=simulations, seed=seed))
    with Output(as_json) as output:
        if found.direction == "minimize":
            output.say("Low values are good, so all signs are reversed: below, a curve rises where its values fall.\n")
        output.table(check_table(reports), "shapes")
        output.add(verdicts={report.name: report.verdict for report in reports})
        for report in reports:
            output.say(f"{report.name} {report.verdict}.")
        verdicts = check_curves(gains, reports, found.restarted)
        output.table(verdicts_table(verdicts), "questions")
        if page is not None:
            from risingbandits.reports.pages.logs_page import write_check_page

            down, command = found.direction == "minimize", given_command(context)
            write_check_page(gains, reports, verdicts, page, metric=found.metric, falling=down, command=command)
            output.say(f"Pictures: {page}", page=page)


@commands.command(epilog=_REPLAY_EPILOG)
def replay(
    context: typer.Context,
    curves: Recorded,
    budget: Annotated[
        int | None, typer.Option(help="Pulls that each policy may spend; default: a quarter of the recorded values.")
    ] = None,
    hours: Annotated[
        float | None, typer.Option(help="Budget in hours, converted to pulls of mean duration; needs logs with times.")
    ] = None,
    objective: Objective = None,
    policies: Annotated[
        str | None,
        typer.Option(
            help="As for simulate; default: auto and others that fit the objective.",
            autocompletion=completion.policies,
        ),
    ] = None,
    orders: Annotated[int, typer.Option(help="Orders of the arms to try: as listed, then random ones.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the random orders.")] = 0,
    metric: Metric = None,
    direction: Direction = None,
    step: Step = None,
    reward_range: Range = None,
    out: Annotated[Path | None, typer.Option(help="CSV file for every policy and order.")] = None,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Show what each policy would have spent, earned and kept on recorded learning curves, and which one to use."""
    from risingbandits import policies as known
    from risingbandits.logs.replay import replay as play
    from risingbandits.policies.parsing import parse_policies
    from risingbandits.reports import tables

    wanted = known.Objective.get(objective)
    found = curves_from([curves], metric, direction, step)
    outcome = play(
        found,
        None if policies is None else parse_policies(policies, wanted.name),
        _budget(found, budget, hours),
        objective=wanted,
        orders=orders,
        seed=seed,
        reward_range=range_of(found, reward_range),
    )
    with Output(as_json) as output:
        best = outcome.best_arm
        output.add(objective=wanted.name, budget=outcome.budget, orders=outcome.orders, sigma=outcome.sigma)
        output.add(best_constant=outcome.best_constant, best_arm=outcome.arms[best], best_final=outcome.final[best])
        output.table(tables.outcome_table(outcome), "policies")
        output.table(tables.spending_table(outcome), "arms")
        advice = outcome.advice
        output.say(str(advice), advice=asdict(advice))
        if out is not None:
            from risingbandits._core.files import write_whole

            write_whole(out, tables.replay_csv(outcome).encode())
            output.say(f"Every policy and order: {out}", written=out)
        if page is not None:
            from risingbandits.reports.pages.logs_page import write_replay_page

            write_replay_page(outcome, advice, page, metric=found.metric, command=given_command(context))
            output.say(f"Race and pictures: {page}", page=page)


def _budget(curves: Curves, budget: int | None, hours: float | None) -> int | None:
    """The budget in pulls: as given, or as many as the hours have room for; None for the default."""
    if hours is None:
        return budget
    if budget is not None:
        raise RisingBanditsError(f"only one of budget and hours may be given, got {budget} and {hours:g}.")
    if not curves.hours:
        raise RisingBanditsError(f"hours needs curves with times, which these do not have, got {hours:g}.")
    recorded = sum(len(values) for values in curves.values.values())
    each = sum(float(own[-1]) for own in curves.hours.values()) / recorded
    hours = check_finite("hours", hours, above=0.0)
    if each == 0.0 or hours < each:
        raise RisingBanditsError(f"hours must be at least {each:.3g}, the mean length of a pull, got {hours:g}.")
    pulls = int(hours / each)
    typer.echo(f"{hours:g} hours are {pulls:,} pulls of {each:.3g} hours on average.", err=True)
    return pulls
