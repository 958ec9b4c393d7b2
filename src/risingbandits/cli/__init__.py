"""The command ``risingbandits``: one module for each group of commands."""

from risingbandits.cli.app import app, main, run

__all__ = ["app", "main", "run"]
