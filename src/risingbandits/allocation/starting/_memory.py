"""Folders of earlier runs: one file for each run that is remembered, and an index of what all files say.

A folder is only where the user put it: nothing is sent anywhere. Files are written atomically, each under the name of
its run, so several processes can write at once.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import math
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits._core.files import readable, whole, write_whole
from risingbandits.allocation.starting.earlier_runs import (
    _BESIDE,
    EarlierTask,
    Reading,
    Summary,
    logged_tasks,
    store_task,
)
from risingbandits.allocation.stores._memory import MemoryStore
from risingbandits.allocation.stores.base import Store

ENDING = ".run.json.gz"
INDEX = ".risingbandits-index.json.gz"
_FORMAT = 1
_LONGEST = 80  # characters of a run's name that are from that of its store
_MANY = 32  # files that were read: then an index is written
log = logging.getLogger("risingbandits")


def remember(folder: str | Path, store: Store, settings: str | None = None) -> Path:
    """Write what a run has taught so far into a folder, replacing what it wrote before; the path of the file.

    ``settings`` are those of a run whose store has none, as JSON.

    >>> from tempfile import TemporaryDirectory
    >>> from risingbandits.allocation import Allocator
    >>> allocator = Allocator(["a", "b", "c"], budget=3, policy="round-robin")
    >>> for pull in allocator:
    ...     _ = allocator.tell(pull, 0.5)
    >>> with TemporaryDirectory() as folder:
    ...     path = remember(folder, allocator.store, allocator.settings.to_json())
    ...     path.name, read_entry(path).summary().pulls
    ('run ....run.json.gz', 3)
    """
    task = store_task(store, settings)
    first = store.event(1)
    if first is None or task.identity is None or not any(len(list(curve)) for curve in task.curves.values()):
        raise RisingBanditsError("a run must have told pulls to be remembered, got none.")
    name = _run_name(store.name, first.time, task.identity)
    entry = {
        "format": _FORMAT,
        "name": name,
        "direction": task.direction,
        "identity": task.identity,
        "failed": sorted(task.failed),
        "configs": task.configs,
        # JSON has no NaN; infinite values have diverged as well.
        "curves": {arm: [x if math.isfinite(x) else None for x in map(float, c)] for arm, c in task.curves.items()},
    }
    path = Path(folder) / f"{name}{ENDING}"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, gzip.compress(json.dumps(entry).encode(), mtime=0))
    return path


def read_entry(path: Path) -> EarlierTask:
    """A run that was remembered, from its file."""
    with readable(path, "is damaged, or no run that was remembered"):
        plain = json.loads(gzip.decompress(path.read_bytes()))
        if plain["format"] != _FORMAT:
            raise RisingBanditsError(f"{path} must be of format {_FORMAT}, got {shown(plain['format'])}.")
        curves = {arm: [math.nan if x is None else float(x) for x in curve] for arm, curve in plain["curves"].items()}
        facts = (plain["configs"], plain["direction"], frozenset(plain["failed"]))
        return EarlierTask(str(plain["name"]), curves, *facts, identity=plain["identity"])


def _run_name(store: str, begun: float, identity: str) -> str:
    """The name of a run and of its file: that of its store, and the day on which it began; the same in every process.

    >>> _run_name("runs/mnist.db", 1.7e9, "0123456789abcdef"), _run_name("memory", 1.7e9, "0123456789abcdef")
    ('mnist 2023-11-14 01234567', 'run 2023-11-14 01234567')
    >>> _run_name("postgresql://me:***@host/runs?schema=a", 1.7e9, "0123456789abcdef")
    'runs a 2023-11-14 01234567'
    """
    if "://" in store:
        address, _, options = store.partition("?")
        schema = re.search(r"schema=([^&]+)", options)
        stem = address.rpartition("/")[2] + (f" {schema[1]}" if schema else "")
    else:
        stem = "run" if store == MemoryStore.name else Path(store).stem
    plain = re.sub(r"[^A-Za-z0-9._ -]", "_", stem).lstrip(" .")[:_LONGEST]  # which every system accepts
    return f"{plain} {datetime.fromtimestamp(begun, UTC):%Y-%m-%d} {identity[:8]}"


# -- reading a folder -------------------------------------------------------------------------------------------------


def runs_in(folder: Path, how: Reading) -> list[Summary]:
    """The runs in a folder: stores and remembered runs, or logs if there are none of these.

    What many files say is kept in an index in the folder, by the name, size and time of each: reading it again takes
    next to no time. Where it cannot be written, there is none.
    """
    from risingbandits.logs.reading import is_store

    index = _Index(folder / INDEX)
    files = _files(folder)
    found: list[Summary] = []
    for path, key in files:
        if path.name.endswith(ENDING):
            found += index.get(key, lambda path=path: [read_entry(path)])  # type: ignore[misc]
        else:
            found += index.get(key, lambda path=path: [store_task(path)] if is_store(path) else [])  # type: ignore[misc]
    if not found and files:
        every = hashlib.sha256(json.dumps([[key for _, key in files], how]).encode()).hexdigest()
        found = index.get(every, lambda: logged_tasks(folder, how), len(files))
    index.write()
    return sorted(found, key=lambda run: run.name)


def _files(folder: Path) -> list[tuple[Path, str]]:
    """The files in a folder that may be runs, each with what changes when it does."""
    found = []
    for here, folders, names in os.walk(folder):
        # What lies beside a store: what commands printed, and checkpoints.
        folders[:] = [name for name in folders if not name.startswith(".") and not name.endswith((".logs", ".state"))]
        present = set(names)
        for name in names:
            if name.startswith(".") or name.endswith(_BESIDE):
                continue
            path = os.path.join(here, name)
            stamp = [os.path.relpath(path, folder)]
            for part in (path, f"{path}-wal") if f"{name}-wal" in present else (path,):
                try:
                    state = os.stat(part)
                except FileNotFoundError:  # removed meanwhile
                    continue
                stamp += [str(state.st_size), str(state.st_mtime_ns)]
            found.append((Path(path), " ".join(stamp)))
    return sorted(found)


class _Index:
    """What was read from files before."""

    def __init__(self, path: Path) -> None:
        self._path, self._used, self._new = path, {}, 0  # type: tuple[Path, dict[str, list[Any]], int]
        try:
            plain = json.loads(gzip.decompress(path.read_bytes()))
            self._known: dict[str, list[Any]] = plain["runs"] if plain["format"] == _FORMAT else {}
        except (OSError, EOFError, ValueError, LookupError, TypeError):  # none, or a damaged one
            self._known = {}

    def get(self, key: str, read: Callable[[], list[EarlierTask]], files: int = 1) -> list[Summary]:
        """What the index has, or what ``read`` finds in so many ``files``."""
        if key in self._known:
            self._used[key] = self._known[key]
            return [Summary(*run) for run in self._known[key]]
        self._new += files
        found = [task.summary() for task in read()]
        self._used[key] = [list(run) for run in found]
        return found

    def write(self) -> None:
        """Write the index, if it saves the reading of many files."""
        if self._new < _MANY:
            return
        data = gzip.compress(json.dumps({"format": _FORMAT, "runs": self._used}).encode(), 1, mtime=0)
        try:
            with whole(self._path) as temporary:
                temporary.write_bytes(data)
        except (OSError, RisingBanditsError) as error:  # another's folder, or a full disk
            log.debug("no index is written to %s: %s", self._path, error)
