"""The clock of a store: it tells the time of day, but only moves forward, at the pace of the machine.

Leases and budgets in seconds are differences of its times, so adjusting the wall clock must not move it.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path

_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", None)  # unlike `monotonic` it also counts the hours of a closed laptop

# Seconds since this machine was started, the same for all its processes.
since_boot: Callable[[], float] = time.monotonic if _BOOT_CLOCK is None else partial(time.clock_gettime, _BOOT_CLOCK)


@lru_cache(maxsize=1)
def boot_id() -> str:
    """An identity of this boot of this machine or, if that is not known, of the machine."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"{uuid.getnode():012x}"


class Clock:
    """The time of day when it was created, plus the time passed since.

    Attributes
    ----------
    offset : float
        From the time since the machine was started to the time of day. Clocks with one offset agree.
    """

    def __init__(self) -> None:
        self.offset = time.time() - since_boot()

    def __call__(self) -> float:
        return since_boot() + self.offset
