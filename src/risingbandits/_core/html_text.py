"""User strings inside HTML."""

from __future__ import annotations

import html
import re

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]|[\ud800-\udfff]")  # a page cannot hold them


def escape(text: object) -> str:
    """``text`` for HTML, inside an element or a quoted attribute.

    >>> escape('<script>alert("1")</script>')
    '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;'
    """
    return html.escape(CONTROL.sub("\N{REPLACEMENT CHARACTER}", str(text)))


def name(text: object) -> str:
    """A user's name for HTML; its writing direction does not affect the text around it."""
    return f"<bdi>{escape(text)}</bdi>"
