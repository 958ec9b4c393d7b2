"""What a command prints: tables and sentences for people, or with ``--json`` one document for programs.

A table carries its numbers as `records` beside its texts, so that a document has them unrounded. With ``--json``
nothing else goes to standard output: bars, warnings and errors are on standard error, and exit codes are the same.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from risingbandits._core.tables import printable

if TYPE_CHECKING:
    from types import TracebackType

    from risingbandits._core.tables import TextTable

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead, for programs.")]


class Output:
    """Prints at once for people; for programs, prints one document at the end of ``with``."""

    def __init__(self, as_json: bool = False) -> None:
        self.as_json = as_json
        self._facts: dict[str, Any] = {}
        self._whole: Any = None

    def table(self, table: TextTable, key: str | None = None) -> None:
        """A table; in the document its rows are the list ``key``, or without a key all that there is."""
        if not self.as_json:
            self.tables([table])
        elif key is None:
            self.whole(table.values())
        else:
            self.add(**{key: table.values()})

    def tables(self, tables: list[TextTable], **facts: Any) -> None:
        """Tables for people whose figures are ``facts`` in the document."""
        if self.as_json:
            self.add(**facts)
            return
        from rich.console import Console

        # As wide as the terminal, or as wide as it needs to be where there is none.
        console = Console(width=None if sys.stdout.isatty() else 160)
        for table in tables:
            console.print(table)

    def say(self, sentence: str, **facts: Any) -> None:
        """A sentence, and what it says as parts of the document."""
        if not self.as_json:
            typer.echo(printable(sentence))
        self._facts.update(facts)

    def add(self, **facts: Any) -> None:
        """Parts of the document that people see elsewhere."""
        self._facts.update(facts)

    def whole(self, document: Any) -> None:
        """All of the document, where it is a list."""
        self._whole = document

    def __enter__(self) -> Output:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        from risingbandits._core.files import json_text

        if self.as_json and (error is None or isinstance(error, typer.Exit)):  # an exit code is no failure to answer
            typer.echo(json_text(self._facts if self._whole is None else self._whole), nl=False)
