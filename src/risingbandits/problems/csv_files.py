"""Learning curves in CSV files: a header with arm names, one row per pull, shorter columns end in empty cells."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Sequence

from risingbandits._core.errors import RisingBanditsError, shown


def load_curves(path: str | os.PathLike[str]) -> dict[str, list[float]]:
    """Columns of a CSV file by arm name, in the order of the file.

    Errors name the file, the row (the header is row 1), the column and the value.
    """
    try:
        # utf-8-sig: spreadsheets put a mark at the start of the file that would become part of the first name.
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file, strict=True))
    except OSError as error:
        raise RisingBanditsError(f"{os.fspath(path)} cannot be read: {error.strerror}.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise RisingBanditsError(f"{os.fspath(path)} is not a CSV file in UTF-8: {error}.") from error
    if not any(cell.strip() for row in rows for cell in row):
        raise RisingBanditsError(f"{os.fspath(path)} is empty: it must hold a row of arm names and one row per pull.")
    names = _names(path, rows[0])
    columns: dict[str, list[float]] = {name: [] for name in names}
    for number, row in enumerate(rows[1:], start=2):
        if any(cell.strip() for cell in row[len(names) :]):
            raise RisingBanditsError(
                f"{os.fspath(path)}, row {number} has {len(row)} cells, but the header has {len(names)} names."
            )
        for name, cell in zip(names, row, strict=False):
            if cell.strip():
                _append(path, number, name, cell, columns[name])
    for name, values in columns.items():
        if not values:
            raise RisingBanditsError(f"{os.fspath(path)}, column {name!r} has no values below its name.")
    return columns


def _names(path: str | os.PathLike[str], header: Sequence[str]) -> list[str]:
    names = [name.strip() for name in header]
    for position, name in enumerate(names, start=1):
        if not name:
            raise RisingBanditsError(
                f"{os.fspath(path)}, row 1, column {position} must be the name of an arm, is empty."
            )
        if name in names[: position - 1]:
            raise RisingBanditsError(f"{os.fspath(path)}, row 1, column {position} repeats the arm name {name!r}.")
    # Names such as "0", "1" are fine, but "0.31" is a file without a header, whose first pull would be lost.
    if all(_number(name) is not None and "." in name for name in names):
        raise RisingBanditsError(f"{os.fspath(path)}, row 1 must hold arm names, got the numbers {shown(names)}.")
    return names


def _append(path: str | os.PathLike[str], row: int, name: str, cell: str, values: list[float]) -> None:
    value = _number(cell)
    where = f"{os.fspath(path)}, row {row}, column {name!r}"
    if value is None:
        raise RisingBanditsError(f"{where} must be a finite number or empty, got {shown(cell)}.")
    if len(values) != row - 2:
        raise RisingBanditsError(
            f"{where} has the value {shown(cell)} below an empty cell: cells may be empty only at the end."
        )
    values.append(value)


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in cell else None
