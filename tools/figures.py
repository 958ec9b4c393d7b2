"""Measure the figures of README and docs again, and keep what their programs print in `records/figures/`.

`records/figures.toml` lists the programs with the pages that quote them. Without names, all of them run, which takes
hours; `--list` says what there is and when each was last run:

    python tools/figures.py commit_ucb six_learners

A program's new figures are compared with those that it had before: decisions are seeded and must be the same on every
machine, times are not. A test compares the tables of the pages with what is kept here.
"""

from __future__ import annotations

import argparse
import datetime
import difflib
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from environments import ROOT

LIST = ROOT / "records" / "figures.toml"
KEPT = ROOT / "records" / "figures"
# A comma stands in a number only before three digits, and a point only before a digit.
_NUMBER = re.compile(r"(?<![\w.])(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?![\w])")
_MARK = re.compile(r"<!-- measured: ([a-z_, /-]+) -->")


class Figures(NamedTuple):
    """A program whose figures pages quote."""

    name: str
    command: str
    pages: tuple[str, ...]
    timed: bool = False  # whether it measures time, which no seed repeats
    takes: str = ""

    @property
    def path(self) -> Path:
        return KEPT / f"{self.name}.txt"

    def kept(self) -> str:
        """What it printed when it was last run; nothing if it never was."""
        return self.path.read_text() if self.path.exists() else ""


def read_list(path: Path = LIST) -> list[Figures]:
    """All programs, in the order of the file."""
    entries = tomllib.loads(path.read_text())
    return [Figures(name, **{**entry, "pages": tuple(entry["pages"])}) for name, entry in entries.items()]


def printed_by(name: str) -> str:
    """What the program of this name printed, or what the benchmark's record or a study's folder holds, or nothing.

    >>> "16859" in printed_by("reproduction")  # the tables in docs/reproduction/
    True
    """
    record = ROOT / "records" / f"{name}.json"
    if record.exists():
        return record.read_text()
    if tables := sorted((ROOT / "docs" / name).glob("*.csv")):
        return "\n".join(path.read_text() for path in tables)
    return next((body(each.kept()) for each in read_list() if each.name == name), "")


def when(kept: str) -> str:
    """The version and the day in the head of what is kept.

    >>> when("$ python x.py\\n# risingbandits 0.2.0, 2026-11-17\\n\\n0.5\\n")
    'risingbandits 0.2.0, 2026-11-17'
    """
    return next((line.removeprefix("# ") for line in kept.splitlines()[1:2]), "never")


def body(kept: str) -> str:
    """What the program itself printed.

    >>> body("$ python x.py\\n# risingbandits 0.2.0, 2026-11-17\\n\\n0.5\\n")
    '0.5\\n'
    """
    return kept.partition("\n\n")[2]


def numbers(text: str) -> list[str]:
    """The numbers in a text as written, without the commas of thousands.

    >>> numbers("| 2 workers | 1,146 ± 44 | .5 %, -0.25 [0.1, 0.2] | paper-15arms |")
    ['2', '1146', '44', '.5', '0.25', '0.1', '0.2']
    """
    return [found.replace(",", "") for found in _NUMBER.findall(text) if found]


def missing(quoted: str, printed: str) -> list[str]:
    """The numbers of a text that no number in what was printed rounds to, as it is or in per cent.

    >>> missing("| 0.56 | 12 % | 1,146 |", "auto 0.5618 .1204 1146.3")
    []
    >>> missing("| 0.57 | 13 % |", "auto 0.5618 .1204")
    ['0.57', '13']
    """
    there = [float(number) for number in numbers(printed)]
    return [number for number in numbers(quoted) if not any(_rounds_to(value, number) for value in there)]


def _rounds_to(value: float, quoted: str) -> bool:
    decimals = len(quoted.partition(".")[2])
    # A number that was printed with as few decimals may have been rounded to them from either side.
    close = 0.5 * 10**-decimals * (1 + 1e-9)
    return any(abs(scaled - float(quoted)) <= close for scaled in (value, 100 * value))


def marked_tables(page: str) -> Iterator[tuple[list[str], str]]:
    """The names in each mark of a page, with the cells of the table behind it but for its head and its first column.

    >>> list(marked_tables("<!-- measured: costs -->\\n\\n| K | loss |\\n| --- | --- |\\n| 2 | .5 |\\n\\nText 3."))
    [(['costs'], '.5')]
    """
    for mark in _MARK.finditer(page):
        table = re.match(r"\s*((?: *\|.*\n?)+)", page[mark.end() :])
        if table is None:
            raise ValueError(f"no table follows {mark.group()}")
        rows = [line.strip().strip("|").split("|")[1:] for line in table.group(1).splitlines()[2:]]
        yield re.split(r", *", mark.group(1)), "\n".join(" | ".join(row).strip() for row in rows)


def measure(figures: Figures) -> str:
    """Run the program, and return what is to be kept of it."""
    from risingbandits import __version__

    words = figures.command.replace("\n", " ")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            words.replace("OUT", folder),
            shell=True,
            cwd=ROOT,
            env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
            stdout=subprocess.PIPE,
            text=True,
        )
    if done.returncode:
        raise SystemExit(f"{figures.name}: {words} ended with {done.returncode}.")
    printed = "\n".join(line.rstrip() for line in done.stdout.replace(folder, "OUT").splitlines())
    return f"$ {words}\n# risingbandits {__version__}, {datetime.date.today()}\n\n{printed}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="programs of records/figures.toml; default: all")
    parser.add_argument("--list", action="store_true", help="only say what there is")
    given = parser.parse_args()
    known = {each.name: each for each in read_list()}
    if unknown := [name for name in given.names if name not in known]:
        parser.error(f"names must be among {', '.join(known)}, got {', '.join(unknown)}")
    changed = []
    for name in given.names or known:
        figures = known[name]
        old = figures.kept()
        if given.list:
            print(f"{name:22} {when(old):34} {figures.command}")
            continue
        new = measure(figures)
        KEPT.mkdir(exist_ok=True)
        figures.path.write_text(new)
        same = body(old) == body(new)
        print(f"{name}: {'never run before' if not old else 'as before' if same else 'other figures'}", flush=True)
        if old and not same:
            print("\n".join(difflib.unified_diff(body(old).splitlines(), body(new).splitlines(), lineterm="", n=0)))
            if not figures.timed:
                changed.append(name)
    if changed:
        print(f"Decisions have changed: look at the pages that quote {', '.join(changed)}.")
    return bool(changed)


if __name__ == "__main__":
    sys.exit(main())
