"""What several commands share: options and how they are read, and how a table is printed."""

from __future__ import annotations

import shlex
from collections.abc import Container
from typing import TYPE_CHECKING, Annotated, Any

import typer

from risingbandits._core.errors import RisingBanditsError, check_choice, shown
from risingbandits.cli import completion

if TYPE_CHECKING:
    from risingbandits.problems import Noise

Runs = Annotated[int, typer.Option(help="Runs of each policy.")]
Seed = Annotated[int, typer.Option(help="Seed of all randomness.")]
Jobs = Annotated[int | None, typer.Option(help="Threads; default: one per core. The result does not depend on it.")]
Objective = Annotated[
    str | None,
    typer.Option(
        help="best-arm (default): name the arm that is best at the end; cumulative: maximise the sum of the rewards on "
        "the way.",
        autocompletion=completion.objective,
    ),
]
Backend = Annotated[
    str,
    typer.Option(
        help="local, or ray: on a cluster, that of RAY_ADDRESS if it is set. The result does not depend on it.",
        metavar="NAME",
        autocompletion=completion.one_of("local", "ray"),
    ),
]
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
    if colon and name in ("bernoulli", "none"):
        raise RisingBanditsError(f"noise {name} takes no number, got {shown(text, _LONGEST)}.")
    try:
        value = float(number) if colon else None
    except ValueError:
        raise RisingBanditsError(
            f"noise must be like gaussian:0.1, with a number after the colon, got {shown(text, _LONGEST)}."
        ) from None
    if name == "gaussian":
        return Gaussian(0.1 if value is None else value)
    if name == "beta":
        return Beta(b=value)
    return Bernoulli() if name == "bernoulli" else NoNoise()


def parse_pair(text: str, labels: Container[str]) -> tuple[str, str]:
    """Two of the labels, with a comma between them.

    >>> parse_pair("red-ucb(eps=0.1, ties='random'), round-robin", ["red-ucb(eps=0.1, ties='random')", "round-robin"])
    ("red-ucb(eps=0.1, ties='random')", 'round-robin')
    """
    from risingbandits.policies.parsing import split_policies

    parts = split_policies(text)
    if len(parts) != 2 or parts[0] == parts[1] or not all(part in labels for part in parts):
        raise RisingBanditsError(
            f"compare must be two of the policies, as written in --policies, got {shown(text, _LONGEST)}."
        )
    return parts[0], parts[1]


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
