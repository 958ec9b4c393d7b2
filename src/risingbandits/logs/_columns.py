"""The reader of CSV files, and tables of any kind by their columns.

Rows come in blocks, so that a million of them take little more than their numbers. A log needs the numbers of its
metrics, steps and clock, the run of each row, and the settings in each run's last row; everything else is dropped as
soon as its block has been read.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import RisingBanditsError, shown
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


def setting_in(cell: Any) -> float | str | None:
    """A number, text, or None for an empty cell.

    >>> setting_in("1e-3"), setting_in(" adam "), setting_in("")
    (0.001, 'adam', None)
    """
    number = number_in(cell)
    return number if number is not None else None if cell is None else str(cell).strip() or None


def blocks_of(rows: Iterable[Cells], width: int) -> Iterator[list[Cells]]:
    """Rows in blocks of some thousand cells each."""
    several = iter(rows)
    while block := list(islice(several, max(_ROWS, _CELLS // max(1, width)))):
        yield block


class NotCsv(RisingBanditsError):
    """A file that is no CSV file at all, or cannot be opened."""


@dataclass(frozen=True)
class CsvFile:
    """A CSV file that is open; lines without a cell are skipped."""

    path: Path
    header: list[str]
    empty: bool  #: whether nothing comes after the header
    _rows: Iterator[tuple[int, list[str]]]

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """The rows with their lines in the file, as long as the header: a short one ends in empty cells."""
        width = len(self.header)
        for line, row in self._rows:
            if len(row) != width:
                if any(map(str.strip, row[width:])):
                    raise RisingBanditsError(
                        f"{self.path}, line {line} has {len(row)} cells, but the header has {width} names."
                    )
                row = [*row[:width], *[""] * (width - len(row))]
            yield line, row

    def blocks(self) -> Iterator[list[Cells]]:
        """The rows in blocks of some thousand cells each."""
        return blocks_of((row for _, row in self.rows()), len(self.header))


@contextmanager
def csv_file(path: Path) -> Iterator[CsvFile]:
    """A CSV file in UTF-8; its cells may also be separated by semicolons or tabs."""
    try:
        # utf-8-sig: spreadsheets put a mark at the start of the file that would become part of the first name.
        with path.open(encoding="utf-8-sig", newline="") as file:
            skipped, first = 0, file.readline()
            while first and not first.strip(" \t,;\r\n"):
                skipped, first = skipped + 1, file.readline()
            separator = max(",;\t", key=first.count)
            lines = csv.reader(chain([first], file), delimiter=separator, strict=True)
            header = [cell.strip() for cell in next(lines, [])]
            rows = (
                (skipped + lines.line_num, row) for row in lines if row and (row[0].strip() or any(map(str.strip, row)))
            )
            second = next(rows, None)
            yield CsvFile(path, header, second is None, rows if second is None else chain([second], rows))
    except OSError as error:
        raise NotCsv(f"{path} cannot be read: {error.strerror}.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise NotCsv(f"{path} is not a CSV file in UTF-8: {error}.") from error


def arm_columns(file: CsvFile) -> dict[str, Floats]:
    """The curves of a file with a column for each arm, below its name; shorter columns end in empty cells.

    Errors name the file, the line, the column and the value.
    """
    names = _arm_names(file)
    table: list[Floats] = []
    lengths = np.zeros(len(names), np.int64)
    for line, row in file.rows():
        values, there = numbers_in(row)
        if not (there.all() and np.isfinite(values).all() and (lengths == len(table)).all()):
            for column in np.flatnonzero([bool(cell.strip()) for cell in row]).tolist():
                where = f"{file.path}, line {line}, column {shown(names[column], 100)}"
                if not np.isfinite(values[column]):
                    raise RisingBanditsError(f"{where} must be a finite number or empty, got {shown(row[column])}.")
                if lengths[column] != len(table):
                    raise RisingBanditsError(
                        f"{where} has the value {shown(row[column])} below an empty cell: cells may be empty only at "
                        "the end."
                    )
        lengths += there
        table.append(values)
    for name, length in zip(names, lengths.tolist(), strict=True):
        if not length:
            raise RisingBanditsError(f"{file.path}, column {shown(name, 100)} has no values below its name.")
    by_arm = np.ascontiguousarray(np.array(table).T)
    return {name: by_arm[k, :length] for k, (name, length) in enumerate(zip(names, lengths.tolist(), strict=True))}


def _arm_names(file: CsvFile) -> list[str]:
    if not file.header:
        raise RisingBanditsError(f"{file.path} is empty: it must hold a row of arm names and one row per pull.")
    for position, name in enumerate(file.header, start=1):
        where = f"{file.path}, line 1, column {position}"
        if not name:
            raise RisingBanditsError(f"{where} must be the name of an arm, is empty.")
        if name in file.header[: position - 1]:
            raise RisingBanditsError(f"{where} repeats the arm name {name!r}.")
    # Names such as "0", "1" are fine, but "0.31" is a file without a header, whose first pull would be lost.
    if all("." in name and number_in(name) is not None for name in file.header):
        raise RisingBanditsError(f"{file.path}, line 1 must hold arm names, got the numbers {shown(file.header)}.")
    return file.header
