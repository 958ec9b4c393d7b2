"""What a page is made of: texts, facts, tables and figures, each with its HTML.

A figure is a description for Plotly without colours: ``look`` in a trace says which colour of the page's palette it
has, so that the same figure is right in light and in dark. Every figure has its numbers in a table too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from risingbandits._core.tables import TextTable
from risingbandits.reports.pages.escaping import escape, name

__all__ = ["Block", "Code", "Facts", "Figure", "Section", "Table", "Text"]


class Block(Protocol):
    """A part of a section. ``key`` is its id in the page."""

    @property
    def key(self) -> str: ...

    def html(self) -> str:
        """What stands inside the block's element."""


class Text(NamedTuple):
    """Paragraphs of plain text; ``tone`` is a class of the style sheet, such as "lead" or "good"."""

    key: str
    paragraphs: Sequence[str]
    tone: str = ""

    def html(self) -> str:
        tone = f' class="{self.tone}"' if self.tone else ""
        return "".join(f"<p{tone}>{name(paragraph)}</p>" for paragraph in self.paragraphs)


class Code(NamedTuple):
    """A command or a text that must be shown as it is."""

    key: str
    title: str
    text: str

    def html(self) -> str:
        region = f'<pre tabindex="0" role="region" aria-label="{escape(self.title)}">'
        return f"<h3>{escape(self.title)}</h3>{region}<code>{escape(self.text)}</code></pre>"


class Facts(NamedTuple):
    """Pairs of a word and its value."""

    key: str
    facts: Sequence[tuple[str, str]]
    tone: str = "facts"

    def html(self) -> str:
        pairs = (f"<div><dt>{escape(word)}</dt><dd>{name(value)}</dd></div>" for word, value in self.facts)
        return f'<dl class="{self.tone}">{"".join(pairs)}</dl>'


class Table(NamedTuple):
    """A table with a heading; ``empty`` is said where it has no rows."""

    key: str
    table: TextTable
    empty: str = ""
    note: str = ""

    def html(self) -> str:
        if not self.table.rows and self.empty:
            return f"<h3>{escape(self.table.title)}</h3><p>{escape(self.empty)}</p>"
        note = f'<p class="note">{escape(self.note)}</p>' if self.note else ""
        return f"<h3>{escape(self.table.title)}</h3>{note}{table_html(self.table)}"


class Figure(NamedTuple):
    """A picture, what it shows, and its numbers.

    Attributes
    ----------
    key, title : str
        Its id and heading.
    caption : str
        What is to be seen, and how it was measured.
    data, layout
        Traces and layout of Plotly; see `html_figures`.
    table : TextTable
        The same numbers, or as many as one would read.
    legend : sequence of dict
        Entries of the page's own legend: ``group``, ``text`` and ``look``.
    height : int
        In pixels.
    """

    key: str
    title: str
    caption: str
    data: Sequence[dict[str, Any]]
    layout: dict[str, Any]
    table: TextTable
    legend: Sequence[dict[str, Any]] = ()
    height: int = 400

    def spec(self) -> dict[str, Any]:
        """What the page's script needs to draw it."""
        return {"data": list(self.data), "layout": self.layout, "legend": list(self.legend)}

    def caption_html(self) -> str:
        return f"<h3>{escape(self.title)}</h3><p>{name(self.caption)}</p>"

    def html(self) -> str:
        title = escape(self.title)
        return (
            f'<figcaption id="{self.key}-caption">{self.caption_html()}</figcaption>'
            f'<div class="legend" role="group" aria-label="Show or hide: {title}"></div>'
            f'<div class="plot" role="img" aria-label="{title}. The numbers are in the table below." '
            f'style="height:{self.height}px"></div>'
            f"<details><summary>The numbers of “{title}” as a table</summary>"
            f'<div id="{self.key}-table">{table_html(self.table)}</div></details>'
        )


class Section(NamedTuple):
    """A part of the page with a heading of its own, listed in the navigation."""

    key: str
    title: str
    blocks: Sequence[Block]


def table_html(table: TextTable) -> str:
    """A table with a caption, in a frame that scrolls by keyboard too."""
    title = escape(table.title)
    head = "".join(f'<th scope="col"{_right(table, i)}>{escape(cell)}</th>' for i, cell in enumerate(table.header))
    rows = "".join(f"<tr>{_cells(table, row)}</tr>" for row in table.rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="Table: {title}"><table><caption>{title}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _cells(table: TextTable, row: Sequence[str]) -> str:
    first, *others = row
    rest = "".join(f"<td{_right(table, i)}>{name(cell)}</td>" for i, cell in enumerate(others, 1))
    return f'<th scope="row"{_right(table, 0)}>{name(first)}</th>{rest}'


def _right(table: TextTable, column: int) -> str:
    return ' class="number"' if column in table.numeric else ""
