"""Event files in machine code: the same as `event_files.scalars`, for folders with many files.

A kernel goes through the records of a block of bytes and notes of each number where its tag is, its step, its time and
its value, the latter two as bits. It knows what the libraries write. At anything else it stops, and the file is left to
the reader in plain Python, which also describes damage.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from risingbandits._core.jit import compiled, kernel
from risingbandits._core.types import Ints
from risingbandits.recorded.event_files import CHECKSUMS, LONGEST, Scalars

_BLOCK = 16 << 20  # bytes that are read at a time
_MOST_NUMBERS, _MOST_TAGS = 1 << 16, 1 << 12  # that a block can have before it is called again
_TABLE = np.array(CHECKSUMS, np.int64)
_END, _FULL, _ODD = 0, 1, 2  # why the kernel stopped

# Columns of what the kernel notes of a number.
_TAG, _STEP, _TIME, _VALUE, _DOUBLE = range(5)


def scan(path: Path) -> list[Scalars] | None:
    """All numbers of a file, block by block; None for a file that the reader in plain Python must see."""
    return _gathered(path, _blocks(path))


def _gathered(path: Path, blocks: Iterator[Scalars | None]) -> list[Scalars] | None:
    found = []
    for block in blocks:
        if block is None:
            return None
        found.append(block)
    return found


def _blocks(path: Path) -> Iterator[Scalars | None]:
    numbers = np.zeros((_MOST_NUMBERS, 5), np.int64)
    tags = np.zeros((_MOST_TAGS, 2), np.int64)
    with path.open("rb") as file:
        rest = b""
        while more := file.read(_BLOCK):
            content = rest + more if rest else more
            seen = np.frombuffer(content, np.uint8)
            at = 0
            while True:
                at, count, known, why = _scanner()(seen, at, numbers, tags, _TABLE)
                if why == _ODD:
                    yield None
                    return
                names = [content[start : start + length].decode("utf-8", "replace") for start, length in tags[:known]]
                yield _scalars(names, numbers[:count])
                if why == _END:
                    break
            rest = content[at:]


def _scalars(names: list[str], numbers: Ints) -> Scalars:
    single = (numbers[:, _VALUE] & 0xFFFFFFFF).astype(np.uint32).view(np.float32).astype(np.float64)
    double = np.ascontiguousarray(numbers[:, _VALUE]).view(np.float64)
    values = np.where(numbers[:, _DOUBLE] == 1, double, single)
    times = np.ascontiguousarray(numbers[:, _TIME]).view(np.float64)
    return Scalars(names, numbers[:, _TAG].copy(), numbers[:, _STEP].astype(np.float64), values, times)


@cache
def _scanner() -> Any:
    return compiled(_scan)


Bytes = npt.NDArray[np.uint8]


def _scan(content: Bytes, at: int, numbers: Ints, tags: Ints, table: Ints) -> tuple[int, int, int, int]:
    """Go through the records from ``at`` on; return where it stopped, how many numbers and tags it has, and why."""
    count = 0
    known = 0
    guess = 0
    size = content.shape[0]
    while at + 12 <= size:
        length = bits(content, at, 8)
        if bits(content, at + 8, 4) != checksum(content, at, at + 8, table) or length < 0 or length > LONGEST:
            return at, count, known, _ODD
        start, end = at + 12, at + 12 + length
        if end + 4 > size:
            break
        if bits(content, end, 4) != checksum(content, start, end, table):
            return at, count, known, _ODD
        time, step, begin, stop = event(content, start, end)
        if begin < 0:
            return at, count, known, _ODD
        before, place = count, begin
        while place < stop:
            number, kind, place, after = field(content, place, stop)
            if place < 0 or (number == 1 and kind != 2):
                return at, count, known, _ODD
            if number == 1:
                tag_at, tag_length, value, double = number_of(content, place, after)
                if double < -1 or tag_at < 0:
                    return at, count, known, _ODD
                if double >= 0:
                    if count == numbers.shape[0] or known == tags.shape[0]:
                        # The block has room for what it has had so far: the record is read again in the next call.
                        return at, before, known, (_FULL if before else _ODD)
                    guess, known = tag_number(content, tag_at, tag_length, tags, known, guess)
                    numbers[count, _TAG], numbers[count, _STEP], numbers[count, _TIME] = guess, step, time
                    numbers[count, _VALUE], numbers[count, _DOUBLE] = value, double
                    count += 1
            place = after
        at = end + 4
    return at, count, known, _END


@kernel
def checksum(content: Bytes, start: int, end: int, table: Ints) -> Any:
    """CRC-32C of a stretch of bytes, rotated and shifted, as event files have it."""
    value: Any = 0xFFFFFFFF
    for at in range(start, end):
        value = table[(value ^ content[at]) & 0xFF] ^ (value >> 8)
    value ^= 0xFFFFFFFF
    return (((value >> 15) | ((value << 17) & 0xFFFFFFFF)) + 0xA282EAD8) & 0xFFFFFFFF


@kernel
def bits(content: Bytes, at: int, count: int) -> Any:
    """Up to eight bytes as a whole number, the lowest first."""
    value: Any = 0
    for place in range(count):
        value |= np.int64(content[at + place]) << (8 * place)
    return value


@kernel
def varint(content: Bytes, at: int, end: int) -> tuple[int, int]:
    """A whole number in groups of seven bits, and the place after it; -1 for the place where it is none."""
    value: Any = 0
    shift = 0
    while at < end and shift <= 63:
        byte = np.int64(content[at])
        at += 1
        if shift == 63 and byte > 1:
            return value, -1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    return value, -1


@kernel
def field(content: Bytes, at: int, end: int) -> tuple[int, int, int, int]:
    """Number and kind of a field, where its content begins, and where the next field does; -1 where it is none."""
    key, at = varint(content, at, end)
    if at < 0:
        return 0, 0, -1, -1
    number, kind = key >> 3, key & 7
    start = at
    if kind == 0:
        _, after = varint(content, at, end)
        return number, kind, (start if after >= 0 else -1), after
    if kind == 1:
        after = at + 8
    elif kind == 5:
        after = at + 4
    elif kind == 2:
        length, start = varint(content, at, end)
        if start < 0 or length < 0 or length > end - start:
            return number, kind, -1, -1
        after = start + length
    else:
        return number, kind, -1, -1
    if after > end:
        return number, kind, -1, -1
    return number, kind, start, after


@kernel
def event(content: Bytes, at: int, end: int) -> tuple[int, int, int, int]:
    """The bits of the time of an event, its step, and where its summary begins and ends; begin -1 for odd ones."""
    time = 0
    step = 0
    begin = 0
    stop = 0
    while at < end:
        number, kind, at, after = field(content, at, end)
        if at < 0 or (number == 1 and kind != 1) or (number == 5 and (kind != 2 or stop > 0)):
            return time, step, -1, -1
        if number == 1:
            time = bits(content, at, 8)
        elif number == 2 and kind == 0:
            step, _ = varint(content, at, end)
        elif number == 5:
            begin, stop = at, after
        at = after
    return time, step, begin, stop


@kernel
def number_of(content: Bytes, at: int, end: int) -> tuple[int, int, int, int]:
    """Where the tag of a value is, its length, the bits of its number, and whether that has eight bytes.

    The latter is -1 for anything but a number, such as a string, and -2 for odd records.
    """
    tag_at = at
    tag_length = 0
    value = 0
    double = -1
    while at < end:
        number, kind, at, after = field(content, at, end)
        if at < 0 or ((number == 1 or number == 8) and kind != 2) or (number == 2 and kind != 5):
            return tag_at, tag_length, value, -2
        if number == 1:
            tag_at, tag_length = at, after - at
        elif number == 2:
            value, double = bits(content, at, 4), 0
        elif number == 8:
            value, double = tensor(content, at, after)
        at = after
    return tag_at, tag_length, value, double


@kernel
def tensor(content: Bytes, at: int, end: int) -> tuple[int, int]:
    """The bits of the one number in a tensor, and whether it has eight bytes; -1 for other tensors, -2 for odd ones."""
    of = 0
    start = 0
    length = 0
    while at < end:
        number, kind, at, after = field(content, at, end)
        if at < 0:
            return 0, -2
        if number == 1 and kind == 0:
            of, _ = varint(content, at, end)
        elif 4 <= number <= 6 and kind != 0:
            start, length = at, after - at
        at = after
    if of == 1 and length == 4:
        return bits(content, start, 4), 0
    if of == 2 and length == 8:
        return bits(content, start, 8), 1
    return 0, -1


@kernel
def tag_number(content: Bytes, start: int, length: int, tags: Ints, known: int, last: int) -> tuple[int, int]:
    """The number of a tag among those that are known, and how many there are; most come in the same order again."""
    for step in range(known):
        number = (last + 1 + step) % known
        if tags[number, 1] == length:
            same = True
            for place in range(length):
                if content[tags[number, 0] + place] != content[start + place]:
                    same = False
                    break
            if same:
                return number, known
    tags[known, 0], tags[known, 1] = start, length
    return known, known + 1
