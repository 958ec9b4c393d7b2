"""Add a run to the memory of its project, always under the same name."""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from risingbandits._core.errors import RisingBanditsError, hide_password
from risingbandits.allocation.prior.memory import entries_of, remember
from risingbandits.allocation.prior.store_tasks import first_identity
from risingbandits.allocation.stores.memory import MemoryStore

if TYPE_CHECKING:
    from risingbandits.allocation.allocator import Allocator

log = logging.getLogger("risingbandits")


def remember_run(allocator: Allocator, name: str | None = None) -> str | Path:
    """Add a run to the memory that its allocator has; the path of the entry."""
    if allocator.memory is None:
        raise RisingBanditsError("memory must be given to Allocator, such as memory='runs', to remember a run.")
    with allocator._session.lock:
        store, ledger = allocator.store, allocator.ledger
        first = store.event(1)
        if first is None or not ledger.told:
            raise RisingBanditsError("a run must have told pulls to be remembered, got none.")
        settings = store.settings() or json.dumps(ledger.settings.to_dict(), default=str)
        identity = first_identity(settings, first)
        if name is None:
            before = entries_of(allocator.memory, identity)
            name = before[0].name if before else run_name(store.name, first.time, identity)
        return remember(allocator.memory, ledger, name=name, identity=identity)


def remember_quietly(allocator: Allocator) -> str | Path | None:
    """The same if there is a memory and something to remember; errors are warnings, because the run is done."""
    if allocator.memory is None or not allocator.ledger.told:
        return None
    try:
        path = remember_run(allocator)
    except (OSError, RisingBanditsError) as error:
        log.warning("the run is not remembered in %s: %s", hide_password(allocator.memory), error)
        return None
    log.info("%s: remembered in %s", allocator.store.name, path)
    return path


def run_name(store: str, begun: float, identity: str) -> str:
    """The name of an unnamed run: unique, and the same in every process.

    >>> run_name("runs/mnist.db", 1.7e9, "0123456789abcdef"), run_name("memory", 1.7e9, "0123456789abcdef")
    ('mnist 2023-11-14 01234567', 'run 2023-11-14 01234567')
    >>> run_name("postgresql://me:***@host/runs?schema=a", 1.7e9, "0123456789abcdef")
    'runs a 2023-11-14 01234567'
    """
    if "://" in store:
        address, _, options = store.partition("?")
        schema = re.search(r"schema=([^&]+)", options)
        stem = address.rpartition("/")[2] + (f" {schema[1]}" if schema else "")
    else:
        stem = "run" if store == MemoryStore.name else Path(store).stem
    return f"{stem} {datetime.fromtimestamp(begun, UTC):%Y-%m-%d} {identity[:8]}"
