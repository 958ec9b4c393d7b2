"""Follows a store while others write to it: reads what is new, and waits while the store cannot be read."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Self

from risingbandits.allocation.stores.reader import StoreReader, open_reader
from risingbandits.reports.allocation_log import AllocationLog

_SECRETS = ("password=", "sslpassword=")
_MOST_AT_ONCE = 20_000  # events read in one go, so that a live view of a long history stays alive


class Follower:
    """A log of an allocation that is brought up to date by `poll`.

    The store, an SQLite file or a ``postgresql://`` address, must exist and be readable now; later problems are
    tolerated: ``trouble`` says why it could not be read at the last `poll`, and is empty if it could. ``shown_store``
    is its name without a password, ``log`` what was read so far.
    """

    def __init__(self, store: str | Path) -> None:
        self.store = str(store)
        self.shown_store = _without_password(self.store)
        self.trouble = ""
        self._reader: StoreReader | None = open_reader(self.store)
        self.log = AllocationLog(self._reader.settings, self._reader.one_machine)

    def poll(self) -> int:
        """Read what is new, at most some thousand events; return how many. Never raises: see ``trouble``."""
        try:
            if self._reader is None:
                self._reader = open_reader(self.store)
            taken = self._read(self._reader)
        except Exception as error:  # busy, locked, moved away, a server that restarts: all of them may pass
            self.trouble = f"The store cannot be read now ({_first_line(error)}); trying again."
            self.close()
            return 0
        self.trouble = ""
        return taken

    def read_all(self) -> None:
        """Read all events; raises what `poll` tolerates."""
        assert self._reader is not None
        while self._read(self._reader):
            pass

    def _read(self, reader: StoreReader) -> int:
        if reader.last_id() < self.log.last_id:  # another store was put in its place
            self.log = AllocationLog(reader.settings, reader.one_machine)
        return self.log.take(islice(reader.events(self.log.last_id, _MOST_AT_ONCE), _MOST_AT_ONCE))

    def close(self) -> None:
        """Close the store."""
        reader, self._reader = self._reader, None
        if reader is not None:
            with suppress(Exception):  # it may be broken already, which `trouble` says
                reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def _without_password(store: str) -> str:
    """An address of a server without its password.

    >>> _without_password("postgresql://ann:secret@host/db"), _without_password("run.db")
    ('postgresql://ann@host/db', 'run.db')
    >>> _without_password("postgresql:///db?user=ann&password=secret&port=5433")
    'postgresql:///db?user=ann&port=5433'
    """
    scheme, mark, rest = store.partition("://")
    if not mark:
        return store
    place, question, query = rest.partition("?")
    user, at, host = place.rpartition("@")
    kept = [pair for pair in query.split("&") if not pair.lower().startswith(_SECRETS)]
    return scheme + mark + user.partition(":")[0] + at + host + question + "&".join(kept)
