"""A read-only view of a store, for reports, live pages and the commands log, show and export."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Self

from risingbandits._core.errors import RisingBanditsError
from risingbandits.allocation.events import Event
from risingbandits.allocation.ledger import Ledger
from risingbandits.allocation.settings import stored_settings
from risingbandits.allocation.snapshot import load_ledger
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
