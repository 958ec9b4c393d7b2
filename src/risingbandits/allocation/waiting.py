"""Asking for as long as it takes: again whenever the store has changed."""

from __future__ import annotations

import logging
import math
import threading
import time
from contextlib import suppress
from typing import Any

from risingbandits._core.errors import RisingBanditsError, check_finite
from risingbandits.allocation.pull import NoArmFree, Pull
from risingbandits.allocation.session import NotNow, Session
from risingbandits.allocation.stores.base import PATIENCE, StoreBusy, StoreUnreachable

log = logging.getLogger("risingbandits")

_SHORTEST_POLL, _LONGEST_POLL = 0.001, 0.05  # seconds between looks at a store that others write to
_LEAST_PATIENCE = 1.0  # seconds with a store that others write to, however short a wait is asked for


def ask_patiently(session: Session, wait: Any, slot: str = "") -> Pull | None:
    """Ask, and again whenever something has changed, for up to ``wait`` seconds; infinity is allowed."""
    end = time.monotonic() + (math.inf if wait == math.inf else check_finite("wait", wait, minimum=0.0))
    while True:
        left = end - time.monotonic()
        seen = -1
        try:
            answer = session.ask(max(_LEAST_PATIENCE, min(left, PATIENCE)), slot)
            if not isinstance(answer, NotNow):
                return answer
            trouble: RisingBanditsError = NoArmFree(answer.reason)
            seen = answer.last_id
        except (StoreBusy, StoreUnreachable) as error:
            trouble = error
            if end > time.monotonic():
                log.warning("%s Waiting for it.", error)
        if not _wait_for_change(session, seen, end):
            raise trouble


def _wait_for_change(session: Session, seen: int, end: float) -> bool:
    """Wait until it is worth asking again after event ``seen``; False if that does not happen before ``end``."""
    pause = _SHORTEST_POLL
    while (left := end - time.monotonic()) > 0:
        if not session.lock.acquire(timeout=min(left, threading.TIMEOUT_MAX)):
            return False
        try:
            # Other processes cannot notify this one, and leases end by themselves: look again after a pause.
            session.waiting += 1
            try:
                session.changed.wait(min(left, pause))
            finally:
                session.waiting -= 1
            with suppress(StoreUnreachable):
                if session.changed_since(seen):
                    return True
        finally:
            session.lock.release()
        pause = min(2.0 * pause, _LONGEST_POLL)
    return False
