"""The page of a folder with studies: regret over time, ranking, pulls, true curves, settings and the command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.tables import TextTable
from risingbandits._version import __version__
from risingbandits.policies.objectives import BEST_ARM, CUMULATIVE, Objective
from risingbandits.reports._figure_data import MUTED, curve_lines, lines_table, pull_shares, regret_lines
from risingbandits.reports.pages import _plotly_figures as draw
from risingbandits.reports.pages.layout import Block, Code, Fact, Facts, Figure, Page, Section, Table, Text
from risingbandits.reports.study import SavedStudy, StudyNotes
from risingbandits.simulation._summary import summary_table
from risingbandits.simulation.comparison import four_digits

_RESULT, _SUMMARY = "result.json", "summary.json"
_DEEPEST = 3
_HOW_TO_READ = f"{CUMULATIVE.meaning} {BEST_ARM.meaning}"


def folder_page(folder: Path) -> Page:
    """The page of all studies in ``folder`` and below."""
    places = _places(folder)
    summary = _summary(folder)
    tables = _tables(summary)
    if not places and not tables:
        raise RisingBanditsError(
            f"{folder} holds no study (no {_RESULT} in it or below); risingbandits simulate --out {folder} writes one."
        )
    studies = [SavedStudy.load(place, place.relative_to(folder).parts) for place in places]
    commands = {study.notes.command for study in studies if study.notes is not None and study.notes.command}
    command = summary.get("command") or "\n".join(sorted(commands)) or None
    return _page(studies, command, tables)


def _places(folder: Path) -> list[Path]:
    """Folders with a result, parents before children, by name."""
    found = [path.relative_to(folder).parent for path in folder.rglob(_RESULT)]
    shown = [place for place in found if len(place.parts) <= _DEEPEST and not any(p[0] == "." for p in place.parts)]
    return [folder / place for place in sorted(shown, key=lambda place: place.parts)]


def _summary(folder: Path) -> dict[str, Any]:
    """What ``reproduce`` says about the whole; empty for other folders."""
    path = folder / _SUMMARY
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_text())
    except ValueError as error:
        raise RisingBanditsError(f"{path} is not a JSON file.") from error
    return content if isinstance(content, dict) else {}


def _tables(summary: dict[str, Any]) -> Sequence[TextTable]:
    """Tables that are not in a result: experiments without panels, and the account of the paper's claims."""
    tables = []
    for name, content in summary.get("experiments", {}).items():
        if "final" in content:  # a regret study, whose panels have sections of their own
            continue
        for table in content["tables"]:
            rows = [tuple(map(str, row)) for row in table["rows"]]
            tables.append(TextTable(tuple(table["header"]), rows, frozenset(), table["title"] or name))
    if claims := summary.get("claims"):
        rows = [tuple(row) for row in claims["rows"]]
        tables.append(TextTable(tuple(claims["header"]), rows, frozenset(), "What the paper says"))
    return tables


def _page(studies: Sequence[SavedStudy], command: str | None, tables: Sequence[TextTable] = ()) -> Page:
    """The page of one or several studies; ``tables`` are further ones, which belong to all of them."""
    sections = [_section(study, f"study-{number}", len(studies) > 1) for number, study in enumerate(studies, 1)]
    further: list[Block] = [Table(f"table-{number}", table) for number, table in enumerate(tables, 1)]
    if further:
        sections.append(Section("tables", "Further tables", further))
    closing: list[Block] = [Text("how-to-read", _HOW_TO_READ), Facts("version", [Fact("risingbandits", __version__)])]
    if command is not None:
        closing.append(Code("command", "The command that made this study", command))
    else:
        closing.append(Text("command", "The folder does not say which command made this study."))
    sections.append(Section("about", "How to read it and make it again", closing))
    title = studies[0].title if len(studies) == 1 else f"{len(studies)} studies"
    return Page(title, " ".join(map(_verdict, studies[:3])), sections)


def _verdict(study: SavedStudy) -> str:
    """The winner, in a sentence that claims no more than the intervals allow."""
    result = study.result
    objective = Objective.get(result.objective)
    key, half = objective.key, f"{objective.key}_half_width"
    first, *others = result.summary()
    regret = f"{four_digits(first[key])} after {result.horizon:,} rounds"
    if not others:
        return f"{study.title}: {first['policy']} has a {objective.measure} of {regret}."
    clear = first[key] + first[half] < others[0][key] - others[0][half]
    margin = "and its interval lies below all others" if clear else f"but {others[0]['policy']} may be as good"
    return f"{study.title}: {first['policy']} has the least {objective.measure}, {regret}, {margin}."


def _section(study: SavedStudy, key: str, titled: bool) -> Section:
    blocks: list[Block] = [*_regret(study, key), _pulls(study, key)]
    if study.notes is not None:
        blocks.append(_curves(study.notes, key))
    else:
        missing = (
            "The folder holds no learning curves: `risingbandits simulate --out` writes them, Result.save does not."
        )
        blocks.append(Text(f"{key}-curves", missing))
    rows = list(study.result.settings.items())
    policies = TextTable(("label", "policy and its parameters"), rows, frozenset(), "Policies")
    blocks += [Table(f"{key}-settings", policies), Facts(f"{key}-facts", _facts(study))]
    return Section(key, study.title if titled else "Results", blocks)


def _facts(study: SavedStudy) -> list[Fact]:
    result = study.result
    return [
        Fact("problem", result.problem),
        Fact("rounds", f"{result.horizon:,}"),
        Fact("runs of each policy", f"{result.runs:,}"),
        Fact("arms", f"{result.final_means.size:,}"),
        Fact("seed", str(result.seed)),
        Fact("J*", f"{result.oracle[-1]:,.1f}"),
        *([] if study.notes is None else [Fact("noise", study.notes.noise)]),
    ]


def _regret(study: SavedStudy, key: str) -> list[Block]:
    """Regret over time, and the ranking at the end."""
    result = study.result
    lines = sorted(regret_lines(result), key=lambda line: line.y[-1])
    runs = f"mean of {result.runs:,} runs; bands: 95 % confidence" if result.runs > 1 else "1 run"
    return [
        draw.lines_figure(
            f"{key}-regret",
            "Regret over time",
            f"What each policy has lost against the best constant arm; {runs}.",
            lines,
            (
                draw.axis("round", range=[0, result.horizon]),
                draw.axis("policy regret (units of reward)", rangemode="tozero"),
            ),
            lines_table("Mean policy regret at some rounds", "round", lines, ",.0f", ",.1f"),
            height=420,
        ),
        Table(f"{key}-ranking", summary_table(result)),
    ]


def _pulls(study: SavedStudy, key: str) -> Figure:
    arms, best = (None, None) if study.notes is None else (study.notes.arms, study.notes.best)
    star = "; * is the best one" if best is not None else ""
    caption = f"Mean share of the pulls that each policy gave to each arm, in percent{star}."
    return draw.heat_figure(f"{key}-pulls", "Where the pulls went", caption, pull_shares(study.result, arms, best))


def _curves(notes: StudyNotes, key: str) -> Figure:
    lines = curve_lines(notes.curves, notes.arms, notes.best)
    coloured = [line for line in lines if line.place != MUTED]
    hidden = len(notes.arms) - len(lines)
    unit, over = notes.moves_with, f" over the {notes.moves_with}, which no policy knows."
    return draw.lines_figure(
        f"{key}-curves",
        "The arms' true learning curves",
        "Mean reward of each arm" + over + (f" {hidden:,} arms with smaller sums are not drawn." if hidden else ""),
        lines,
        (draw.axis(unit, range=[0, notes.curves.pulls[-1]]), draw.axis("mean reward")),
        lines_table("Mean reward at some pulls", unit, coloured, ",.0f", ".4g"),
    )
