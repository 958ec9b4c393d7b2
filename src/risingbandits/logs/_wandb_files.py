"""The run file of Weights & Biases, which exists even without its server; read without its library.

After a head of 7 bytes come blocks of 32 KiB with records: a checksum, a length, a kind and data; a record that does
not fit into a block goes on in the next. A whole record is a message of protocol buffers, of which three matter:
history (2), config (5) and run (17).
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError
from risingbandits.logs._columns import setting_in
from risingbandits.logs._event_files import fields
from risingbandits.logs._tables import add_rows, flat
from risingbandits.logs.runs import Recording, Value

_IDENT = b":W&B" + struct.pack("<HB", 0xBEE1, 0)
_BLOCK, _HEAD = 32768, 7
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


def is_wandb_file(head: bytes) -> bool:
    """Whether the first bytes of a file are those of a run of Weights & Biases."""
    return head.startswith(_IDENT)


def add_wandb_run(path: Path, name: str, into: Recording) -> None:
    """The run in a file: all that was logged, by its steps."""
    rows: list[dict[str, Any]] = []
    settings: dict[str, Value] = {}
    shown = ""
    try:
        for record in _records(path, path.read_bytes()):
            for number, message in fields(record):
                if not isinstance(message, bytes):
                    continue
                if number == 2:
                    rows.append(flat(_items(message, 1)))
                elif number == 5:
                    settings |= _settings(_items(message, 1))
                elif number == 17:
                    for part, content in fields(message):
                        if part == 4 and isinstance(content, bytes):
                            settings |= _settings(_items(content, 1))
                        elif part == 8 and isinstance(content, bytes):
                            shown = content.decode("utf-8", "replace")
    except RisingBanditsError:
        raise
    except (IndexError, ValueError, RecursionError, struct.error) as error:
        raise RisingBanditsError(f"{path} is damaged: one of its records is not from Weights & Biases.") from error
    if not rows:
        into.notes.append(f"{path} has no history and is left out.")
        return
    for row in rows:
        row.update({f"config/{key}": value for key, value in settings.items()})
    add_rows(path, shown or name, "Weights & Biases", rows, into, run=shown or name)


def _settings(items: dict[str, Any]) -> dict[str, Value]:
    return {key: setting_in(value) for key, value in flat(items).items() if not key.startswith("_wandb")}


def _items(message: bytes, wanted: int) -> dict[str, Any]:
    """Keys and values of a message with items: a key (1) or the parts of a nested one (2), and JSON (16)."""
    found: dict[str, Any] = {}
    for number, item in fields(message):
        if number != wanted or not isinstance(item, bytes):
            continue
        keys, value = [], None
        for part, content in fields(item):
            if part in (1, 2) and isinstance(content, bytes):
                keys.append(content.decode("utf-8", "replace"))
            elif part == 16 and isinstance(content, bytes):
                value = json.loads(content)
        if keys:
            found["/".join(keys)] = value
    return found


def _records(path: Path, content: bytes) -> Iterator[bytes]:
    """The complete records; an incomplete one at the end is skipped."""
    at, begun = len(_IDENT), b""
    while True:
        if _BLOCK - at % _BLOCK < _HEAD:  # the rest of a block is empty
            at += _BLOCK - at % _BLOCK
        if at + _HEAD > len(content):
            return
        checksum, length, kind = struct.unpack_from("<IHB", content, at)
        data = content[at + _HEAD : at + _HEAD + length]
        if len(data) < length:
            return
        if kind not in (_FULL, _FIRST, _MIDDLE, _LAST) or zlib.crc32(data, zlib.crc32(bytes([kind]))) != checksum:
            raise RisingBanditsError(f"{path} is damaged: no record starts at byte {at}.")
        at += _HEAD + length
        begun = data if kind in (_FULL, _FIRST) else begun + data
        if kind in (_FULL, _LAST):
            yield begun
