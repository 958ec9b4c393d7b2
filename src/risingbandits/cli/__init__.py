"""The command ``risingbandits``: one module for each group of commands.

Here is only what hears Ctrl-C from the first moment on; the commands, whose libraries take seconds to load, come later.

Stability: internal; its commands are on the page "What stays stable".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from risingbandits.cli._interrupts import CODE, heard, leave, listen, say

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main", "run"]


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command with ``arguments`` (by default the process's own) and return its exit code."""
    from risingbandits.cli.app import run as run_command

    return run_command(arguments)


def main() -> None:
    """Entry point of the console command."""
    try:
        try:
            listen()
            code = run()
        except SystemExit:
            raise
        except BaseException as error:
            # Libraries that are interrupted while they are loaded may raise anything.
            if not (heard() or isinstance(error, KeyboardInterrupt)):
                raise
            code = CODE
            say()
        leave(code)
    except KeyboardInterrupt:  # sent again while the first one was being dealt with
        say()
        leave(CODE)
