"""What a memory keeps about a run, as bytes, and where: what a shelf can do, and the one that is a folder."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits._core.files import readable, remove, write_whole
from risingbandits.allocation.prior.tasks import EarlierTask

_FORMAT = 1
ENDING = ".run.json.gz"
_LONGEST = 80  # characters of a file's name that are from the name of the run


def write_entry(task: EarlierTask) -> bytes:
    """A run for a memory."""
    return gzip.compress(json.dumps(_plain(task)).encode(), mtime=0)


def read_entry(path: Path) -> EarlierTask:
    """A run of a memory, from its file."""
    with readable(path, "is damaged, or no entry of a memory"):
        return parse_entry(path.read_bytes(), str(path))


def parse_entry(data: bytes, where: str) -> EarlierTask:
    """A run of a memory, from what `write_entry` made of it; ``where`` is what messages call the entry."""
    with readable(Path(where), "is damaged, or no entry of a memory"):
        plain = json.loads(gzip.decompress(data))
        if plain["format"] != _FORMAT:
            raise RisingBanditsError(f"{where} must be of format {_FORMAT}, got {shown(plain['format'])}.")
        curves = {arm: [math.nan if x is None else float(x) for x in curve] for arm, curve in plain["curves"].items()}
        return EarlierTask(
            str(plain["name"]),
            curves,
            plain["settings"],
            plain["direction"],
            frozenset(plain["failed"]),
            bool(plain["named"]),
            plain["identity"],
        )


def _plain(task: EarlierTask) -> dict[str, Any]:
    arms = task.arms
    return {
        "format": _FORMAT,
        "name": task.name,
        "direction": task.direction,
        "named": task.named,
        "identity": task.identity,
        "failed": sorted(task.failed),
        "settings": {arm: task.settings[arm] for arm in arms if arm in task.settings},
        "curves": {arm: _finite(list(task.curves[arm])) for arm in arms},
    }


def _finite(values: Sequence[float]) -> list[float | None]:
    """JSON has no NaN; infinite values have diverged as well."""
    return [float(value) if math.isfinite(value) else None for value in values]


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
