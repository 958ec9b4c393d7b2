"""Tables by their columns: read a block of rows at a time, so that a million rows take little more than their numbers.

A log needs the numbers of its metrics, steps and clock, the run of each row, and the settings in each run's last row.
Everything else is dropped as soon as its block has been read.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.types import Floats, Ints

_CELLS, _ROWS = 1_000, 20  # cells of a block, and its least number of rows: small blocks are read fastest

Cells = Sequence[Any]
Bools = npt.NDArray[np.bool_]


class Roles(NamedTuple):
    """What the columns of a table are for."""

    step: str
    run: str | None
    clock: str | None
    settings: Sequence[str]
    metrics: Sequence[str]


class Numbers(NamedTuple):
    """The numbers of a column; NaN for cells that have none, or NaN itself."""

    values: Floats
    there: Bools  #: whether the cell has a number, NaN included


class Columns(NamedTuple):
    """A table, row by row in each of its columns."""

    numbers: Mapping[str, Numbers]
    runs: Sequence[str]  #: in the order in which they appear
    run_of_row: Ints
    settings: Mapping[str, Mapping[int, Any]]  #: by column, then by run, the last cell
    odd_steps: Mapping[int, Any]  #: cells of the column of steps that are no numbers, by row


def gather(blocks: Iterable[Sequence[Cells]], header: Sequence[str], roles: Roles, name: str) -> Columns:
    """The columns of a table that comes in blocks of rows, all as long as the header; ``name`` is a run without one."""
    parts: dict[str, list[Numbers]] = {
        column: [] for column in (roles.step, *([roles.clock] if roles.clock else []), *roles.metrics)
    }
    settings: dict[str, dict[int, Any]] = {column: {} for column in roles.settings}
    runs: dict[str, int] = {}
    run_parts: list[Ints] = []
    odd: dict[int, Any] = {}
    rows = 0
    place = {column: number for number, column in enumerate(header)}  # of equal names the last counts
    for block in blocks:
        by_column = list(zip(*block, strict=True))
        run_of = _runs_of(by_column[place[roles.run]] if roles.run else None, len(block), name, runs)
        run_parts.append(run_of)
        for column, known in parts.items():
            known.append(numbers_in(by_column[place[column]]))
        steps, there = parts[roles.step][-1]
        for row in np.flatnonzero(~(there & np.isfinite(steps))).tolist():
            odd[rows + row] = by_column[place[roles.step]][row]
        for column, last in settings.items():
            last.update(zip(run_of.tolist(), by_column[place[column]], strict=True))
        rows += len(block)
    joined = {}
    for column in list(parts):  # one after the other, so that not all are there twice
        own = parts.pop(column)
        joined[column] = Numbers(
            np.concatenate([np.empty(0), *(part.values for part in own)]),
            np.concatenate([np.empty(0, np.bool_), *(part.there for part in own)]),
        )
    return Columns(joined, list(runs), np.concatenate([np.empty(0, np.int64), *run_parts]), settings, odd)


def _runs_of(cells: Cells | None, rows: int, name: str, runs: dict[str, int]) -> Ints:
    """The number of the run of each row; new runs get the next number."""
    if cells is None:
        return np.full(rows, runs.setdefault(name, len(runs)), np.int64)
    number_of = {cell: runs.setdefault(str(cell or name), len(runs)) for cell in dict.fromkeys(cells)}
    return np.fromiter(map(number_of.__getitem__, cells), np.int64, rows)


def numbers_in(cells: Cells) -> Numbers:
    """The numbers of cells, as `number_in` has them one by one.

    >>> values, there = numbers_in(["1", " 2.5 ", "", "x", "nan", "1_0", True, 7])
    >>> values.tolist(), there.tolist()
    ([1.0, 2.5, nan, nan, nan, nan, nan, 7.0], [True, True, False, False, True, False, False, True])
    """
    kinds = set(map(type, cells))
    if kinds == {str} or kinds <= {int, float}:  # most columns are numbers throughout
        try:
            if kinds != {str} or "_" not in "".join(cells):
                return Numbers(np.fromiter(map(float, cells), np.float64, len(cells)), np.ones(len(cells), np.bool_))
        except (ValueError, OverflowError):
            pass
    found = [number_in(cell) for cell in cells]
    there = np.array([value is not None for value in found], np.bool_)
    return Numbers(np.array([np.nan if value is None else value for value in found], np.float64), there)


def number_in(cell: Any) -> float | None:
    """A number, or NaN, as from training that diverged; None for anything else."""
    if cell is None or cell == "" or isinstance(cell, bool):
        return None
    try:
        if isinstance(cell, int | float):
            return float(cell)
        text = str(cell).strip()
        return float(text) if text and "_" not in text else None
    except (ValueError, OverflowError):  # a whole number may be too large
        return None


def blocks_of(rows: Iterable[Cells], width: int) -> Iterator[list[Cells]]:
    """Rows in blocks of some thousand cells each."""
    several = iter(rows)
    while block := list(islice(several, max(_ROWS, _CELLS // max(1, width)))):
        yield block


class CsvFile(NamedTuple):
    """A CSV file that is open."""

    header: list[str]
    rows: Iterator[list[str]]  #: those that are not empty
    empty: bool  #: whether there are none


@contextmanager
def csv_file(path: Path) -> Iterator[CsvFile]:
    """The header and the rows of a CSV file; cells may also be separated by semicolons or tabs."""
    try:
        # utf-8-sig: spreadsheets put a mark at the start of the file that would become part of the first name.
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            while first and not first.strip():
                first = file.readline()
            separator = max(",;\t", key=first.count)
            lines = csv.reader(chain([first], file), delimiter=separator, strict=True)
            rows = (row for row in lines if row and (row[0].strip() or any(map(str.strip, row))))
            header = [cell.strip() for cell in next(rows, [])]
            second = next(rows, None)
            yield CsvFile(header, rows if second is None else chain([second], rows), second is None)
    except csv.Error as error:
        raise RisingBanditsError(f"{path} is not a CSV file: {error}.") from error


def csv_blocks(path: Path, file: CsvFile) -> Iterator[list[Cells]]:
    """The rows of a CSV file in blocks; short rows end in empty cells, long ones are an error."""
    width, line = len(file.header), 2
    for block in blocks_of(file.rows, width):
        if set(map(len, block)) != {width}:
            for number, row in enumerate(block, start=line):
                if any(map(str.strip, row[width:])):
                    raise RisingBanditsError(
                        f"{path}, line {number} has {len(row)} cells, but the header has {width} names."
                    )
            block = [[*row[:width], *[""] * (width - len(row))] for row in block]
        yield block
        line += len(block)
