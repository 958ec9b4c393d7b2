"""The page of a check of measured curves: one verdict for each question, each with its figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from risingbandits._core.files import write_whole
from risingbandits._core.tables import TextTable
from risingbandits._core.types import Floats
from risingbandits.reports.figure_data import MUTED, Dots, Line, lines_table
from risingbandits.reports.pages import plotly_figures as draw
from risingbandits.reports.pages.layout import Block, Code, Figure, Page, Section, Table, Text
from risingbandits.reports.tables import check_table, verdicts_table
from risingbandits.theory.estimators._measured import CurveReport, noise_level
from risingbandits.theory.estimators._questions import Verdict, early_ranks, ends_of, whole_curves

_MOST_COLOURED, _MOST_GREY, _POINTS, _MOST_ROWS = 7, 60, 120, 200
_TENTHS = np.arange(1, 11) / 10
_LEAST_ARMS, _LEAST_VALUES = 3, 10


def write_page(
    curves: Mapping[str, Floats],
    reports: Sequence[CurveReport],
    verdicts: Sequence[Verdict],
    path: Path,
    *,
    metric: str = "value",
    falling: bool = False,
    command: str = "",
) -> None:
    """Write the page, whole or not at all; of ``curves`` more is better, ``falling`` ones were turned for that."""
    page = check_page(curves, reports, verdicts, metric=metric, falling=falling, command=command)
    write_whole(path, page.html().encode())


def check_page(
    curves: Mapping[str, Floats],
    reports: Sequence[CurveReport],
    verdicts: Sequence[Verdict],
    *,
    metric: str = "value",
    falling: bool = False,
    command: str = "",
) -> Page:
    """The page of curves with their reports and verdicts."""
    sections = [
        Section("verdicts", "Verdicts", [Table("questions", verdicts_table(verdicts)._replace(title="All questions"))])
    ]
    pictures: dict[str, Figure] = {"rising": _curves(curves, metric, -1.0 if falling else 1.0)}
    names, table = whole_curves(curves)
    if len(names) >= _LEAST_ARMS and table.shape[1] >= _LEAST_VALUES:
        pictures |= {"concave": _gains(table), "early ranks": _ranks(table), "noise": _noise(names, table, falling)}
        pictures["schedule"] = _fluctuation(table)
    for number, verdict in enumerate(verdicts, 1):
        said = f"{verdict.answer[:1].upper()}{verdict.answer[1:]}. What it means: {verdict.meaning}."
        blocks: list[Block] = [Text(f"verdict-{number}", said)]
        if verdict.question in pictures:
            blocks.append(pictures[verdict.question])
        sections.append(Section(f"question-{number}", verdict.question.capitalize(), blocks))
    shapes = check_table(reports)
    cut = f"{_MOST_ROWS} of {len(shapes.rows):,} rows are listed." if len(shapes.rows) > _MOST_ROWS else ""
    about: list[Block] = [
        Table("shapes", shapes._replace(rows=shapes.rows[:_MOST_ROWS], title="Each arm, each shape"), note=cut)
    ]
    about += [Code("command", "The command", command)] if command else []
    sections.append(Section("arms", "Arm by arm", about))
    lead = "; ".join(f"{verdict.question}: {verdict.answer.split(':')[0].split(',')[0]}" for verdict in verdicts)
    return Page(f"Check: {metric}", f"{len(curves):,} arms. {lead[:1].upper()}{lead[1:]}.", sections)


def _curves(curves: Mapping[str, Floats], metric: str, sign: float) -> Figure:
    """The curves as they were measured, those that are best in the end in colour."""
    order = sorted(curves, key=lambda name: -float(curves[name][-1]))
    coloured, others = order[:_MOST_COLOURED], order[_MOST_COLOURED:]
    lines = []
    for name in [*others[:: max(1, -(-len(others) // _MOST_GREY))], *reversed(coloured)]:
        values = sign * curves[name]
        at = np.unique(np.linspace(0, len(values) - 1, min(len(values), _POINTS)).round().astype(np.int64))
        grey = name not in coloured
        shown = f"{len(others):,} others" if grey else name
        lines.append(
            Line(
                shown,
                MUTED if grey else coloured.index(name),
                (at + 1.0).astype(np.float64),
                values[at],
                bold=name == order[0],
            )
        )
    rows = [
        (name, f"{len(curves[name]):,}", f"{sign * curves[name][0]:.4g}", f"{sign * curves[name][-1]:.4g}")
        for name in order[:_MOST_ROWS]
    ]
    table = TextTable(("arm", "values", "first", "last"), rows, frozenset({1, 2, 3}), "Arms, the best last value first")
    return draw.lines_figure(
        "curves",
        "Learning curves",
        f"The {metric} of each arm as it was measured; the {len(coloured)} best last values in colour.",
        lines,
        (draw.axis("values", hoverformat=",.0f"), draw.axis("value")),
        table,
        hovermode="closest",
    )


def _gains(table: Floats) -> Figure:
    """How much of its total gain a curve makes in each tenth: concave curves have falling bars."""
    gains = np.diff(_at_tenths(table), axis=1)
    whole = gains.sum(axis=1, keepdims=True)
    shares = (
        100.0 * np.median(gains[whole[:, 0] > 0] / whole[whole[:, 0] > 0], axis=0)
        if (whole > 0).any()
        else gains[0] * 0
    )
    line = Line("median arm", 0, np.linspace(5.0, 95.0, 10), shares)
    return draw.lines_figure(
        "gains",
        "What each tenth of a curve brings",
        "What percentage of its total gain an arm makes in each tenth of its curve; the median of the arms. If curves "
        "are concave, each bar is lower than the one before.",
        [line],
        (draw.axis("percent of the curve", range=[0, 100]), draw.axis("percent of the gain")),
        lines_table("Percent of the gain", "percent of the curve", [line], ".0f", ".1f"),
        draw=lambda data: draw.bars(data, [9.0] * 10),
        height=320,
    )


def _ranks(table: Floats) -> Figure:
    found = np.nan_to_num(early_ranks(table, _TENTHS.tolist()))
    line = Line("all arms", 0, 100.0 * _TENTHS, found)
    return draw.lines_figure(
        "ranks",
        "How early ranks are known",
        "Rank correlation (Spearman) of the arms' values after a part of their curves with their final values: at 1, "
        "the order of the arms is already the final one; at 0, it says nothing about it.",
        [line],
        (
            draw.axis("percent of the curve", range=[0, 102]),
            draw.axis("rank correlation", range=[min(-0.05, found.min()), 1.05]),
        ),
        lines_table("Rank correlation with the end", "percent of the curve", [line], ".0f", ".2f"),
        draw=lambda data: draw.line(data, markers=True),
        height=320,
    )


def _noise(names: Sequence[str], table: Floats, falling: bool) -> Figure:
    """The ends of the best arms with twice the noise of one value around them."""
    ends = ends_of(table)
    order = np.argsort(-ends, kind="stable")[:12]
    tails = table[:, table.shape[1] // 3 :]
    half = 2.0 * np.array([noise_level(tails[arm]) for arm in order])
    middle = -ends[order] if falling else ends[order]
    shown = [names[arm] for arm in order]
    rows = [(name, f"{value:.4g}", f"{width:.2g}") for name, value, width in zip(shown, middle, half, strict=True)]
    figure = draw.dots_figure(
        "noise",
        "Ends of the best arms",
        "The mean of the last 5 % of a curve, and around it twice the noise of one value. Where these overlap, one "
        "value does not tell the arms apart.",
        shown,
        [Dots("end", 0, middle, middle - half, middle + half)],
        "value in the end",
        TextTable(("arm", "end", "twice the noise"), rows, frozenset({1, 2}), "Ends and noise"),
    )
    # Ends lie close together, far from 0.
    return figure._replace(layout=figure.layout | {"xaxis": figure.layout["xaxis"] | {"rangemode": "normal"}})


def _fluctuation(table: Floats) -> Figure:
    """How much the arms fluctuate in each tenth of their curves."""
    length = table.shape[1]
    ends = [round(share * length) for share in (0.0, *_TENTHS.tolist())]
    noise = []
    for start, end in pairwise(ends):
        part = table[:, max(0, min(start, end - 5)) : max(end, 5)]
        noise.append(float(np.median([noise_level(own) for own in part])))
    line = Line("median arm", 0, np.linspace(5.0, 95.0, 10), np.array(noise))
    return draw.lines_figure(
        "fluctuation",
        "How much curves fluctuate",
        "The standard deviation of a value around its neighbours in each tenth of the curves; the median of the arms. "
        "If the learning rate falls to nothing towards a planned end, so do the fluctuations.",
        [line],
        (draw.axis("percent of the curve", range=[0, 100]), draw.axis("fluctuation", rangemode="tozero")),
        lines_table("Fluctuation", "percent of the curve", [line], ".0f", ".3g"),
        draw=lambda data: draw.bars(data, [9.0] * 10),
        height=300,
    )


def _at_tenths(table: Floats) -> Floats:
    """The curves at 0, 10, ... 100 % of their length, as means of a twentieth before each."""
    length = table.shape[1]
    block = max(1, length // 20)
    ends = [max(block, round(share * length)) for share in (0.0, *_TENTHS.tolist())]
    return np.stack([table[:, end - block : end].mean(axis=1) for end in ends], axis=1)
