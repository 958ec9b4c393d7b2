"""The figures of README and docs are those that their programs print."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

import figures
from environments import ROOT
from figures import Figures, body, marked_tables, missing, printed_by, read_list, when

LISTED = read_list()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TABLES = [
    pytest.param(names, cells, id=f"{page.relative_to(ROOT)} {'+'.join(names)} {number}")
    for page in PAGES
    for number, (names, cells) in enumerate(marked_tables(page.read_text()), 1)
]


def test_the_tool_reads_numbers_and_tables() -> None:
    found = doctest.testmod(figures)
    assert found.attempted >= 6
    assert found.failed == 0


def test_a_mark_without_a_table_is_an_error() -> None:
    with pytest.raises(ValueError, match="no table follows"):
        list(marked_tables("<!-- measured: costs -->\n\nText."))


@pytest.mark.parametrize(("names", "cells"), TABLES)
def test_table_has_what_its_programs_print(names: list[str], cells: str) -> None:
    printed = [printed_by(name) for name in names]
    assert all(printed), "never run"
    assert missing(cells, "\n".join(printed)) == []


@pytest.mark.parametrize("each", LISTED, ids=lambda each: each.name)
def test_what_is_kept_is_of_the_listed_command(each: Figures) -> None:
    if kept := each.kept():
        assert kept.splitlines()[0] == "$ " + each.command.replace("\n", " ")
        assert re.fullmatch(r"risingbandits \d+\.\d+\.\d+, \d{4}-\d\d-\d\d", when(kept))
        assert figures.numbers(body(kept))


@pytest.mark.parametrize("each", LISTED, ids=lambda each: each.name)
def test_pages_name_their_programs(each: Figures) -> None:
    words = shlex.split(each.command)
    programs = [word for word in words if word.startswith("benchmarks/")] or [" ".join(words[:2])]
    for page in each.pages:
        text = (ROOT / page).read_text()
        assert all(program in text or f"`{Path(program).name}" in text for program in programs), page


def test_every_program_that_pages_quote_is_listed() -> None:
    listed = " ".join(each.command for each in LISTED)
    quoted = {found for page in PAGES for found in re.findall(r"benchmarks/\w+\.py", page.read_text())}
    assert {program for program in quoted if program not in listed} == set()
    assert all((ROOT / program).exists() for program in quoted)


def test_nothing_is_kept_that_nobody_lists() -> None:
    assert {path.stem for path in figures.KEPT.iterdir()} <= {each.name for each in LISTED}
