"""Spans of time as people and schedulers write them."""

from __future__ import annotations

import math
import re

from risingbandits._core.errors import RisingBanditsError, shown

_UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}
_WITH_UNITS = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d*)?)s)?")
_CLOCK = re.compile(r"(?:(\d+)-)?(\d+):(\d+)(?::(\d+))?")


def parse_duration(name: str, text: str) -> float:
    """Seconds, positive, from seconds, units, or the time that Slurm shows; "unlimited" is infinity.

    >>> [parse_duration("time_left", text) for text in ("3300", "55m", "1h30m", "90.5s", "2d")]
    [3300.0, 3300.0, 5400.0, 90.5, 172800.0]
    >>> [parse_duration("time_left", text) for text in ("00:55:00", "55:00", "1-02:00:00", "1-02:30")]
    [3300.0, 3300.0, 93600.0, 95400.0]
    """
    given = text.strip().lower()
    seconds = 0.0
    if given == "unlimited":
        return math.inf
    if given and (match := _WITH_UNITS.fullmatch(given)):
        seconds = sum(float(part) * unit for part, unit in zip(match.groups(), _UNITS.values(), strict=True) if part)
    elif match := _CLOCK.fullmatch(given):
        days, *clock = match.groups()
        parts = [float(part) for part in clock if part is not None]
        if days is not None:  # Slurm: days-hours:minutes[:seconds]
            parts = [*parts, 0.0][:3]
        # Without days two parts are minutes and seconds.
        seconds = sum(part * unit for part, unit in zip(reversed(parts), (1.0, 60.0, 3_600.0), strict=False))
        seconds += float(days or 0) * _UNITS["d"]
    else:
        try:
            seconds = float(given)
        except ValueError:
            seconds = math.nan
    if not 0.0 < seconds < math.inf:
        raise RisingBanditsError(
            f"{name} must be a time > 0 such as 55m, 1h30m, 3300 (seconds) or 00:55:00, got {shown(text)}."
        )
    return seconds
