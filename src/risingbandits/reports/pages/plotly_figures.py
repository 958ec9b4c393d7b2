"""Traces and layouts for Plotly, without colours: ``look`` names a place in the page's palette.

The page's script turns a place into a colour, and into a dash or a pattern where the colours begin again, in light and
dark alike. ``legendgroup`` ties what belongs to one arm or policy, so that the page's legend shows and hides it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from risingbandits._core.types import Floats
from risingbandits.reports.pages.escaping import Number, label, numbers

__all__ = ["MUTED", "axis", "band", "bars", "dots", "entry", "heat", "layout", "line", "named_rows", "stacked"]

Trace = dict[str, Any]

MUTED = -1  # place of what is grey: many arms together


def line(
    text: str,
    x: Sequence[Number],
    y: Sequence[Number],
    place: int,
    hover: str,
    *,
    extra: Sequence[Any] | None = None,
    group: str | None = None,
    dash: str | None = None,
    width: float = 2.0,
    markers: bool = False,
    skip_hover: bool = False,
) -> Trace:
    """A line; ``hover`` is what a point says, in Plotly's template language."""
    trace: Trace = {
        "type": "scatter",
        "mode": "lines+markers" if markers else "lines",
        "name": label(text),
        "legendgroup": group or text,
        "x": list(x),
        "y": list(y),
        "line": {"width": width, **({"dash": dash} if dash else {})},
        "look": {"kind": "line", "place": place},
    }
    if markers:
        trace["marker"] = {"size": 5}
    if skip_hover:
        trace["hoverinfo"] = "skip"
    else:
        trace["hovertemplate"] = hover
    if extra is not None:
        trace["customdata"] = list(extra)
    return trace


def band(text: str, x: Sequence[Number], low: Floats, high: Floats, place: int) -> Trace:
    """The area between two lines, drawn as one outline."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": label(text),
        "legendgroup": text,
        "x": [*x, *reversed(x)],
        "y": [*numbers(high, 5), *reversed(numbers(low, 5))],
        "fill": "toself",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "look": {"kind": "band", "place": place},
    }


def dots(names: Sequence[str], x: Sequence[Number], half: Sequence[Number] | None, hover: str) -> Trace:
    """A point with an interval on each row, the first row on top."""
    trace: Trace = {
        "type": "scatter",
        "mode": "markers",
        "x": list(x),
        "y": list(range(len(names))),
        "text": [label(text) for text in names],
        "marker": {"size": 9},
        "hovertemplate": hover,
        "look": {"kind": "dots", "place": 0},
    }
    if half is not None:
        trace["error_x"] = {"type": "data", "array": list(half), "thickness": 2, "width": 5}
        trace["customdata"] = list(half)
    return trace


def heat(rows: Sequence[str], columns: Sequence[str], values: Floats, texts: Sequence[Sequence[str]]) -> Trace:
    """A table of shades. The shade is the square root of the value, so that small ones are seen."""
    return {
        "type": "heatmap",
        "z": [numbers(np.sqrt(row), 4) for row in values],
        "x": list(range(len(columns))),
        "y": list(range(len(rows))),
        "zmin": 0,
        "zmax": 10,
        "text": [list(row) for row in texts],
        "customdata": [[[label(row), label(column)] for column in columns] for row in rows],
        "texttemplate": "%{text}",
        "hovertemplate": "%{customdata[0]}<br>arm %{customdata[1]}: %{text} %<extra></extra>",
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        "look": {"kind": "heat", "place": 0},
    }


def stacked(text: str, x: Sequence[Number], y: Sequence[Number], place: int, hover: str) -> Trace:
    """A layer of a stack of areas."""
    trace = line(text, x, y, place, hover, width=0.5)
    return {**trace, "stackgroup": "all", "look": {"kind": "area", "place": place}}


def bars(text: str, x: Sequence[Number], y: Sequence[Number], width: Sequence[Number], place: int, hover: str) -> Trace:
    """One layer of stacked bars."""
    return {
        "type": "bar",
        "name": label(text),
        "legendgroup": text,
        "x": list(x),
        "y": list(y),
        "width": list(width),
        "hovertemplate": hover,
        "look": {"kind": "bar", "place": place},
    }


def entry(text: str, place: int, kind: str = "line", group: str | None = None) -> dict[str, Any]:
    """An entry of the legend."""
    return {"text": text, "group": group or text, "look": {"kind": kind, "place": place}}


def axis(title: str, **settings: Any) -> dict[str, Any]:
    """An axis with its title (our own words, not a user's)."""
    plain = {"automargin": True, "zeroline": False, "separatethousands": True, "exponentformat": "none"}
    return {"title": {"text": title}, **plain, **settings}


def named_rows(names: Sequence[str], **settings: Any) -> dict[str, Any]:
    """A vertical axis with a name for each row, the first on top."""
    ticks = {"tickvals": list(range(len(names))), "ticktext": [label(text) for text in names]}
    edge = len(names) - 0.5
    return {"automargin": True, "zeroline": False, "range": [edge, -0.5], **ticks, **settings}


def layout(x: dict[str, Any], y: dict[str, Any], **settings: Any) -> dict[str, Any]:
    """The layout of a figure with one pair of axes."""
    return {"xaxis": x, "yaxis": y, "showlegend": False, "margin": {"l": 8, "r": 12, "t": 8, "b": 8}, **settings}
