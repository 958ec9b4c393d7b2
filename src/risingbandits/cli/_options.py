"""What several commands share: options, how they are read and completed, and the command line as it was given."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Container
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from risingbandits._core.errors import RisingBanditsError, check_choice, check_finite, check_range, shown

if TYPE_CHECKING:
    from risingbandits.allocation.budget import Budget
    from risingbandits.problems import Noise

Complete = Callable[[str], list[str]]

# -- completion: names are looked up when they are asked for; shells complete files by themselves ---------------------


def _complete_names(package: str, function: str) -> Complete:
    def complete(incomplete: str) -> list[str]:
        names = getattr(import_module(f"risingbandits.{package}"), function)()
        return [name for name in names if name.startswith(incomplete)]

    return complete


complete_policy = _complete_names("policies", "policy_names")
complete_problem = _complete_names("problems", "problem_names")


def complete_policies(incomplete: str) -> list[str]:
    """Names of policies with commas between them: the last one is completed, and none is offered twice.

    >>> complete_policies("round-robin,red-u"), complete_policies("red-ucb(eps=0.1), red")
    (['round-robin,red-ucb'], ['red-ucb(eps=0.1), red-ucb'])
    """
    before, comma, last = incomplete.rpartition(",")
    if before.count("(") > before.count(")"):  # the comma is between parameters
        return []
    blank = last[: len(last) - len(last.lstrip())]
    named = [part.strip() for part in before.split(",")]
    return [f"{before}{comma}{blank}{name}" for name in complete_policy(last.strip()) if name not in named]


# -- options and arguments --------------------------------------------------------------------------------------------

Runs = Annotated[int, typer.Option(help="Runs of each policy.")]
Seed = Annotated[int, typer.Option(help="Seed of all randomness.")]
Jobs = Annotated[int | None, typer.Option(help="Threads; default: one per core. The result does not depend on it.")]
Objective = Annotated[
    str | None,
    typer.Option(
        help="best-arm (default): name the arm that is best at the end; cumulative: maximise the sum of the rewards on "
        "the way.",
        autocompletion=_complete_names("policies", "objective_names"),
    ),
]
Policies = Annotated[
    str | None,
    typer.Option(
        help='Names, with parameters in parentheses: "red-ucb(eps=0.1),round-robin"; default: by the objective.',
        autocompletion=complete_policies,
    ),
]
Backend = Annotated[
    str,
    typer.Option(
        help="local, or ray: on a cluster, that of RAY_ADDRESS if it is set. The result does not depend on it.",
        metavar="NAME",
    ),
]
Store = Annotated[str, typer.Argument(help="Store of a run: a file such as plan.db, or postgresql://...")]
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
Page = Annotated[Path | None, typer.Option(help="Self-contained HTML file for pictures (needs the report extra).")]

_LONGEST = 300  # characters of what was written that a complaint repeats
_WITHOUT_EFFECT = ("jobs", "backend", "as_json")  # on what is written


def parse_noise(text: str) -> Noise:
    """Noise from its name and, after a colon, its number.

    >>> parse_noise("gaussian:0.2"), parse_noise("beta:2"), parse_noise("none")
    (Gaussian(sigma=0.2), Beta(b=2.0), NoNoise())
    """
    from risingbandits.problems import Bernoulli, Beta, Gaussian, NoNoise

    name, colon, number = text.strip().partition(":")
    check_choice("noise", name, ("gaussian", "bernoulli", "beta", "none"))
    if name in ("bernoulli", "none"):
        if colon:
            raise RisingBanditsError(f"noise {name} takes no number, got {shown(text, _LONGEST)}.")
        return Bernoulli() if name == "bernoulli" else NoNoise()
    try:
        value = float(number) if colon else 2.0 if name == "beta" else 0.1
    except ValueError:
        raise RisingBanditsError(
            f"noise must be like gaussian:0.1, with a number after the colon, got {shown(text, _LONGEST)}."
        ) from None
    return Beta(value) if name == "beta" else Gaussian(value)


def parse_pair(text: str, labels: Container[str]) -> tuple[str, str]:
    """Two of the labels, with a comma between them.

    >>> parse_pair("red-ucb(eps=0.1, ties='random'), round-robin", ["red-ucb(eps=0.1, ties='random')", "round-robin"])
    ("red-ucb(eps=0.1, ties='random')", 'round-robin')
    """
    from risingbandits.policies._parsing import split_policies

    parts = split_policies(text)
    if len(parts) != 2 or parts[0] == parts[1] or not all(part in labels for part in parts):
        raise RisingBanditsError(
            f"compare must be two of the policies, as written in --policies, got {shown(text, _LONGEST)}."
        )
    return parts[0], parts[1]


def parse_range(text: str) -> tuple[float, float]:
    """The smallest and the largest possible value.

    >>> parse_range("0,5")
    (0.0, 5.0)
    """
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise RisingBanditsError(f"range must be two numbers such as 0,1, got {shown(text, _LONGEST)}.") from None
    return check_range("range", (low, high))


def parse_budget(unit: str, amount: float) -> Budget:
    """A budget of so many pulls, or as much cost or as many seconds.

    >>> parse_budget("pulls", 60.0), parse_budget("seconds", 0.5)
    (Budget(pulls=60), Budget(seconds=0.5))
    """
    from risingbandits.allocation.budget import Budget, check_pulls

    check_choice("unit", unit, ("pulls", "cost", "seconds"))
    if unit == "pulls":
        return Budget(pulls=check_pulls("budget", int(amount) if float(amount).is_integer() else amount))
    amount = check_finite("budget", amount, above=0.0)
    return Budget(cost=amount) if unit == "cost" else Budget(seconds=amount)


_UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}
_WITH_UNITS = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d*)?)s)?")
_CLOCK = re.compile(r"(?:(\d+)-)?(\d+):(\d+)(?::(\d+))?")


def parse_duration(name: str, text: str) -> float:
    """Seconds, positive, from seconds, units, or the time that Slurm shows; "unlimited" is infinity.

    >>> [parse_duration("for", text) for text in ("3300", "55m", "1h30m", "00:55:00", "1-02:00:00")]
    [3300.0, 3300.0, 5400.0, 3300.0, 93600.0]
    """
    given = text.strip().lower()
    if given == "unlimited":
        return math.inf
    seconds = 0.0
    if given and (match := _WITH_UNITS.fullmatch(given)):
        seconds = sum(float(part) * unit for part, unit in zip(match.groups(), _UNITS.values(), strict=True) if part)
    elif match := _CLOCK.fullmatch(given):
        days, *clock = match.groups()
        parts = [float(part) for part in clock if part is not None]
        if days is not None:  # Slurm: days-hours:minutes[:seconds]
            parts = [*parts, 0.0][:3]
        # Without days two parts are minutes and seconds.
        seconds = sum(part * unit for part, unit in zip(reversed(parts), (1.0, 60.0, 3_600.0), strict=False))
        seconds += float(days or 0) * _UNITS["d"]
    else:
        try:
            seconds = float(given)
        except ValueError:
            seconds = math.nan
    if not 0.0 < seconds < math.inf:
        raise RisingBanditsError(
            f"{name} must be a time > 0 such as 55m, 1h30m, 3300 (seconds) or 00:55:00, got {shown(text)}."
        )
    return seconds


def given_command(context: typer.Context, *without: str, **settled: Any) -> str:
    """The command line of ``context`` with the values of its options, those of defaults too.

    Left out are the options ``without`` and those that only say where runs are played. ``settled`` values stand for
    those in the context, such as a horizon that followed from something else.
    """
    words = context.command_path.split()
    for parameter in context.command.params:
        name = parameter.name or ""
        value = settled.get(name, context.params.get(name))
        if name in (*_WITHOUT_EFFECT, *without) or value is None:
            continue
        if parameter.param_type_name == "argument":
            words.append(str(value))
        elif isinstance(value, bool):
            if value != parameter.default:
                words.append((parameter.opts if value else parameter.secondary_opts)[0])
        else:  # an option that may be given several times has several values
            for one in value if isinstance(value, list | tuple) else [value]:
                words += [parameter.opts[0], str(one)]
    return shlex.join(words)
