"""Every public name is marked stable or experimental, in the code and in the documentation alike."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest
import typer.main

import risingbandits as rb
from risingbandits.cli.app import app

ROOT = Path(__file__).parents[1]
AT_THE_TOP = [name for name in rb.__all__ if (ROOT / "src" / "risingbandits" / name / "__init__.py").exists()]
ROOMS = sorted([*AT_THE_TOP, "reports", "simulation", "theory"])
MARK = re.compile(r"\nStability: ((stable|experimental|internal)\b.*)", re.DOTALL)
PROMISES = (ROOT / "docs" / "promises.md").read_text()


def mark_of(package: str) -> tuple[str, str, list[str]]:
    """What the docstring of a package says, its first word, and the names that are an exception."""
    found = MARK.search(importlib.import_module(package).__doc__ or "")
    assert found is not None, f"the docstring of {package} must end with its stability"
    said = " ".join(found[1].split())
    return said, found[2], re.findall(r"`(\w+)`", said)


def test_all_rooms_are_found() -> None:
    assert len(AT_THE_TOP) == 7


@pytest.mark.parametrize("room", ["", *ROOMS])
def test_every_public_package_has_a_mark_in_code_and_documentation(room: str) -> None:
    package = f"risingbandits.{room}".rstrip(".")
    said, mark, exceptions = mark_of(package)
    assert mark in ("stable", "experimental")
    public = getattr(importlib.import_module(package), "__all__", ())
    assert [name for name in exceptions if name not in public] == []
    assert ("; experimental " in said) == bool(exceptions)
    text = " ".join((ROOT / "docs" / "api.md").read_text().split())
    if room in ("lab", "reports"):
        assert "`rb.lab` and `risingbandits.reports` are experimental" in text
        assert mark == "experimental"
    else:
        assert re.search(rf"[Oo]f `{re.escape(package)}`: {re.escape(said)}", text), said


@pytest.mark.parametrize("room", ["_core", "cli"])
def test_what_is_internal_says_so(room: str) -> None:
    assert mark_of(f"risingbandits.{room}")[1] == "internal"


def test_a_name_at_the_top_has_the_mark_of_its_room() -> None:
    exceptions = mark_of("risingbandits")[2]
    for name in rb.__all__:
        for room in ROOMS:
            module = importlib.import_module(f"risingbandits.{room}")
            if name in getattr(module, "__all__", ()):
                _, mark, others = mark_of(f"risingbandits.{room}")
                experimental = mark == "experimental" or name in others
                assert experimental == (name in exceptions), name


def test_every_command_has_one_mark() -> None:
    marks = dict(re.findall(r"^\| (stable|experimental) \| (`.+`) \|$", PROMISES, re.MULTILINE))
    marked = [name for names in marks.values() for name in re.findall(r"`([\w-]+)`", names)]
    assert len(marks) == 2
    commands: dict[str, object] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert sorted(marked) == sorted(commands)


def test_tests_that_prove_a_promise_exist() -> None:
    tests = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    named = re.findall(r"`(test_\w+\.py)`", PROMISES)
    assert len(named) > 6
    assert [name for name in named if name not in tests] == []


def test_the_pythons_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    versions = [line.rpartition(" ")[2] for line in project["classifiers"] if ":: Python :: 3." in line]
    table = PROMISES.partition("## Pythons and systems")[2].partition("**Python 3.14")[0]
    assert re.findall(r"3\.\d+", " ".join(re.findall(r"^\| Python (.+?) \|", table, re.MULTILINE))) == versions
    assert project["requires-python"] == f">={versions[0]}"
