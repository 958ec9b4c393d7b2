"""A folder with studies, as ``simulate --out``, ``demo``, ``imdb run`` and ``reproduce`` write it, read for a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.tables import TextTable
from risingbandits.reports.pages.page import Page
from risingbandits.reports.pages.study_page import Played, study_page
from risingbandits.reports.study import StudyFile
from risingbandits.simulation.result import Result

__all__ = ["folder_page"]

_RESULT, _SUMMARY = "result.json", "summary.json"
_DEEPEST = 3


def folder_page(folder: Path) -> Page:
    """The page of all studies in ``folder`` and below."""
    places = _places(folder)
    summary = _summary(folder)
    tables = _tables(summary)
    if not places and not tables:
        raise RisingBanditsError(
            f"{folder} holds no study (no {_RESULT} in it or below); risingbandits simulate --out {folder} writes one."
        )
    studies = [_played(folder, place) for place in places]
    commands = {study.about.command for study in studies if study.about is not None and study.about.command}
    command = summary.get("command") or "\n".join(sorted(commands)) or None
    return study_page(studies, command, tables)


def _places(folder: Path) -> list[Path]:
    """Folders with a result, those of a folder before those below it, by name."""
    found = [path.parent for path in folder.rglob(_RESULT) if len(path.relative_to(folder).parts) <= _DEEPEST + 1]
    return sorted(found, key=lambda path: path.relative_to(folder).parts)


def _played(folder: Path, place: Path) -> Played:
    result = Result.load(place)
    parts = place.relative_to(folder).parts
    about = StudyFile.load(place)
    if about is not None and len(about.arms) != next(iter(result.pulls.values())).shape[1]:
        raise RisingBanditsError(f"{place} holds a study.json that does not belong to its result.json.")
    title = result.problem if not parts or parts[-1] == result.problem else f"{result.problem}: {' / '.join(parts)}"
    return Played(title, result, about)


def _summary(folder: Path) -> dict[str, Any]:
    """What ``reproduce`` says about the whole; empty for other folders."""
    path = folder / _SUMMARY
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_text())
    except ValueError as error:
        raise RisingBanditsError(f"{path} is no JSON file.") from error
    return content if isinstance(content, dict) else {}


def _tables(summary: dict[str, Any]) -> Sequence[TextTable]:
    """Tables that no result holds: of experiments without panels, and the account of the paper's claims."""
    tables = []
    for name, content in summary.get("experiments", {}).items():
        if "final" in content:  # a regret study, whose panels have sections of their own
            continue
        for table in content["tables"]:
            rows = [tuple(map(str, row)) for row in table["rows"]]
            tables.append(TextTable(tuple(table["header"]), rows, frozenset(), table["title"] or name))
    claims = [(f"“{c['quote']}” ({c['where']})", c["finding"], c["verdict"]) for c in summary.get("claims", [])]
    if claims:
        tables.append(TextTable(("the paper", "here", "verdict"), claims, frozenset(), "What the paper says"))
    return tables
