"""Tests under every Python that is promised, with the lowest versions that are allowed, and without extras.

Each cell is an environment of its own in .venv-matrix/, made anew, in which the tests of `_TESTS` run: the contract of
some policies, simulation, allocator, stores, commands, the golden decisions, and the examples of what most people use.
The whole suite is for `make test`.

    python tools/matrix.py [cell ...]

A Python that is not on this machine is passed over, and said so, unless its cell is named.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from environments import ROOT, CommandFailed, Environment, find_interpreter

_FOLDER = ROOT / ".venv-matrix"
_TOOLS = ("pytest", "pytest-timeout", "hypothesis")
_EXTRAS = "all"
_POLICIES = ("commit-ucb", "red-ucb", "kl-ucb", "sw-ts")
_TESTS = (
    "src/risingbandits/__init__.py",
    "src/risingbandits/policies/base.py",
    "src/risingbandits/simulation/run.py",
    "src/risingbandits/simulation/result.py",
    "src/risingbandits/allocation/allocator.py",
    "tests/core/test_errors.py",
    "tests/core/test_jit.py",
    "tests/problems",
    "tests/simulation/test_simulate.py",
    "tests/allocation/test_allocator.py",
    "tests/allocation/test_store.py",
    "tests/allocation/test_command.py",
    "tests/cli/test_cli.py",
    "tests/golden/test_golden_decisions.py::test_ask_and_tell",
    *(
        f"tests/policies/test_contract.py::test_every_registered_policy_keeps_the_contract[{name}]"
        for name in _POLICIES
    ),
)
_TESTS_OF_EXTRAS = (
    "README.md",
    "tests/allocation/test_process_arms.py",
    "tests/integrations/test_adapters_optuna.py",
    "tests/integrations/test_adapters_river.py",
    "tests/integrations/test_adapters_sklearn.py",
    "tests/reports/test_live_view.py",
    "tests/reports/test_store_page.py",
)
_OLD = ("-W", "ignore::DeprecationWarning")  # old libraries use what newer ones that they need take back


class Cell(NamedTuple):
    """One environment."""

    name: str
    python: str
    what: str
    extras: bool
    constraints: str
    options: tuple[str, ...] = ()


def pythons() -> list[str]:
    """The Pythons that pyproject.toml names, the lowest first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = (re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line) for line in project["classifiers"])
    return sorted((line.group(1) for line in found if line), key=lambda version: int(version.partition(".")[2]))


def cells() -> list[Cell]:
    """All of them."""
    promised = pythons()
    newest = "constraints.txt"
    return [
        *(Cell(f"python{version}", version, "the versions of constraints.txt", True, newest) for version in promised),
        Cell("lowest", promised[0], "the lowest versions", True, "constraints-lowest.txt", _OLD),
        Cell("core", promised[-1], "no extras", False, newest),
    ]


def main(words: Sequence[str] | None = None) -> int:
    """Run them; 0 if all that could be run are green."""
    known = {cell.name: cell for cell in cells()}
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="cell", help=f"of {', '.join(known)}; all where none is named")
    parser.add_argument("--keep", action="store_true", help="leave the environments where they are")
    given = parser.parse_args(words)
    if unknown := [name for name in given.names if name not in known]:
        parser.error(f"a cell must be one of {', '.join(known)}, got {unknown[0]!r}.")
    outcomes: dict[str, str] = {}
    for name, cell in known.items():
        if given.names and name not in given.names:
            continue
        interpreter = find_interpreter(cell.python)
        if interpreter is None and not given.names and name == "core":
            interpreter = Path(sys.executable)  # whichever it is
        if interpreter is None:
            outcomes[name] = (
                f"{'FAILED' if given.names else 'passed over'}: no Python {cell.python} on PATH or in pyenv"
            )
            continue
        print(f"== {name}: Python {cell.python}, {cell.what}", flush=True)
        outcomes[name] = _play(cell, interpreter)
        if not given.keep:
            shutil.rmtree(_FOLDER / name, ignore_errors=True)
    for name, outcome in outcomes.items():
        print(f"{name:10s} {outcome}")
    return int(any(outcome.startswith("FAILED") for outcome in outcomes.values()))


def _play(cell: Cell, interpreter: Path) -> str:
    """The tests of one cell; the outcome in a line."""
    began = time.monotonic()
    try:
        environment = Environment(_FOLDER / cell.name, interpreter)
        project = f"{ROOT}[{_EXTRAS}]" if cell.extras else str(ROOT)
        environment.install("--constraint", ROOT / cell.constraints, *_pinned(_TOOLS), "--editable", project)
        tests = (*_TESTS, *(_TESTS_OF_EXTRAS if cell.extras else ()))
        fast = ("-q", "-m", "not slow", "-p", "no:cacheprovider")
        environment.run(["pytest", *fast, *cell.options, *tests], shown=True)
    except CommandFailed as error:
        print(error, flush=True)
        return "FAILED"
    versions = ", ".join(f"{name} {environment.version(name)}" for name in ("numpy", "numba", "scipy", "typer"))
    return f"passed in {time.monotonic() - began:.0f} s with {versions}"


def _pinned(names: Sequence[str]) -> list[str]:
    """Tools in the versions of constraints.txt, whatever the constraints of the cell are."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return [line for line in lines if line.partition("==")[0] in names]


if __name__ == "__main__":
    sys.exit(main())
