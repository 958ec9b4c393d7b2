"""The commands about the paper's theory: theory, lower-bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from risingbandits._core.errors import RisingBanditsError, check_choice, check_positive_int
from risingbandits._core.progress import progress_bar
from risingbandits.cli import _options as options
from risingbandits.cli._options import Jobs, Seed
from risingbandits.cli._output import Json, Output

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from risingbandits._core.tables import TextTable
    from risingbandits.problems import RisingBandit

commands = typer.Typer()


@commands.command()
def theory(
    problem: Annotated[
        str,
        typer.Argument(
            help="Named problem, or a CSV file of learning curves.",
            autocompletion=options.complete_problem,
        ),
    ],
    horizon: Annotated[int | None, typer.Option(help="Rounds T; default: the problem's own.")] = None,
    noise: Annotated[str | None, typer.Option(help="gaussian:0.1, bernoulli, beta or none.")] = None,
    eps: Annotated[float, typer.Option(help="Window share of R-ed-UCB.")] = 0.25,
    alpha: Annotated[float, typer.Option(help="Exponent of R-ed-UCB's confidence.")] = 3.0,
    horizons: Annotated[
        str | None, typer.Option(help="Also show the bounds at these T, such as 200000,1000000.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for those bounds: bounds.csv, .md, .png and .svg.")] = None,
    as_json: Json = False,
) -> None:
    """Show how hard a problem is, what the theorems promise on it, and whether the promise is of any use."""
    from risingbandits.allocation.recordings import load_curves
    from risingbandits.cli._options import parse_noise
    from risingbandits.lab.paper import _theory_tables as tables
    from risingbandits.problems import RisingBandit, get_problem
    from risingbandits.theory.complexity._problems import horizon_of

    path = Path(problem)
    if path.suffix == ".csv":
        chosen = RisingBandit.from_array(load_curves(path).values, name=path.stem)
    else:
        chosen = get_problem(problem)
    if noise is not None:
        chosen = chosen.with_noise(parse_noise(noise))
    last = horizon_of(chosen, horizon)
    with Output(as_json) as output:
        output.add(problem=chosen.name, horizon=last)
        output.table(tables.complexity_table(chosen, last), "complexity")
        output.table(tables.bounds_table(chosen, last, eps, alpha), "bounds")
        output.table(tables.rates_table(chosen, last), "rates")
        if horizons is not None or out is not None:
            _bounds_over_horizons(chosen, horizons, out, output)


def _bounds_over_horizons(problem: RisingBandit, horizons: str | None, out: Path | None, output: Output) -> None:
    from risingbandits.lab.paper import _bounds_study as bounds_study
    from risingbandits.reports.study import prepare_folder

    chosen: list[int] = list(bounds_study.HORIZONS)
    if horizons is not None:
        words = [word.strip() for word in horizons.split(",")]
        if not all(word.isdigit() for word in words):
            raise RisingBanditsError(f"horizons must be whole numbers separated by commas, got {horizons!r}.")
        chosen = [check_positive_int("horizons", int(word), minimum=2) for word in words]
    if out is not None:
        prepare_folder(out)
    rows = bounds_study.bound_rows(problem, chosen)
    table = bounds_study.bounds_over_horizons(rows)
    output.table(table, "bounds_over_horizons")
    if out is not None:
        _write(out, "bounds", "bounds divided by T", table, rows, bounds_study.plot_bounds(rows), output)


def _write(
    out: Path,
    name: str,
    caption: str,
    table: TextTable,
    rows: Sequence[Mapping[str, str]],
    figure: Figure,
    output: Output,
) -> None:
    """The same numbers as a page, a CSV file and a figure."""
    from risingbandits._core.files import write_whole
    from risingbandits.lab.paper._csv_tables import write_rows
    from risingbandits.reports._matplotlib_figures import save_figure

    page = out / f"{name}.md"
    write_whole(page, f"# {table.title}\n\n{table.markdown()}\n![{caption}]({name}.png)\n".encode())
    write_rows(out / f"{name}.csv", list(rows[0]), [list(row.values()) for row in rows])
    save_figure(figure, out, name)
    output.say(f"Table and figure: {page}", written=page)


@commands.command("lower-bounds")
def lower_bounds(
    policies: Annotated[
        str | None,
        typer.Option(
            help="As for simulate; default: all policies for cumulative regret.",
            autocompletion=options.complete_policies,
        ),
    ] = None,
    pairs: Annotated[
        str | None, typer.Option(help="Which pairs: concave, beta, stochastic, increment, non-concave; default: all.")
    ] = None,
    horizon: Annotated[int, typer.Option(help="Rounds T that the pairs are built for.")] = 50_000,
    runs: Annotated[int, typer.Option(help="Runs of each policy on each side.")] = 10,
    noise: Annotated[str | None, typer.Option(help="Noise instead of the pairs' own, such as gaussian:0.1.")] = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    out: Annotated[Path | None, typer.Option(help="Folder for lower-bounds.csv, .md, .png and .svg.")] = None,
    as_json: Json = False,
) -> None:
    """Play policies on the pairs of the lower bounds and compare the worse regret with the bound."""
    from risingbandits.cli._options import parse_noise
    from risingbandits.lab.paper import _pair_study as pairs_played
    from risingbandits.lab.paper.pairs import PAIRS
    from risingbandits.policies._parsing import parse_policies
    from risingbandits.reports.study import prepare_folder

    names = ",".join(pairs_played.learning_policies()) if policies is None else policies
    chosen = parse_policies(names, objective="cumulative")
    kinds = list(PAIRS) if pairs is None else [check_choice("pairs", kind.strip(), PAIRS) for kind in pairs.split(",")]
    scatter = None if noise is None else parse_noise(noise)
    if out is not None:
        prepare_folder(out)
    with progress_bar("lower bounds", 2 * runs * len(kinds) * len(chosen)) as advance:
        studies = pairs_played.play_pairs(chosen, kinds, horizon, runs, seed, jobs, scatter, progress=advance)
    rows = pairs_played.pair_rows(studies)
    table = pairs_played.pairs_table(rows)
    with Output(as_json) as output:
        output.table(table, "pairs")
        output.add(reasons={study.pair.kind: study.bound.reason for study in studies})
        for study in studies:
            output.say(f"{study.pair.kind}: {study.bound.reason}")
        below = [f"{label} on {s.pair.kind}" for s in studies for label in s.policies if not s.holds(label)]
        output.say(f"\nBelow the bound: {', '.join(below)}" if below else "\nNo policy beats a bound.", below=below)
        if out is not None:
            caption, figure = "multiples of the proved bounds", pairs_played.plot_pairs(rows)
            _write(out, "lower-bounds", caption, table, rows, figure, output)
