"""Earlier tasks in stores. They are only read, and no policy is played again: the curves are in the events."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError, hide_password
from risingbandits.allocation.events import Event
from risingbandits.allocation.prior.tasks import EarlierTask
from risingbandits.allocation.stores.base import Store, open_store


def store_task(where: str | Path | Store) -> EarlierTask:
    """What a store says: the rewards of its arms, their settings if it has them, and which arms were given up.

    Examples
    --------
    >>> from risingbandits.allocation import Allocator
    >>> allocator = Allocator(["a", "b"], budget=3, policy="round-robin", direction="minimize")
    >>> for pull in allocator:
    ...     _ = allocator.tell(pull, 0.5 / pull.n)
    >>> task = ledger_task("today", allocator.ledger)
    >>> {arm: curve.tolist() for arm, curve in task.curves.items()}, task.direction
    ({'a': [0.5, 0.25], 'b': [0.5]}, 'minimize')
    """
    store = open_store(where, readonly=True)
    try:
        text = store.settings()
        if text is None:
            raise RisingBanditsError(f"{store.name} does not exist.")
        return _task(_short_name(where, store), store, text)
    finally:
        if store is not where:
            store.close()


def ledger_task(name: str, ledger: Any) -> EarlierTask:
    """What a run that this process has open says, by its `Ledger`."""
    described = {arm.name: arm.config for arm in ledger.arms if arm.config}
    return EarlierTask(
        name,
        {arm.name: list(arm.rewards) for arm in ledger.arms},
        {**(getattr(ledger.settings, "configs", None) or {}), **described},
        ledger.settings.direction,
        # A told pull resets the failures, so an arm that was retired by request has none, or few.
        frozenset(arm.name for arm in ledger.arms if arm.retired is not None and arm.failures),
    )


def store_exists(where: str) -> bool:
    """Whether there is a store at a path or an address."""
    store = open_store(where, readonly=True)
    try:
        return store.settings() is not None
    finally:
        store.close()


def store_identity(where: str | Path | Store) -> str | None:
    """An identity that a store shares only with its copies; None before its first event."""
    store = open_store(where, readonly=True)
    try:
        text = store.settings()
        return None if text is None else _identity(store, text)
    finally:
        if store is not where:
            store.close()


def _identity(store: Store, settings: str) -> str | None:
    first = next(iter(store.events(0, 1)), None)
    return None if first is None else first_identity(settings, first)


def first_identity(settings: str, first: Event) -> str:
    """The identity that a run shares with its copies, from its settings as JSON and its first event."""
    # The event has the time and the process, which no two runs share. A copy of a store may since have grown.
    said = json.dumps([json.loads(settings), list(first)], sort_keys=True, default=str)
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _task(name: str, store: Store, text: str) -> EarlierTask:
    try:
        settings = json.loads(text)
        curves: dict[str, list[float]] = {arm: [] for arm in settings["arms"]}
        for arm, rewards in settings["warm_start"].items():
            curves[arm].extend(rewards)
        direction, described = settings["direction"], dict(settings["configs"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RisingBanditsError(f"the settings in {store.name} are damaged ({type(error).__name__}).") from error
    failures: dict[str, int] = {}
    failed = set()
    for event in store.events():
        if event.kind == "tell" and event.reward is not None:
            curves.setdefault(event.arm, []).append(event.reward)
            failures[event.arm] = 0
            failed.discard(event.arm)  # it was given up, and tried again
        elif event.kind == "fail":
            failures[event.arm] = failures.get(event.arm, 0) + 1
        elif event.kind == "retire" and failures.get(event.arm):
            failed.add(event.arm)
        elif event.kind == "config":
            described[event.arm] = json.loads(event.text)
        elif event.kind == "extend":
            changes = json.loads(event.text)
            described |= changes.get("configs", {})
            curves |= {arm: list(rewards) for arm, rewards in changes.get("warm_start", {}).items()}
    return EarlierTask(name, curves, described, direction, frozenset(failed), identity=_identity(store, text))


def _short_name(where: str | Path | Store, store: Store) -> str:
    if isinstance(where, Store):
        return store.name
    return hide_password(where) if isinstance(where, str) and "://" in where else Path(where).stem
