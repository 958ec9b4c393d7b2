"""A read-only view of a store, for reports, live pages and commands; curves and events as CSV and JSON.

Equal stores give equal bytes.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from risingbandits._core.errors import RisingBanditsError
from risingbandits.allocation._ledger import Ledger
from risingbandits.allocation._snapshot import load_ledger
from risingbandits.allocation.events import Event
from risingbandits.allocation.settings import stored_settings
from risingbandits.allocation.stores.base import Store, closed_on_error, open_store


class StoreReader:
    """What happened in an allocation. Reads never block writers.

    Attributes
    ----------
    settings : Settings
        What the allocation was made with.
    one_machine : bool
        Whether all processes of the allocation are on this machine.
    directory : path or None
        The folder of checkpoints, if it is beside the store.
    """

    def __init__(self, store: Store) -> None:
        text = store.settings()
        if text is None:
            raise RisingBanditsError(f"{store.name} does not exist.")
        self._store = store
        self.one_machine, self.directory = store.one_machine, store.directory
        self._ledger: Ledger | None = None
        self.settings = stored_settings(store.name, text)

    def events(self, after: int = 0, limit: int | None = None) -> Iterator[Event]:
        """The events later than number ``after``, at most ``limit``."""
        return self._store.events(after, limit)

    def last_id(self) -> int:
        """The number of the last event, 0 if there is none."""
        return self._store.last_id()

    def ledger(self) -> Ledger:
        """The ledger as of now. Later calls only read what is new."""
        self._ledger = load_ledger(self._store, self.settings, self._ledger)
        return self._ledger

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def open_reader(store: str | Path | Store) -> StoreReader:
    """Open a store to read it.

    Examples
    --------
    >>> import tempfile
    >>> from risingbandits.allocation import Allocator, open_reader
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Allocator(["a", "b"], budget=2, policy="round-robin", store=f"{folder}/run.db") as allocator:
    ...         for pull in allocator:
    ...             _ = allocator.tell(pull, 0.5)
    ...     with open_reader(f"{folder}/run.db") as reader:
    ...         [(event.kind, event.arm) for event in reader.events()]
    [('ask', 'a'), ('tell', 'a'), ('ask', 'b'), ('tell', 'b')]
    """
    opened = open_store(store, readonly=True)
    with closed_on_error(opened):
        return StoreReader(opened)


def curves_csv(reader: StoreReader) -> str:
    """The learning curves: a header with the names of the arms that were pulled, one row per pull."""
    curves = _curves(reader)
    longest = max(len(rewards) for rewards in curves.values())
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(read_back_names(list(curves)))
    for n in range(longest):
        row = [repr(rewards[n]) if n < len(rewards) else "" for rewards in curves.values()]
        # A row of one empty cell would be an empty line, but with one arm no cell is empty.
        writer.writerow(row)
    return text.getvalue()


def curves_json(reader: StoreReader) -> str:
    """Settings, what is spent, the recommended arm, and the rewards of every arm that was pulled."""
    ledger = reader.ledger()
    content = {
        "settings": ledger.settings.to_dict(),
        "spent": ledger.spent,
        "recommended": ledger.recommend(),
        "curves": _curves(reader),
    }
    return json.dumps(content, indent=1) + "\n"


def events_csv(reader: StoreReader) -> str:
    """Every event in one row."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Event._fields)
    for event in reader.events():
        writer.writerow(["" if value is None else value for value in event])
    return text.getvalue()


def events_json(reader: StoreReader) -> str:
    """Every event as an object."""
    return json.dumps([event._asdict() for event in reader.events()], indent=1) + "\n"


def read_back_names(names: Sequence[str]) -> list[str]:
    """Names for a header: a row of numbers would be read as values, so then each starts with "arm".

    >>> read_back_names(["0.1", "0.01"]), read_back_names(["0.1", "best"])
    (['arm 0.1', 'arm 0.01'], ['0.1', 'best'])
    """
    if all("." in name and _is_number(name) for name in names):
        return [f"arm {name}" for name in names]
    return list(names)


def _curves(reader: StoreReader) -> dict[str, list[float]]:
    ledger = reader.ledger()
    curves = {arm.name: ledger.rewards(arm.name) for arm in ledger.arms if len(arm.rewards)}
    if not curves:
        raise RisingBanditsError("the store has no told pull yet, so there are no curves to export.")
    return curves


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
