"""The fenced blocks of the pages, and which of them a test runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *(ROOT / name / "README.md" for name in ("benchmarks", "examples", "records", "docs/reproduction")),
    *sorted((ROOT / "docs").glob("*.md")),
]
SHELL = ("", "console", "sh", "bash")
_FENCE = re.compile(r" *```(.*)")
_MARK = re.compile(r"<!-- not run: (.+) -->")


class Block(NamedTuple):
    """A fenced block."""

    page: Path
    line: int  # of its first fence, from 1
    language: str
    text: str
    reason: str  # why no test runs it, as the comment before it says; nothing if none does

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def directive(self) -> bool:
        """Whether it tells Sphinx something, and is no code."""
        return self.language.startswith("{")

    @property
    def session(self) -> bool:
        """Whether doctest runs it."""
        return ">>> " in self.text

    def commands(self) -> list[str]:
        """The lines of a block of commands, without comments."""
        joined = self.text.replace("\\\n", " ").splitlines()
        lines = (re.sub(r"(^|\s+)#.*", "", line).strip().removeprefix("$ ") for line in joined)
        return [line for line in lines if line]


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page."""
    lines = page.read_text().splitlines()
    first: int | None = None
    for number, line in enumerate(lines):
        fence = _FENCE.fullmatch(line)
        if fence is None:
            continue
        if first is None:
            first, language = number, fence.group(1).strip()
            continue
        before = next((text for text in reversed(lines[:first]) if text.strip()), "")
        mark = _MARK.fullmatch(before.strip())
        text = "\n".join(lines[first + 1 : number]) + "\n"
        yield Block(page, first + 1, language, text, mark.group(1) if mark else "")
        first = None


def all_blocks() -> list[Block]:
    """The blocks of all pages."""
    return [block for page in PAGES for block in blocks(page)]
