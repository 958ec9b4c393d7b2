"""The project memory: a folder with a small file for each run, written when a run ends and read when one begins.

It is where the user said and nowhere else: nothing is sent anywhere. Files are written whole under the name of their
run, so several processes can write at once, and a run that is remembered again replaces its own entry.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits._core.files import readable, remove, write_whole
from risingbandits.allocation.prior.store_tasks import ledger_task
from risingbandits.allocation.prior.tasks import ArmSettings, EarlierTask

ENDING = ".run.json.gz"
_FORMAT = 1
_LONGEST = 80  # characters of a file's name that are from the name of the run


def remember(
    folder: str | Path,
    run: Any,
    settings: Mapping[str, ArmSettings] | None = None,
    name: str | None = None,
    *,
    direction: str = "maximize",
    identity: str | None = None,
) -> Path:
    """Write what a run taught into the memory, in place of what it taught before; the path of the entry.

    Parameters
    ----------
    folder : path
        The memory; it is made if it does not exist.
    run : Ledger, EarlierTask or mapping of arms to rewards
        What happened.
    settings : mapping of arms to their settings, or None
        Beside or in place of those that the run knows itself.
    name : str or None
        What the run is called, which only an `EarlierTask` knows itself.
    direction : {"maximize", "minimize"}
        Of a mapping of rewards.
    identity : str or None
        `store_identity` of the run's store, so that the run does not learn from itself when it goes on.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = remember(folder, {"a": [0.1, 0.5], "b": [0.2], "c": []}, {"a": {"lr": 0.1}}, "may")
    ...     path.name, [(task.name, task.arms, task.settings) for task in tasks_in(folder)]
    ('may.run.json.gz', [('may', ['a', 'b'], {'a': {'lr': 0.1}})])
    """
    if isinstance(run, EarlierTask):
        task = run
    elif isinstance(run, Mapping):
        task = EarlierTask(str(name), run, direction=direction)
    else:
        task = ledger_task(str(name), run)
    called = task.name if name is None else name
    if not isinstance(called, str) or not called.strip() or not called.isprintable() or called == "None":
        raise RisingBanditsError(f"name must be a printable text for the run, got {shown(name)}.")
    known = {**task.settings, **{arm: dict(given) for arm, given in (settings or {}).items()}}
    task = EarlierTask(called, task.curves, known, task.direction, task.failed, task.named, identity or task.identity)
    place = Path(folder).expanduser()
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{_file_name(called)}{ENDING}"
    write_whole(path, gzip.compress(json.dumps(_plain(task)).encode(), mtime=0))
    for other in entries_of(place, task.identity):  # under another name
        if other.name != called:
            remove(place / f"{_file_name(other.name)}{ENDING}")
    return path


def tasks_in(folder: str | Path) -> list[EarlierTask]:
    """All runs in the memory, by name."""
    place = Path(folder).expanduser()
    if not place.is_dir():
        raise RisingBanditsError(f"{place} must be a folder that exists.")
    return sorted(_entries(place, passing=False), key=lambda task: task.name)


def entries_of(folder: str | Path, identity: str | None) -> list[EarlierTask]:
    """What the memory has of one run; nothing where there is no memory."""
    if identity is None:
        return []
    return [task for task in _entries(Path(folder).expanduser(), passing=True) if task.identity == identity]


def _entries(place: Path, passing: bool) -> Iterator[EarlierTask]:
    """The entries in a folder, ``passing`` over those that cannot be read; others may be forgotten meanwhile."""
    for path in sorted(place.glob(f"*{ENDING}")):
        try:
            yield read_entry(path)
        except RisingBanditsError:
            if not passing and path.exists():
                raise


def forget(folder: str | Path, name: str) -> str:
    """Remove a run from the memory, by its name or a beginning that only it has; its name."""
    found = run_called(folder, name).name
    remove(Path(folder).expanduser() / f"{_file_name(found)}{ENDING}")
    return found


def run_called(folder: str | Path, name: str) -> EarlierTask:
    """A run in the memory, by its name or by a beginning that only its name has."""
    tasks = tasks_in(folder)
    found = [task for task in tasks if task.name == name] or [task for task in tasks if task.name.startswith(name)]
    if len(found) == 1 and name:
        return found[0]
    names = [task.name for task in (found if name else []) or tasks]
    raise RisingBanditsError(f"name must be that of a run in {folder}, one of {shown(names)}, got {shown(name)}.")


def read_entry(path: Path) -> EarlierTask:
    """One run of the memory."""
    with readable(path, "is damaged, or no entry of a memory"):
        plain = json.loads(gzip.decompress(path.read_bytes()))
        if plain["format"] != _FORMAT:
            raise RisingBanditsError(f"{path} must be of format {_FORMAT}, got {shown(plain['format'])}.")
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
    """JSON has no NaN; what is infinite has diverged as well."""
    return [float(value) if math.isfinite(value) else None for value in values]


def _file_name(name: str) -> str:
    """A name that every system takes; a name that had to be changed gets a part of its hash, to be nobody else's.

    >>> _file_name("May-3"), _file_name("a/b")
    ('May-3', 'a_b-c14cddc0')
    """
    plain = re.sub(r"[^A-Za-z0-9._ -]", "_", name).strip(" .")[:_LONGEST] or "run"
    return plain if plain == name else f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
