"""Docstrings name pages by their files, as who reads the source finds them; on the site these are links."""

from __future__ import annotations

import re
from typing import Any

_FILE = re.compile(r"\bdocs/([\w-]+)\.md\b")


def link_pages(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """``docs/replay.md`` becomes a link to that page, with its title."""
    lines[:] = [_FILE.sub(r":doc:`/\1`", line) for line in lines]


def setup(app: Any) -> dict[str, bool]:
    """Follow the docstrings."""
    app.connect("autodoc-process-docstring", link_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
