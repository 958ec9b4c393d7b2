"""Tables, made once as rows of text and shown by Rich on a terminal or as Markdown in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from risingbandits._core.html_text import escape
from risingbandits._core.html_text import name as user_text

if TYPE_CHECKING:
    from rich.table import Table


class TextTable(NamedTuple):
    """A header, rows of text, which columns hold numbers, and the same for programs: a record for each row."""

    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numeric: frozenset[int] = frozenset()
    title: str = ""
    records: Sequence[Mapping[str, Any]] | None = None

    def values(self) -> Sequence[Mapping[str, Any]]:
        """The records: numbers that are not rounded, under names that do not change with the words of the header.

        >>> table = TextTable(("arm", "mean ± 95 %"), [("a", "0.5 ± 0.1")], records=[{"arm": "a", "mean": 0.5}])
        >>> table.values()
        [{'arm': 'a', 'mean': 0.5}]
        """
        assert self.records is not None, f"the table {self.title or self.header} has no records for --json"
        return self.records

    def rich(self) -> Table:
        """For a terminal."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(title=self.title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
        for column, name in enumerate(self.header):
            right = column in self.numeric
            table.add_column(name, justify="right" if right else "left", no_wrap=right, overflow="fold")
        for row in self.rows:
            table.add_row(*map(Text, row))
        return table

    def plain(self) -> str:
        """As aligned lines, the title first.

        >>> print(TextTable(("arm", "pulls"), [("small", "3"), ("b", "12")], frozenset({1}), "Arms").plain())
        Arms
        arm    pulls
        small      3
        b         12
        """
        lines = [self.header, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        aligned = (
            "  ".join(
                cell.rjust(width) if column in self.numeric else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        )
        return "\n".join([self.title, *aligned] if self.title else aligned)

    def html(self, notes: Sequence[str] = ()) -> str:
        """As an HTML table with its title and ``notes``, for notebooks: every text is escaped."""
        sides = [
            f' style="text-align: {"right" if column in self.numeric else "left"}"'
            for column in range(len(self.header))
        ]
        head = "".join(f"<th{side}>{escape(cell)}</th>" for side, cell in zip(sides, self.header, strict=True))
        rows = "".join(
            f"<tr>{''.join(f'<td{side}>{user_text(cell)}</td>' for side, cell in zip(sides, row, strict=True))}</tr>\n"
            for row in self.rows
        )
        caption = f'<caption style="text-align: left">{user_text(self.title)}</caption>' if self.title else ""
        said = "".join(f"<p>{user_text(note)}</p>\n" for note in notes)
        return f"<table>{caption}\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table>\n{said}"

    def markdown(self) -> str:
        """For a Markdown file; ends with a line break."""
        rule = ["---:" if column in self.numeric else "---" for column in range(len(self.header))]
        lines = [self.header, rule, *([cell.replace("|", r"\|") for cell in row] for row in self.rows)]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)
