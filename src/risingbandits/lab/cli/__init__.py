"""The commands ``lab paper`` and ``lab benchmark``."""

from __future__ import annotations

import typer

from risingbandits.lab.cli import paper
from risingbandits.lab.cli._benchmark import EPILOG, benchmark

commands = typer.Typer(
    help="Recompute the paper; compare all policies on the benchmark.", no_args_is_help=True, rich_markup_mode="rich"
)
commands.add_typer(paper.commands, name="paper")
commands.command("benchmark", epilog=EPILOG)(benchmark)
