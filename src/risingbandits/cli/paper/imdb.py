"""The commands about online model selection with real learners: imdb curves, imdb run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.progress import progress_bar
from risingbandits.cli import completion
from risingbandits.cli.command_line import given_command
from risingbandits.cli.output import Json, Output
from risingbandits.cli.shared_options import Address, Backend, Jobs, Seed

if TYPE_CHECKING:
    from risingbandits.paper.imdb import Rows
    from risingbandits.paper.imdb.averages import Averages
    from risingbandits.simulation.backends.base import Backend as Players

_FEATURES = (1000, 10_000)
_QUICK_HORIZON, _QUICK_RUNS, _QUICK_CURVES = 5000, 5, 10
_CURVES_FILE = "curves.npz"

Data = Annotated[
    Path | None,
    typer.Option(help="aclImdb_v1.tar.gz, its folder or imdb_bow_10k.npz; default: below RISINGBANDITS_DATA."),
]
Dataset = Annotated[
    str,
    typer.Option(
        help="imdb, or digits, which come with scikit-learn.", autocompletion=completion.one_of("imdb", "digits")
    ),
]
Features = Annotated[int, typer.Option(help="Number of words to use: 1000 (published curves) or 10000 (paper).")]
Horizon = Annotated[int | None, typer.Option(help="Rounds; default: 50,000 (digits: 10,000).")]
Out = Annotated[Path, typer.Option(help="Folder for tables, curves and figures.")]
Quick = Annotated[bool, typer.Option("--quick", help="A few runs of 5,000 rounds, unless you give these.")]


class _Setting(NamedTuple):
    rows: Rows
    horizon: int
    published: bool  # whether published averages are for this setting


commands = typer.Typer(
    help="Online model selection: seven learners on 50,000 movie reviews, each trained only when chosen.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    epilog="Nothing is downloaded. Without the reviews: [bold]risingbandits paper imdb run --dataset digits[/].",
)


@commands.command()
def curves(
    data: Data = None,
    dataset: Dataset = "imdb",
    features: Features = 1000,
    horizon: Horizon = None,
    runs: Annotated[int | None, typer.Option(help="Runs to average; default: 60.")] = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    out: Out = Path("risingbandits-imdb"),
    quick: Quick = False,
    backend: Backend = "local",
    address: Address = None,
    as_json: Json = False,
) -> None:
    """Measure the average learning curves; run it again with more runs to continue."""
    from risingbandits.paper.imdb.study import curves_table
    from risingbandits.simulation.backends.base import backend_for

    setting = _setting(dataset, data, features, horizon, quick)
    with backend_for(backend, jobs, address) as players:
        averages = _measured(setting, runs or (_QUICK_CURVES if quick else 60), seed, players, out)
    with Output(as_json) as output:
        output.add(horizon=averages.horizon, runs=averages.runs)
        output.table(curves_table(averages, setting.published), "curves")
        sentence = f"Curves: {out / 'curves.csv'}, {out / 'curves.png'}; to continue: {out / _CURVES_FILE}"
        output.say(sentence, written=out / "curves.csv")


@commands.command()
def run(
    context: typer.Context,
    data: Data = None,
    dataset: Dataset = "imdb",
    features: Features = 1000,
    horizon: Horizon = None,
    runs: Annotated[int | None, typer.Option(help="Runs of each policy; default: 30.")] = None,
    curve_runs: Annotated[int | None, typer.Option(help="Runs behind the averaged curves; default: 60.")] = None,
    arms: Annotated[str, typer.Option(help="Number of learners: 7, 2 (logistic regressions), or 7,2.")] = "7,2",
    policies: Annotated[
        str | None,
        typer.Option(
            help="As for simulate; default: the paper's seven, commit-ucb, round-robin.",
            autocompletion=completion.policies,
        ),
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="Add R-ed-UCB with the settings of the published program.")
    ] = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    out: Out = Path("risingbandits-imdb"),
    quick: Quick = False,
    backend: Backend = "local",
    address: Address = None,
    as_json: Json = False,
) -> None:
    """Play policies on live learners; print right predictions and regret, write tables and figures."""
    from risingbandits._core.files import write_whole
    from risingbandits.paper.imdb import study as experiment
    from risingbandits.policies.parsing import parse_policies
    from risingbandits.reports.markdown_report import write_report
    from risingbandits.simulation.backends.base import backend_for

    numbers = _numbers(arms, len(experiment.ARMS))
    if policies is None:
        chosen = experiment.study_policies(published)
    else:
        chosen = parse_policies(policies)
    setting = _setting(dataset, data, features, horizon, quick)
    repeats = runs or (_QUICK_RUNS if quick else 30)
    curve_repeats = curve_runs or (_QUICK_CURVES if quick else 60)
    with backend_for(backend, jobs, address) as players:
        averages = _measured(setting, curve_repeats, seed, players, out)
        with progress_bar(setting.rows.name, repeats * len(chosen) * len(numbers)) as advance:
            studies = experiment.play_studies(setting.rows, averages, chosen, repeats, seed, numbers, advance, players)
    command = given_command(
        context, "data", "out", "quick", horizon=setting.horizon, runs=repeats, curve_runs=averages.runs
    )
    page = write_report(studies, out, command)
    tables = [experiment.curves_table(averages, setting.published), *map(experiment.live_table, studies)]
    extra = "".join(f"\n## {table.title}\n\n{table.markdown()}" for table in tables)
    write_whole(page, (page.read_text() + extra).encode())
    write_whole(out / "predictions.csv", experiment.live_csv(studies).encode())
    with Output(as_json) as output:
        curves, *played = (table.values() for table in tables)
        of_each = [
            {"problem": study.result.problem, "policies": rows} for study, rows in zip(studies, played, strict=True)
        ]
        output.tables(tables, curves=curves, studies=of_each)
        sentence = f"Report, figures and results: {page}; right predictions: {out / 'predictions.csv'}"
        output.say(sentence, written=page)


def _measured(setting: _Setting, runs: int, seed: int, players: Players, out: Path) -> Averages:
    """Averaged curves, from the folder as far as they are there, and their files."""
    from risingbandits._core.files import write_whole
    from risingbandits.paper.imdb.averages import measure_curves
    from risingbandits.paper.imdb.study import ARMS
    from risingbandits.reports.markdown_report import prepare_folder
    from risingbandits.reports.matplotlib_figures import plot_curves, save_figure

    prepare_folder(out)
    with progress_bar("curves", runs) as advance:
        averages = measure_curves(
            setting.rows, ARMS, setting.horizon, runs, seed, None, out / _CURVES_FILE, advance, players
        )
    write_whole(out / "curves.csv", averages.csv().encode())
    save_figure(plot_curves(averages.problem(setting.rows.name)), out, "curves")
    return averages


def _setting(dataset: str, data: Path | None, features: int, horizon: int | None, quick: bool) -> _Setting:
    from risingbandits.paper.imdb.study import HORIZONS, load_rows

    if features not in _FEATURES:
        raise RisingBanditsError(f"features must be 1000 or 10000, got {features}.")
    rows = load_rows(dataset, data, features)
    own = _QUICK_HORIZON if quick else HORIZONS[dataset]
    last = own if horizon is None else horizon
    return _Setting(rows, last, dataset == "imdb" and features == 1000 and last == HORIZONS["imdb"])


def _numbers(text: str, most: int) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not all(1 <= number <= most for number in numbers) or len(set(numbers)) < len(numbers):
        raise RisingBanditsError(f"arms must be different numbers from 1 to {most}, such as 7,2, got {text!r}.")
    return numbers
