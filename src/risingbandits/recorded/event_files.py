"""TensorBoard's event files, read without TensorBoard.

A file is a row of records: the length as 8 bytes, a checksum of it, a message, a checksum of that. A message is an
``Event`` of protocol buffers, of which five fields matter: its time (1) and step (2), and in its summary (5) of each
value (1) the tag (1) and either a number (2) or a tensor (8).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.types import Floats, Ints
from risingbandits.recorded.runs import Series

_HEAD = 12  # bytes before a message: its length and the checksum of the length
_PATIENCE = 4 << 20  # bytes that are read in plain Python before machine code takes over
_FLOAT, _DOUBLE = 1, 2  # types of a tensor
LONGEST = 64 << 20  # bytes of a message with numbers; pictures and histograms are shorter, too


class Scalars(NamedTuple):
    """Numbers of a file in its order: the names of their tags, and of each number which one, step, value and time."""

    names: list[str]
    tag: Ints
    steps: Floats
    values: Floats
    times: Floats


class EventFiles:
    """Reads event files: the first few megabytes in plain Python, all others in machine code.

    Loading or compiling machine code would take longer than reading a few small files.
    """

    def __init__(self, patience: int = _PATIENCE) -> None:
        self.patience = patience  # bytes

    def read(self, path: Path) -> dict[str, Series]:
        """The numbers of a file by tag, in the order in which they were written."""
        self.patience -= path.stat().st_size
        found = self._scanned(path) if self.patience < 0 else None
        if found is None:
            points: dict[str, list[tuple[float, float, float]]] = {}
            for tag, step, value, time in scalars(path):
                points.setdefault(tag, []).append((step, value, time))
            return {tag: Series(*np.array(own).T) for tag, own in points.items()}
        parts: dict[str, list[Series]] = {}
        for block in found:
            for number, name in enumerate(block.names):
                own = slice(None) if len(block.names) == 1 else np.flatnonzero(block.tag == number)
                parts.setdefault(name, []).append(Series(block.steps[own], block.values[own], block.times[own]))
        return {
            name: own[0] if len(own) == 1 else Series(*map(np.concatenate, zip(*own, strict=True)))
            for name, own in parts.items()
        }

    def _scanned(self, path: Path) -> list[Scalars] | None:
        from risingbandits._core.jit import is_disabled

        if is_disabled():  # the same code in plain Python is slower than `scalars`
            return None
        from risingbandits.recorded.event_scan import scan

        return scan(path)


def is_event_file(head: bytes) -> bool:
    """Whether the first bytes of a file are the head of a record."""
    return len(head) >= _HEAD and struct.unpack("<I", head[8:12])[0] == masked_checksum(head[:8])


def scalars(path: Path) -> Iterator[tuple[str, float, float, float]]:
    """(tag, step, value, time) of every number in a file, in its order.

    The end of a file that is being written, or whose writer was killed, may be half a record: it is skipped.
    """
    with path.open("rb") as file:
        while head := file.read(_HEAD):
            if len(head) < _HEAD:
                return
            (length,) = struct.unpack("<Q", head[:8])
            if not is_event_file(head) or length > LONGEST:
                raise RisingBanditsError(f"{path} is damaged: no record starts at byte {file.tell() - _HEAD}.")
            message = file.read(length + 4)
            if len(message) < length + 4:
                return
            if struct.unpack("<I", message[length:])[0] != masked_checksum(message[:length]):
                raise RisingBanditsError(
                    f"{path} is damaged: the checksum of the record before byte {file.tell()} is wrong."
                )
            try:
                yield from _event(message[:length])
            except (IndexError, struct.error) as error:
                raise RisingBanditsError(f"{path} is damaged: one of its records is not an event.") from error


def _event(message: bytes) -> Iterator[tuple[str, float, float, float]]:
    time = step = 0.0
    summaries = []
    for number, value in fields(message):
        if number == 1 and isinstance(value, bytes) and len(value) == 8:
            (time,) = struct.unpack("<d", value)
        elif number == 2 and isinstance(value, int):
            step = float(value - (1 << 64) if value >> 63 else value)
        elif number == 5 and isinstance(value, bytes):
            summaries.append(value)
    for summary in summaries:
        for number, value in fields(summary):
            if number == 1 and isinstance(value, bytes):
                tag, found = _value(value)
                if found is not None:
                    yield tag, step, found, time


def _value(message: bytes) -> tuple[str, float | None]:
    tag, found = "", None
    for number, value in fields(message):
        if not isinstance(value, bytes):
            continue
        if number == 1:
            tag = value.decode("utf-8", "replace")
        elif number == 2 and len(value) == 4:
            (found,) = struct.unpack("<f", value)
        elif number == 8:
            found = _tensor(value)
    return tag, found


def _tensor(message: bytes) -> float | None:
    """The number in a tensor that has just one, None for others, such as strings and histograms."""
    kind, numbers = 0, b""
    for number, value in fields(message):
        if number == 1 and isinstance(value, int):
            kind = value
        elif number in (4, 5, 6) and isinstance(value, bytes):  # its content as a whole, as floats or as doubles
            numbers = value
    form = {_FLOAT: "<f", _DOUBLE: "<d"}.get(kind)
    if form is None or len(numbers) != struct.calcsize(form):
        return None
    return float(struct.unpack(form, numbers)[0])


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message of protocol buffers: their numbers, and integers or bytes."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield key >> 3, value
            continue
        if kind == 2:
            length, at = _varint(message, at)
        else:
            length = {1: 8, 5: 4}[kind] if kind in (1, 5) else math.inf  # type: ignore[assignment]
        if at + length > len(message):
            raise IndexError(at)
        yield key >> 3, message[at : at + length]
        at += length


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise IndexError(at)


# -- the checksum of a length and of a message: CRC-32C, rotated and shifted -----------------------------------------


def _table() -> list[int]:
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


CHECKSUMS = _table()


def _crc(content: bytes) -> int:
    value = 0xFFFFFFFF
    for byte in content:
        value = CHECKSUMS[(value ^ byte) & 0xFF] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def masked_checksum(content: bytes) -> int:
    """The checksum of bytes as event files have it."""
    crc = _crc(content)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
