"""A page as one HTML file: sections of text, facts, tables and figures, style, and the scripts that draw them.

By its Content-Security-Policy the page loads nothing and runs only its own two scripts, which it names by their hashes.
Equal contents give equal bytes. Every figure has its numbers in a table too.

Names of arms, policies and commands may be anything. HTML, JSON inside a script and Plotly's labels have markup of
their own; in each, such names become plain strings.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from risingbandits._core.errors import missing
from risingbandits._core.tables import CONTROL, TextTable, escape
from risingbandits._core.tables import user_text as name
from risingbandits._version import __version__


def label(text: str, longest: int = 28) -> str:
    """``text`` for a label of Plotly, which knows a few tags and entities; cut to ``longest`` characters.

    >>> label("<b>bold</b> & more")
    '&lt;b&gt;bold&lt;/b&gt; &amp; more'
    >>> label("a name that is much too long for a label")
    'a name that is much too lon…'
    """
    plain = " ".join(CONTROL.sub("\N{REPLACEMENT CHARACTER}", text).split())
    if len(plain) > longest:
        plain = plain[: longest - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return html.escape(plain, quote=False)


def json_for_script(value: Any) -> str:
    """``value`` as JSON that can stand inside a script element: no string in it can end or start one.

    >>> json_for_script({"arm": "</script>"})
    '{"arm":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def number(value: float, digits: int = 6) -> float | None:
    """A number with as many digits as a figure shows; None if there is none.

    >>> number(0.123456789), number(20_000.0), number(float("nan"))
    (0.123457, 20000, None)
    """
    if value != value or value in (float("inf"), float("-inf")):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded


def numbers(values: Iterable[float], digits: int = 6) -> list[float | None]:
    """`number` of each value."""
    return [number(float(value), digits) for value in values]


class Text(NamedTuple):
    """A paragraph of plain text. As for all blocks, ``key`` is its id in the page, and ``html`` its content."""

    key: str
    text: str

    def html(self) -> str:
        return f"<p>{name(self.text)}</p>"


class Code(NamedTuple):
    """A command or a string that must be shown as it is."""

    key: str
    title: str
    text: str

    def html(self) -> str:
        region = f'<pre tabindex="0" role="region" aria-label="{escape(self.title)}">'
        return f"<h3>{escape(self.title)}</h3>{region}<code>{escape(self.text)}</code></pre>"


class Bar(NamedTuple):
    """A bar that fills from 0 to 1, and what it says."""

    key: str
    share: float
    text: str

    def html(self) -> str:
        return (
            f'<progress max="100" value="{100 * self.share:.4g}" aria-hidden="true"></progress><p>{name(self.text)}</p>'
        )


class Fact(NamedTuple):
    """A question in a word or two, its answer, and more about it; ``alarming`` if somebody should look."""

    word: str
    value: str
    detail: str = ""
    alarming: bool = False

    def html(self) -> str:
        opened = '<div class="alarming">' if self.alarming else "<div>"
        detail = f"<dd>{name(self.detail)}</dd>" if self.detail else ""
        return f"{opened}<dt>{escape(self.word)}</dt><dd>{name(self.value)}</dd>{detail}</div>"


class Facts(NamedTuple):
    """Facts side by side: small ("facts"), in boxes ("tiles"), or in boxes with large letters ("answers")."""

    key: str
    facts: Sequence[Fact]
    tone: str = "facts"

    def html(self) -> str:
        return f'<dl class="{self.tone}">{"".join(fact.html() for fact in self.facts)}</dl>'


class Table(NamedTuple):
    """A table with a heading; ``empty`` is shown if it has no rows."""

    key: str
    table: TextTable
    empty: str = ""
    note: str = ""

    def html(self) -> str:
        heading = f"<h3>{escape(self.table.title)}</h3>"
        if not self.table.rows and self.empty:
            return f"{heading}<p>{escape(self.empty)}</p>"
        note = f'<p class="note">{escape(self.note)}</p>' if self.note else ""
        return heading + note + table_html(self.table)


class Figure(NamedTuple):
    """A picture, what it shows, and its numbers. Without ``data`` there are no axes, only the sentence ``empty``."""

    key: str
    title: str
    caption: str  # what is to be seen, and how it was measured
    data: Sequence[dict[str, Any]]  # traces of Plotly; see `plotly_figures`
    layout: dict[str, Any]
    table: TextTable  # the same numbers, or as many as one would read
    legend: Sequence[dict[str, Any]] = ()  # entries of the page's own legend: ``group``, ``text`` and ``look``
    height: int = 400  # in pixels
    empty: str = ""

    def spec(self) -> dict[str, Any]:
        """What the page's script needs to draw it."""
        return {"data": list(self.data), "layout": self.layout, "legend": list(self.legend)}

    def caption_html(self) -> str:
        return f"<h3>{escape(self.title)}</h3><p>{name(self.caption if self.data else self.empty)}</p>"

    def html(self) -> str:
        title, hidden = escape(self.title), "" if self.data else " hidden"
        return (
            f'<figcaption id="{self.key}-caption">{self.caption_html()}</figcaption>'
            f'<div class="legend" role="group" aria-label="Show or hide: {title}"{hidden}></div>'
            f'<div class="plot" role="img" aria-label="{title}. The numbers are in the table below." '
            f'style="height:{self.height}px"{hidden}></div>'
            f"<details{hidden}><summary>The numbers of “{title}” as a table</summary>"
            f'<div id="{self.key}-table">{table_html(self.table)}</div></details>'
        )


Block = Text | Code | Facts | Bar | Table | Figure


class Section(NamedTuple):
    """A part of the page with a heading of its own, listed in the navigation; if ``folded``, opened on demand."""

    key: str
    title: str
    blocks: Sequence[Block]
    folded: bool = False  # not for figures, which are drawn as wide as they are seen

    def html(self) -> str:
        heading = f'<h2 id="{self.key}-heading">{name(self.title)}</h2>'
        tags = [("figure" if isinstance(block, Figure) else "div", block) for block in self.blocks]
        blocks = "\n".join(f'<{tag} id="{block.key}" class="block">{block.html()}</{tag}>' for tag, block in tags)
        inside = (
            f"<details><summary>{heading}</summary>\n{blocks}\n</details>" if self.folded else f"{heading}\n{blocks}"
        )
        return f'<section id="{self.key}" aria-labelledby="{self.key}-heading">{inside}\n</section>'


def table_html(table: TextTable) -> str:
    """A table in a frame that scrolls by keyboard too."""
    inside = table.html(text="", number=' class="number"')
    return f'<div class="scroll" tabindex="0" role="region" aria-label="Table: {escape(table.title)}">{inside}</div>'


class Page(NamedTuple):
    """A title, a sentence and sections."""

    title: str
    lead: str  # what matters most, in a sentence
    sections: Sequence[Section]
    live: int | None = None  # number of the event that it shows, if it listens to a server for newer blocks

    def blocks(self) -> Iterator[Block]:
        """All blocks, section by section."""
        for section in self.sections:
            yield from section.blocks

    def html(self) -> str:
        """The whole file."""
        plotly, script = plotly_script(), asset("page.js")
        connect = "'none'" if self.live is None else "'self'"
        policy = (
            f"default-src 'none'; script-src {script_hash(plotly)} {script_hash(script)}; style-src 'unsafe-inline'; "
            f"img-src data: blob:; connect-src {connect}; base-uri 'none'; form-action 'none'"
        )
        return asset("page.html").format(
            policy=escape(policy).replace("&#x27;", "'"),
            title=escape(self.title),
            style=asset("page.css"),
            live="" if self.live is None else f' data-event="{self.live}"',
            heading=name(self.title),
            lead=name(self.lead),
            navigation="".join(f'<li><a href="#{s.key}">{name(s.title)}</a></li>' for s in self.sections),
            sections="\n".join(section.html() for section in self.sections),
            version=escape(__version__),
            figures=json_for_script({b.key: b.spec() for b in self.blocks() if isinstance(b, Figure)}),
            plotly=plotly,
            script=script,
        )


@cache
def plotly_script() -> str:
    """Plotly's script from its Python package, made fit for a page.

    The end of a script element inside would end ours too; a carriage return would change the hash in a browser.
    """
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise missing("Plotly", "reports", "report") from None
    return str(get_plotlyjs()).replace("\r\n", "\n").replace("\r", "\n").replace("</script", "<\\/script").rstrip()


@cache
def asset(file: str) -> str:
    """A file that is part of pages."""
    return (resources.files(__package__) / "assets" / file).read_text(encoding="utf-8")


def script_hash(script: str) -> str:
    """How a Content-Security-Policy names a script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
