"""The curves of a CSV file with a column for each arm, as lists."""

from __future__ import annotations

from pathlib import Path

from risingbandits.logs._columns import arm_columns, csv_file


def load_columns(path: Path) -> dict[str, list[float]]:
    """Values by the name of the arm."""
    with csv_file(path) as file:
        return {name: values.tolist() for name, values in arm_columns(file).items()}
