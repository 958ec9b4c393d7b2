"""Where the entries of a memory are kept: what a shelf can do, and the one that is a folder."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, runtime_checkable

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.files import remove, write_whole
from risingbandits.allocation.prior.entries import read_entry
from risingbandits.allocation.prior.tasks import EarlierTask

ENDING = ".run.json.gz"
_LONGEST = 80  # characters of a file's name that are from the name of the run


@runtime_checkable
class Shelf(Protocol):
    """Entries by the names of their runs. Several processes may use it at once: entries are atomic."""

    name: str  #: for messages
    kind: str  #: what it is, for messages

    def exists(self) -> bool:
        """Whether anything was ever put here."""

    def entries(self) -> Iterator[EarlierTask]:
        """All entries; an error if one cannot be read."""

    def entries_of(self, identity: str) -> Iterator[EarlierTask]:
        """The entries of one run, under any name; other entries need not be readable."""

    def put(self, name: str, identity: str | None, entry: bytes) -> str | Path:
        """Store an entry, replacing those of its name and of the same run; returns where it is."""

    def remove(self, name: str) -> None:
        """Remove an entry."""


class FolderShelf:
    """A folder with a file for each run.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     shelf = FolderShelf(f"{folder}/runs")
    ...     shelf.exists(), list(shelf.entries())
    (False, [])
    """

    kind = "a folder"

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder).expanduser()
        self.name = str(self._folder)

    def exists(self) -> bool:
        return self._folder.is_dir()

    def entries(self) -> Iterator[EarlierTask]:
        return self._read(passing=False)

    def entries_of(self, identity: str) -> Iterator[EarlierTask]:
        return (task for task in self._read(passing=True) if task.identity == identity)

    def put(self, name: str, identity: str | None, entry: bytes) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._path(name)
        write_whole(path, entry)
        if identity is not None:
            for other in list(self.entries_of(identity)):
                if other.name != name:
                    self.remove(other.name)
        return path

    def remove(self, name: str) -> None:
        remove(self._path(name))

    def _path(self, name: str) -> Path:
        return self._folder / f"{_file_name(name)}{ENDING}"

    def _read(self, passing: bool) -> Iterator[EarlierTask]:
        """The entries, ``passing`` over those that cannot be read; others may be removed meanwhile."""
        for path in sorted(self._folder.glob(f"*{ENDING}")):
            try:
                yield read_entry(path)
            except RisingBanditsError:
                if not passing and path.exists():
                    raise


def _file_name(name: str) -> str:
    """A name that every system accepts; a name that had to be changed gets a part of its hash, so that it stays unique.

    >>> _file_name("May-3"), _file_name("a/b")
    ('May-3', 'a_b-c14cddc0')
    """
    plain = re.sub(r"[^A-Za-z0-9._ -]", "_", name).strip(" .")[:_LONGEST] or "run"
    return plain if plain == name else f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
