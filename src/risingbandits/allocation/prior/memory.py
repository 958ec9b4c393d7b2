"""The project memory: a small entry for each run, written when a run ends and read when one starts.

It is only where the user put it: nothing is sent anywhere. Entries are written atomically under the name of their run,
so several processes can write at once, and a run that is remembered again replaces its own entry.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError, hide_password, shown
from risingbandits.allocation.prior.shelves import FolderShelf, Shelf, write_entry
from risingbandits.allocation.prior.store_tasks import ledger_task
from risingbandits.allocation.prior.tasks import ArmSettings, EarlierTask
from risingbandits.allocation.stores.base import is_server


def shelf_at(memory: str | Path) -> Shelf:
    """Where the entries of a memory are: a folder, or a schema of a PostgreSQL database."""
    if is_server(memory):
        from risingbandits.allocation.prior.postgres_shelf import PostgresShelf

        return PostgresShelf(str(memory))
    return FolderShelf(memory)


def check_memory(where: str, value: Any) -> str:
    """An address, or the absolute path of a folder, so that it survives a change of the working directory."""
    if is_server(value):
        return str(value)
    if not isinstance(value, str | os.PathLike) or not str(value).strip() or "://" in str(value) or "\0" in str(value):
        said = hide_password(value) if isinstance(value, str) else value
        raise RisingBanditsError(f"{where} must be the path of a folder or postgresql://..., got {shown(said)}.")
    return os.path.abspath(os.path.expanduser(value))


def remember(
    memory: str | Path,
    run: Any,
    settings: Mapping[str, ArmSettings] | None = None,
    name: str | None = None,
    *,
    direction: str = "maximize",
    identity: str | None = None,
) -> str | Path:
    """Write what a run taught to the memory, replacing what it taught before; returns the path of the entry.

    Parameters
    ----------
    memory : path of a folder, or "postgresql://..."
        It is created if it does not exist. On a server, entries have no path; the result says where the entry is.
    run : Ledger, EarlierTask or mapping of arms to rewards
        What happened.
    settings : mapping of arms to their settings, or None
        In addition to, or instead of, those that the run knows itself.
    name : str or None
        The name of the run; only an `EarlierTask` has its own.
    direction : {"maximize", "minimize"}
        Direction of a mapping of rewards.
    identity : str or None
        `store_identity` of the run's store, so that the run does not learn from itself when it continues.

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
        raise RisingBanditsError(f"name must be a printable string for the run, got {shown(name)}.")
    known = {**task.settings, **{arm: dict(given) for arm, given in (settings or {}).items()}}
    task = EarlierTask(called, task.curves, known, task.direction, task.failed, task.named, identity or task.identity)
    return shelf_at(memory).put(called, task.identity, write_entry(task))


def tasks_in(memory: str | Path) -> list[EarlierTask]:
    """All runs in the memory, by name."""
    shelf = shelf_at(memory)
    if not shelf.exists():
        raise RisingBanditsError(f"{shelf.name} must be {shelf.kind} that exists.")
    return sorted(shelf.entries(), key=lambda task: task.name)


def entries_of(memory: str | Path, identity: str | None) -> list[EarlierTask]:
    """What the memory has about one run; nothing without a memory."""
    return [] if identity is None else list(shelf_at(memory).entries_of(identity))


def forget(memory: str | Path, name: str) -> str:
    """Remove a run from the memory, by its name or a unique prefix; returns its name."""
    found = run_called(memory, name).name
    shelf_at(memory).remove(found)
    return found


def run_called(memory: str | Path, name: str) -> EarlierTask:
    """A run in the memory, by its name or a unique prefix."""
    tasks = tasks_in(memory)
    found = [task for task in tasks if task.name == name] or [task for task in tasks if task.name.startswith(name)]
    if len(found) == 1 and name:
        return found[0]
    names = [task.name for task in (found if name else []) or tasks]
    where = shelf_at(memory).name
    raise RisingBanditsError(f"name must be that of a run in {where}, one of {shown(names)}, got {shown(name)}.")
