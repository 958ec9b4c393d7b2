"""Records: what a contest found about each policy, as small JSON files to which others can add.

A record holds the figures of all policies of one contest, the command and the versions that made them. A leaderboard is
read from a folder of records; it compares only records that were made with the same sizes.
"""

from __future__ import annotations

import datetime
import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits._core.files import for_json, readable, write_whole
from risingbandits._core.jit import NUMBA_VERSION
from risingbandits._core.tables import TextTable
from risingbandits._version import __version__
from risingbandits.lab.benchmark._files import Boards, board_summary
from risingbandits.lab.benchmark._rows import OBJECTIVES
from risingbandits.lab.benchmark._tables import number
from risingbandits.lab.benchmark.outcome import Outcome
from risingbandits.policies import Objective

FORMAT = 2
_KEYS = ("format", "command", "date", "versions", "parameters", "policies", "measures", "objectives")
_VERSIONS = ("risingbandits", "python", "numpy", "numba")


def record_of(outcome: Outcome, boards: Boards, command: str, date: str | None = None) -> dict[str, Any]:
    """A contest as a record; ``date`` is today by default."""
    return for_json(  # type: ignore[no-any-return]
        {
            "format": FORMAT,
            "command": command,
            "date": datetime.date.today().isoformat() if date is None else date,
            "versions": {
                "risingbandits": __version__,
                "python": platform.python_version(),
                "numpy": np.__version__,
                "numba": NUMBA_VERSION,
            },
            "parameters": {key: value for key, value in outcome.parameters.items() if key != "version"},
            "policies": dict(outcome.settings),
            "measures": {regime: board.measure(regime) for board in boards.values() for regime in board.regimes},
            "objectives": {objective: board_summary(board)["lines"] for objective, board in boards.items()},
        }
    )


def write_record(record: Mapping[str, Any], path: Path) -> None:
    """Write a record; an existing one is not overwritten."""
    if path.exists():
        raise RisingBanditsError(f"record must be a new file, but {path} already exists.")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, (json.dumps(record, indent=1, allow_nan=False) + "\n").encode())


def read_record(path: Path) -> dict[str, Any]:
    """A record, checked."""
    try:
        record = json.loads(path.read_text())
    except (ValueError, RecursionError) as error:
        raise RisingBanditsError(f"{path} is not a JSON file ({error}).") from error
    with readable(path, "is not a record of the arena"):
        wrong = _wrong(record)
    if wrong:
        raise RisingBanditsError(f"{path} is not a record of the arena: {wrong}.")
    return dict(record)


def _wrong(record: Any) -> str:
    """What is wrong with a record; empty if nothing is."""
    if not isinstance(record, dict):
        return "it is not an object"
    missing = [key for key in _KEYS if key not in record]
    if missing:
        return f"it lacks {', '.join(missing)}"
    if record["format"] != FORMAT:
        return f"format must be {FORMAT}, is {shown(record['format'])}"
    if any(name not in record["versions"] for name in _VERSIONS):
        return f"versions must name {', '.join(_VERSIONS)}"
    for objective, lines in record["objectives"].items():
        if objective not in OBJECTIVES:
            return f"objectives must be some of {', '.join(OBJECTIVES)}"
        for line in lines:
            if line.get("policy") not in record["policies"] or not set(line.get("regimes", ())) <= set(
                record["measures"]
            ):
                return f"a line of {objective} has no policy of the record, or rows without a measure"
    return ""


def leaderboard(folder: Path) -> list[TextTable]:
    """A table for each objective: all policies of all records of a folder, the lowest mean on real curves first."""
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise RisingBanditsError(f"{folder} holds no record; risingbandits lab benchmark --record FILE writes one.")
    records = {path.stem: read_record(path) for path in paths}
    found = (_objective_table(objective, records) for objective in OBJECTIVES)
    return [table for table in found if table.rows]


def _objective_table(objective: str, records: Mapping[str, Mapping[str, Any]]) -> TextTable:
    lines = [
        (line, name, record)
        for name, record in records.items()
        for line in record["objectives"].get(objective, ())
        if line["real"] is not None
    ]
    lines.sort(key=lambda one: (one[0]["real"]["mean"], one[0]["policy"]))
    rows = [
        (
            line["policy"],
            "{mean:.3f} [{low:.3f}, {high:.3f}]".format(**line["real"]),
            _families(line, record),
            number(_value(line["rank"]), 1),
            f"{number(_value(line['worst_ratio']['ratio']), 2)} {line['worst_ratio']['row']}",
            f"{record['parameters']['orders']}",
            name,
            f"{record['versions']['risingbandits']}, {record['date']}",
        )
        for line, name, record in lines
    ]
    header = ("policy", "real curves", "families", "rank", "worst ratio", "orders", "record", "version, date")
    keys = ("policy", "real", "families", "rank", "worst_ratio", "large", "synthetic")
    found = [
        {
            "objective": objective,
            **{key: line.get(key) for key in keys},
            "orders": record["parameters"]["orders"],
            "record": name,
            "version": record["versions"]["risingbandits"],
            "date": record["date"],
        }
        for line, name, record in lines
    ]
    return TextTable(header, rows, frozenset({1, 2, 3, 5}), Objective.get(objective).title, found)


def families_tables(record: Mapping[str, Any]) -> list[TextTable]:
    """The rows of a record, policy by policy: for each objective."""
    found = []
    for objective, lines in record["objectives"].items():
        regimes = list(dict.fromkeys(regime for line in lines for regime in line["regimes"]))
        measures = record["measures"]
        rows = [
            (regime, *(_cell(line["regimes"].get(regime), measures[regime]) for line in lines)) for regime in regimes
        ]
        header = ("row", *(line["policy"] for line in lines))
        found.append(TextTable(header, rows, frozenset(range(1, len(header))), Objective.get(objective).title))
    return found


def _cell(figure: Mapping[str, float] | None, measure: str) -> str:
    if figure is None:
        return "-"
    return f"{number(figure['mean'], 1)} %" if measure == "percent" else number(figure["mean"], 2)


def _families(line: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """How many families the mean is over, and whether only a few tasks of each were played."""
    return f"{len(line['families'])}{' (quick)' if record['parameters'].get('quick') else ''}"


def _value(value: float | None) -> float:
    return float("nan") if value is None else value
