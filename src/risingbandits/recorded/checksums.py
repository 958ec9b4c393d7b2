"""The checksums of TensorBoard's event files: CRC-32C, rotated and shifted.

What a byte contributes to a CRC depends on the byte and on its distance from the end alone, and contributions are
added without carry. So one table gives the checksums of thousands of short messages at once.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from risingbandits._core.types import Ints

_REACH = 1024  # distances in the table
_ONES = 0xFFFFFFFF


def masked_checksums(content: bytes, starts: Ints, ends: Ints) -> npt.NDArray[np.uint32]:
    """The checksums of some stretches of the content."""
    table, blank = _tables()
    lengths = ends - starts
    found = np.empty(len(lengths), np.uint32)
    short = (lengths > 0) & (lengths <= _REACH)
    for each in np.flatnonzero(~short):
        found[each] = masked_checksum(content[starts[each] : ends[each]])
    if short.any():
        starts, ends, lengths = starts[short], ends[short], lengths[short]
        firsts = np.cumsum(lengths) - lengths
        places = np.arange(lengths.sum()) + np.repeat(starts - firsts, lengths)
        distances = np.repeat(ends - 1, lengths) - places
        added = table[256 * distances + np.frombuffer(content, np.uint8)[places]]
        found[short] = _masked(np.bitwise_xor.reduceat(added, firsts) ^ blank[lengths])
    return found


def masked_checksum(message: bytes) -> int:
    """The checksum of a message of any length: the CRC of each part is added to the first bytes of the next one."""
    table, blank = _tables()
    rest = len(message) % _REACH
    crc = _sum(table, message[:rest]) ^ int(blank[rest])
    for start in range(rest, len(message), _REACH):
        first = int.from_bytes(message[start : start + 4], "little") ^ crc ^ _ONES
        crc = _sum(table, first.to_bytes(4, "little") + message[start + 4 : start + _REACH]) ^ _ONES
    return int(_masked(crc))


def _sum(table: npt.NDArray[np.uint32], part: bytes) -> int:
    distances = np.arange(len(part))[::-1]
    return int(np.bitwise_xor.reduce(table[256 * distances + np.frombuffer(part, np.uint8)]))


def _masked(crc: Any) -> Any:
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & _ONES


@cache
def _tables() -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """What each byte contributes at each distance from the end, and the CRC of as many zeros as a message is long."""
    crcs: Any = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        crcs = (crcs >> 1) ^ np.where(crcs & 1, np.uint32(0x82F63B78), np.uint32(0))
    rows, blank = [crcs], [_ONES]
    for _ in range(_REACH):
        rows.append(crcs[rows[-1] & 0xFF] ^ (rows[-1] >> 8))
        blank.append(int(crcs[blank[-1] & 0xFF]) ^ (blank[-1] >> 8))
    return np.concatenate(rows[:_REACH]), np.array(blank, np.uint32) ^ np.uint32(_ONES)
