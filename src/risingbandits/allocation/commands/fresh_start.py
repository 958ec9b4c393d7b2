"""Start a plan from scratch: what an earlier run has left is renamed, never deleted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from risingbandits._core.errors import RisingBanditsError
from risingbandits.allocation.commands.command_folders import locked
from risingbandits.allocation.commands.plan_file import Plan
from risingbandits.allocation.stores.base import STORE_MARK, hide_password

# What belongs to a store, by the ending of its name.
_PARTS = ("", "-wal", "-shm", "-mark", "-lock", ".checkpoints", ".logs", ".state")
LOCK = ".running"  # in the folder of states, where no arm's folder begins with a dot


@contextmanager
def running(plan: Plan, alone: bool = False) -> Iterator[None]:
    """Mark a plan as running; ``alone`` is refused while others are running it."""
    plan.states.mkdir(parents=True, exist_ok=True)
    handle = os.open(plan.states / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        if not locked(handle, shared=not alone):
            raise RisingBanditsError(f"{plan.path} is being run by another process, which must end first.")
        yield
    finally:
        os.close(handle)


def put_aside(plan: Plan) -> Path | None:
    """Rename the store of a plan and what belongs to it to ``name.1``, ``name.2``, ...; the new name of the store."""
    check_aside(plan)
    store = Path(plan.store)
    with running(plan, alone=True):
        if not store.exists() and not any(name.startswith(STORE_MARK) for name in os.listdir(plan.states)):
            return None
        number = 1
        while any(_named(store, f".{number}{part}").exists() for part in _PARTS):
            number += 1
        # The store goes last: an interrupted renaming is completed by the next.
        for part in reversed(_PARTS):
            if _named(store, part).exists():
                _named(store, part).rename(_named(store, f".{number}{part}"))
        return _named(store, f".{number}")


def check_aside(plan: Plan) -> None:
    """Raise an error for a store that cannot be renamed."""
    if "://" in plan.store:
        raise RisingBanditsError(
            f"store must be another one for a fresh run: {hide_password(plan.store)} cannot be put aside."
        )


def _named(store: Path, ending: str) -> Path:
    return store.with_name(store.name + ending)
