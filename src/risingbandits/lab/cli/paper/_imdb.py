"""The commands about online model selection with real learners: imdb curves, imdb run, imdb claims."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.progress import progress_bar
from risingbandits.cli import _options as options
from risingbandits.cli._options import Backend, Jobs, Seed, given_command
from risingbandits.cli._output import Json, Output

if TYPE_CHECKING:
    from risingbandits.lab.paper.imdb import Learner, Rows
    from risingbandits.lab.paper.imdb._averages import Averages
    from risingbandits.simulation._backends import Backend as Players

_FEATURES = (1000, 10_000)
_QUICK_HORIZON, _QUICK_RUNS, _QUICK_CURVES = 5000, 5, 10
_CURVE_RUNS = 60

Data = Annotated[
    Path | None,
    typer.Option(help="aclImdb_v1.tar.gz, its folder or imdb_bow_10k.npz; default: below RISINGBANDITS_DATA."),
]
Dataset = Annotated[
    str,
    typer.Option(help="imdb, or digits, which come with scikit-learn."),
]
Features = Annotated[int, typer.Option(help="Number of words to use: 1000 (published curves) or 10000 (paper).")]
Learners = Annotated[
    str,
    typer.Option(
        help="LR and LR(t) as the published program has them (program: rates 0.003 and beta/sqrt(t)) or as the paper "
        "writes them (paper: beta and beta/t).",
    ),
]
Beta = Annotated[float | None, typer.Option(help="beta of the learners; default: 0.1 (program) or 0.003 (paper).")]
Horizon = Annotated[int | None, typer.Option(help="Rounds; default: 50,000 (digits: 10,000).")]
Out = Annotated[Path, typer.Option(help="Folder for tables, curves and figures.")]
Quick = Annotated[bool, typer.Option("--quick", help="A few runs of 5,000 rounds, unless you give these.")]


class _Setting(NamedTuple):
    rows: Rows
    learners: tuple[Learner, ...]
    horizon: int
    published: bool  # whether published averages are for this setting


commands = typer.Typer(
    help="Online model selection: seven learners on 50,000 movie reviews, each trained only when chosen.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    epilog="Nothing is downloaded. Without the reviews: [bold]risingbandits lab paper imdb run --dataset digits[/].",
)


@commands.command()
def curves(
    data: Data = None,
    dataset: Dataset = "imdb",
    features: Features = 1000,
    learners: Learners = "program",
    beta: Beta = None,
    arms: Annotated[int, typer.Option(help="Number of learners: 7, or 2 (logistic regressions).")] = 7,
    horizon: Horizon = None,
    runs: Annotated[int | None, typer.Option(help="Runs to average; default: 60 (1,000 in the paper).")] = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    out: Out = Path("risingbandits-imdb"),
    quick: Quick = False,
    backend: Backend = "local",
    as_json: Json = False,
) -> None:
    """Measure the average learning curves; the same command continues after an interruption, or with more runs."""
    from risingbandits.lab.paper.imdb._tables import curves_table
    from risingbandits.simulation._backends import backend_for

    (number,) = _numbers(str(arms))
    setting = _setting(dataset, data, features, learners, beta, number, horizon, quick)
    with backend_for(backend, jobs) as players:
        averages = _measured(setting, runs or (_QUICK_CURVES if quick else _CURVE_RUNS), seed, players, out)
    with Output(as_json) as output:
        output.add(horizon=averages.horizon, runs=averages.runs)
        output.table(curves_table(averages, setting.published), "curves")
        sentence = f"Curves: {out / 'curves.csv'}, {out / 'curves.png'}; learners: {out / 'learners.csv'}"
        output.say(sentence, written=out / "curves.csv")


@commands.command()
def run(
    context: typer.Context,
    data: Data = None,
    dataset: Dataset = "imdb",
    features: Features = 1000,
    learners: Learners = "program",
    beta: Beta = None,
    horizon: Horizon = None,
    runs: Annotated[int | None, typer.Option(help="Runs of each policy; default: 30.")] = None,
    curve_runs: Annotated[int | None, typer.Option(help="Runs behind the averaged curves; default: 60.")] = None,
    arms: Annotated[str, typer.Option(help="Number of learners: 7, 2 (logistic regressions), or 7,2.")] = "7,2",
    policies: Annotated[
        str | None,
        typer.Option(
            help="As for simulate; default: the paper's seven, commit-ucb, round-robin.",
            autocompletion=options.complete_policies,
        ),
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="The paper's seven as in the published program, deviations and all.")
    ] = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    out: Out = Path("risingbandits-imdb"),
    quick: Quick = False,
    backend: Backend = "local",
    as_json: Json = False,
) -> None:
    """Play policies on live learners; print right predictions and regret, write tables and figures."""
    from risingbandits._core.files import write_whole
    from risingbandits.lab.paper.imdb import _study as experiment
    from risingbandits.lab.paper.imdb import _tables as shown
    from risingbandits.policies._parsing import parse_policies
    from risingbandits.reports.study import write_report
    from risingbandits.simulation._backends import backend_for

    numbers = _numbers(arms)
    if policies is None:
        chosen = experiment.study_policies(published)
    elif published:
        raise RisingBanditsError(f"policies and published exclude each other, got --policies {policies} --published.")
    else:
        chosen = parse_policies(policies)
    setting = _setting(dataset, data, features, learners, beta, max(numbers), horizon, quick)
    repeats = runs or (_QUICK_RUNS if quick else 30)
    curve_repeats = curve_runs or (_QUICK_CURVES if quick else _CURVE_RUNS)
    with backend_for(backend, jobs) as players:
        averages = _measured(setting, curve_repeats, seed, players, out)
        with progress_bar(setting.rows.name, repeats * len(chosen) * len(numbers)) as advance:
            studies = experiment.play_studies(
                setting.rows, averages, setting.learners, chosen, repeats, seed, numbers, advance, players, out
            )
    command = given_command(
        context, "data", "out", "quick", horizon=setting.horizon, runs=repeats, curve_runs=averages.runs
    )
    page = write_report(studies, out, command)
    tables = [shown.curves_table(averages, setting.published), *map(shown.live_table, studies)]
    extra = "".join(f"\n## {table.title}\n\n{table.markdown()}" for table in tables)
    write_whole(page, (page.read_text() + extra).encode())
    shown.write_live(studies, out)
    with Output(as_json) as output:
        curves, *played = (table.values() for table in tables)
        of_each = [
            {"problem": study.result.problem, "policies": rows} for study, rows in zip(studies, played, strict=True)
        ]
        output.tables(tables, curves=curves, studies=of_each)
        sentence = f"Report, figures and results: {page}; right predictions: {out / 'predictions.csv'}"
        output.say(sentence, written=page)


@commands.command()
def claims(
    printed: Annotated[Path, typer.Argument(help="Folder of a run as in the paper: 10,000 words, its learners.")],
    program: Annotated[Path, typer.Argument(help="Folder of a run with --published.")],
    out: Annotated[Path | None, typer.Option(help="CSV file for the verdicts.")] = None,
    as_json: Json = False,
) -> None:
    """Judge the paper's claims about this experiment by the tables of two runs."""
    from risingbandits.lab.paper._csv_tables import write_rows
    from risingbandits.lab.paper.imdb._claims import judged
    from risingbandits.lab.paper.reproduce import claims_table

    judgements = judged(printed, program)
    with Output(as_json) as output:
        output.tables([claims_table(judgements)], claims=[judgement._asdict() for judgement in judgements])
        if out is not None:
            write_rows(out, judgements[0]._fields, judgements)
            output.say(f"Verdicts: {out}", written=out)


def _measured(setting: _Setting, runs: int, seed: int, players: Players, out: Path) -> Averages:
    """Averaged curves, from the folder as far as they are there, and their files."""
    from risingbandits.lab.paper._stored_results import KEPT
    from risingbandits.lab.paper.imdb._averages import measure_curves
    from risingbandits.lab.paper.imdb._tables import write_averages
    from risingbandits.reports._matplotlib_figures import plot_curves, save_figure
    from risingbandits.reports.study import prepare_folder

    prepare_folder(out)
    with progress_bar("curves", runs * len(setting.learners)) as advance:
        averages = measure_curves(
            setting.rows, setting.learners, setting.horizon, runs, seed, None, out / KEPT, advance, players
        )
    write_averages(averages, out)
    save_figure(plot_curves(averages.problem(setting.rows.name)), out, "curves")
    return averages


def _setting(
    dataset: str,
    data: Path | None,
    features: int,
    learners: str,
    beta: float | None,
    arms: int,
    horizon: int | None,
    quick: bool,
) -> _Setting:
    from risingbandits.lab.paper.imdb._study import HORIZONS, load_rows
    from risingbandits.lab.paper.imdb.learners import seven_learners

    if features not in _FEATURES:
        raise RisingBanditsError(f"features must be 1000 or 10000, got {features}.")
    chosen = seven_learners(learners, beta)[:arms]
    rows = load_rows(dataset, data, features)
    last = (_QUICK_HORIZON if quick else HORIZONS[dataset]) if horizon is None else horizon
    known = (dataset, features, last, chosen) == ("imdb", 1000, HORIZONS["imdb"], seven_learners()[:arms])
    return _Setting(rows, chosen, last, known)


def _numbers(text: str) -> list[int]:
    from risingbandits.lab.paper.imdb.learners import seven_learners

    most = len(seven_learners())
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not all(1 <= number <= most for number in numbers) or len(set(numbers)) < len(numbers):
        raise RisingBanditsError(f"arms must be different numbers from 1 to {most}, such as 7,2, got {text!r}.")
    return numbers
