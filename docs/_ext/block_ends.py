"""Code blocks end with their last line: a session of `>>>` needs an empty line before its fence, readers do not."""

from __future__ import annotations

from typing import Any

from docutils import nodes


def without_empty_end(app: Any, doctree: nodes.document) -> None:
    """Cut empty lines at the end of every block."""
    for block in doctree.findall(nodes.literal_block):
        text = block.astext()
        if block.rawsource == text and text != text.rstrip():
            block.rawsource = text.rstrip()
            block[:] = [nodes.Text(block.rawsource)]


def setup(app: Any) -> dict[str, Any]:
    app.connect("doctree-read", without_empty_end)
    return {"parallel_read_safe": True}
