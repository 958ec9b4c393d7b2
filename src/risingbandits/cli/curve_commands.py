"""The commands about a user's own learning curves: check their shape, replay policies on them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from risingbandits._core.errors import RisingBanditsError, check_choice
from risingbandits.cli import completion
from risingbandits.cli.output import Json, Output
from risingbandits.cli.shared_options import Objective

# Compared by default: the recommended one, others of ours, and what others use for the same purpose.
_DEFAULTS = {
    "cumulative": "auto,open-arms,commit-ucb,gaussian-ucb,successive-halving,hyperband,round-robin",
    "best-arm": "auto,selective-race,r-sr,successive-halving,hyperband,asha,round-robin",
}
_REPLAY_EPILOG = """\
The file has a column per arm, its name first, and a row per pull; [bold]risingbandits export[/] writes one from a
store. Regret per pull: what the best single arm has beyond the policy. Final value: mean of the last 5 % of a curve.
"""


_CHECK_EPILOG = """\
The file has a column per arm, its name first, and a row per pull. p is how often pure noise around a constant
(rising) or straight (concave) curve looks as bad; below 0.05 the shape is called violated.
"""

_CSV = completion.file(".csv")

commands = typer.Typer()


@commands.command(epilog=_CHECK_EPILOG)
def check(
    curves: Annotated[Path, typer.Argument(help="CSV file of measured learning curves.", autocompletion=_CSV)],
    noise: Annotated[
        float | None, typer.Option(help="Standard deviation of one value; 0 for exact ones; else estimated.")
    ] = None,
    simulations: Annotated[int, typer.Option(help="Curves of pure noise behind a p-value.")] = 999,
    seed: Annotated[int, typer.Option(help="Decides these curves.")] = 0,
    as_json: Json = False,
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
    with Output(as_json) as output:
        output.table(check_table(reports), "shapes")
        output.add(verdicts={report.name: report.verdict for report in reports})
        for report in reports:
            output.say(f"{report.name} {report.verdict}.")


@commands.command(epilog=_REPLAY_EPILOG)
def replay(
    curves: Annotated[Path, typer.Argument(help="CSV file of learning curves.", autocompletion=_CSV)],
    budget: Annotated[int, typer.Option(help="Pulls that each policy may spend.")],
    objective: Objective = "cumulative",
    policies: Annotated[
        str | None,
        typer.Option(
            help="As for simulate; by default ours, successive halving and Hyperband.",
            autocompletion=completion.policies,
        ),
    ] = None,
    orders: Annotated[int, typer.Option(help="Orders of the arms: as listed, then random ones.")] = 1,
    seed: Annotated[int, typer.Option(help="Decides the random orders.")] = 0,
    direction: Annotated[str, typer.Option(help="maximize, or minimize for losses.")] = "maximize",
    reward_range: Annotated[str, typer.Option("--range", help="Least and greatest possible value.")] = "0,1",
    sigma: Annotated[float | None, typer.Option(help="Noise of one value; by default taken from the curves.")] = None,
    max_arms: Annotated[int | None, typer.Option(help="Use only the first so many arms of an order.")] = None,
    after_end: Annotated[
        str, typer.Option(help="At its end an arm is pulled no more (stop), or keeps its final value (hold).")
    ] = "stop",
    out: Annotated[Path | None, typer.Option(help="CSV file for every policy and order.")] = None,
    as_json: Json = False,
) -> None:
    """Tell from recorded learning curves what each policy would have spent, earned and recommended."""
    from risingbandits.policies.parsing import parse_policies
    from risingbandits.problems.csv_files import load_curves
    from risingbandits.reports import replay_tables as tables
    from risingbandits.simulation.replay import replay as play

    check_choice("objective", objective, _DEFAULTS)
    outcome = play(
        load_curves(curves),
        parse_policies(_DEFAULTS[objective] if policies is None else policies, objective),
        budget,
        orders=orders,
        seed=seed,
        direction=direction,
        reward_range=_range(reward_range),
        sigma=sigma,
        max_arms=max_arms,
        after_end=after_end,
    )
    with Output(as_json) as output:
        best = outcome.best_arm
        output.add(objective=objective, budget=outcome.budget, orders=outcome.orders, sigma=outcome.sigma)
        output.add(best_constant=outcome.best_constant, best_arm=outcome.arms[best], best_final=outcome.final[best])
        output.table(tables.outcome_table(outcome, objective), "policies")
        output.table(tables.spending_table(outcome), "arms")
        if out is not None:
            from risingbandits._core.files import write_whole

            write_whole(out, tables.replay_csv(outcome).encode())
            output.say(f"Every policy and order: {out}", written=out)


def _range(text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise RisingBanditsError(f"range must be two numbers such as 0,1, got {text!r}.") from None
    return low, high
