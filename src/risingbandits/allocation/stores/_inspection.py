"""What is intact in a store: its file, its settings, every event, what was acknowledged, and the snapshot."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from risingbandits._core.errors import RisingBanditsError
from risingbandits.allocation._ledger import Ledger
from risingbandits.allocation._snapshot import fold, unpack
from risingbandits.allocation.events import Event
from risingbandits.allocation.settings import Settings, stored_settings
from risingbandits.allocation.stores._sqlite import SqliteStore
from risingbandits.allocation.stores.base import Store, open_store


class Finding(NamedTuple):
    """One part of a store, whether it is intact, and a remark."""

    part: str
    whole: bool
    text: str


def inspect_store(where: str | Path) -> list[Finding]:
    """Check every part of a store without changing it."""
    try:
        store = _opened(where)
    except RisingBanditsError as error:
        if str(error).endswith("does not exist."):
            raise
        return [Finding("file", False, str(error))]
    with closing(store):
        return list(_findings(store))


def copy_whole_part(where: str | Path, to: Path) -> int:
    """Copy a store to a new one, up to the first damaged event; returns the number of events copied."""
    if to.exists():
        raise RisingBanditsError(f"the copy must be a file that does not exist, got {str(to)!r}.")
    with closing(_opened(where)) as store, closing(SqliteStore(to)) as copy:
        text = _settings(store)
        stored_settings(store.name, text)  # complains about what cannot be read
        copy.create(text)
        copy.begin(0)
        last = 0
        for event in _whole_events(store):
            copy.append(event)
            last = event.id
        copy.commit()
    if not last:
        to.unlink()
        raise RisingBanditsError(f"nothing of {where} is whole, so nothing was copied.")
    return last


def _opened(where: str | Path) -> Store:
    if isinstance(where, Path) or "://" not in where:
        path = Path(where)
        if not path.exists():
            raise RisingBanditsError(f"{where} does not exist.")
        store: Store = SqliteStore(path, readonly=True, damaged=True)
        return store
    return open_store(where, readonly=True)


def _settings(store: Store) -> str:
    text = store.settings()
    if text is None:
        raise RisingBanditsError(f"{store.name} does not exist.")
    return text


def _findings(store: Store) -> Iterator[Finding]:
    if isinstance(store, SqliteStore):
        yield _finding("file", lambda: _integrity(store.path))
    settings: list[Settings] = []

    def read_settings() -> str:
        settings.append(Settings.from_json(_settings(store)))
        return f"{len(settings[0].arms)} arms, {settings[0].budget!r}."

    yield _finding("settings", read_settings)
    yield _finding("events", lambda: _count(store))
    if isinstance(store, SqliteStore):
        yield _finding("acknowledged", lambda: _acknowledged(store))
    if settings:
        yield _finding("state", lambda: _replay(store, settings[0]))
        if store.snapshot_id():
            yield _finding("snapshot", lambda: _compare_snapshot(store, settings[0]))


def _finding(part: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(part, True, look())
    except RisingBanditsError as error:
        return Finding(part, False, str(error))


def _integrity(path: Path) -> str:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            said = connection.execute("PRAGMA integrity_check").fetchone()[0]
    except (sqlite3.Error, UnicodeDecodeError) as error:
        said = str(error)
    if said != "ok":
        first, *rest = str(said).splitlines()[1 if str(said).startswith("***") else 0 :] or [str(said)]
        more = f", and {len(rest)} more complaints" if rest else ""
        raise RisingBanditsError(f"SQLite says: {first}{more}.")
    return "SQLite finds nothing wrong with it."


def _count(store: Store) -> str:
    last = 0
    try:
        for event in store.events():
            last = event.id
    except RisingBanditsError as error:
        whole = f"events 1 to {last:,} are whole" if last else "no event is whole"
        raise RisingBanditsError(f"{error} {whole[0].upper()}{whole[1:]}.") from error
    return f"{last:,} event{'' if last == 1 else 's'}, each with its checksum."


def _acknowledged(store: SqliteStore) -> str:
    if not store.check_mark():
        return "Not known: there is no mark of the last event that was acknowledged."
    return "No event that was acknowledged is missing."


def _replay(store: Store, settings: Settings) -> str:
    ledger = Ledger(settings)
    fold(ledger, store.events(), store.name)
    said = (
        f"the policy now decides otherwise {ledger.surprises:,} times"
        if ledger.surprises
        else "the policy decides as it did"
    )
    return f"{ledger.told:,} pull{' was' if ledger.told == 1 else 's were'} told; {said}."


def _compare_snapshot(store: Store, settings: Settings) -> str:
    kept = store.snapshot()
    ledger = None if kept is None else unpack(kept[1], settings)
    if kept is None or ledger is None:
        return "It cannot be used and is not needed: all events are read instead."
    replayed = Ledger(settings)
    fold(replayed, store.events(limit=kept[0]), store.name)
    if _essence(ledger) != _essence(replayed):
        raise RisingBanditsError(f"the snapshot after event {kept[0]:,} differs from the events.")
    return f"It agrees with the first {kept[0]:,} events."


def _essence(ledger: Ledger) -> Any:
    arms = [(arm.name, arm.rewards, arm.cost, arm.failures, arm.ended, arm.masked, arm.retired) for arm in ledger.arms]
    return ledger.last_id, ledger.told_arms, arms, sorted(ledger.in_flight), ledger.spent


def _whole_events(store: Store) -> Iterator[Event]:
    try:
        yield from store.events()
    except RisingBanditsError:
        return
