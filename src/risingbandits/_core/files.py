"""Files that are written whole or not at all, values as JSON that every reader accepts, and arrays as bytes."""

from __future__ import annotations

import io
import json
import math
import os
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from risingbandits._core.errors import RisingBanditsError

Array = np.ndarray[Any, Any]
_HEADER = "header"
# What readers of JSON, zip files and arrays raise where bytes are wrong; RuntimeError: too deep, or as if encrypted.
_DAMAGE = (
    *(OSError, ValueError, LookupError, TypeError, AttributeError, EOFError, OverflowError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, struct.error),
)


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A temporary path to write a file or a folder to, renamed to ``path`` on success.

    Readers see the old file or the new one, never a part. A folder takes the place of one, a file never does.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}.{uuid4().hex[:8]}.tmp")
    try:
        yield temporary
        if path.is_dir() and not path.is_symlink():
            if not temporary.is_dir():
                raise RisingBanditsError(f"{path} must be a file to be written, and is a folder.")
            shutil.rmtree(path)
        temporary.replace(path)
    except BaseException:
        remove(temporary)
        raise


@contextmanager
def readable(path: Path, trouble: str) -> Iterator[None]:
    """Inside, a missing or damaged file is reported in one sentence: it does not exist, or has the ``trouble``."""
    try:
        yield
    except RisingBanditsError:
        raise
    except FileNotFoundError as error:
        raise RisingBanditsError(f"{error.filename} does not exist.") from None
    except _DAMAGE as error:
        raise RisingBanditsError(f"{path} {trouble} ({type(error).__name__}).") from error


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it survives a loss of power, and readers see the old one or the new one."""
    with whole(path) as temporary:
        temporary.write_bytes(data)
        flush(temporary)
    flush_folder(path.parent)


def flush(path: Path) -> None:
    """Flush a file, or all files of a folder, to the disk."""
    for file in [path] if path.is_file() else [inner for inner in path.rglob("*") if inner.is_file()]:
        with file.open("rb") as opened:
            os.fsync(opened.fileno())
    for folder in [path, *path.rglob("*")] if path.is_dir() else []:
        if folder.is_dir():
            flush_folder(folder)


def flush_folder(path: Path) -> None:
    """Flush the names in a folder to the disk; systems that cannot do that keep them by themselves."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except PermissionError:  # Windows opens no folders
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def npz_bytes(
    header: Mapping[str, Any], arrays: Mapping[str, Array], plain: Callable[[Any], Any] | None = None
) -> bytes:
    """A header and arrays as the bytes of one npz file; ``plain`` turns what JSON does not know into what it knows.

    No pickle, so that a file from elsewhere cannot run code.
    """
    buffer = io.BytesIO()
    text = np.frombuffer(json.dumps(header, default=plain).encode(), dtype=np.uint8)
    np.savez(buffer, **{_HEADER: text, **arrays})  # type: ignore[arg-type]
    return buffer.getvalue()


def read_npz(data: bytes) -> tuple[dict[str, Any], dict[str, Array]]:
    """The header and the arrays in the bytes that `npz_bytes` made.

    A file that would take more memory than it has bytes is an error: ours are not compressed, nor do they have holes.
    """
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        for name in file.files:
            with file.zip.open(f"{name}.npy") as member:
                read = np.lib.format.read_magic(member)
                shape, _, dtype = getattr(np.lib.format, f"read_array_header_{read[0]}_{read[1]}")(member)
                if math.prod(shape) * dtype.itemsize > len(data):
                    raise ValueError(name)
        arrays = dict(file)
    return json.loads(arrays.pop(_HEADER).tobytes().decode()), arrays


def remove(path: Path) -> None:
    """Remove a file, a link or a whole folder, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def for_json(value: Any) -> Any:
    """The value as dicts, lists, strings, numbers, booleans and None, which stands for NaN and infinity.

    >>> for_json({"mean": float("nan"), "pulls": np.array([1, 2]), 3: (np.float64(0.5), np.bool_(True))})
    {'mean': None, 'pulls': [1, 2], '3': [0.5, True]}
    """
    if isinstance(value, Mapping):
        return {str(key): for_json(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [for_json(member) for member in value]
    if isinstance(value, np.ndarray | np.generic):
        return for_json(value.tolist())
    if isinstance(value, Path):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_text(value: Any) -> str:
    """One JSON document, with a line break at the end.

    >>> print(json_text([{"regret": 1.5, "half_width": float("nan")}]), end="")
    [
     {
      "regret": 1.5,
      "half_width": null
     }
    ]
    """
    return json.dumps(for_json(value), indent=1, allow_nan=False, ensure_ascii=False) + "\n"
