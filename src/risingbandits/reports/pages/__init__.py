"""Self-contained HTML pages about a study or a store."""

from __future__ import annotations

from pathlib import Path

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.files import write_whole
from risingbandits.allocation.stores.base import is_server
from risingbandits.reports.pages.layout import Page


def page_of(source: str | Path) -> Page:
    """The page of a folder with studies, or of a store (an SQLite file or a ``postgresql://`` address)."""
    if not is_server(source):
        path = Path(source)
        if path.is_dir():
            from risingbandits.reports.pages.study_page import folder_page

            return folder_page(path)
        if not path.exists():
            raise RisingBanditsError(
                f"source must be a folder with a study, a store or its postgresql:// address; {path} does not exist."
            )
    from risingbandits.reports.pages.store_page import store_page

    return store_page(source)


def write_html(source: str | Path, path: str | Path) -> Path:
    """Write the page of ``source`` to ``path``, atomically; return the path.

    ``source`` is a folder that `simulate --out`, `demo`, `paper imdb run` or `paper reproduce` wrote, or the store of
    an allocation. Equal sources give equal bytes.
    """
    target = Path(path)
    if target.is_dir():
        raise RisingBanditsError(f"out must be a file, got the folder {target}.")
    content = page_of(source).html().encode()
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, content)
    return target
