"""The commands about theory: theory, lower-bounds, check."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from risingbandits._core.errors import RisingBanditsError, check_choice
from risingbandits._core.progress import progress_bar

if TYPE_CHECKING:
    from risingbandits._core.tables import TextTable

__all__ = ["add_commands"]

Show = Callable[["TextTable"], None]

_CHECK_EPILOG = """\
The file has a column per arm, its name first, and a row per pull. p is how often pure noise around a constant
(rising) or straight (concave) curve looks as bad; below 0.05 the shape is called violated.
"""


def add_commands(app: typer.Typer, show: Show) -> None:
    """Register the commands on ``app``; ``show`` prints a table."""

    @app.command()
    def theory(
        problem: Annotated[str, typer.Argument(help="Named problem, or a CSV file of learning curves.")],
        horizon: Annotated[int | None, typer.Option(help="Rounds T; by default the problem's own.")] = None,
        noise: Annotated[str | None, typer.Option(help="gaussian:0.1, bernoulli, beta or none.")] = None,
        eps: Annotated[float, typer.Option(help="Window share of R-ed-UCB.")] = 0.25,
        alpha: Annotated[float, typer.Option(help="Exponent of R-ed-UCB's confidence.")] = 3.0,
    ) -> None:
        """Show how hard a problem is, what the theorems promise on it, and whether that says anything."""
        from risingbandits.cli.arguments import parse_noise
        from risingbandits.problems import RisingBandit, get_problem
        from risingbandits.reports import theory as tables
        from risingbandits.theory.complexity import horizon_of

        path = Path(problem)
        chosen = RisingBandit.from_csv(path) if path.suffix == ".csv" else get_problem(problem)
        if noise is not None:
            chosen = chosen.with_noise(parse_noise(noise))
        last = horizon_of(chosen, horizon)
        show(tables.complexity_table(chosen, last))
        show(tables.bounds_table(chosen, last, eps, alpha))
        show(tables.rates_table(chosen, last))

    @app.command("lower-bounds")
    def lower_bounds(
        policies: Annotated[
            str | None, typer.Option(help="As for simulate; by default all that seek a small cumulative regret.")
        ] = None,
        pairs: Annotated[str | None, typer.Option(help="concave, beta, stochastic, increment, non-concave.")] = None,
        horizon: Annotated[int, typer.Option(help="Rounds T, for which the pairs are made.")] = 50_000,
        runs: Annotated[int, typer.Option(help="Runs of each policy on each side.")] = 10,
        noise: Annotated[str | None, typer.Option(help="Instead of the pairs' own, such as gaussian:0.1.")] = None,
        seed: Annotated[int, typer.Option(help="Decides all randomness.")] = 0,
        jobs: Annotated[int | None, typer.Option(help="Threads; by default one per core.")] = None,
        out: Annotated[Path | None, typer.Option(help="Folder for lower-bounds.csv, .md, .png and .svg.")] = None,
    ) -> None:
        """Play policies on the pairs of the lower bounds and compare the worse regret with the bound."""
        from risingbandits._core.files import write_whole
        from risingbandits.cli.arguments import parse_noise
        from risingbandits.paper.pair_study import learning_policies, play_pairs
        from risingbandits.policies.text import parse_policies
        from risingbandits.problems import PAIRS
        from risingbandits.reports import theory as tables
        from risingbandits.reports.figures import save_figure
        from risingbandits.reports.markdown_report import prepare_folder

        chosen = parse_policies(",".join(learning_policies()) if policies is None else policies)
        kinds = (
            list(PAIRS) if pairs is None else [check_choice("pairs", kind.strip(), PAIRS) for kind in pairs.split(",")]
        )
        scatter = None if noise is None else parse_noise(noise)
        if out is not None:
            prepare_folder(out)
        with progress_bar("lower bounds", 2 * runs * len(kinds) * len(chosen)) as advance:
            studies = play_pairs(chosen, kinds, horizon, runs, seed, jobs, scatter, progress=advance)
        table = tables.pairs_table(studies)
        show(table)
        for study in studies:
            typer.echo(f"{study.pair.kind}: {study.bound.reason}")
        below = [f"{label} on {s.pair.kind}" for s in studies for label in s.policies if not s.holds(label)]
        typer.echo(f"\nBelow the bound: {', '.join(below)}" if below else "\nNo policy beats a bound.")
        if out is not None:
            page = f"# {table.title}\n\n{table.markdown()}\n![multiples of the proved bounds](lower-bounds.png)\n"
            write_whole(out / "lower-bounds.md", page.encode())
            write_whole(out / "lower-bounds.csv", tables.pairs_csv(studies).encode())
            save_figure(tables.plot_pairs(studies), out, "lower-bounds")
            typer.echo(f"Table and figure: {out / 'lower-bounds.md'}")

    @app.command(epilog=_CHECK_EPILOG)
    def check(
        curves: Annotated[Path, typer.Argument(help="CSV file of measured learning curves.")],
        noise: Annotated[
            float | None, typer.Option(help="Standard deviation of one value; 0 for exact ones; else estimated.")
        ] = None,
        simulations: Annotated[int, typer.Option(help="Curves of pure noise behind a p-value.")] = 999,
        seed: Annotated[int, typer.Option(help="Decides these curves.")] = 0,
    ) -> None:
        """Tell whether measured curves look rising and concave, as the theory wants them."""
        from risingbandits.problems.csv_files import load_curves
        from risingbandits.reports.theory import check_table
        from risingbandits.theory.measured import check_curve

        reports = []
        for name, values in load_curves(curves).items():
            if len(values) < 3:
                raise RisingBanditsError(f"{curves}, column {name!r} must have at least 3 values, has {len(values)}.")
            reports.append(check_curve(values, noise, name=name, simulations=simulations, seed=seed))
        show(check_table(reports))
        for report in reports:
            typer.echo(f"{report.name} {report.verdict}.")
