"""Slots: where pulls are made, such as the GPUs of a machine, and how many pulls fit on each at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from risingbandits._core.errors import RisingBanditsError, check_positive_int, shown
from risingbandits.allocation.pull import Pull

_LONGEST = 200
Slots = Sequence[str] | Mapping[str, int] | None


class Places:
    """The places for pulls of one process: one pull at a time on each slot, or the given number; anywhere without.

    Which places are taken follows from the running pulls: any end of a pull frees its place.

    >>> places = Places({"cuda:0": 2, "cuda:1": 1})
    >>> places.jobs(), places.free([Pull(1, "a", 1, slot="cuda:0")])
    (3, 'cuda:1')
    """

    def __init__(self, slots: Slots = None) -> None:
        self.room = {} if slots is None else check_slots("slots", slots)

    def jobs(self, jobs: int | None = None) -> int:
        """Pulls at a time: as many as there are places, or fewer; 1 by default."""
        places = sum(self.room.values())
        if jobs is None:
            return places or 1
        if check_positive_int("jobs", jobs) > places > 0:
            raise RisingBanditsError(f"jobs must be at most {places}, the places on the slots, got {jobs}.")
        return int(jobs)

    def free(self, running: Iterable[Pull]) -> str:
        """The slot with the fewest pulls of those that have room, the first among equals."""
        used = Counter(pull.slot for pull in running)
        return min((slot for slot, most in self.room.items() if used[slot] < most), key=lambda slot: used[slot])


def check_slots(where: str, value: Any) -> dict[str, int]:
    """Names of slots with the number of pulls at a time on each.

    >>> check_slots("slots", ["cuda:0", "cuda:1"])
    {'cuda:0': 1, 'cuda:1': 1}
    """
    if isinstance(value, str) or not isinstance(value, Mapping | Sequence) or not value:
        raise RisingBanditsError(f'{where} must be names such as ["cuda:0", "cuda:1"], got {shown(value)}.')
    found: dict[str, int] = {}
    for name in value:
        check_slot(f"{where}, a name", name)
        if name in found:
            raise RisingBanditsError(
                f'{where} has {shown(name)} twice: for two pulls at a time write {{"{name}" = 2}}.'
            )
        found[name] = check_positive_int(f"{where} of {name}", value[name]) if isinstance(value, Mapping) else 1
    return found


def check_slot(where: str, name: Any) -> str:
    """``name``, if a slot can have it."""
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > _LONGEST:
        raise RisingBanditsError(
            f"{where} must be a printable string of 1 to {_LONGEST} characters, got {shown(name)}."
        )
    return name
