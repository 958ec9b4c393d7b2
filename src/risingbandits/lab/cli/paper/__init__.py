"""The commands about the paper: ``risingbandits lab paper reproduce``, ``imdb``, ``theory`` and ``lower-bounds``."""

from __future__ import annotations

import typer

from risingbandits.lab.cli.paper import _imdb as imdb
from risingbandits.lab.cli.paper import _reproduce as reproduce
from risingbandits.lab.cli.paper import _theory as theory

commands = typer.Typer(
    help="The paper: its figures and tables recomputed, its online learners, its bounds.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
commands.add_typer(reproduce.commands)
commands.add_typer(theory.commands)
commands.add_typer(imdb.commands, name="imdb")
