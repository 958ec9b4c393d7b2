"""`check_store`: what an allocator relies on in the place where its events are kept, as one call.

>>> from risingbandits.allocation.stores._memory import MemoryStore
>>> from risingbandits.testing import check_store
>>> check_store(MemoryStore)
"""

from __future__ import annotations

from collections.abc import Callable

from risingbandits._core.errors import RisingBanditsError
from risingbandits.allocation.allocator import Allocator
from risingbandits.allocation.events import Event
from risingbandits.allocation.stores.base import Store

_ASK = Event(1, 10.5, "ask", "a", 1, 1, None, None, "", "here:1")
_TELL = Event(2, 11.0, "tell", "a", 1, 1, 0.1 + 0.2, 1.0, "", "here:1")
_FAIL = Event(3, 12.0, "fail", "b", 9, 4, None, None, "no such file: \u00e9, \U0001f600", "there:2")
_SETTINGS = '{"name": "\u00e9"}'


def check_store(make: Callable[[], Store], again: Callable[[], Store] | None = None) -> None:
    """Raise AssertionError, with a sentence, if a store breaks its contract.

    What is checked: settings are written once and never replaced; events come back as they were appended, and only
    after ``commit``; ``rollback``, reading from any event on, single events and snapshots work; and a whole allocation
    takes the same decisions through two openings of the store.

    Parameters
    ----------
    make : function without arguments
        Makes a new, empty store at each call.
    again : function without arguments, optional
        Opens the store that was made last once more, as another process would. Give it where ``shared`` is true.
    """
    assert callable(make), f"make must be a function without arguments that makes a store, got {make!r}."
    store = make()
    assert isinstance(store, Store), f"{store!r} lacks methods or attributes of Store."
    try:
        _check_settings(store)
        _check_events(store)
        _check_snapshots(store)
        if again is not None:
            _check_second_reader(store, again)
    finally:
        store.close()
    _check_allocation(make, again)


def _check_settings(store: Store) -> None:
    assert store.settings() is None, f"{store.name}: settings() of a new store must be None."
    assert store.create(_SETTINGS) == _SETTINGS, f"{store.name}: create must return the settings it keeps."
    assert store.create("{}") == _SETTINGS, f"{store.name}: a second create must return the first one's settings."
    assert store.settings() == _SETTINGS, f"{store.name}: settings() must return what create was given."


def _check_events(store: Store) -> None:
    assert store.last_id() == 0, f"{store.name}: last_id() of a new store must be 0."
    assert list(store.begin(0)) == [], f"{store.name}: a new store must have no events."
    store.append(_ASK)
    store.append(_TELL)
    store.commit()
    assert list(store.events()) == [_ASK, _TELL], f"{store.name}: events must come back as they were appended."
    assert list(store.begin(2)) == [], f"{store.name}: begin(2) must leave out events 1 and 2."
    store.append(_FAIL)
    store.rollback()
    assert list(store.events()) == [_ASK, _TELL], f"{store.name}: rollback must forget what was appended."
    assert list(store.begin(1)) == [_TELL], f"{store.name}: begin(1) must return event 2, as it was appended."
    store.append(_FAIL)
    store.commit()
    assert list(store.events()) == [_ASK, _TELL, _FAIL], f"{store.name}: events() must return all, in order."
    assert list(store.events(1, limit=1)) == [_TELL], f"{store.name}: events(1, limit=1) must be event 2 alone."
    found = [store.event(id) for id in (0, 1, 3, 4)]
    assert found == [None, _ASK, _FAIL, None], f"{store.name}: event(id) must find events by their ids."
    assert store.last_id() == 3, f"{store.name}: last_id() must be that of the last committed event."
    assert store.now() <= store.now(), f"{store.name}: now() must not go back."


def _check_snapshots(store: Store) -> None:
    assert (store.snapshot(), store.snapshot_id()) == (None, 0), f"{store.name}: a new store must have no snapshot."
    store.keep_snapshot(2, b"two")
    store.keep_snapshot(3, b"three\0")
    kept = (store.snapshot(), store.snapshot_id())
    allowed = [((3, b"three\0"), 3)] if store.shared else [((3, b"three\0"), 3), (None, 0)]
    assert kept in allowed, f"{store.name}: the last snapshot must replace older ones."


def _check_second_reader(store: Store, again: Callable[[], Store]) -> None:
    other = again()
    try:
        assert other.settings() == _SETTINGS, f"{store.name}: opened again, it must have its settings."
        assert list(other.events()) == [_ASK, _TELL, _FAIL], f"{store.name}: opened again, it must have its events."
        store.begin(3)
        store.append(_ASK._replace(id=4, pull=4))
        assert other.last_id() == 3, f"{store.name}: others must not see what is not committed."
        store.commit()
        assert [event.id for event in other.begin(3)] == [4], f"{store.name}: others must see what is committed."
        other.rollback()
    finally:
        other.close()


def _check_allocation(make: Callable[[], Store], again: Callable[[], Store] | None) -> None:
    """An allocation in the store decides as one in memory, also when it is opened again in between."""
    plain, kept = Allocator(["a", "b", "c"], 40), Allocator(["a", "b", "c"], 40, store=make())
    for t in range(40):
        pull, other = plain.ask(), kept.ask()
        assert pull is not None
        assert other is not None
        assert (pull.arm, pull.n) == (other.arm, other.n), f"{kept.store.name}: pull {t + 1} differs from memory's."
        plain.tell(pull, (pull.n + len(pull.arm)) / 60)
        assert kept.tell(other, (pull.n + len(pull.arm)) / 60), f"{kept.store.name}: a tell was not counted."
        assert not kept.tell(other, 0.0), f"{kept.store.name}: a second tell of a pull was counted."
        if again is not None and t % 10 == 9:
            kept.close()
            kept = Allocator.open(again())
    assert kept.ask() is None, f"{kept.store.name}: the budget must be spent."
    try:
        kept.tell(10**6, 0.5)
    except RisingBanditsError:
        pass
    else:
        raise AssertionError(f"{kept.store.name}: a pull that was never given out was told.")
    kept.close()
