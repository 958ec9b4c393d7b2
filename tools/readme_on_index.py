"""The README as a package index shows it: what is relative to the repository becomes absolute, or plain text.

Hatchling runs the hook when it builds. Where `[project.urls]` of pyproject.toml has a ``Source``, links lead to the
files there, as of the version's tag; as long as there is none a link is its text and a picture is left out, since an
index has none of our files.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    MetadataHookInterface = object
else:
    try:
        from hatchling.metadata.plugin.interface import MetadataHookInterface
    except ImportError:  # only builds have hatchling
        MetadataHookInterface = object

_LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
_CODE = re.compile(r"(^```.*?^```)", re.DOTALL | re.MULTILINE)
_ABSOLUTE = re.compile(r"[a-z][a-z+.-]*:|#|//", re.IGNORECASE)


def on_index(text: str, source: str | None, version: str) -> str:
    """The text with links that work anywhere.

    >>> on_index("![Curves](docs/a.png)[More](docs/b.md#c), [paper](https://arxiv.org)", None, "1.0")
    'More, [paper](https://arxiv.org)'
    >>> on_index("![Curves](docs/a.png) [More](docs/b.md#c)", "https://example.org/r", "1.0")
    '![Curves](https://example.org/r/raw/v1.0/docs/a.png) [More](https://example.org/r/blob/v1.0/docs/b.md#c)'
    """

    def absolute(link: re.Match[str]) -> str:
        picture, shown, target = link["picture"], link["text"], link["target"]
        if _ABSOLUTE.match(target):
            return link[0]
        if source is None:
            return "" if picture else shown
        return f"{picture}[{shown}]({source.rstrip('/')}/{'raw' if picture else 'blob'}/v{version}/{target})"

    parts = _CODE.split(text)  # every second one is a block of code, which stays as it is
    return "".join(part if number % 2 else _LINK.sub(absolute, part) for number, part in enumerate(parts))


def relative_links(text: str) -> list[str]:
    """The targets of links that an index could not follow.

    >>> relative_links("[a](docs/a.md) [b](https://example.org)")
    ['docs/a.md']
    """
    return [link["target"] for link in _LINK.finditer(_CODE.sub("", text)) if not _ABSOLUTE.match(link["target"])]


class ReadmeOnIndex(MetadataHookInterface):  # type: ignore[misc,unused-ignore]
    """Puts the README into the metadata of a build."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Hatchling's call."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")  # type: ignore[attr-defined,unused-ignore]
        source = metadata.get("urls", {}).get("Source")
        shown = on_index(text, source, metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": shown}
