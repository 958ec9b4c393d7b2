"""Whether a plan can be run, without making anything."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from risingbandits._core.errors import RisingBanditsError
from risingbandits.allocation.budget import Budget
from risingbandits.allocation.commands.command_folders import locked
from risingbandits.allocation.commands.fresh_start import LOCK, check_aside
from risingbandits.allocation.commands.plan_file import Plan
from risingbandits.allocation.events import Event
from risingbandits.allocation.growth import Given, quoted, wanted_changes
from risingbandits.allocation.joining import as_given, bare_settings, changes_taken_over, with_prior
from risingbandits.allocation.ledger import Ledger
from risingbandits.allocation.settings import Settings
from risingbandits.allocation.snapshot import load_ledger
from risingbandits.allocation.stores.base import Store, check_folder_of, open_store


class Checked(NamedTuple):
    """What a plan would be run with."""

    settings: Settings  #: of its store, where there is one
    said: str  #: what would be taken over into a store that is there


def check_plan(plan: Plan, fresh: bool = False, budget: Budget | None = None) -> Checked:
    """Raise the errors that a run of the plan would: about its policy, budget, store or folders.

    ``budget`` overrides the plan's for this run. Returns what it would be run with.
    """
    said = ""
    given = {"arms": [arm.name for arm in plan.arms], "budget": plan.budget, "lease": plan.lease, **plan.settings}
    settings = bare_settings(given)
    if fresh:
        _check_new(plan, with_prior(settings, given), budget)
    else:
        with closing(open_store(plan.store, settings.durability, readonly=True)) as store:
            kept = store.settings()
            if kept is None:
                check_folder_of("", plan.states)
                _check_new(plan, with_prior(settings, given, present=store), budget)
            else:
                stored = Settings.from_json(kept)
                said = _check_going_on(plan, as_given(store, settings, given, stored), stored, store, budget)
                settings = stored
    for folder in (plan.states, plan.logs):
        _check_folder(folder)
    return Checked(settings, said)


def _check_new(plan: Plan, settings: Settings, budget: Budget | None) -> None:
    # It refuses what the policy cannot do, as too short a horizon.
    _grow(Ledger(Settings.from_json(settings.to_json())), budget)
    _check_folder(plan.folder)


def _check_going_on(plan: Plan, given: Given, stored: Settings, store: Store, budget: Budget | None) -> str:
    ledger = load_ledger(store, stored)
    said = _take(ledger, changes_taken_over(store.name, ledger, given))
    check_commands(ledger, plan)
    return ", ".join(part for part in (said, _grow(ledger, budget)) if part)


def _grow(ledger: Ledger, budget: Budget | None) -> str:
    return "" if budget is None else _take(ledger, wanted_changes(ledger, {"budget": budget}))


def _take(ledger: Ledger, changes: dict[str, Any]) -> str:
    """Try the changes in a temporary ledger: its policy may refuse them."""
    if changes:
        ledger.apply(Event(ledger.last_id + 1, ledger.last_time, "extend", "", text=json.dumps(changes)))
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
    missing = [arm.name for arm in ledger.arms if arm.retired is None and arm.name not in known]
    if missing:
        raise RisingBanditsError(f"arms must include all arms of the store, which also has {quoted(missing)}.")


def check_fresh(plan: Plan) -> None:
    """Raise the errors that a fresh run would: about a store that cannot be put aside, or that is in use."""
    check_aside(plan)
    try:
        handle = os.open(plan.states / LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return  # nobody has run it
    try:
        if not locked(handle):
            raise RisingBanditsError(f"{plan.path} is being run by another process, which must end first.")
    finally:
        os.close(handle)
