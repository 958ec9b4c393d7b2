"""The commands about runs that other programs have recorded, and what all commands need that read curves."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from risingbandits.cli.shared_options import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from risingbandits._core.tables import TextTable
    from risingbandits.recorded import Curves, Recording

Metric = Annotated[str | None, typer.Option(help="Which one to take, where logs have several.")]
Direction = Annotated[
    str | None, typer.Option(help="maximize, or minimize for losses; by default found by name and values, and said.")
]
Step = Annotated[
    float | None, typer.Option(help="Steps of the logs from one value to the next; by default as they were written.")
]

_EPILOG = """\
Files are known by their content: event files and CSV of TensorBoard, CSV of Weights & Biases, MLflow's folder or
database, trainer_state.json of Hugging Face, CSV of Lightning and Keras, databases of Optuna, result.json and
progress.csv of Ray Tune, stores of this program, and tables as CSV, JSON lines or Parquet. Nothing is sent anywhere.

Examples:

risingbandits curves import runs/ --metric eval/accuracy -o curves.csv

risingbandits curves import mlflow.db
"""

commands = typer.Typer(help="Learning curves from the logs of runs that you have already.")


@commands.command("import", epilog=_EPILOG)
def import_curves(
    paths: Annotated[list[Path], typer.Argument(help="Logs, or folders of logs.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="CSV file for the curves, a column per run.")] = None,
    metric: Metric = None,
    direction: Direction = None,
    step: Step = None,
) -> None:
    """Find the runs in logs, say what they are, and write their learning curves to a CSV file."""
    from risingbandits._core.files import write_whole
    from risingbandits.allocation.recordings import read_recordings
    from risingbandits.recorded import curves_of

    recording = read_recordings(paths)
    if metric is None and len(recording.metrics) > 1 and out is None:
        show(metrics_table(recording))
        say_notes(recording.notes)
        typer.echo("Name one of the metrics with --metric, and a file with -o, to get the curves.")
        return
    curves = curves_of(recording, metric, direction, step)
    show(curves_table(curves))
    typer.echo(described(curves))
    say_notes(curves.notes)
    if out is None:
        typer.echo("Name a file with -o to write the curves.")
        return
    write_whole(out, _csv(curves).encode())
    typer.echo(f"Curves: {out}. Next: risingbandits replay {out} --budget {2 * len(curves.values)}{_told(curves)}")


def curves_from(paths: Sequence[Path], metric: str | None, direction: str | None, step: float | None) -> Curves:
    """The curves that a command is about; what had to be decided for other files than plain ones is said."""
    from risingbandits._core.errors import RisingBanditsError
    from risingbandits.allocation.recordings import read_recordings
    from risingbandits.recorded import curves_of

    recording = read_recordings(paths)
    plain = all(run.kind == "a column for each arm" for run in recording.runs)
    try:
        curves = curves_of(recording, metric, direction, step)
    except RisingBanditsError:
        if not plain or direction is not None:
            raise
        curves = curves_of(recording, metric, "maximize", step)  # as the page of the form says, where it is unclear
    if direction is None and (not plain or curves.direction == "minimize"):
        typer.echo(described(curves), err=True)
        say_notes(curves.notes)
    return curves


def described(curves: Curves) -> str:
    """What the curves are, in a sentence."""
    return f"{curves.metric}: {curves.direction} ({curves.reason}); {len(curves.values)} runs."


def say_notes(notes: Sequence[str]) -> None:
    """What had to be done to read logs, on standard error."""
    for note in notes[:_MOST_NOTES]:
        typer.echo(f"Note: {note}", err=True)
    if len(notes) > _MOST_NOTES:
        typer.echo(f"Note: and {len(notes) - _MOST_NOTES} more of the kind.", err=True)


_MOST_NOTES = 10


def metrics_table(recording: Recording) -> TextTable:
    """The metrics of all runs, to choose one."""
    from risingbandits._core.tables import TextTable

    rows = []
    for metric in recording.metrics:
        own = [run.metrics[metric] for run in recording.runs if metric in run.metrics]
        values = [float(one.values[-1]) for one in own]
        lengths = [len(one.steps) for one in own]
        length = str(lengths[0]) if min(lengths) == max(lengths) else f"{min(lengths)} to {max(lengths)}"
        rows.append((metric, str(len(own)), length, f"{min(values):.4g}", f"{max(values):.4g}"))
    header = ("metric", "runs", "values", "least last value", "greatest")
    return TextTable(header, rows, frozenset({1, 2, 3, 4}), f"{len(recording.runs)} runs")


def curves_table(curves: Curves) -> TextTable:
    """The runs, the best last value first."""
    from risingbandits._core.tables import TextTable

    sign = 1.0 if curves.direction == "minimize" else -1.0
    rows = []
    for run, values in sorted(curves.values.items(), key=lambda item: sign * float(item[1][-1])):
        hours = f"{curves.hours[run][-1]:.3g}" if curves.hours else "-"
        rows.append((run, str(len(values)), f"{values[0]:.4g}", f"{values[-1]:.4g}", hours))
    return TextTable(("run", "values", "first", "last", "hours"), rows, frozenset({1, 2, 3, 4}), curves.metric)


def _csv(curves: Curves) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(curves.values)
    for row in range(max(len(values) for values in curves.values.values())):
        writer.writerow([repr(float(values[row])) if row < len(values) else "" for values in curves.values.values()])
    return text.getvalue()


def _told(curves: Curves) -> str:
    return " --direction minimize" if curves.direction == "minimize" else ""
