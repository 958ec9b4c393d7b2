"""User strings on a page, escaped for HTML, for JSON inside a script, and for Plotly's labels.

Names of arms, policies and commands may be anything. Each of the three places has its own markup; here they become
plain strings.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from typing import Any

from risingbandits._core.html_text import CONTROL, escape, name

__all__ = ["escape", "json_for_script", "label", "name", "number", "numbers"]


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
