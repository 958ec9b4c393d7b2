"""Tables, made once as rows of text and shown by Rich on a terminal or as Markdown in a file."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from risingbandits._core.errors import check_choice

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]|[\ud800-\udfff]")  # a page cannot hold them
_NARROWEST = 12  # letters of a column that is folded
_LEFT, _RIGHT = ' style="text-align: left"', ' style="text-align: right"'
_RICH_GAP, _FRAME = 3, 2  # letters between two columns on a terminal, and beside them


def escape(text: object) -> str:
    """``text`` for HTML, inside an element or a quoted attribute.

    >>> escape('<script>alert("1")</script>')
    '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;'
    """
    return html.escape(CONTROL.sub("\N{REPLACEMENT CHARACTER}", str(text)))


def user_text(text: object) -> str:
    """A user's string for HTML; its writing direction does not affect the text around it."""
    return f"<bdi>{escape(text)}</bdi>"


class TextTable(NamedTuple):
    """A header, rows of strings, which columns hold numbers, and for programs a record for each row."""

    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numeric: frozenset[int] = frozenset()
    title: str = ""
    records: Sequence[Mapping[str, Any]] | None = None
    optional: tuple[str, ...] = ()  #: columns to leave out if there is too little room, in this order

    def values(self) -> Sequence[Mapping[str, Any]]:
        """The records: unrounded numbers, under names that do not change with the wording of the header.

        >>> table = TextTable(("arm", "mean ± 95 %"), [("a", "0.5 ± 0.1")], records=[{"arm": "a", "mean": 0.5}])
        >>> table.values()
        [{'arm': 'a', 'mean': 0.5}]
        """
        assert self.records is not None, f"the table {self.title or self.header} has no records for --json"
        return self.records

    def within(self, width: int, gap: int = 2) -> TextTable:
        """The table without the optional columns that must be left out for lines of ``width``.

        >>> table = TextTable(("arm", "pulls", "level"), [("a", "3", "0.5")], frozenset({1, 2}), optional=("pulls",))
        >>> table.within(17).header, table.within(16).header
        (('arm', 'pulls', 'level'), ('arm', 'level'))
        """
        least = []  # letters that each column needs: numbers are shown whole, strings may be folded
        for column, cells in enumerate(zip(self.header, *self.rows, strict=True)):
            longest = max(map(len, cells))
            folded = min(longest, max(_NARROWEST, len(self.header[column])))
            least.append(longest if column in self.numeric else folded)
        kept = list(range(len(self.header)))
        for name in self.optional:
            if sum(least[column] for column in kept) + gap * (len(kept) - 1) <= width:
                break
            kept = [column for column in kept if self.header[column] != name]
        return self if len(kept) == len(self.header) else self._with(kept)

    def only(self, columns: Sequence[str] | None) -> TextTable:
        """The table with these columns alone, in this order, by their heads or how these begin; None is all.

        >>> table = TextTable(("policy", "regret ± 95 %", "sd"), [("a", "3 ± 1", "2")], frozenset({1, 2}))
        >>> table.only(["policy", "sd"]).header, table.only(["regret"]).rows
        (('policy', 'sd'), [('3 ± 1',)])
        """
        if columns is None:
            return self
        heads = [next((head for head in self.header if head.startswith(str(name))), name) for name in columns]
        return self._with([self.header.index(check_choice("columns", head, self.header)) for head in heads])

    def _with(self, kept: Sequence[int]) -> TextTable:
        return self._replace(
            header=tuple(self.header[column] for column in kept),
            rows=[tuple(row[column] for column in kept) for row in self.rows],
            numeric=frozenset(at for at, column in enumerate(kept) if column in self.numeric),
        )

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """For a terminal: as much as fits."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        if self.title:  # on its own, for a title of the table would be folded to the width of the columns
            yield Text(printable(self.title), style="bold")
        fitting = self.within(options.max_width - _FRAME, _RICH_GAP)
        table = Table(box=box.SIMPLE_HEAD)
        for column, name in enumerate(fitting.header):
            right = column in fitting.numeric
            table.add_column(name, justify="right" if right else "left", no_wrap=right, overflow="fold")
        for row in fitting.rows:
            table.add_row(*(Text(printable(cell)) for cell in row))
        yield table

    def plain(self, width: int | None = None) -> str:
        """As aligned lines, the title first; columns of text are folded if lines would be longer than ``width``.

        >>> rows = [("small", "3", "out of memory"), ("b", "12", "")]
        >>> table = TextTable(("arm", "pulls", "why"), rows, frozenset({1}), "Arms")
        >>> print(table.plain())
        Arms
        arm    pulls  why
        small      3  out of memory
        b         12
        >>> print(table.plain(width=26))
        Arms
        arm    pulls  why
        small      3  out of
                      memory
        b         12
        """
        if width is not None and self != (fitting := self.within(width)):
            return fitting.plain(width)
        lines = [self.header, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        if width is not None:
            self._narrow(widths, width)
        aligned = (
            "  ".join(
                cell.rjust(size) if column in self.numeric else cell.ljust(size)
                for column, (cell, size) in enumerate(zip(cells, widths, strict=True))
            ).rstrip()
            for line in lines
            for cells in zip_longest(*(_folded(*pair) for pair in zip(line, widths, strict=True)), fillvalue="")
        )
        return "\n".join([self.title, *aligned] if self.title else aligned)

    def _narrow(self, widths: list[int], width: int) -> None:
        """Narrow the widest column of text, repeatedly, until a line fits or no column can be narrower."""
        texts = [column for column in range(len(widths)) if column not in self.numeric]
        while sum(widths) + 2 * (len(widths) - 1) > width and texts:
            widest = max(texts, key=widths.__getitem__)
            if widths[widest] <= max(_NARROWEST, len(self.header[widest])):
                return
            widths[widest] -= 1

    def html(self, notes: Sequence[str] = (), text: str = _LEFT, number: str = _RIGHT) -> str:
        """As an HTML table with its title and ``notes``: every string is escaped.

        ``text`` and ``number`` are the attributes of cells; by default those for notebooks, which have no style sheet.
        """
        sides = [number if column in self.numeric else text for column in range(len(self.header))]
        head = "".join(f'<th scope="col"{at}>{escape(cell)}</th>' for at, cell in zip(sides, self.header, strict=True))
        rows = []
        for first, *others in self.rows:
            cells = "".join(f"<td{at}>{user_text(cell)}</td>" for at, cell in zip(sides[1:], others, strict=True))
            rows.append(f'<tr><th scope="row"{sides[0]}>{user_text(first)}</th>{cells}</tr>\n')
        caption = f"<caption{text}>{user_text(self.title)}</caption>" if self.title else ""
        said = "".join(f"<p>{user_text(note)}</p>\n" for note in notes)
        body = "".join(rows)
        return f"<table>{caption}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>\n{said}"

    def markdown(self) -> str:
        """For a Markdown file; ends with a line break."""
        rule = ["---:" if column in self.numeric else "---" for column in range(len(self.header))]
        lines = [self.header, rule, *([cell.replace("|", r"\|") for cell in row] for row in self.rows)]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def printable(text: str) -> str:
    """A text in which nothing but line ends steers a terminal: reasons may quote what a command printed.

    >>> printable("a is retired: \\x1b[31mred\\nb is not")
    'a is retired:  [31mred\\nb is not'
    """
    return "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text)


def _folded(text: str, width: int) -> list[str]:
    """``text`` as lines of at most ``width`` letters, unchanged if it fits."""
    return [text] if len(text) <= width else textwrap.wrap(text, width) or [""]
