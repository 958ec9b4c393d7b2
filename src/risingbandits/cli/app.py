"""The top of the command ``risingbandits``: its groups, those of plugins, and how a mistake is told.

A command takes its arguments, calls the library and prints. Errors of the user end in one sentence on standard error
and exit code 2. What takes long to load is loaded inside the commands, so that ``--help`` is quick.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
import typer.core

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.plugins import load, plugins
from risingbandits._core.progress import each_said_once
from risingbandits._version import __version__
from risingbandits.cli import _demo as demo
from risingbandits.cli import _logs as logs
from risingbandits.cli import _prior as prior
from risingbandits.cli import _run_plan as run_plan
from risingbandits.cli import _store as store
from risingbandits.cli import _study as study
from risingbandits.cli._interrupts import CODE, say

_SHORT = {"install_completion": "Install completion in this shell.", "show_completion": "Print the script for it."}


class _Top(typer.core.TyperGroup):
    """The commands, with a help that fits one screen."""

    def get_params(self, ctx: Any) -> list[Any]:
        found = super().get_params(ctx)
        for parameter in found:
            if parameter.name in _SHORT:
                parameter.help = _SHORT[parameter.name]  # type: ignore[attr-defined]
        return found


app = typer.Typer(
    name="risingbandits",
    cls=_Top,
    help="Decide which of several partly trained models is trained next.",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _top(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(f"risingbandits {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


for part in (demo, run_plan, store, study):
    app.add_typer(part.commands)
app.add_typer(study.lists, name="list")
app.add_typer(logs.commands, name="logs")
app.add_typer(store.of_store, name="store")
app.add_typer(prior.commands)
for plugin in plugins():
    for name, where in plugin.commands.items():
        app.add_typer(load(where), name=name)


# What Typer raises for a command that was typed wrongly: typer.TyperException from 0.28 on, Click's before.
_UsageError: Any = typer.BadParameter.__mro__[typer.BadParameter.__mro__.index(Exception) - 1]


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command with ``arguments`` (by default the process's own) and return its exit code."""
    try:
        with _warnings_as_sentences(), each_said_once():
            code = app(args=arguments, prog_name="risingbandits", standalone_mode=False)
    except (RisingBanditsError, _UsageError) as error:
        return _fail(error.format_message() if isinstance(error, _UsageError) else str(error))
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
    if sentence:  # a group without a command has shown its help
        print(f"risingbandits: {sentence}", file=sys.stderr)
    return 2
