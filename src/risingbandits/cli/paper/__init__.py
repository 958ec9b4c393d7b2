"""The commands about the paper: ``risingbandits paper reproduce``, ``imdb``, ``theory`` and ``lower-bounds``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from risingbandits.cli.paper import imdb, reproduce, theory

if TYPE_CHECKING:
    from risingbandits._core.tables import TextTable

__all__ = ["add_commands"]


def add_commands(app: typer.Typer, show: Callable[[TextTable], None]) -> None:
    """Register the group on ``app``; ``show`` prints a table."""
    group = typer.Typer(
        help="The paper: its figures and tables recomputed, its online learners, its bounds.",
        no_args_is_help=True,
        rich_markup_mode="rich",
    )
    app.add_typer(group, name="paper")
    for module in (reproduce, imdb, theory):
        module.add_commands(group, show)
