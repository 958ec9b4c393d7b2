"""The commands about runs that other programs have recorded, and what all commands need that read curves."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from risingbandits.cli.output import Json, Output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from risingbandits._core.tables import TextTable
    from risingbandits.logs import Curves, Recording
    from risingbandits.problems import RisingBandit

Metric = Annotated[str | None, typer.Option(help="Metric to read, if logs have several.")]
Direction = Annotated[
    str | None,
    typer.Option(help="maximize, or minimize for losses; default: inferred from name and values, and reported."),
]
Step = Annotated[
    float | None, typer.Option(help="Steps in the logs from one value to the next; default: as they were written.")
]
Range = Annotated[
    str | None,
    typer.Option("--range", help="Smallest and largest possible value; default: 0,1 if that holds all values."),
]

_EPILOG = """\
Files are recognised by their content: TensorBoard event files and CSV, Weights & Biases files and CSV, MLflow's \
folder or database, Hugging Face's trainer_state.json, Lightning and Keras CSV, Optuna databases, Ray Tune's \
result.json and progress.csv, stores of this program, and tables as CSV, JSON lines or Parquet. Nothing is sent \
anywhere.

Examples:

risingbandits curves import runs/ --metric eval/accuracy -o curves.csv

risingbandits curves import mlflow.db
"""

commands = typer.Typer(help="Learning curves from the logs of runs that you already have.")


@commands.command("import", epilog=_EPILOG)
def import_curves(
    paths: Annotated[list[Path], typer.Argument(help="Logs, or folders of logs.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="CSV file for the curves, a column per run.")] = None,
    metric: Metric = None,
    direction: Direction = None,
    step: Step = None,
    as_json: Json = False,
) -> None:
    """Find the runs in logs, list them, and write their learning curves to a CSV file."""
    from risingbandits.allocation.recordings import read_recordings
    from risingbandits.logs import curves_of
    from risingbandits.logs.curves import write_csv

    recording = read_recordings(paths)
    if metric is None and len(recording.metrics) > 1 and out is None:
        with Output(as_json) as output:
            output.table(metrics_table(recording), "metrics")
            say_notes(recording.notes)
            output.say("To get the curves, choose a metric with --metric and a file with -o.")
        return
    curves = curves_of(recording, metric, direction, step)
    with Output(as_json) as output:
        output.table(curves_table(curves), "runs")
        output.say(described(curves), metric=curves.metric, direction=curves.direction, reason=curves.reason)
        say_notes(curves.notes)
        if out is None:
            output.say("To write the curves, name a file with -o.")
            return
        write_csv(curves, out)
        next_step = f"risingbandits replay {shlex.quote(str(out))}{_told(curves)}"
        output.say(f"Curves: {out}. Next: {next_step}", written=out)


def curves_from(paths: Sequence[Path], metric: str | None, direction: str | None, step: float | None) -> Curves:
    """The curves that a command is about; what had to be decided for other files than plain ones is said."""
    from risingbandits.allocation.recordings import curves_in, is_plain, read_recordings

    recording = read_recordings(paths)
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

    found = curves_from([path], metric, direction, step)
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
    from risingbandits.logs.replay_inputs import range_of as own_range

    if given is not None:
        low = min(float(values.min()) for values in curves.values.values())
        high = max(float(values.max()) for values in curves.values.values())
        return _range(given, low, high)
    low, high = own_range(curves.values)
    if (low, high) != (0.0, 1.0):
        typer.echo(
            f"Values are assumed to lie between {low:.6g} and {high:.6g}, as recorded; --range sets another range.",
            err=True,
        )
    return low, high


def _range(text: str, least: float, greatest: float) -> tuple[float, float]:
    from risingbandits._core.errors import RisingBanditsError, check_range

    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise RisingBanditsError(f"range must be two numbers such as 0,1, got {text!r}.") from None
    low, high = check_range("range", (low, high))
    if least < low or greatest > high:
        raise RisingBanditsError(f"range must hold all values, {least:.6g} to {greatest:.6g}, got {text!r}.")
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


_MOST_NOTES = 10
_MOST_RUNS = 100  # that are listed for people; --json has all


def metrics_table(recording: Recording) -> TextTable:
    """The metrics of all runs, to choose one."""
    from risingbandits._core.tables import TextTable

    rows, records = [], []
    for metric in recording.metrics:
        own = [run.metrics[metric] for run in recording.runs if metric in run.metrics]
        values = [float(one.values[-1]) for one in own]
        lengths = [len(one.steps) for one in own]
        length = str(lengths[0]) if min(lengths) == max(lengths) else f"{min(lengths)} to {max(lengths)}"
        rows.append((metric, str(len(own)), length, f"{min(values):.4g}", f"{max(values):.4g}"))
        record = {"metric": metric, "runs": len(own), "fewest_values": min(lengths), "most_values": max(lengths)}
        records.append({**record, "least_last": min(values), "greatest_last": max(values)})
    header = ("metric", "runs", "values", "least last value", "greatest")
    return TextTable(header, rows, frozenset({1, 2, 3, 4}), f"{len(recording.runs)} runs", records)


def curves_table(curves: Curves) -> TextTable:
    """The runs, the best last value first."""
    from risingbandits._core.tables import TextTable

    sign = 1.0 if curves.direction == "minimize" else -1.0
    rows, records = [], []
    for run, values in sorted(curves.values.items(), key=lambda item: sign * float(item[1][-1])):
        hours = f"{curves.hours[run][-1]:.3g}" if curves.hours else "-"
        rows.append((run, str(len(values)), f"{values[0]:.4g}", f"{values[-1]:.4g}", hours))
        record = {"run": run, "values": len(values), "first": float(values[0]), "last": float(values[-1])}
        records.append({**record, "hours": float(curves.hours[run][-1]) if curves.hours else None})
    header = ("run", "values", "first", "last", "hours")
    cut = f", the best {_MOST_RUNS} of {len(rows):,} runs" if len(rows) > _MOST_RUNS else ""
    return TextTable(header, rows[:_MOST_RUNS], frozenset({1, 2, 3, 4}), f"{curves.metric}{cut}", records)


def _told(curves: Curves) -> str:
    return " --direction minimize" if curves.direction == "minimize" else ""
