"""The command ``risingbandits``: demo, simulate, policies and problems; the modules beside this one add the others.

A command takes its arguments, calls the library and prints. Errors of the user end in one sentence on standard error
and exit code 2. What takes long to load is loaded inside the commands, so that ``--help`` is quick.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.plugins import load, plugins
from risingbandits._core.progress import each_said_once, progress_bar
from risingbandits._version import __version__
from risingbandits.cli import (
    completion,
    curve_commands,
    demo,
    prior_commands,
    recorded_commands,
    report_commands,
    run_plan,
    store_commands,
    worker,
)
from risingbandits.cli.interrupted import CODE, say
from risingbandits.cli.output import Json, Output
from risingbandits.cli.recorded_commands import Direction, Metric, Range, Step
from risingbandits.cli.shared_options import Backend, Jobs, Objective, Runs, Seed, given_command

if TYPE_CHECKING:
    from risingbandits.problems import RisingBandit
    from risingbandits.reports.study import Study


app = typer.Typer(
    name="risingbandits",
    help="Decide which of several learners gets the next slice of the budget, when each improves with use.",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with [bold]risingbandits demo[/], or see [bold]risingbandits simulate --help[/].",
)

_SIMULATE_EXAMPLES = """\
Examples:

risingbandits simulate --problem paper-2arms --runs 20 --out study

risingbandits simulate --problem random-3 --policies "red-ucb(eps=0.1,sigma=0.2),round-robin"

risingbandits simulate --curves my.csv --noise bernoulli --horizon 5000

risingbandits simulate --curves losses.csv --direction minimize --range 0,5

risingbandits simulate --problem mussi-5arms --horizon 1000 --objective best-arm
"""


@app.callback(invoke_without_command=True)
def _top(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(f"risingbandits {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(epilog=_SIMULATE_EXAMPLES)
def simulate(
    context: typer.Context,
    problem: Annotated[
        str | None,
        typer.Option(
            help="Named problem (see [bold]risingbandits problems[/]); default: paper-2arms.",
            autocompletion=completion.problem,
        ),
    ] = None,
    curves: Annotated[
        Path | None,
        typer.Option(
            help="Learning curves instead: logs, or a CSV file with a named column per arm and a row per pull.",
            autocompletion=completion.file(".csv"),
        ),
    ] = None,
    metric: Metric = None,
    direction: Direction = None,
    step: Step = None,
    reward_range: Range = None,
    policies: Annotated[
        str | None,
        typer.Option(
            help='Names, with settings in parentheses: "red-ucb(eps=0.1),round-robin".',
            autocompletion=completion.policies,
        ),
    ] = None,
    runs: Runs = 20,
    horizon: Annotated[
        int | None, typer.Option(help="Rounds; default: the problem's own, or the longest column.")
    ] = None,
    noise: Annotated[
        str | None, typer.Option(help="gaussian:0.1, bernoulli, beta or none; default: the problem's own.")
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    out: Annotated[Path | None, typer.Option(help="Folder for results, figures and report.md.")] = None,
    backend: Backend = "local",
    objective: Objective = None,
    compare: Annotated[
        str | None,
        typer.Option(
            help="A,B: two of the policies, as written in --policies; shows their paired difference and its interval.",
            autocompletion=completion.policies,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Play policies on a problem; print a table and, with --out, write results, figures and a report."""
    from risingbandits import policies as known
    from risingbandits.cli.shared_options import parse_pair
    from risingbandits.policies.parsing import parse_policies
    from risingbandits.reports.study import Study, prepare_folder
    from risingbandits.simulation import simulate as play
    from risingbandits.simulation.summary import summary_dict, summary_table

    wanted = known.Objective.get(objective)
    policies = ",".join(wanted.compared) if policies is None else policies
    chosen = parse_policies(policies, wanted.name)
    pair = None if compare is None else parse_pair(compare, chosen)
    if pair is not None and runs < 2:
        raise RisingBanditsError(f"compare needs at least 2 runs of each policy, got {runs}.")
    told = (metric, direction, step, reward_range)
    if curves is None and any(word is not None for word in told):
        raise RisingBanditsError("metric, direction, step and range need curves, which were not given.")
    played = _problem(problem, curves, noise, *told)
    if out is not None:
        prepare_folder(out)
    with progress_bar(played.name or "", runs * len(chosen)) as advance:
        result = play(
            *(chosen, played, horizon, runs, seed, jobs),
            progress=advance,
            backend=backend,
            objective=wanted,
        )
    command = given_command(context, policies=policies, horizon=result.horizon)
    with Output(as_json) as output:
        page = _keep([Study(played, result)], out, command)
        output.tables([summary_table(result)], **summary_dict(result))
        if pair is not None:
            found = result.compare(*pair)
            output.say(f"{found}\n", comparison=found.to_dict())
        kept = "Add --out DIR to keep results and figures." if page is None else f"Report, figures and results: {page}"
        output.say(kept, written=page)


@app.command()
def policies(
    name: Annotated[
        str | None, typer.Argument(help="Show the settings of this policy.", autocompletion=completion.policy)
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="List also those that few users need.")] = False,
    as_json: Json = False,
) -> None:
    """List the policies that most users need, or show the settings of one."""
    from risingbandits.policies import policy_class, policy_names
    from risingbandits.policies._table import COMMON
    from risingbandits.reports import tables

    with Output(as_json) as output:
        if name is None:
            output.table(tables.policies_table(policy_names() if every else COMMON))
            if not (every or as_json):
                output.say(f"{len(policy_names()) - len(COMMON)} more: risingbandits policies --all")
            return
        policy = policy_class(name)
        head = tables.docstring_head(policy)
        output.add(name=policy.name, objective=policy.objective, verified=policy.verified, description=head)
        verified = f"\n\nHow verified: {policy.verified}." if policy.verified else ""
        output.say(f"{name} ({policy.__name__})\n\n{head}{verified}", **{"class": policy.__name__})
        settings = tables.parameters_table(policy)
        output.tables([settings] if settings.rows else [], settings=settings.values())


@app.command()
def problems(as_json: Json = False) -> None:
    """List the named problems."""
    from risingbandits.reports.tables import problems_table

    with Output(as_json) as output:
        output.table(problems_table())


# What Typer raises for a command that was typed wrongly: typer.TyperException from 0.28 on, Click's before.
_UsageError: Any = typer.BadParameter.__mro__[typer.BadParameter.__mro__.index(Exception) - 1]


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command with ``arguments`` (by default the process's own) and return its exit code."""
    try:
        with _warnings_as_sentences(), each_said_once():
            code = app(args=arguments, prog_name="risingbandits", standalone_mode=False)
    except (RisingBanditsError, _UsageError) as error:
        sentence = error.format_message() if isinstance(error, _UsageError) else str(error)
        return _fail(sentence)
    except OSError as error:
        return _fail(f"{error.filename or 'A file'} cannot be used: {error.strerror or error}.")
    if code == CODE:
        say()
    return code if isinstance(code, int) else 0


@contextmanager
def _warnings_as_sentences() -> Iterator[None]:
    """Inside, what the package warns of is one line on standard error, without a place in the source."""

    def show(message: Warning | str, *place: Any, **more: Any) -> None:
        if not isinstance(message, DeprecationWarning):  # for libraries; pyparsing's are UserWarnings as well
            print(f"risingbandits: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield


def _fail(sentence: str) -> int:
    print(f"risingbandits: {sentence}", file=sys.stderr)
    return 2


def _problem(name: str | None, curves: Path | None, noise: str | None, *told: Any) -> RisingBandit:
    from risingbandits.cli.shared_options import parse_noise
    from risingbandits.problems import get_problem

    if name is not None and curves is not None:
        raise RisingBanditsError(f"only one of problem and curves may be given, got {name!r} and {str(curves)!r}.")
    if curves is not None:
        problem = recorded_commands.problem_from(curves, *told)
    else:
        problem = get_problem("paper-2arms" if name is None else name)
    return problem if noise is None else problem.with_noise(parse_noise(noise))


def _keep(studies: Sequence[Study], out: Path | None, command: str) -> Path | None:
    """Files in ``out``, if it is given; the page that shows them."""
    if out is None:
        return None
    from risingbandits.reports.study import write_report

    return write_report(studies, out, command)


for module in (demo, curve_commands, run_plan, worker, store_commands, report_commands, prior_commands):
    app.add_typer(module.commands)
app.add_typer(recorded_commands.commands, name="curves")
app.add_typer(prior_commands.memory_commands, name="memory")
for plugin in plugins():
    for name, where in plugin.commands.items():
        app.add_typer(load(where), name=name)
