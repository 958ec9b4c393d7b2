"""The commands ``logs import``, ``logs check`` and ``logs replay``: learning curves of runs that are already there."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from risingbandits._core.errors import RisingBanditsError, check_finite
from risingbandits.cli import _options as options
from risingbandits.cli._options import Direction, Metric, Objective, Page, Policies, Range, Step, given_command
from risingbandits.cli._output import Json, Output

if TYPE_CHECKING:
    from risingbandits.logs import Curves
    from risingbandits.problems import RisingBandit

_IMPORT_EPILOG = """\
Files are recognised by their content: TensorBoard event files and CSV, Weights & Biases files and CSV, MLflow's \
folder or database, Hugging Face's trainer_state.json, Lightning and Keras CSV, Optuna databases, Ray Tune's \
result.json and progress.csv, stores of this program, and tables as CSV, JSON lines or Parquet. Nothing is sent \
anywhere.

Examples:

risingbandits logs import runs/ --metric eval/accuracy -o curves.csv

risingbandits logs import mlflow.db
"""
_REPLAY_EPILOG = """\
The file has a column per arm, headed by its name, and a row per pull; [bold]risingbandits store export[/] writes one \
from a store. Logs of other programs are read as well. Regret per pull: how much more the best single arm earns. Final \
value: the mean of the last 5 % of a curve. The advice below the tables compares with training every arm to the end.
"""
_CHECK_EPILOG = """\
The file has a column per arm, headed by its name, and a row per pull. p is how often pure noise around a constant \
(rising) or straight (concave) curve looks this bad; below 0.05 the shape counts as violated.
"""

_MOST_NOTES = 10

Recorded = Annotated[
    Path,
    typer.Argument(help="CSV file of learning curves, or logs (see logs import --help)."),
]

commands = typer.Typer(help="Use runs you already have: import, check and replay their curves.", no_args_is_help=True)


@commands.command("import", epilog=_IMPORT_EPILOG)
def import_curves(
    paths: Annotated[list[Path], typer.Argument(help="Logs, or folders of logs.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="CSV file for the curves, a column per run.")] = None,
    metric: Metric = None,
    direction: Direction = None,
    step: Step = None,
    as_json: Json = False,
) -> None:
    """List the runs in logs, and write their learning curves to a file."""
    from risingbandits.allocation.recordings import read_recordings
    from risingbandits.logs import curves_of
    from risingbandits.logs.curves import write_csv
    from risingbandits.reports import _tables as tables

    recording = read_recordings(paths)
    if metric is None and len(recording.metrics) > 1 and out is None:
        with Output(as_json) as output:
            output.table(tables.metrics_table(recording), "metrics")
            say_notes(recording.notes)
            output.say("To get the curves, choose a metric with --metric and a file with -o.")
        return
    curves = curves_of(recording, metric, direction, step)
    with Output(as_json) as output:
        output.table(tables.curves_table(curves), "runs")
        output.say(described(curves), metric=curves.metric, direction=curves.direction, reason=curves.reason)
        say_notes(curves.notes)
        if out is None:
            output.say("To write the curves, name a file with -o.")
            return
        write_csv(curves, out)
        told = " --direction minimize" if curves.direction == "minimize" else ""
        next_step = f"risingbandits logs replay {shlex.quote(str(out))}{told}"
        output.say(f"Curves: {out}. Next: {next_step}", written=out)


@commands.command(epilog=_CHECK_EPILOG)
def check(
    curves: Recorded,
    metric: Metric = None,
    direction: Direction = None,
    step: Step = None,
    as_json: Json = False,
) -> None:
    """Check whether curves rise, flatten and reveal the best arm early."""
    from risingbandits.reports._tables import check_table, verdicts_table
    from risingbandits.theory.estimators._measured import check_curve
    from risingbandits.theory.estimators._questions import check_curves

    found = curves_from(curves, metric, direction, step)
    sign = -1.0 if found.direction == "minimize" else 1.0
    gains = {name: sign * values for name, values in found.values.items() if len(values) >= 3}
    short = [name for name in found.values if name not in gains]
    if not gains:
        longest = max(found.values.items(), key=lambda item: len(item[1]))
        raise RisingBanditsError(f"{curves}, column {longest[0]!r} must have at least 3 values, has {len(longest[1])}.")
    if short:
        say_notes([f"{name} has fewer than 3 values and is left out." for name in short])
    reports = [check_curve(values, name=name) for name, values in gains.items()]
    with Output(as_json) as output:
        if found.direction == "minimize":
            output.say("Low values are good, so all signs are reversed: below, a curve rises where its values fall.\n")
        output.table(check_table(reports), "shapes")
        output.add(verdicts={report.name: report.verdict for report in reports})
        for report in reports:
            output.say(f"{report.name} {report.verdict}.")
        verdicts = check_curves(gains, reports, found.restarted)
        output.table(verdicts_table(verdicts), "questions")


@commands.command(epilog=_REPLAY_EPILOG)
def replay(
    context: typer.Context,
    curves: Recorded,
    budget: Annotated[int | None, typer.Option(help="Pulls of each policy; default: a quarter of all values.")] = None,
    hours: Annotated[float | None, typer.Option(help="The budget in hours; needs logs with times.")] = None,
    objective: Objective = None,
    policies: Policies = None,
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
    """Replay policies on curves, and say which one to use."""
    from risingbandits import policies as known
    from risingbandits.logs.replay import replay as play
    from risingbandits.policies._parsing import parse_policies
    from risingbandits.reports import _tables as tables

    wanted = known.Objective.get(objective)
    found = curves_from(curves, metric, direction, step)
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
            from risingbandits.reports.pages._logs_page import write_replay_page

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


def curves_from(path: Path, metric: str | None, direction: str | None, step: float | None) -> Curves:
    """The curves that a command is about; what had to be decided for other files than plain ones is said."""
    from risingbandits.allocation.recordings import curves_in, is_plain, read_recordings

    recording = read_recordings([path])
    curves = curves_in(recording, metric, direction, step)
    if direction is None and (not is_plain(recording) or curves.direction == "minimize"):
        typer.echo(described(curves), err=True)
        say_notes(curves.notes)
    return curves


def problem_from(
    path: Path, metric: str | None, direction: str | None, step: float | None, reward_range: str | None
) -> RisingBandit:
    """The problem of curves in a file; losses, and what is given a range, are played as parts of it, more is better."""
    from risingbandits.problems import RisingBandit

    found = curves_from(path, metric, direction, step)
    rows = list(found.values.values())
    if found.direction == "minimize" or reward_range is not None:
        low, high = range_of(found, reward_range)
        down = found.direction == "minimize"
        rows = [(high - row if down else row - low) / (high - low) for row in rows]
        if down or (low, high) != (0.0, 1.0):
            typer.echo(
                f"Rewards are scaled to the range: 0 is {high if down else low:.6g}, 1 is {low if down else high:.6g}.",
                err=True,
            )
    return RisingBandit.from_array(rows, name=path.stem, arm_names=list(found.values))


def range_of(curves: Curves, given: str | None) -> tuple[float, float]:
    """The range that is given, 0 to 1, or the least and greatest value, which is said."""
    from risingbandits.logs.replay import range_of as own_range

    if given is not None:
        low, high = options.parse_range(given)
        least = min(float(values.min()) for values in curves.values.values())
        greatest = max(float(values.max()) for values in curves.values.values())
        if least < low or greatest > high:
            raise RisingBanditsError(f"range must hold all values, {least:.6g} to {greatest:.6g}, got {given!r}.")
        return low, high
    low, high = own_range(curves.values)
    if (low, high) != (0.0, 1.0):
        typer.echo(
            f"Values are assumed to lie between {low:.6g} and {high:.6g}, as recorded; --range sets another range.",
            err=True,
        )
    return low, high


def described(curves: Curves) -> str:
    """What the curves are, in a sentence."""
    return f"{curves.metric}: {curves.direction} ({curves.reason}); {len(curves.values)} runs."


def say_notes(notes: Sequence[str]) -> None:
    """What had to be done to read logs, on standard error."""
    for note in notes[:_MOST_NOTES]:
        typer.echo(f"Note: {note}", err=True)
    if len(notes) > _MOST_NOTES:
        typer.echo(f"Note: and {len(notes) - _MOST_NOTES} more like these.", err=True)
