"""Learning curves in CSV files: a header with arm names, one row per pull, shorter columns end in empty cells."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits._core.types import Floats, Ints


def load_curves(path: str | os.PathLike[str]) -> dict[str, list[float]]:
    """Columns of a CSV file by arm name, in the order of the file.

    Errors name the file, the row (the header is row 1), the column and the value.
    """
    return {name: values.tolist() for name, values in curve_columns(path).items()}


def curve_columns(path: str | os.PathLike[str]) -> dict[str, Floats]:
    """The same as arrays, which take a quarter of the memory."""
    try:
        # utf-8-sig: spreadsheets put a mark at the start of the file that would become part of the first name.
        with open(path, encoding="utf-8-sig", newline="") as file:
            return _columns(path, csv.reader(file, strict=True))
    except OSError as error:
        raise RisingBanditsError(f"{os.fspath(path)} cannot be read: {error.strerror}.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise RisingBanditsError(f"{os.fspath(path)} is not a CSV file in UTF-8: {error}.") from error


def _columns(path: str | os.PathLike[str], rows: Iterator[list[str]]) -> dict[str, Floats]:
    header = next(rows, [])
    first = next(rows, [])
    while not any(map(str.strip, (*header, *first))):
        if (another := next(rows, None)) is None:
            raise RisingBanditsError(
                f"{os.fspath(path)} is empty: it must hold a row of arm names and one row per pull."
            )
        first = another
    names = _names(path, header)
    lines: list[Floats] = []
    lengths = np.zeros(len(names), np.int64)
    for number, row in enumerate(chain([first], rows), start=2):
        if any(map(str.strip, row[len(names) :])):
            raise RisingBanditsError(
                f"{os.fspath(path)}, row {number} has {len(row)} cells, but the header has {len(names)} names."
            )
        values = _whole_line(row, len(names))
        if values is None or not np.isfinite(values).all() or (lengths != number - 2).any():
            values = _checked_line(path, number, names, row, lengths)
        else:
            lengths += 1
        lines.append(values)
    for name, length in zip(names, lengths.tolist(), strict=True):
        if not length:
            raise RisingBanditsError(f"{os.fspath(path)}, column {shown(name, 100)} has no values below its name.")
    table = np.array(lines)
    lines.clear()
    by_arm = np.ascontiguousarray(table.T)
    return {name: by_arm[k, :length] for k, (name, length) in enumerate(zip(names, lengths.tolist(), strict=True))}


def _whole_line(row: Sequence[str], width: int) -> Floats | None:
    """The numbers of a row that has one in each cell, as most have; None for others."""
    if len(row) != width or "_" in "".join(row):
        return None
    try:
        return np.fromiter(map(float, row), np.float64, width)
    except ValueError:
        return None


def _checked_line(
    path: str | os.PathLike[str], number: int, names: Sequence[str], row: Sequence[str], lengths: Ints
) -> Floats:
    """The numbers of any row, cell by cell; NaN where one is empty. ``lengths`` of columns with a number grow."""
    values = np.full(len(names), np.nan)
    for column, (name, cell) in enumerate(zip(names, row, strict=False)):
        if not cell.strip():
            continue
        where = f"{os.fspath(path)}, row {number}, column {shown(name, 100)}"
        value = _number(cell)
        if value is None:
            raise RisingBanditsError(f"{where} must be a finite number or empty, got {shown(cell)}.")
        if lengths[column] != number - 2:
            raise RisingBanditsError(
                f"{where} has the value {shown(cell)} below an empty cell: cells may be empty only at the end."
            )
        values[column] = value
        lengths[column] += 1
    return values


def _names(path: str | os.PathLike[str], header: Sequence[str]) -> list[str]:
    names = [name.strip() for name in header]
    seen: set[str] = set()
    for position, name in enumerate(names, start=1):
        if not name:
            raise RisingBanditsError(
                f"{os.fspath(path)}, row 1, column {position} must be the name of an arm, is empty."
            )
        if name in seen:
            raise RisingBanditsError(f"{os.fspath(path)}, row 1, column {position} repeats the arm name {name!r}.")
        seen.add(name)
    # Names such as "0", "1" are fine, but "0.31" is a file without a header, whose first pull would be lost.
    if all(_number(name) is not None and "." in name for name in names):
        raise RisingBanditsError(f"{os.fspath(path)}, row 1 must hold arm names, got the numbers {shown(names)}.")
    return names


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in cell else None
