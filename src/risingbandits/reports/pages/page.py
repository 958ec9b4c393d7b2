"""A page as one file: sections, navigation, style, Plotly's script and the figures' data, with nothing from elsewhere.

The page forbids itself by a Content-Security-Policy to load anything and to run any script but its own two, which it
names by their hashes. Equal contents give equal bytes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from risingbandits._core.errors import RisingBanditsError
from risingbandits._version import __version__
from risingbandits.reports.pages.elements import Block, Figure, Section
from risingbandits.reports.pages.escaping import escape, json_for_script, name

__all__ = ["Page", "plotly_script"]

_TEMPLATE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body{live}>
<a class="skip" href="#main">Skip to the content</a>
<header>
<div class="bar"><p class="brand">risingbandits</p><p id="connection" role="status"></p>\
<button type="button" id="theme" aria-pressed="false">Dark colours</button></div>
<h1>{heading}</h1>
<p class="lead" id="lead">{lead}</p>
<nav aria-label="Sections"><ul>{navigation}</ul></nav>
</header>
<main id="main" tabindex="-1">
<noscript><p>The pictures need scripts; every one has its numbers in a table below it.</p></noscript>
{sections}
</main>
<footer><p>risingbandits {version}. Everything on this page is in this file.</p></footer>
<script type="application/json" id="figures">{figures}</script>
<script>{plotly}</script>
<script>{script}</script>
</body>
</html>
"""


@dataclass(frozen=True)
class Page:
    """A title, a sentence and sections.

    Attributes
    ----------
    title, lead : str
        Heading, and what matters most in a sentence.
    sections : sequence of Section
        What follows.
    live : int or None
        Number of the event that it shows, if the page listens to the server it came from for newer blocks.
    """

    title: str
    lead: str
    sections: Sequence[Section]
    live: int | None = None

    def blocks(self) -> Iterator[Block]:
        """All blocks, section by section."""
        for section in self.sections:
            yield from section.blocks

    def html(self) -> str:
        """The whole file."""
        plotly, script = plotly_script(), _asset("page.js")
        connect = "'none'" if self.live is None else "'self'"
        policy = (
            f"default-src 'none'; script-src {_hash(plotly)} {_hash(script)}; style-src 'unsafe-inline'; "
            f"img-src data: blob:; connect-src {connect}; base-uri 'none'; form-action 'none'"
        )
        return _TEMPLATE.format(
            policy=escape(policy).replace("&#x27;", "'"),
            title=escape(self.title),
            style=_asset("page.css"),
            live="" if self.live is None else f' data-event="{self.live}"',
            heading=name(self.title),
            lead=name(self.lead),
            navigation="".join(f'<li><a href="#{s.key}">{name(s.title)}</a></li>' for s in self.sections),
            sections="\n".join(map(_section, self.sections)),
            version=escape(__version__),
            figures=json_for_script({b.key: b.spec() for b in self.blocks() if isinstance(b, Figure)}),
            plotly=plotly,
            script=script,
        )


@cache
def plotly_script() -> str:
    """Plotly's script, as its Python package brings it along, made fit to stand in a page.

    The end of a script element inside would end ours too; a carriage return would change the hash in a browser.
    """
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise RisingBanditsError("Plotly is needed for reports: pip install 'risingbandits[report]'.") from None
    text = str(get_plotlyjs()).replace("\r\n", "\n").replace("\r", "\n").replace("</script", "<\\/script").rstrip()
    return _compiled_at_once(text)


def _compiled_at_once(script: str) -> str:
    """Plotly's script with its main function in parentheses, where it has the form we know.

    Browsers take parentheses as a sign that a function is called at once and do not read its 4 MB twice, which is a
    seventh of the time that Plotly takes to load.
    """
    head, tail = "this, () => {\n", "}));"
    if script.count(head) != 1 or not script.endswith(tail):
        return script
    return script.replace(head, "this, (() => {\n").removesuffix(tail) + "})));"


@cache
def _asset(file: str) -> str:
    return (resources.files(__package__) / "assets" / file).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _section(section: Section) -> str:
    blocks = "\n".join(map(_block, section.blocks))
    heading = f'<h2 id="{section.key}-heading">{name(section.title)}</h2>'
    return f'<section id="{section.key}" aria-labelledby="{section.key}-heading">{heading}\n{blocks}\n</section>'


def _block(block: Block) -> str:
    tag = "figure" if isinstance(block, Figure) else "div"
    return f'<{tag} id="{block.key}" class="block">{block.html()}</{tag}>'
