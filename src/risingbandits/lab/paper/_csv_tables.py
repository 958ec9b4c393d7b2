"""Small tables in CSV files: everything behind the figures and the account of the claims."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.files import write_whole
from risingbandits._core.types import Floats
from risingbandits.simulation import Result

_WORDS: dict[str, bool | None] = {"": None, "True": True, "False": False}


class Line(NamedTuple):
    """Mean regret of a policy at some rounds, and half the width of its 95 % confidence interval (NaN: one run)."""

    rounds: Floats
    mean: Floats
    half: Floats

    def at(self, t: float) -> float:
        """Mean regret at round t, interpolated linearly between the recorded rounds."""
        return float(np.interp(t, np.append(0.0, self.rounds), np.append(0.0, self.mean)))

    def slope(self, first: float, last: float) -> float:
        """Regret per round between two rounds."""
        return (self.at(last) - self.at(first)) / (last - first)


class RegretData(NamedTuple):
    """What a study left in its CSV files."""

    lines: dict[str, dict[str, Line]]  # by panel, then policy
    pulls: dict[str, dict[str, Floats]]  # mean pulls of the arms, by panel, then policy
    final: list[dict[str, str]]  # one row for each panel and policy
    curves: dict[str, tuple[Floats, Floats]]  # by arm: pulls, mean rewards

    @staticmethod
    def read(folder: Path, name: str) -> RegretData:
        """Read what `write_regret` wrote."""
        lines: dict[str, dict[str, list[tuple[float, float, float]]]] = {}
        for row in read_rows(folder / f"{name}-regret.csv"):
            values = float(row["round"]), float(row["mean"]), float(row["half_width"] or "nan")
            lines.setdefault(row["panel"], {}).setdefault(row["policy"], []).append(values)
        pulls: dict[str, dict[str, list[float]]] = {}
        for row in read_rows(folder / f"{name}-pulls.csv"):
            pulls.setdefault(row["panel"], {}).setdefault(row["policy"], []).append(float(row["mean_pulls"]))
        curves: dict[str, list[tuple[float, float]]] = {}
        for row in read_rows(folder / f"{name}-curves.csv"):
            curves.setdefault(row["arm"], []).append((float(row["pull"]), float(row["mean"])))
        return RegretData(
            {panel: {label: Line(*np.array(v).T) for label, v in of.items()} for panel, of in lines.items()},
            {panel: {label: np.array(v) for label, v in of.items()} for panel, of in pulls.items()},
            read_rows(folder / f"{name}-final.csv"),
            {arm: (np.array(v)[:, 0], np.array(v)[:, 1]) for arm, v in curves.items()},
        )

    def final_regret(self, panel: str) -> dict[str, float]:
        """Final mean regret of each policy, least first."""
        ends = {label: float(line.mean[-1]) for label, line in self.lines[panel].items()}
        return dict(sorted(ends.items(), key=lambda entry: entry[1]))


def write_regret(folder: Path, name: str, results: Mapping[str, Result], curves: Iterable[Sequence[Any]]) -> None:
    """Regret over time, final regret, pulls of the arms and reward curves of a study, in four files."""
    regret, final, pulls = [], [], []
    for panel, result in results.items():
        for label in result.policies:
            mean, half = result.mean(label), result.half_width(label)
            regret += [
                (panel, label, int(t), _number(m), _number(h, 4))
                for t, m, h in zip(result.record_at, mean, half, strict=True)
            ]
            means = result.pulls[label].mean(axis=0)
            pulls += [(panel, label, arm + 1, _number(float(n))) for arm, n in enumerate(means)]
        for row in result.summary("cumulative"):
            values = (row[key] for key in ("regret", "regret_half_width", "sd", "percent"))
            final.append((panel, row["policy"], result.runs, *map(_number, values)))
    write_rows(folder / f"{name}-regret.csv", ("panel", "policy", "round", "mean", "half_width"), regret)
    header = ("panel", "policy", "runs", "regret", "half_width", "sd", "percent_of_best")
    write_rows(folder / f"{name}-final.csv", header, final)
    write_rows(folder / f"{name}-pulls.csv", ("panel", "policy", "arm", "mean_pulls"), pulls)
    write_rows(folder / f"{name}-curves.csv", ("arm", "pull", "mean"), curves)


def write_rows(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a CSV file atomically."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    write_whole(path, buffer.getvalue().encode())


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file as dicts."""
    try:
        return list(csv.DictReader(io.StringIO(path.read_text())))
    except FileNotFoundError:
        raise RisingBanditsError(f"{path} does not exist: play the study before drawing it.") from None


def with_numbers(row: Mapping[str, str]) -> dict[str, str | int | float | bool | None]:
    """A row with its numbers as numbers, for other programs.

    >>> with_numbers({"policy": "red-ucb", "runs": "3", "regret": "1.5", "sd": "", "holds": "True"})
    {'policy': 'red-ucb', 'runs': 3, 'regret': 1.5, 'sd': None, 'holds': True}
    """
    return {key: _read(text) for key, text in row.items()}


def _read(text: str) -> str | int | float | bool | None:
    if text in _WORDS:
        return _WORDS[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _number(value: float, digits: int = 6) -> str:
    """Enough digits for a figure and a table; empty for NaN; rounding errors of sums as 0."""
    if np.isnan(value):
        return ""
    return "0" if abs(value) < 1e-6 else f"{value:.{digits}g}"
