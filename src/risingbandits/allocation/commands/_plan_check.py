"""Whether a plan can be run, without making anything; and how it is started from scratch.

What an earlier run has left is renamed, never deleted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from risingbandits._core.errors import RisingBanditsError, hide_password
from risingbandits._core.platform import locked
from risingbandits.allocation._growth import declared_changes, quoted
from risingbandits.allocation._ledger import Ledger
from risingbandits.allocation._snapshot import load_ledger
from risingbandits.allocation.commands._plan_file import Plan
from risingbandits.allocation.events import Event
from risingbandits.allocation.settings import Settings
from risingbandits.allocation.starting._given import with_prior
from risingbandits.allocation.stores.base import STORE_MARK, Store, check_folder_of, open_store

# What belongs to a store, by the ending of its name.
_PARTS = ("", "-wal", "-shm", "-mark", "-lock", ".logs", ".state")
LOCK = ".running"  # in the folder of states, where no arm's folder begins with a dot


class Checked(NamedTuple):
    """What a plan would be run with."""

    settings: Settings  #: of its store, where there is one
    said: str  #: what would be taken over into a store that is there


def check_plan(plan: Plan, fresh: bool = False) -> Checked:
    """Raise the errors that a run of the plan would: about its policy, budget, store or folders."""
    given = {"arms": [arm.name for arm in plan.arms], "budget": plan.budget, "lease": plan.lease, **plan.settings}
    settings, said = Settings.make(**{**given, "prior": None}), ""
    kept = None
    if not fresh:
        with closing(open_store(plan.store, settings.durability, readonly=True)) as store:
            kept = store.settings()
            if kept is None:
                check_folder_of("", plan.states)
            else:
                stored = Settings.from_json(kept)
                declared = with_prior(settings, given, stored)
                said = _check_going_on(plan, declared, store, load_ledger(store, stored))
                settings = stored
    if kept is None:
        # It refuses what the policy cannot do, as too short a horizon.
        Ledger(Settings.from_json(with_prior(settings, given).to_json()))
        _check_folder(plan.folder)
    for folder in (plan.states, plan.logs):
        _check_folder(folder)
    return Checked(settings, said)


def _check_going_on(plan: Plan, declared: Settings, store: Store, ledger: Ledger) -> str:
    changes = declared_changes(store.name, declared, plan.settings.get("policy") is not None, ledger)
    if changes:  # tried in a temporary ledger: its policy may refuse them
        ledger.apply(Event(ledger.last_id + 1, ledger.last_time, "extend", "", text=json.dumps(changes)))
    check_commands(ledger, plan)
    return str(changes.get("said", ""))


def _check_folder(path: Path) -> None:
    """A folder, or the next one above that is there, must be one that files can be made in."""
    there = path if path.is_dir() else path.parent
    while not os.path.lexists(there) and there != there.parent:
        there = there.parent
    if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        raise RisingBanditsError(f"{path} cannot be made: {there} is not a folder that can be written to.")


def check_commands(ledger: Ledger, plan: Plan) -> None:
    """Raise an error for arms of a store that were added by a program and have no command."""
    known = {arm.name for arm in plan.arms}
    missing = [arm.name for arm in ledger.arms if arm.name not in known and not arm.over]
    if missing:
        raise RisingBanditsError(f"arms must include all arms of the store, which also has {quoted(missing)}.")


def check_fresh(plan: Plan) -> None:
    """Raise the errors that a fresh run would: about a store that cannot be put aside, or that is in use."""
    if "://" in plan.store:
        raise RisingBanditsError(
            f"store must be another one for a fresh run: {hide_password(plan.store)} cannot be put aside."
        )
    if (plan.states / LOCK).exists():
        with running(plan, alone=True):
            pass


@contextmanager
def running(plan: Plan, alone: bool = False) -> Iterator[None]:
    """Mark a plan as running; ``alone`` is refused while others are running it."""
    plan.states.mkdir(parents=True, exist_ok=True)
    handle = os.open(plan.states / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if not locked(handle, shared=not alone):
            raise RisingBanditsError(f"{plan.path} is being run by another process, which must end first.")
        yield
    finally:
        os.close(handle)


def put_aside(plan: Plan) -> Path | None:
    """Rename the store of a plan and what belongs to it to ``name.1``, ``name.2``, ...; the new name of the store."""
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


def _named(store: Path, ending: str) -> Path:
    return store.with_name(store.name + ending)
