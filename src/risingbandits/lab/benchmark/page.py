"""A contest as one HTML page: figures of the families and of the other rows, and all tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from risingbandits._core.files import write_whole
from risingbandits._core.tables import TextTable
from risingbandits.lab.benchmark import tables
from risingbandits.lab.benchmark.files import PARTS, Boards, notes
from risingbandits.lab.benchmark.outcome import Outcome
from risingbandits.lab.benchmark.scores import Board, Figure
from risingbandits.policies import Objective
from risingbandits.reports.figure_data import Dots, policy_places
from risingbandits.reports.pages.layout import Block, Code, Facts, Page, Section, Table, Text
from risingbandits.reports.pages.plotly_figures import dots_figure

_SHOWN = 7  # policies in a picture of rows, one colour each
_MEASURED = "0 is always the best arm, 1 a random one. Lines are 95 % intervals over tasks and orders."


def _unit(board: Board) -> str:
    return f"{Objective.get(board.objective).measure} as a share of that of a random arm"


def write_page(outcome: Outcome, boards: Boards, path: Path, command: str) -> None:
    """Write the page, atomically."""
    write_whole(path, page_of(outcome, boards, command).html().encode())


def page_of(outcome: Outcome, boards: Boards, command: str) -> Page:
    """The page of all objectives."""
    sections = [_section(board) for board in boards.values()]
    policies = TextTable(("name here", "policy and its settings"), list(outcome.settings.items()), title="Policies")
    facts = [(name.replace("_", " "), str(value)) for name, value in outcome.parameters.items()]
    about: list[Block] = [Text("how-to-read", " ".join(tables.HOW_TO_READ.split()))]
    about += [Text(f"note-{number}", sentence) for number, sentence in enumerate(notes(outcome, boards), 1)]
    about += [Table("policies", policies), Facts("facts", facts), Code("command", "The command", command)]
    sections.append(Section("about", "How to read it and make it again", about))
    return Page("Arena", " ".join(filter(None, (_lead(board) for board in boards.values()))), sections)


def _lead(board: Board) -> str:
    """The winner, in a sentence that claims no more than the intervals allow."""
    ranked = [(line.label, line.real) for line in board.lines if line.real is not None]
    if not ranked:
        return ""
    (label, first), *others = ranked
    clear = all(first.high < other.low for _, other in others)
    margin = "its interval lies below all others" if clear else f"but {others[0][0]} may be as good"
    return f"{Objective.get(board.objective).title}: {label} loses least on real curves, {first.mean:.2f}; {margin}."


def _section(board: Board) -> Section:
    key = board.objective
    blocks: list[Block] = [Table(f"{key}-overall", _untitled(tables.overall_table(board), "All policies"))]
    blocks += _means(board)
    for kinds, name in PARTS:
        table = tables.regimes_table(board, kinds, name)
        if table.rows:
            blocks.append(_rows(board, kinds[0], table))
    for number, regime in enumerate(tables.regimes_in_detail(board), 1):
        detail = _untitled(tables.rows_table(board, regime), f"Rows of {regime}")
        blocks.append(Table(f"{key}-rows-{number}", detail))
    return Section(key, Objective.get(key).title, blocks)


def _untitled(table: TextTable, title: str) -> TextTable:
    return table._replace(title=title)


def _means(board: Board) -> list[Block]:
    """The mean over the families of real curves, policy by policy."""
    lines = [line for line in board.lines if line.real is not None]
    if not lines:
        return []
    names = [line.label for line in lines]
    rows = [_dots("mean", 0, [line.real for line in lines])]
    shown = [(line.label, tables.figure(line.real)) for line in lines]
    table = TextTable(("policy", "mean"), shown, frozenset({1}), "Mean over families")
    title, unit = "Mean over the families of real curves, least first", _unit(board)
    return [dots_figure(f"{board.objective}-means", title, _MEASURED, names, rows, unit, table)]


def _rows(board: Board, kind: str, table: TextTable) -> Block:
    """Regimes of a kind with the best policies; percentages of J* as ratios to the best, to be seen on one axis."""
    regimes = [regime for regime in board.regimes if board.kind(regime) == kind]
    played = [line.label for line in board.lines if any(line.label in board.figures[regime] for regime in regimes)]
    places = policy_places(played[:_SHOWN])
    if kind == "synthetic":
        unit, caption = (
            "ratio to the best policy of the row",
            "1 is the best policy of each row; see the table for values.",
        )
        rows = [_ratios(board, label, place, regimes) for label, place in places.items()]
    else:
        unit, caption = _unit(board), _MEASURED
        figures = board.figures
        rows = [_dots(label, n, [figures[regime].get(label) for regime in regimes]) for label, n in places.items()]
    if len(played) > _SHOWN:
        caption += f" The {_SHOWN} best policies; the others are in the table."
    return dots_figure(f"{board.objective}-{kind}", table.title, caption, regimes, rows, unit, table)


def _ratios(board: Board, label: str, place: int, regimes: Sequence[str]) -> Dots:
    values = np.array(
        [board.ratio(regime, label) if label in board.figures[regime] else math.nan for regime in regimes]
    )
    return Dots(label, place, values, values, values)


def _dots(name: str, place: int, figures: Sequence[Figure | None]) -> Dots:
    none = Figure(math.nan, math.nan, math.nan)
    found = [figure or none for figure in figures]
    columns = ([getattr(figure, part) for figure in found] for part in ("mean", "low", "high"))
    return Dots(name, place, *(np.array(column) for column in columns))
