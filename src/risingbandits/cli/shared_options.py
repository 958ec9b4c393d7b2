"""What several commands share: options, and how a table is printed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from risingbandits.cli import completion

if TYPE_CHECKING:
    from risingbandits._core.tables import TextTable

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
        help="local, or ray: on a Ray cluster. The result does not depend on it.",
        metavar="NAME",
        autocompletion=completion.one_of("local", "ray"),
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="Ray cluster, such as auto or ray://host:10001; default: RAY_ADDRESS, else Ray on this machine.",
        metavar="ADDRESS",
    ),
]


def show(table: TextTable) -> None:
    """A table as wide as the terminal, or as wide as it needs to be where there is none."""
    from rich.console import Console

    console = Console() if sys.stdout.isatty() else Console(width=160)
    console.print(table.rich())
