"""A fork while threads use allocators: the child gets them intact, with locks of its own.

A lock that another thread holds at that moment would never be released in the child, and a ledger in the middle of a
change would stay so.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING
from weakref import WeakSet

if TYPE_CHECKING:
    from risingbandits.allocation.session import Session

_SESSIONS: WeakSet[Session] = WeakSet()
_PATIENCE = 1.0  # seconds: a transaction is rarely longer, and a fork must not wait for one that hangs
_fork = threading.local()  # several threads may fork at once; ``held``: sessions, and whether their locks are held


def follow_forks(session: Session) -> None:
    """Keep a session usable in child processes."""
    _SESSIONS.add(session)


def _before() -> None:
    _fork.held = [(session, session.lock.acquire(timeout=_PATIENCE)) for session in list(_SESSIONS)]


def _in_parent() -> None:
    for session, locked in _fork.held:
        if locked:
            session.lock.release()
    _fork.held = []


def _in_child() -> None:
    for session, locked in _fork.held:
        session.begin_as_child(whole=locked)
    _fork.held = []


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
