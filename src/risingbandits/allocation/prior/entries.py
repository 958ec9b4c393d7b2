"""What a memory keeps about one run, as bytes: the same in a folder and on a server."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits._core.files import readable
from risingbandits.allocation.prior.tasks import EarlierTask

_FORMAT = 1


def write_entry(task: EarlierTask) -> bytes:
    """A run for a memory."""
    return gzip.compress(json.dumps(_plain(task)).encode(), mtime=0)


def read_entry(path: Path) -> EarlierTask:
    """A run of a memory, from its file."""
    with readable(path, "is damaged, or no entry of a memory"):
        return parse_entry(path.read_bytes(), str(path))


def parse_entry(data: bytes, where: str) -> EarlierTask:
    """A run of a memory, from what `write_entry` made of it; ``where`` is what messages call the entry."""
    with readable(Path(where), "is damaged, or no entry of a memory"):
        plain = json.loads(gzip.decompress(data))
        if plain["format"] != _FORMAT:
            raise RisingBanditsError(f"{where} must be of format {_FORMAT}, got {shown(plain['format'])}.")
        curves = {arm: [math.nan if x is None else float(x) for x in curve] for arm, curve in plain["curves"].items()}
        return EarlierTask(
            str(plain["name"]),
            curves,
            plain["settings"],
            plain["direction"],
            frozenset(plain["failed"]),
            bool(plain["named"]),
            plain["identity"],
        )


def _plain(task: EarlierTask) -> dict[str, Any]:
    arms = task.arms
    return {
        "format": _FORMAT,
        "name": task.name,
        "direction": task.direction,
        "named": task.named,
        "identity": task.identity,
        "failed": sorted(task.failed),
        "settings": {arm: task.settings[arm] for arm in arms if arm in task.settings},
        "curves": {arm: _finite(list(task.curves[arm])) for arm in arms},
    }


def _finite(values: Sequence[float]) -> list[float | None]:
    """JSON has no NaN; infinite values have diverged as well."""
    return [float(value) if math.isfinite(value) else None for value in values]
