"""Draws the data of figures with Plotly, without colours: ``look`` names a place in the page's palette.

The page's script turns a place into a colour, and into a dash or a pattern if the colours run out, in light and dark
alike. ``legendgroup`` ties what belongs to one arm or policy, so that the page's legend shows and hides it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from risingbandits._core.tables import TextTable
from risingbandits._core.types import Floats, Ints
from risingbandits.reports._figure_data import MUTED, Line, Shares
from risingbandits.reports.pages.layout import Figure, label, numbers

Trace = dict[str, Any]
_BLOCKS = 60  # of a figure of blocks, at most


def line(data: Line, hover: str = "%{y:,.5~r}", *, width: float = 2.0, dash: str = "", markers: bool = False) -> Trace:
    """A line; ``hover`` is what a point says, in Plotly's template language."""
    if data.place == MUTED:
        said: Trace = {"hoverinfo": "skip"}
    elif data.half is not None:
        said = {"hovertemplate": f"{hover} ± %{{customdata:,.3~r}}", "customdata": numbers(data.half, 4)}
    else:
        said = {"hovertemplate": hover}
    width = 1.0 if data.place == MUTED else 3.0 if data.bold else width
    drawn: Trace = {"mode": "lines", "line": {"width": width, **({"dash": dash} if dash else {})}}
    if markers:
        drawn |= {"mode": "lines+markers", "marker": {"size": 5}}
    return {**_trace("scatter", "line", data), **drawn, **said}


def band(data: Line) -> Trace:
    """The area around a line, drawn as one outline."""
    x, half = numbers(data.x, 9), data.half if data.half is not None else 0.0
    outline = [*numbers(data.y + half), *reversed(numbers(data.y - half))]
    trace = {**_trace("scatter", "band", data), "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    return {**trace, "fill": "toself", "x": [*x, *reversed(x)], "y": outline}


def bars(data: Line, width: Sequence[float]) -> Trace:
    """A layer of stacked bars."""
    return {**_trace("bar", "bar", data), "width": list(width), "hovertemplate": "%{y:,.5~r}"}


def _trace(kind: str, look: str, data: Line) -> Trace:
    x, y = numbers(data.x, 9), numbers(data.y)
    names = {"name": label(data.name), "legendgroup": data.name, "look": {"kind": look, "place": data.place}}
    return {"type": kind, "x": x, "y": y, **names}


def lines_figure(
    key: str,
    title: str,
    caption: str,
    lines: Sequence[Line],
    axes: tuple[dict[str, Any], dict[str, Any]],
    table: TextTable,
    *,
    draw: Callable[[Line], Trace] = line,
    further: Sequence[Trace] = (),
    height: int = 400,
    hovermode: str = "x unified",
    empty: str = "",
) -> Figure:
    """A figure of lines, or of what else ``draw`` makes of them, with ``further`` traces that the legend leaves out.

    ``empty`` is said where there are none.
    """
    drawn = [draw(data) for data in lines]
    kind = drawn[0]["look"]["kind"] if drawn else "line"
    bands = [band(data) for data in lines if data.half is not None]
    places = {data.name: data.place for data in sorted(lines, key=lambda data: data.place == MUTED)}
    legend = [{"text": name, "group": name, "look": {"kind": kind, "place": at}} for name, at in places.items()]
    layout = _layout(*axes, hovermode=hovermode, barmode="stack")
    return Figure(key, title, caption, [*bands, *drawn, *further], layout, table, legend, height, empty)


def block_size(count: int, most: int) -> int:
    """The least of 1, 2, 5, 10, 20, 50, ... in which ``count`` makes at most ``most`` blocks.

    >>> block_size(60, 60), block_size(61, 60), block_size(1_000_000, 60)
    (1, 2, 20000)
    """
    size = 1
    while -(-count // size) > most:
        size = size * 5 // 2 if str(size)[0] == "2" else size * 2
    return size


def blocks_figure(
    key: str,
    title: str,
    what: str,
    pulls: int,
    layers: Callable[[Floats, Ints], list[Line]],
    unit: str,
    *,
    empty: str = "",
) -> Figure:
    """Stacked bars: ``what`` happened in each block of so many ``pulls``, in ``unit``.

    ``layers`` makes them from the middle of each block and the block of each pull.
    """
    size = block_size(pulls, _BLOCKS)
    first = np.arange(max(1, -(-pulls // size))) * size + 1
    last = np.minimum(first + size - 1, max(pulls, 1))
    drawn = layers((first + last) / 2, np.arange(pulls) // size)
    each = "each pull" if size == 1 else f"each {size:,} pulls"
    ranges = [f"{a:,}" if a == b else f"{a:,} to {b:,}" for a, b in zip(first, last, strict=True)]
    rows = [(ranges[i], *(f"{layer.y[i]:,.5g}" for layer in drawn)) for i in range(len(first))]
    header = ("pulls", *(layer.name for layer in drawn))
    return lines_figure(
        key,
        title,
        f"Of {each}, in order: {what}.",
        drawn,
        (
            axis("pulls, in order", hoverformat=",.0f", range=[0.5, max(pulls, 1) + 0.5]),
            axis(f"{unit} per {size:,} pulls" if size > 1 else unit),
        ),
        TextTable(header, rows, frozenset(range(1, len(header))), f"Of {each}: {what} ({unit})"),
        draw=lambda layer: bars(layer, (last - first + 1).tolist()),
        height=340,
        empty=empty,
    )


def heat_figure(key: str, title: str, caption: str, shares: Shares) -> Figure:
    """A table of shades. The shade is the square root of the share, so that small ones are visible."""
    rows, columns, texts = shares.rows, shares.columns, shares.texts()
    trace = {
        "type": "heatmap",
        "z": [numbers(np.sqrt(row), 4) for row in shares.values],
        "x": list(range(len(columns))),
        "y": list(range(len(rows))),
        "zmin": 0,
        "zmax": 10,
        "text": texts,
        "customdata": [[[label(row), label(column)] for column in columns] for row in rows],
        "texttemplate": "%{text}",
        "hovertemplate": "%{customdata[0]}<br>arm %{customdata[1]}: %{text} %<extra></extra>",
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        "look": {"kind": "heat", "place": 0},
    }
    ticks = {"tickvals": list(range(len(columns))), "ticktext": [label(name, 16) for name in columns]}
    layout = _layout(
        axis("arm", showgrid=False, range=[-0.5, len(columns) - 0.5], **ticks), _named_rows(rows, showgrid=False)
    )
    body = [(name, *cells) for name, cells in zip(rows, texts, strict=True)]
    numeric = frozenset(range(1, len(columns) + 1))
    table = TextTable(("policy", *columns), body, numeric, "Share of the pulls, in percent")
    return Figure(key, title, caption, [trace], layout, table, height=110 + 30 * len(rows))


def axis(title: str, **settings: Any) -> dict[str, Any]:
    """An axis with its title (our own words, not a user's)."""
    plain = {"automargin": True, "zeroline": False, "separatethousands": True, "exponentformat": "none"}
    return {"title": {"text": title}, **plain, **settings}


def _named_rows(names: Sequence[str], **settings: Any) -> dict[str, Any]:
    """A vertical axis with a name for each row, the first on top."""
    ticks = {"tickvals": list(range(len(names))), "ticktext": [label(text) for text in names]}
    return {"automargin": True, "zeroline": False, "range": [len(names) - 0.5, -0.5], **ticks, **settings}


def _layout(x: dict[str, Any], y: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return {"xaxis": x, "yaxis": y, "showlegend": False, "margin": {"l": 8, "r": 24, "t": 30, "b": 8}, **settings}
