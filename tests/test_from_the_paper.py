"""The page "From the paper to the library": every name, test file and command in its tables exists."""

from __future__ import annotations

import importlib
import re
from typing import Any

import pytest

from code_blocks import ROOT
from risingbandits.cli.app import run

PAGE = (ROOT / "docs" / "from-the-paper.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith(("| in the paper", "| ---"))
]
HERE = [code for row in ROWS for code in re.findall(r"`([^`]+)`", row[1])]
COMMANDS = sorted({code for code in HERE if code.startswith("risingbandits ")})
PAPER = 44  # definitions, assumptions, theorems, lemmas, algorithms, figures and tables


def found(name: str) -> Any:
    """The object of a dotted name below the package."""
    value: Any = importlib.import_module("risingbandits")
    path = "risingbandits"
    for part in name.split("."):
        path += f".{part}"
        try:
            value = getattr(value, part)
        except AttributeError:
            value = importlib.import_module(path)
    return value


def test_every_row_says_where_and_how() -> None:
    assert len(ROWS) >= PAPER
    for row in ROWS:
        assert len(row) == 4, row
        assert "`" in row[1] or row[1] == "not computed", row
    assert len([row for row in ROWS if row[2]]) >= len(ROWS) - 1  # all but the theorem of Radon and Nikodym


def test_names_exist() -> None:
    names = {code for code in HERE if not code.startswith("risingbandits ")} - {"broken"}
    assert len(names) > 40
    for name in names:
        assert found(name) is not None, name
    assert "broken" in found("theory.upper_bounds.Bound").__dataclass_fields__


def test_test_files_exist() -> None:
    files = {code for row in ROWS for code in re.findall(r"`([^`]+)`", row[2])}
    assert [file for file in files if not (ROOT / file).is_file()] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_there(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What they do is run by test_documented_commands."""
    words = command.removeprefix("risingbandits ").split()
    assert run([*words, "--help"]) == 0
    assert "Usage: risingbandits" in capsys.readouterr().out
