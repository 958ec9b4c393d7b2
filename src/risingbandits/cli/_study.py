"""The commands ``simulate`` and ``list``: policies and problems, and how they play each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.progress import progress_bar
from risingbandits.cli import _options as options
from risingbandits.cli._options import Jobs, Objective, Policies, Runs, Seed, given_command
from risingbandits.cli._output import Json, Output

if TYPE_CHECKING:
    from risingbandits.problems import RisingBandit

_EXAMPLES = """\
Examples:

risingbandits simulate --problem paper-2arms --runs 20 --out study

risingbandits simulate --problem random-3 --policies "red-ucb(eps=0.1,sigma=0.2),round-robin"

risingbandits simulate --curves my.csv --noise bernoulli --horizon 5000

risingbandits simulate --curves losses.csv --direction minimize --range 0,5

risingbandits simulate --problem mussi-5arms --horizon 1000 --objective best-arm
"""

commands = typer.Typer()
lists = typer.Typer(help="List policies and problems, or show one policy.", no_args_is_help=True)


@commands.command(epilog=_EXAMPLES)
def simulate(
    context: typer.Context,
    problem: Annotated[
        str | None,
        typer.Option(help="Named problem; default: paper-2arms.", autocompletion=options.complete_problem),
    ] = None,
    curves: Annotated[Path | None, typer.Option(help="Learning curves instead: a CSV file, or logs.")] = None,
    metric: options.Metric = None,
    direction: options.Direction = None,
    step: options.Step = None,
    reward_range: options.Range = None,
    policies: Policies = None,
    runs: Runs = 20,
    horizon: Annotated[int | None, typer.Option(help="Rounds; default: the problem's, or the longest curve.")] = None,
    noise: Annotated[str | None, typer.Option(help="gaussian:0.1, bernoulli, beta, none; default: its own.")] = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    out: Annotated[Path | None, typer.Option(help="Folder for results, figures and report.md.")] = None,
    objective: Objective = None,
    compare: Annotated[
        str | None,
        typer.Option(help="A,B: paired difference of two of the policies.", autocompletion=options.complete_policies),
    ] = None,
    as_json: Json = False,
) -> None:
    """Play policies on a problem and compare them."""
    from risingbandits import policies as known
    from risingbandits.policies._parsing import parse_policies
    from risingbandits.reports.study import Study, prepare_folder, write_report
    from risingbandits.simulation import simulate as play
    from risingbandits.simulation._summary import summary_dict, summary_table

    wanted = known.Objective.get(objective)
    policies = ",".join(wanted.compared) if policies is None else policies
    chosen = parse_policies(policies, wanted.name)
    pair = None if compare is None else options.parse_pair(compare, chosen)
    if pair is not None and runs < 2:
        raise RisingBanditsError(f"compare needs at least 2 runs of each policy, got {runs}.")
    played = _problem(problem, curves, noise, metric, direction, step, reward_range)
    if out is not None:
        prepare_folder(out)
    with progress_bar(played.name or "", runs * len(chosen)) as advance:
        result = play(
            chosen, played, horizon=horizon, runs=runs, seed=seed, jobs=jobs, progress=advance, objective=wanted
        )
    command = given_command(context, policies=policies, horizon=result.horizon)
    with Output(as_json) as output:
        page = None if out is None else write_report([Study(played, result)], out, command)
        output.tables([summary_table(result)], **summary_dict(result))
        if pair is not None:
            found = result.compare(*pair)
            output.say(f"{found}\n", comparison=found.to_dict())
        kept = "Add --out DIR to keep results and figures." if page is None else f"Report, figures and results: {page}"
        output.say(kept, written=page)


def _problem(name: str | None, curves: Path | None, noise: str | None, *said: str | float | None) -> RisingBandit:
    """The named problem or that of curves, of which the user has ``said`` what they are."""
    from risingbandits.cli._logs import problem_from
    from risingbandits.problems import get_problem

    if name is not None and curves is not None:
        raise RisingBanditsError(f"only one of problem and curves may be given, got {name!r} and {str(curves)!r}.")
    if curves is None and any(word is not None for word in said):
        raise RisingBanditsError("metric, direction, step and range need curves, which were not given.")
    problem = get_problem(name or "paper-2arms") if curves is None else problem_from(curves, *said)  # type: ignore[arg-type]
    return problem if noise is None else problem.with_noise(options.parse_noise(noise))


@lists.command()
def policies(
    name: Annotated[
        str | None,
        typer.Argument(help="Show this policy.", autocompletion=options.complete_policy),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="List also those that few users need.")] = False,
    as_json: Json = False,
) -> None:
    """List the policies that most users need, or show one."""
    from risingbandits.policies import policy_class, policy_names
    from risingbandits.policies._table import COMMON
    from risingbandits.reports import _tables as tables

    with Output(as_json) as output:
        if name is None:
            output.table(tables.policies_table(policy_names() if every else COMMON))
            if not (every or as_json):
                output.say(f"{len(policy_names()) - len(COMMON)} more: risingbandits list policies --all")
            return
        policy = policy_class(name)
        head = tables.docstring_head(policy)
        output.add(name=policy.name, objective=policy.objective, verified=policy.verified, description=head)
        verified = f"\n\nHow verified: {policy.verified}." if policy.verified else ""
        output.say(f"{name} ({policy.__name__})\n\n{head}{verified}", **{"class": policy.__name__})
        parameters = tables.parameters_table(policy)
        output.tables([parameters] if parameters.rows else [], parameters=parameters.values())


@lists.command()
def problems(as_json: Json = False) -> None:
    """List the named problems."""
    from risingbandits.reports._tables import problems_table

    with Output(as_json) as output:
        output.table(problems_table())
