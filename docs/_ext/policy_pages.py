"""One page per registered policy, written from its docstring before the site is built."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from risingbandits.policies import policy_class, policy_names

_FOLDER = "policy"


def write_pages(app: Any) -> None:
    """A page for every policy that is registered now; pages of others are removed."""
    folder = Path(app.srcdir) / _FOLDER
    folder.mkdir(exist_ok=True)
    wanted = {
        name: _page(name) for name in policy_names() if policy_class(name).__module__.startswith("risingbandits.")
    }
    for old in folder.glob("*.rst"):
        if old.stem not in wanted:
            old.unlink()
    for name, text in wanted.items():
        page = folder / f"{name}.rst"
        if not page.exists() or page.read_text() != text:
            page.write_text(text)


def _page(name: str) -> str:
    policy = policy_class(name)
    title = f"{policy.__name__} ({name})"
    return (
        f"{title}\n{'=' * len(title)}\n\n"
        f"In one line: {policy.summary}. Objective: {policy.objective}. How verified: {policy.verified}.\n\n"
        f".. autoclass:: {policy.__module__}.{policy.__name__}\n"
    )


def keep_initials(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """The initial that a line begins with, as in "A. Garivier", is the number of a list for docutils."""
    lines[:] = [re.sub(r"^(\s*)([A-Z])\. ", r"\1\2\\. ", line) for line in lines]


def setup(app: Any) -> dict[str, bool]:
    """Write the pages as soon as the builder is there."""
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", keep_initials)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
