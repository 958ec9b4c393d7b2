"""What the site makes of docstrings and code blocks."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest

from environments import ROOT

pytest.importorskip("docutils")
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

block_ends, policy_pages = importlib.import_module("block_ends"), importlib.import_module("policy_pages")
publish_doctree: Any = importlib.import_module("docutils.core").publish_doctree

REFERENCE = [
    "A. M. Metelli, F. Trovo. Stochastic Rising Bandits.",
    "",
    "    B. Author. Indented.",
    "A sentence. Another.",
]


def test_initials_of_authors_are_no_lists() -> None:
    assert "enumerated_list" in publish_doctree("\n".join(REFERENCE[:1])).pformat()
    lines = list(REFERENCE)
    policy_pages.keep_initials(None, "class", "", None, None, lines)
    assert lines == [
        r"A\. M. Metelli, F. Trovo. Stochastic Rising Bandits.",
        "",
        r"    B\. Author. Indented.",
        REFERENCE[3],
    ]
    made = publish_doctree(lines[0])
    assert "enumerated_list" not in made.pformat()
    assert made.astext() == REFERENCE[0]


def test_code_blocks_end_with_their_last_line() -> None:
    made = publish_doctree("Text::\n\n    first\n\n    last\n")
    block = next(iter(made.findall(lambda node: node.tagname == "literal_block")))
    block.rawsource = "first\n\nlast\n\n"
    block[:] = [type(block[0])(block.rawsource)]
    block_ends.without_empty_end(None, made)
    assert block.astext() == block.rawsource == "first\n\nlast"
