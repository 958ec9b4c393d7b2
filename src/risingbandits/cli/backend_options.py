"""Options of commands that play runs: where they are played."""

from __future__ import annotations

from typing import Annotated

import typer

Backend = Annotated[
    str,
    typer.Option(help="local, or ray: on a Ray cluster. The result does not depend on it.", metavar="NAME"),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="Of the Ray cluster: auto, ray://host:10001; by default RAY_ADDRESS, else a Ray on this machine.",
        metavar="ADDRESS",
    ),
]
