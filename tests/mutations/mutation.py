"""The list of deliberate mistakes: small changes of the source, each with the tests that must notice it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
SOURCE = ROOT / "src"


@dataclass(frozen=True)
class Mutation:
    """One mistake: in ``file``, below src/risingbandits, the one ``old`` text becomes ``new``.

    ``killed_by``: tests of which at least one must fail. ``equivalent``: why none can, where the change does not show.
    """

    room: str
    name: str
    file: str
    old: str
    new: str
    killed_by: tuple[str, ...] = ()
    equivalent: str = ""

    @property
    def path(self) -> str:
        """Of the changed file, below src."""
        return f"risingbandits/{self.file}"

    def apply(self, text: str) -> str:
        """The text of the file with the mistake in it."""
        assert text.count(self.old) == 1, f"{self.name}: {self.old!r} is {text.count(self.old)} times in {self.file}"
        return text.replace(self.old, self.new)


def mutations() -> list[Mutation]:
    """All of them, room by room."""
    found = []
    for path in sorted(FOLDER.glob("*.toml")):
        for entry in tomllib.loads(path.read_text())["mutation"]:
            killers = entry.pop("killed_by", [])
            found.append(Mutation(room=path.stem, killed_by=tuple(f"tests/{test}" for test in killers), **entry))
    return found


def meant(parts: Sequence[str]) -> list[Mutation]:
    """Those that somebody means who names lists, or parts of names or files; all where nothing is named."""
    everything = mutations()
    rooms = {each.room for each in everything}

    def is_meant(each: Mutation, part: str) -> bool:
        return each.room == part if part in rooms else part in each.name or part in each.file

    return [each for each in everything if not parts or any(is_meant(each, part) for part in parts)]


def function_of(test: str) -> tuple[Path, str]:
    """The file and the name of the function of a test such as ``tests/a/test_b.py::test_c[1-2]``."""
    file, _, rest = test.partition("::")
    return ROOT / file, re.sub(r"\[.*", "", rest, flags=re.DOTALL)
