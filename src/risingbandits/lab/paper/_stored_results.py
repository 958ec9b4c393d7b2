"""Results that were played already, kept below the folder of a study and never played twice.

The folder of a result is named by a hash of all that decides its numbers, so results of other settings, or of another
version of the program, lie beside each other and are never taken for one another.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from risingbandits._core.errors import RisingBanditsError
from risingbandits.lab.ray_simulations import program_stamp
from risingbandits.simulation import Result

KEPT = ".kept"  # below the folder of a study; hidden, so that a report shows no result twice


def kept_in(folder: Path, *causes: object) -> Path:
    """Where the result of these causes is kept: settings with a telling repr, beside the program itself."""
    return folder / KEPT / hashlib.sha256(repr((program_stamp(), *causes)).encode()).hexdigest()[:24]


def kept_result(place: Path) -> Result | None:
    """The result that is there already; None where there is none, or a damaged one."""
    try:
        return Result.load(place)
    except RisingBanditsError:
        return None
