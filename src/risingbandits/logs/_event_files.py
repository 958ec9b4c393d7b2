"""TensorBoard's event files, read without TensorBoard.

A file is a row of records: the length as 8 bytes, a checksum of it, a message, a checksum of that. A message is an
``Event`` of protocol buffers, of which five fields matter: its time (1) and step (2), and in its summary (5) of each
value (1) the tag (1) and either a number (2) or a tensor (8).
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.types import Ints
from risingbandits.logs.runs import Series

_HEAD = struct.Struct("<QI")  # before a message: its length and the checksum of the length
_BLOCK = 1 << 20  # bytes that are read at a time
_FLOAT, _DOUBLE = 1, 2  # types of a tensor
_LONGEST = 64 << 20  # bytes of a message with numbers; pictures and histograms are shorter, too

# A message as most libraries write it: time, step, the lengths of summary, value and tag, the tag and the number.
_USUAL = re.compile(rb"\x09(.{8})(?:\x10([\x80-\xff]{0,8}[\0-\x7f]))?\x2a(.)\x0a(.)\x0a(.)(.*)\x15(.{4})", re.DOTALL)
_as_double, _as_float = struct.Struct("<d").unpack, struct.Struct("<f").unpack


def read_event_file(path: Path) -> dict[str, Series]:
    """The numbers of a file by tag, in the order in which they were written."""
    points: dict[str, list[tuple[float, float, float]]] = {}
    for tag, step, value, time in scalars(path):
        points.setdefault(tag, []).append((step, value, time))
    return {tag: Series(*np.array(own).T) for tag, own in points.items()}


def is_event_file(head: bytes) -> bool:
    """Whether the first bytes of a file are the head of a record."""
    return len(head) >= _HEAD.size and _length(head[: _HEAD.size]) is not None


@lru_cache(1024)  # few lengths come again and again
def _length(head: bytes) -> int | None:
    """The length of the message after this head, None if it is not the head of a record."""
    length, checksum = _HEAD.unpack(head)
    return int(length) if length <= _LONGEST and checksum == masked_checksum(head[:8]) else None


def scalars(path: Path) -> Iterator[tuple[str, float, float, float]]:
    """(tag, step, value, time) of every number in a file, in its order.

    The end of a file that is being written, or whose writer was killed, may be half a record: it is skipped.
    """
    content, before = b"", 0
    with path.open("rb") as file:
        while more := file.read(_BLOCK):
            content += more
            starts, ends = _records(path, content, before)
            for start, end in zip(starts, ends, strict=True):
                message = content[start:end]
                usual = _usual_number(message)
                if usual is not None:
                    yield usual
                    continue
                try:
                    yield from _numbers(message)
                except (IndexError, struct.error) as error:
                    raise RisingBanditsError(f"{path} is damaged: one of its records is not an event.") from error
            done = ends[-1] + 4 if ends else 0
            content, before = content[done:], before + done


def _records(path: Path, content: bytes, before: int) -> tuple[list[int], list[int]]:
    """Where the messages of whole records start and end; ``before`` is the place of the content in the file."""
    starts, ends, at = [], [], 0
    while at + _HEAD.size <= len(content):
        length = _length(content[at : at + _HEAD.size])
        if length is None:
            raise RisingBanditsError(f"{path} is damaged: no record starts at byte {before + at}.")
        at += _HEAD.size + length + 4
        if at <= len(content):
            starts.append(at - 4 - length)
            ends.append(at - 4)
    written = np.frombuffer(content, np.uint8)[np.array(ends, int)[:, None] + np.arange(4)].view("<u4")[:, 0]
    wrong = np.flatnonzero(written != masked_checksums(content, np.array(starts, int), np.array(ends, int)))
    if wrong.size:
        after = before + ends[wrong[0]] + 4
        raise RisingBanditsError(f"{path} is damaged: the checksum of the record before byte {after} is wrong.")
    return starts, ends


def _usual_number(message: bytes) -> tuple[str, float, float, float] | None:
    """The same as `_numbers` of a usual message, several times as fast; None for others."""
    found = _USUAL.fullmatch(message)
    if found is None:
        return None
    time, step, summary, value, length, tag, number = found.groups()
    if not summary[0] - 9 == value[0] - 7 == length[0] == len(tag) < 119:
        return None
    steps = 0.0 if step is None else float(_varint(step, 0)[0])
    return tag.decode("utf-8", "replace"), steps, _as_float(number)[0], _as_double(time)[0]


def _numbers(message: bytes) -> Iterator[tuple[str, float, float, float]]:
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
    if message[at] < 0x80:
        return message[at], at + 1
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
