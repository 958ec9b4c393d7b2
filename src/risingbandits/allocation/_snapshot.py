"""Ledgers as bytes, so that a store of many events opens without replaying them all. npz and JSON, never pickle."""

from __future__ import annotations

import zipfile
from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits._core.files import npz_bytes, read_npz
from risingbandits._version import __version__
from risingbandits.allocation._arm_state import ArmState, Flight
from risingbandits.allocation._ledger import Ledger
from risingbandits.allocation._options import option_classes
from risingbandits.allocation.budget import ExactSum
from risingbandits.allocation.events import KINDS, Event, WrittenByNewer
from risingbandits.allocation.pull import Saved
from risingbandits.allocation.settings import Settings
from risingbandits.allocation.stores.base import Store
from risingbandits.policies import _saving as saving

FORMAT = 9  # goes up when the fold changes: a snapshot of another format is ignored and everything is replayed
_ARM_FIELDS = tuple(name for name in ArmState.__slots__ if name not in ("index", "rewards", "flight"))
_FLIGHT_FIELDS = tuple(name for name in Flight.__slots__ if name != "arm")
_DAMAGE = (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError, StopIteration, MemoryError)


def load_ledger(store: Store, settings: Settings, known: Ledger | None = None) -> Ledger:
    """``known``, or the last snapshot, or a new ledger, brought up to date with the store."""
    ledger = known
    if ledger is None:
        kept = store.snapshot()
        ledger = unpack(kept[1], settings) if kept is not None else None
        if kept is not None and ledger is not None and ledger.last_id != kept[0]:
            ledger = None
    if ledger is None:
        try:
            ledger = Ledger(settings)
        except (*_DAMAGE, RisingBanditsError) as error:
            raise RisingBanditsError(f"{store.name} has settings that cannot be used: {error}") from error
    fold(ledger, store.events(ledger.last_id), store.name)
    return ledger


def fold(ledger: Ledger, events: Iterable[Event], name: str) -> None:
    """Apply ``events``; anything that this package cannot have written is reported as damage.

    Events come with checksums that were right, so those of an unknown kind are not damaged: a newer program wrote them.
    """
    try:
        for event in events:
            if event[0] != ledger.last_id + 1:
                raise RisingBanditsError(f"event {ledger.last_id + 1} is missing.")
            if event[2] not in KINDS and event[2] not in ledger.of_kind:
                raise WrittenByNewer(f"event {event[0]} is of the kind {shown(event[2])}", name)
            ledger.apply(event)
    except WrittenByNewer as error:
        raise WrittenByNewer(error.what, name) from error
    except RisingBanditsError as error:
        if str(error).startswith(name):
            raise
        raise RisingBanditsError(f"{name} is damaged: {error}") from error
    except _DAMAGE as error:
        raise RisingBanditsError(
            f"{name} is damaged: event {ledger.last_id + 1} cannot be read ({type(error).__name__})."
        ) from error


def pack(ledger: Ledger) -> bytes:
    """The ledger and its policy."""
    header: dict[str, Any] = {
        "format": FORMAT,
        "version": __version__,
        "last_id": ledger.last_id,
        "last_time": ledger.last_time,
        "free_pulls": ledger.free_pulls,
        "arms": [{field: getattr(arm, field) for field in _ARM_FIELDS} for arm in ledger.arms],
        "numbered": [arm.index for arm in ledger.numbered],
        "in_flight": [_flight(flight) for flight in ledger.in_flight.values()],
        "given_back": [_flight(flight) for flight in ledger.lapsed.values()],
        "returned": [arm.index for arm in ledger.repeat_first],
        "spent": [ledger.spent_cost.high, ledger.spent_cost.low],
        "rebuilds": ledger.rebuilds,
        "surprises": ledger.surprises,
        "options": {option.key: option.to_dict() for option in ledger.options},
    }
    arrays: dict[str, np.ndarray] = {
        "policy": np.frombuffer(saving.to_bytes(ledger.policy), dtype=np.uint8),
        "order": np.frombuffer(ledger.told_arms, dtype=np.int32),
        "rewards": np.concatenate([np.frombuffer(arm.rewards, dtype=np.float64) for arm in ledger.arms]),
        "lengths": np.array([len(arm.rewards) for arm in ledger.arms], dtype=np.int64),
    }
    return npz_bytes(header, arrays)


def unpack(data: bytes, settings: Settings) -> Ledger | None:
    """The ledger, or None if the snapshot is damaged or of another version: the events are the truth."""
    try:
        header, arrays = read_npz(data)
        if header["format"] != FORMAT or header["version"] != __version__:
            return None
        return _restore(header, arrays, settings)
    except (*_DAMAGE, RisingBanditsError, OSError, EOFError, zipfile.BadZipFile):
        return None


def _restore(header: dict[str, Any], arrays: dict[str, np.ndarray], settings: Settings) -> Ledger:
    ledger = Ledger(settings)
    for kind in option_classes():  # the first, growth, may make others
        if (option := ledger.option(kind)) is not None:
            option.restore(ledger, header["options"][kind.key])
    ledger.add_arms([fields["name"] for fields in header["arms"][len(ledger.arms) :]])
    start = 0
    for arm, fields, length in zip(ledger.arms, header["arms"], arrays["lengths"], strict=True):
        for field in _ARM_FIELDS:
            setattr(arm, field, fields[field])
        arm.last, arm.best = (None if saved is None else Saved(*saved) for saved in (arm.last, arm.best))
        arm.rewards = array("d", arrays["rewards"][start : start + length].tobytes())
        start += length
    ledger.told_arms = array("i", arrays["order"].astype(np.int32).tobytes())
    ledger.numbered = [ledger.arms[i] for i in header["numbered"]]
    ledger.in_flight = {entry["id"]: _unpack_flight(entry, ledger) for entry in header["in_flight"]}
    for flight in ledger.in_flight.values():
        flight.arm.flight = flight
    ledger.lapsed = {entry["id"]: _unpack_flight(entry, ledger) for entry in header["given_back"]}
    ledger.repeat_first = [ledger.arms[i] for i in header["returned"]]
    ledger.spent_cost = ExactSum(*header["spent"])
    ledger.rebuilds, ledger.surprises = header["rebuilds"], header["surprises"]
    ledger.last_id, ledger.last_time = header["last_id"], header["last_time"]
    ledger.free_pulls = header["free_pulls"]
    ledger.play(saving.from_bytes(arrays["policy"].tobytes(), "the snapshot's policy"))
    ledger.refresh_masks()
    return ledger


def _flight(flight: Flight) -> dict[str, Any]:
    return {**{field: getattr(flight, field) for field in _FLIGHT_FIELDS}, "arm": flight.arm.index}


def _unpack_flight(entry: dict[str, Any], ledger: Ledger) -> Flight:
    return Flight(**{**entry, "arm": ledger.arms[entry["arm"]]})
