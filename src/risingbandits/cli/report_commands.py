"""The commands that show: report, watch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from risingbandits.cli import completion

_REPORT_EPILOG = """\
Examples:

risingbandits report risingbandits-demo -o demo.html

risingbandits report run.db -o run.html
"""
_WATCH_EPILOG = """\
The page opens only on this machine, and the store is only read. From another machine, forward the port: \
[bold]ssh -L 8000:127.0.0.1:8000 HOST[/], with --port 8000 here.
"""

Store = Annotated[
    str,
    typer.Argument(
        help="SQLite file of the allocation, or a postgresql:// address.", autocompletion=completion.file(".db")
    ),
]

commands = typer.Typer()


@commands.command(epilog=_REPORT_EPILOG)
def report(
    source: Annotated[
        str,
        typer.Argument(
            help="Folder of a study, SQLite file of an allocation, or a postgresql:// address.",
            autocompletion=completion.file(".db"),
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file to write.")] = Path("report.html"),
) -> None:
    """Write one self-contained page with the pictures and tables of a study or an allocation."""
    from risingbandits.reports.pages import write_html

    typer.echo(f"Report: {write_html(source, out)}")


@commands.command(epilog=_WATCH_EPILOG)
def watch(
    store: Store,
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1; 0 takes any free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser", help="Also open the page in the browser.")] = False,
) -> None:
    """Follow an allocation while it runs, in the browser."""
    from risingbandits.reports.live.server import serve

    def ready(address: str) -> None:
        typer.echo(f"Live at {address} (Ctrl-C to stop)")
        if browser:
            typer.launch(address)

    try:
        serve(store, port, ready)
    except KeyboardInterrupt:
        typer.echo("Stopped watching; the allocation goes on.", err=True)
